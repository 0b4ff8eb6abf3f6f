"""Chooses modules of a wheel that have between them as many features as possible.

    python -m tests.survey.recipes dpnp-0.20.0-*.whl > tests/survey/recipes.json

A recipe says which module it is and where it lies in the wheel, not what is in it: the tests take
it from the wheel that `make test` downloads.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from groundstate.compiler.spirv import read
from groundstate.compiler.spirv.instructions import ROWS, enumeration, opencl_rows
from groundstate.compiler.spirv.opcodes import Decoration, Op
from groundstate.compiler.spirv.reader import HEADER_WORDS, to_words
from groundstate.survey.files import Found, collect

COUNT = 100
MOST_BYTES = 8_000
"""Of one module, so that all of them compile in some seconds."""
BYTES_BEFORE = 2_000
"""Of the smallest modules: what every kernel has."""
SHOWN = 5
TABLE = Path(__file__).with_name("recipes.json")
WHEELS = Path(__file__).parents[2] / ".venv" / "wheels"


@dataclass(frozen=True)
class Recipe:
    """One module of the wheel."""

    digest: str
    file: str
    """Within the wheel."""
    kernel: str
    covers: list[str]
    """The features for which it was chosen: those that no module before it has."""


def recipes() -> list[Recipe]:
    """The modules that are tested."""
    return [Recipe(**each) for each in json.loads(TABLE.read_text(encoding="utf-8"))]


def features(data: bytes) -> set[str]:
    """What is special about a module: instructions with the types of their results, functions of
    OpenCL, built-in variables and capabilities."""
    words = to_words(data)
    types: dict[int, str] = {}
    found: set[str] = set()
    capabilities, builtins = enumeration("Capability"), enumeration("BuiltIn")
    functions, position = opencl_rows(), HEADER_WORDS
    while position < len(words):
        count, opcode = words[position] >> 16, words[position] & 0xFFFF
        operands = words[position + 1 : position + count]
        position += count
        row = ROWS[opcode]
        name = row.name.removeprefix("Op")
        if name.startswith("Type"):
            types[operands[0]] = _type_text(name, list(operands[1:]), types)
        elif opcode == Op.Capability:
            found.add(f"capability {capabilities[operands[0]].name}")
        elif opcode == Op.Decorate and operands[1] == Decoration.BuiltIn:
            found.add(f"variable {builtins[operands[2]].name}")
        elif opcode == Op.ExtInst and operands[3] in functions:
            found.add(f"{functions[operands[3]].name} {types[operands[0]]}")
        elif not name.startswith(("Source", "Name", "Member", "Decorat", "Execution")):
            found.add(f"{name} {types[operands[0]]}" if row.has_type else name)
    return found


def _type_text(name: str, operands: list[int], types: dict[int, str]) -> str:
    """A type in a word or two; structures are all the same."""
    if name in ("TypeInt", "TypeFloat"):
        return f"{name[4].lower()}{operands[0]}"
    if name == "TypeVector":
        return f"{types[operands[0]]}x{operands[1]}"
    if name == "TypePointer":
        return f"pointer {operands[0]}"
    return name.removeprefix("Type").lower()


def choose(modules: list[Found], count: int) -> Iterator[tuple[Found, list[str]]]:
    """The module with most of what the ones before it lack for its size, again and again.

    What is rare counts more, and so does a file of which there is nothing yet. When everything is
    covered, it begins anew without those chosen.
    """

    def worth(digest: str) -> tuple[float, str]:
        gained = sum(1 / frequency[name] for name in left[digest] & missing)
        return gained / (BYTES_BEFORE + len(by_digest[digest].data)), digest

    left = {each.digest: features(each.data) | {each.file} for each in modules}
    left = {digest: names for digest, names in left.items() if "EntryPoint" in names}
    by_digest = {each.digest: each for each in modules}
    frequency = Counter(name for names in left.values() for name in names)
    missing: set[str] = set()
    for _ in range(min(count, len(left))):
        if not missing:
            missing = set(frequency)
        best = max(left, key=worth)
        if not left[best] & missing:
            missing = set(frequency)
            continue
        gained = (left[best] & missing) - {by_digest[best].file}
        yield by_digest[best], sorted(gained, key=lambda name: (frequency[name], name))
        missing -= left.pop(best)


def main(wheel: Path) -> None:
    """Prints the table for a wheel."""
    small = [each for each in collect([wheel]).modules.values() if len(each.data) <= MOST_BYTES]
    table = [
        Recipe(
            found.digest,
            found.file.partition("!")[2],
            next(iter(read(found.data).entry_points), ""),
            covers[:SHOWN],
        )
        for found, covers in choose(small, COUNT)
    ]
    json.dump([asdict(each) for each in table], sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
