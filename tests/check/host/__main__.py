"""Prints how much of what is wrong is found, and how often something is found that is right."""

from __future__ import annotations

from collections import Counter

from tests.check.host.programs import RIGHT, WRONG, cases_of, found_by, kinds


def main() -> None:
    labelled, found_kinds, false = Counter[str](), Counter[str](), Counter[str]()
    right = 0
    for program in WRONG + RIGHT:
        expected, found = cases_of(program).expected, found_by(program)
        right += sum(not wanted for wanted in expected.values())
        for name, findings in found.items():
            wanted = Counter(expected.get(name, []))
            got = Counter(kinds(findings))
            labelled += wanted
            found_kinds += wanted & got
            false += got - wanted
    print(f"{'kind':32} wrong  found  false alarms")
    for kind in sorted(labelled | false):
        print(f"{kind:32} {labelled[kind]:5}  {found_kinds[kind]:5}  {false[kind]:12}")
    print(f"{'all':32} {labelled.total():5}  {found_kinds.total():5}  {false.total():12}")
    print(f"{right} programs that are right were among them")


main()
