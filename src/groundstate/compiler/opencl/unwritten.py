"""Keeps uninitialised private variables in a module, for checked mode.

LLVM takes for a variable that was not written whatever makes the program shortest, and with it goes
the mistake that somebody wants to be told of. So a variable begins its life with what a function
returns of which LLVM knows nothing. Where it is written before it is read, that is dropped; where
not, the call is left, and stands for what is not initialised (spirv_to_ir/library_functions.py).

LLVM also branches early on what might not be initialised, where that is of no consequence, and says
so by a `freeze`. SPIR-V has none: that becomes a call, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from groundstate.compiler.spirv_to_ir.library_functions import KNOWN, UNWRITTEN

MOST_PARTS = 32
"""Of a structure or array that is looked at."""
ATTRIBUTES = "nounwind willreturn memory(none)"

_NUMBER = r"(?:i8|i16|i32|i64|half|float|double)"
_SCALAR = re.compile(rf"{_NUMBER}|<\d+ x {_NUMBER}>")
_ARRAY = re.compile(r"\[(\d+) x (.+)\]")
_STRUCT = re.compile(r"^(%[-\w.$]+) = type \{ (.*) \}$", re.MULTILINE)
_ALLOCA = re.compile(r"^  (%[-\w.$]+) = alloca ((?:%[-\w.$]+)|[^,%\n]+), align \d+", re.MULTILINE)
_BEGINS = re.compile(
    r"^  call void @llvm\.lifetime\.start\.p0\((?:i64 [^,]+, )?ptr [^%]*(%[-\w.$]+)\)"
    r"(?: #\d+)?(, !dbg !\d+)?.*$",
    re.MULTILINE,
)
_FREEZE = re.compile(
    rf"^(  %\S+ = )freeze (i1|<\d+ x i1>|{_SCALAR.pattern}) ([^,\n]+)", re.MULTILINE
)

Part = tuple[tuple[int, ...], str]
"""Where a number lies in a variable, and its type."""


def mark(ir: str) -> str:
    """LLVM IR in which variables begin with what a call returns."""
    structs = {name: members.split(", ") for name, members in _STRUCT.findall(ir)}
    numbers, declared = count(), []

    def written(variable: str, type_: str, location: str) -> Iterator[str]:
        for path, part in _parts(type_, structs):
            name = f"{UNWRITTEN}{next(numbers)}"
            declared.append(f"declare {part} @{name}() {ATTRIBUTES}")
            place = variable
            if path:
                place = f"%place.{name}"
                steps = "".join(f", i32 {each}" for each in (0, *path))
                yield f"  {place} = getelementptr inbounds {type_}, ptr {variable}{steps}{location}"
            yield f"  %value.{name} = call {part} @{name}(){location}"
            yield f"  store {part} %value.{name}, ptr {place}, align 1{location}"

    functions = ir.split("\n}\n")
    for index, function in enumerate(functions):
        variables = dict(_ALLOCA.findall(function))

        def begin(found: re.Match[str], variables: dict[str, str] = variables) -> str:
            type_ = variables.get(found[1])
            lines = written(found[1], type_, found[2] or "") if type_ is not None else ()
            return "\n".join((found[0], *lines))

        functions[index] = _BEGINS.sub(begin, function)
    return "\n}\n".join(functions) + "".join(f"\n{each}" for each in declared) + "\n"


def _parts(type_: str, structs: dict[str, list[str]]) -> list[Part]:
    """The numbers of a variable; none if there are many, or others."""
    found = list(_all_parts(type_, structs, 4))
    is_known = all(_SCALAR.fullmatch(part) for _, part in found)
    return found if is_known and len(found) <= MOST_PARTS else []


def _all_parts(type_: str, structs: dict[str, list[str]], depth: int) -> Iterator[Part]:
    array = _ARRAY.fullmatch(type_)
    if array is not None and depth:
        members = [array[2]] * min(int(array[1]), MOST_PARTS + 1)
    else:
        members = structs.get(type_, []) if depth else []
    if not members:
        yield (), type_
    for index, member in enumerate(members):
        for path, part in _all_parts(member, structs, depth - 1):
            yield (index, *path), part


def release(optimised: str) -> str:
    """The same after it was optimised: with calls for what LLVM has frozen."""
    declared: dict[str, str] = {}

    def known(found: re.Match[str]) -> str:
        type_ = found[2]
        name = KNOWN + re.sub(r"\W+", "", type_)
        declared[name] = f"declare {type_} @{name}({type_}) {ATTRIBUTES}"
        return f"{found[1]}call {type_} @{name}({type_} {found[3]})"

    text = _FREEZE.sub(known, optimised)
    return text + "".join(f"\n{each}" for each in declared.values()) + "\n" * bool(declared)
