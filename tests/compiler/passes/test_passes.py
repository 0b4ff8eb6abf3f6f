"""Each pass by itself, on text: a kernel, and what the pass makes of it.

A file in `text/` is named like its pass. Kernels in it are set apart by `---`; behind `=>` stands
what becomes of one, and a comment `; unchanged: why` says that nothing does. After a change of a
pass, `GROUNDSTATE_UPDATE_PASSES=1 pytest tests/compiler/passes` writes what it makes now.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from groundstate.compiler.instrument.passes import ALL_PASSES as PASSES
from groundstate.compiler.ir import Kernel
from groundstate.compiler.ir.location import Location
from groundstate.compiler.ir.ops import operation
from groundstate.compiler.ir.parser import ParseError, parse_kernel
from groundstate.compiler.ir.passes import Analyses, Pass, Variant, run_passes
from groundstate.compiler.ir.printer import print_kernel
from groundstate.compiler.ir.verifier import verify
from groundstate.compiler.target import Target
from groundstate.compiler.target.description import Lookup

FOLDER = Path(__file__).parent / "text"
UPDATE = os.environ.get("GROUNDSTATE_UPDATE_PASSES", "") not in ("", "0")


@dataclass
class Case:
    """A kernel, and what a pass should make of it."""

    step: str
    number: int
    given: str
    expected: str

    @property
    def is_unchanged(self) -> bool:
        return "; unchanged" in self.given

    def setting(self, name: str, default: int) -> int:
        """A number that the comments name."""
        found = re.search(rf"^; {name}: (\d+)$", self.given, re.MULTILINE)
        return int(found[1]) if found else default

    def run(self, step: Pass, prepare: Callable[[Kernel], None] | None = None) -> Kernel:
        """The kernel, which keeps the rules, when a pass has run on it."""
        kernel = parse_kernel(self.given)
        kernel.renumber()
        if prepare is not None:
            prepare(kernel)
        verify(kernel, "reading it")
        width = self.setting("lanes", 1)
        registers = self.setting("registers", 16)
        target = Target(
            lanes=8,
            most_sums=registers,
            registers_for_sums=registers - 4,
            table_lookups={4: (Lookup(8, 8, "pick"),)},
        )
        analyses = Analyses(kernel, target, Variant((64, 1, 1), width, width))
        run_passes([step], kernel, analyses)
        return kernel

    def result(self) -> str:
        """What the pass makes of the kernel."""
        kernel = self.run(PASSES[self.step])
        verify(kernel, self.step)
        return print_kernel(kernel)


def cases() -> list[Case]:
    found = []
    for path in sorted(FOLDER.glob("*.txt")):
        for number, part in enumerate(path.read_text(encoding="utf-8").split("---\n")):
            given, _, expected = part.partition("=>\n")
            found.append(Case(path.stem, number, given, expected))
    return found


CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.step}-{case.number}")
def test_pass_makes_what_the_file_says(case: Case) -> None:
    result = case.result()
    if case.is_unchanged:
        assert result == print_kernel(parse_kernel(case.given))
        assert case.expected == ""
        return
    assert result != print_kernel(parse_kernel(case.given))
    if UPDATE:
        update(case, result)
    else:
        assert result == case.expected


def update(case: Case, result: str) -> None:
    """Writes what a pass makes of a kernel into its file."""
    path = FOLDER / f"{case.step}.txt"
    parts = path.read_text(encoding="utf-8").split("---\n")
    parts[case.number] = f"{case.given}=>\n{result}"
    path.write_text("---\n".join(parts), encoding="utf-8")


@pytest.mark.parametrize("step", PASSES)
def test_pass_has_changed_and_unchanged_case(step: str) -> None:
    own = [case.is_unchanged for case in CASES if case.step == step]
    assert True in own
    assert False in own


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.step}-{case.number}")
def test_text_is_read_back(case: Case) -> None:
    for text in filter(None, (print_kernel(parse_kernel(case.given)), case.expected)):
        assert print_kernel(parse_kernel(text)) == text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", 'begins with: kernel "name"'),
        ('kernel "k"\nblock 0:\n  %0: u32 = IAdd %1, u32:1\n  return\n', "%1 is used and not"),
        ('kernel "k"\nblock 0:\n  %0: u33x = IAdd\n  return\n', "is expected"),
        ('kernel "k"\nblock 0:\n  Store argument 0, u32:1\n  return\n', "there is no argument 0"),
        ('kernel "k"\n  return\n', "stands in no block"),
        ('kernel "k"\nblock 0:\n  Trap @"k" }\n', "what is"),
    ],
)
def test_mistake_in_text_is_named(text: str, sentence: str) -> None:
    with pytest.raises(ParseError, match=re.escape(sentence)):
        parse_kernel(text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.step}-{case.number}")
def test_pass_keeps_locations(case: Case) -> None:
    here = Location("in.cl", 3, 4, "f")

    def locate(kernel: Kernel) -> None:
        for node in kernel.nodes():
            node.location = here

    for node in case.run(PASSES[case.step], locate).nodes():
        if not operation(node).is_pure:
            assert node.location is here, node
