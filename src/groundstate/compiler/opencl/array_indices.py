"""Says in a module where the source steps into an array, and with which index, for checked mode.

LLVM keeps addresses and forgets arrays: `s.name[i]` becomes a number of bytes behind `s`, and what
lies outside of a private or constant array is gone. So before each access, `mark` calls a function
that stands for a look at the index; its name has the number of elements. `release` drops the calls
that are not needed once the program is optimised; instrument/indices.py reports the others.

Whoever takes an array of arrays for one long array, as `t[0][i]`, makes no mistake that matters: so
the call takes the index of the row, too. An index into a whole variable is up to bounds.py, unless
it is a constant in the end: then LLVM may have dropped the access.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.spirv_to_ir.library_functions import INDEX

OF_VARIABLE, INSIDE = "variable", "inside"
MOST_STEPS = 16
ATTRIBUTES = "nounwind willreturn memory(inaccessiblemem: readwrite)"
_NAME = r"%[-\w.$]+"
_STEP = re.compile(
    rf"^  (?P<name>{_NAME}) = getelementptr (?:(?:inbounds|nuw|nusw) )*(?P<type>.+?), "
    rf"ptr(?: addrspace\(\d\))? (?P<base>{_NAME}|@[-\w.$]+|getelementptr .*\)), "
    r"i\d+ (?P<first>[^,\s]+)(?:, i\d+ (?P<second>[^,\s]+))?(?:, !.*)?$"
)
_CAST = re.compile(rf"^  ({_NAME}) = addrspacecast ptr(?: addrspace\(\d\))? ({_NAME}) to ")
_CONSTANT = re.compile(r"^(@[-\w.$]+) = [^\n]*?\baddrspace\(2\) constant ", re.MULTILINE)
_ALLOCA = re.compile(rf"^  ({_NAME}) = alloca ")
_ACCESS = re.compile(
    rf"^  (?:{_NAME} = (?P<load>load) (?:volatile )?(?P<loaded>.+?)"
    rf"|(?P<store>store) (?:volatile )?(?P<stored>.+?) [^ ]+"
    rf"|.*(?P<atomic>call) .*@\"?(?:groundstate_)?_Z\d+atom\w*\"?\()"
    rf"(?:, |(?<=\())ptr(?: addrspace\(\d\))?(?: noundef)? (?P<place>{_NAME})"
    r"(?:.*?(?P<at>, !dbg !\d+))?"
)
_ARRAY = re.compile(r"\[(\d+) x (.*)\]")
_CALL = re.compile(
    rf'^  (?:tail )?call void @"?{re.escape(INDEX)}(\w+)\.\w+\.\d+\.(\d+)"?'
    r"\(i64 (\S+), i64 (\S+)\)"
)
_BYTES = {"i8": 1, "i16": 2, "half": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}


@light_dataclass()
class _Step:
    """From a variable, a structure or an array to a part of it."""

    length: int
    """Of the array; 0 for what is none."""
    index: str
    row: str
    """1, or the index if what lies behind index 0 may be taken for one long array."""


def mark(ir: str) -> str:
    """LLVM IR that says which indices its accesses have."""
    declared: set[str] = set()
    constants = set(_CONSTANT.findall(ir))
    functions = ir.split("\n}\n")
    for number, function in enumerate(functions):
        if " getelementptr " in function:
            functions[number] = "\n".join(_marked(function, declared, constants))
    declarations = (f'declare void @"{name}"(i64, i64) {ATTRIBUTES}\n' for name in sorted(declared))
    return "\n}\n".join(functions) + "".join(declarations)


def _marked(function: str, declared: set[str], constants: set[str]) -> Iterator[str]:
    steps: dict[str, re.Match[str]] = {}
    casts: dict[str, str] = {}
    variables = set(constants)
    for line in function.split("\n"):
        if (step := _STEP.match(line)) is not None:
            steps[step["name"]] = step
        elif (cast := _CAST.match(line)) is not None:
            casts[cast[1]] = cast[2]
        elif (variable := _ALLOCA.match(line)) is not None:
            variables.add(variable[1])
        elif (access := _ACCESS.match(line)) is not None:
            place = casts.get(access["place"], access["place"])
            for where, each in _indices(place, steps, variables):
                name = f"{INDEX}{where}.{_words(access)}.{each.length}"
                declared.add(name)
                given = f"i64 {each.index}, i64 {each.row}"
                yield f'  call void @"{name}"({given}){access["at"] or ""}'
        yield line


def _words(access: re.Match[str]) -> str:
    """What an access does, and to how many bytes; 0 if that is not a simple number."""
    if access["atomic"]:
        return "atomic.0"
    size = _BYTES.get(access["loaded"] or access["stored"], 0)
    return f"{'read' if access['load'] else 'write'}.{size}"


def _indices(
    place: str, steps: dict[str, re.Match[str]], variables: set[str]
) -> Iterator[tuple[str, _Step]]:
    """The indices on the way to a place that are looked at, and what kind they are."""
    way: list[_Step] = []
    while place in steps and len(way) < MOST_STEPS:
        way += reversed(list(_steps(steps[place])))
        place = steps[place]["base"]
    if not way:
        return
    way.reverse()
    if place.startswith("getelementptr"):
        way.insert(0, _Step(0, "", "1"))
    elif place in variables and way[0].length > 1:
        yield OF_VARIABLE, _Step(way[0].length, way[0].index, "1")
    for before, each in pairwise(way):
        if each.length > 1 and before.row != "0":
            yield INSIDE, _Step(each.length, each.index, before.row)


def _steps(found: re.Match[str]) -> Iterator[_Step]:
    """Of a pointer to the array or structure that it leads to, and of that to a part."""
    array = _ARRAY.fullmatch(found["type"])
    first, second = found["first"], found["second"]
    if first != "0":
        yield _Step(0, first, first)
    if second is not None and array is not None:
        yield _Step(int(array[1]), second, second)
    elif second is not None:
        yield _Step(0, second, "1")


def release(optimised: str) -> str:
    """The same after it was optimised, without calls that have nothing to say."""
    return "\n".join(line for line in optimised.split("\n") if not _is_right(line))


def _is_right(line: str) -> bool:
    call = _CALL.match(line)
    if call is None:
        return False
    where, length, index, row = call.groups()
    if not index.lstrip("-").isdigit():
        return where == OF_VARIABLE or row == "0"
    return 0 <= int(index) < int(length) or row == "0"
