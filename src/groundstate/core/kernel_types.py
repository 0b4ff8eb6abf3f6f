"""The types of a kernel's arguments: their names in OpenCL C, and what memory fits them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from groundstate.compiler.spirv.types import Array, Float, Int, Pointer, Struct, Type, Vector
from groundstate.core.dtype import dtype

_WORDS = {
    ("i", 1): "char",
    ("i", 2): "short",
    ("i", 4): "int",
    ("i", 8): "long",
    ("f", 2): "half",
    ("f", 4): "float",
    ("f", 8): "double",
    ("bfloat16", 2): "bfloat16",
}

_SPACES = {0: "constant", 4: "local", 5: "global", 8: "generic"}

_ELEMENT = re.compile(r"(?:_Atomic\()?u?(char|short|int|long|half|float|double)\b[^*]*\*")
"""A pointer to numbers as `kernel_arg_base_type` has it."""


class Element(NamedTuple):
    """A number; whether an integer has a sign makes no difference here."""

    kind: str
    """i for integers, f for floating-point numbers of IEEE 754, or bfloat16."""
    size_bytes: int

    def __str__(self) -> str:
        return _WORDS.get(self, f"{self.kind}{8 * self.size_bytes}")

    def is_of(self, given: Any) -> bool:
        """Whether a type of `groundstate` or NumPy is a type of such numbers."""
        if self.kind == "bfloat16" or getattr(given, "name", "") == "bfloat16":
            return getattr(given, "name", "") == self.kind
        code = dtype(given).typestr[1]
        return ("i" if code in "iub" else code, dtype(given).itemsize_bytes) == self

    def can_be_in(self, given: Any) -> bool:
        """Whether memory of a type can hold such numbers: plain bytes can, and complex numbers."""
        name = getattr(given, "name", "")
        if name == "uint8" or (name == "bfloat16" and self == ("i", 2)):
            return True  # OpenCL C has no bfloat16 and takes a ushort for it
        if self.kind == "f" and getattr(given, "name", "").startswith("complex"):
            return dtype(given).itemsize_bytes == 2 * self.size_bytes
        return self.is_of(given)


_ELEMENTS = {word: Element(*element) for element, word in _WORDS.items()}


def number_of(type_: Type) -> Element | None:
    """The number that a type is; None if it is something else."""
    if isinstance(type_, Float):
        return Element("bfloat16" if type_.is_bfloat16 else "f", type_.size)
    return Element("i", type_.size) if isinstance(type_, Int) else None


def spelled(type_: Type) -> str:
    """A type in the words of OpenCL C. What a pointer points to is not known for certain."""
    if isinstance(type_, Pointer):
        return f"{_SPACES.get(type_.storage, '')} pointer".strip()
    if isinstance(type_, Vector):
        return f"{spelled(type_.element)}{type_.count}"
    if isinstance(type_, Array):
        return f"{spelled(type_.element)}[{type_.length}]"
    if isinstance(type_, Struct):
        return "struct"
    return str(number_of(type_) or type_)


class Declared(NamedTuple):
    """An argument's type as the source has it; empty if the module does not tell."""

    type: str = ""
    base_type: str = ""
    """Without names that a typedef gave."""
    qualifiers: str = ""

    def spelled(self, type_: Type) -> str:
        """The type with its address space, in the words of OpenCL C."""
        if not self.type:
            return spelled(type_)
        if not isinstance(type_, Pointer) or not self.type.endswith("*"):
            return self.type
        space = _SPACES.get(type_.storage, "")
        const = "const" * (self.is_read_only and space != "constant")
        return " ".join(part for part in (space, const, self.type) if part)

    @property
    def is_read_only(self) -> bool:
        """Whether it is a pointer to what a kernel may not change."""
        return "const" in self.qualifiers.split()

    @property
    def element(self) -> Element | None:
        """The numbers that a pointer points to; None also for bytes, which can be anything."""
        match = _ELEMENT.fullmatch(self.base_type)
        element = _ELEMENTS[match[1]] if match else None
        return None if element == ("i", 1) else element


def declared(strings: Iterable[str], kernel: str, count: int) -> list[Declared]:
    """What the strings of a module tell of each argument of a kernel."""
    columns = []
    for kind in ("type", "base_type", "type_qual"):
        start = f"kernel_arg_{kind}.{kernel}."
        text = next((each for each in strings if each.startswith(start)), "")
        words = text.removeprefix(start).removesuffix(",").split(",")
        columns.append(words if len(words) == count else [""] * count)
    return [Declared(*row) for row in zip(*columns, strict=True)]
