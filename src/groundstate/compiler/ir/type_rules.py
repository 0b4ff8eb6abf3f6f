"""What types an operation takes and gives, in a short notation: `int= int= -> int`.

Before the arrow stand the kinds of the operands, behind it that of the result (`KINDS`; `void` for
no result). Marks behind a kind relate it to the others:

    =   the same type as the result, to LLVM: signs and what pointers point to do not matter
    @   the same type as the first operand
    ~   as many components as the result
    :   components of the result's type, as many as the result has, or just one for all of them
    .   no vector
    /   a vector

`*` stands behind what may come any number of times, `?` behind what may be left out. The legality
check of SPIR-V and the verifier both go by these rules (`type_check.py`).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from groundstate.compiler.spirv.types import (
    Bool,
    Event,
    Float,
    Handle,
    Image,
    Int,
    Pointer,
    SampledImage,
    Sampler,
    Type,
    Vector,
    Void,
)

MARKS = "=@~:./"


class Kind(NamedTuple):
    """A kind of values."""

    word: str
    """What it is called in a sentence."""
    types: tuple[type[Type], ...]
    """The types of such values, or of their components."""


KINDS: dict[str, Kind] = {
    "any": Kind("value", (Type,)),
    "int": Kind("integer", (Int, Bool)),
    "whole": Kind("whole number", (Int,)),
    "float": Kind("float", (Float,)),
    "ieee": Kind("float", (Float,)),
    "bool": Kind("truth value", (Bool, Int)),
    "pointer": Kind("pointer", (Pointer,)),
    "ordered": Kind("number", (Int, Bool, Pointer)),
    "numeric": Kind("integer or float", (Int, Float)),
    "word": Kind("number or address", (Int, Float, Pointer)),
    "event": Kind("event", (Event, Pointer)),
    "image": Kind("image", (Image, SampledImage)),
    "sampler": Kind("sampler", (Sampler,)),
    "pair": Kind("sampled image", (SampledImage, Image)),
    "void": Kind("nothing", (Void,)),
}
"""`float` has formats besides those of IEEE 754, `ieee` has not. Of integers only those of one bit
are a `bool`. Some compilers compare addresses, and count with truth values, as if they were
integers."""


class ValueRule:
    """What one operand must be, or the result."""

    __slots__ = ("is_optional", "is_repeated", "kind", "marks", "types", "word")

    def __init__(self, text: str) -> None:
        self.is_repeated, self.is_optional = "*" in text, "?" in text
        self.marks = frozenset(each for each in text if each in MARKS)
        self.kind = text.rstrip(MARKS + "*?")
        self.word, self.types = KINDS[self.kind]


class TypeRule:
    """What an operation takes and gives."""

    __slots__ = ("fewest", "most", "operands", "result", "text")

    def __init__(self, text: str) -> None:
        operands, _, result = text.partition("->")
        self.text = text
        self.operands = [ValueRule(each) for each in operands.split()]
        self.result = ValueRule(result.strip())
        repeats = bool(self.operands) and self.operands[-1].is_repeated
        self.fewest = sum(not (each.is_optional or each.is_repeated) for each in self.operands)
        self.most = None if repeats else len(self.operands)

    def operand(self, index: int) -> ValueRule:
        """What an operand must be."""
        return self.operands[min(index, len(self.operands) - 1)]


@cache
def type_rule(text: str) -> TypeRule:
    """The rule that a text stands for."""
    return TypeRule(text)


def scalar_type(type_: Type) -> str:
    """The LLVM type of a number, truth value or address."""
    if isinstance(type_, Bool):
        return "i1"
    if isinstance(type_, Int):
        return f"i{type_.width}"
    if isinstance(type_, Float):
        if type_.is_bfloat16:
            return "i16"  # see codegen/arithmetic/bfloat.py
        return {16: "half", 32: "float", 64: "double"}[type_.width]
    if isinstance(type_, Pointer | Handle):
        return "ptr"
    raise TypeError(f"{type_} is not a scalar")


def components_of(type_: Type) -> tuple[int, Type]:
    """How many components a value has, and their type."""
    return (type_.count, type_.element) if isinstance(type_, Vector) else (1, type_)
