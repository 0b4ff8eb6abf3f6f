"""Arguments of kernels: what a kernel takes, and Python values as the device gets them.

The API itself knows only how large an argument is. What its type is stands in the SPIR-V module, so
the types are known, and checked, for modules that were made from one.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from groundstate.core.dtype import dtype
from groundstate.core.handle import Handle
from groundstate.core.memory import Memory, Shape, shape_of
from groundstate.core.operand import borrow

if TYPE_CHECKING:
    from groundstate.compiler.spirv.types import Type

Encoded = tuple[int, Any, object]
"""Size, value (None for local memory) and what must stay alive until the kernel has run."""


class Local:
    """Local memory for a kernel's argument: each work-group gets its own.

    >>> Local(64, "float32").size_bytes
    256
    """

    def __init__(self, shape: Shape, dtype: Any = "uint8") -> None:
        self.size_bytes = math.prod(shape_of(shape)) * _itemsize(dtype)

    def __repr__(self) -> str:
        return f"Local({self.size_bytes})"


def _itemsize(kind: Any) -> int:
    return dtype(kind).itemsize_bytes


class Argument:
    """One argument of a kernel: its name and type."""

    def __init__(self, kernel: str, index: int, name: str, kind: str, type_: Type | None) -> None:
        self.kernel = kernel
        self.index = index
        self.name = name
        self.kind = kind
        """value, pointer, local, image or sampler; empty if it is not known."""
        self._type = type_

    @property
    def type(self) -> str:
        """The type in the words of OpenCL C, or an empty string."""
        return spelled(self._type) if self._type is not None else ""

    def __repr__(self) -> str:
        return f"<Argument {self.index} {self.type} {self.name}>"

    def _problem(self, value: object, expected: str) -> TypeError:
        what = f"{self.type} {self.name}".strip()
        return TypeError(
            f"argument {self.index}{what and f' ({what})'} of kernel {self.kernel!r} takes "
            f"{expected}, not {_shown(value)}"
        )

    def encode(self, value: Any) -> Encoded:
        """A value as the API takes it; TypeError if it is not of the argument's type."""
        if self.kind == "local" or isinstance(value, Local):
            return self._encode_local(value)
        if self.kind == "pointer":
            return self._encode_pointer(value)
        if self.kind == "value":
            return self._encode_value(value)
        return self._encode_untyped(value)

    def _encode_local(self, value: Any) -> Encoded:
        if not isinstance(value, Local) or self.kind not in ("local", ""):
            expected = "groundstate.Local(size)" if self.kind == "local" else "no local memory"
            raise self._problem(value, expected)
        return value.size_bytes, None, None

    def _encode_pointer(self, value: Any) -> Encoded:
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return 8, ctypes.c_uint64(value or 0), None
        if isinstance(value, float | bool | complex | str) or getattr(value, "shape", None) == ():
            raise self._problem(value, "memory")
        expected = _element(self._type)
        given = getattr(value, "dtype", None)
        if expected and given is not None and not _matches(dtype(given).typestr, expected):
            raise self._problem(value, f"memory of {spelled_element(expected)}")
        borrowed = borrow(value, writable=True)
        return 8, ctypes.c_uint64(borrowed.address), borrowed.owner

    def _encode_value(self, value: Any) -> Encoded:
        from groundstate.compiler.spirv.types import Float, Int, Pointer, Vector

        type_ = self._type.pointee if isinstance(self._type, Pointer) else self._type
        assert type_ is not None
        if isinstance(type_, Int | Float):
            content = self._pack_number(value, type_)
        elif isinstance(type_, Vector):
            content = self._pack_vector(value, type_)
        else:
            content = self._pack_bytes(value, type_.size)
        return len(content), content, None

    def _pack_number(self, value: Any, type_: Type) -> bytes:
        from groundstate.compiler.spirv.types import Int

        is_integer = isinstance(type_, Int)
        given = getattr(value, "dtype", None)
        if given is not None and value.shape == ():
            if not _matches(dtype(given).typestr, ("i" if is_integer else "f", type_.size)):
                raise self._problem(value, f"a number of type {spelled(type_)}")
            return bytes(value.tobytes())
        if isinstance(value, ctypes._SimpleCData) and ctypes.sizeof(value) == type_.size:
            return bytes(value)
        if is_integer:
            return self._pack_integer(value, type_)
        if not isinstance(value, int | float):
            raise self._problem(value, "a number")
        if str(type_) == "bf16":
            return struct.pack("<f", value)[2:]
        return struct.pack("<" + {2: "e", 4: "f", 8: "d"}[type_.size], value)

    def _pack_integer(self, value: Any, type_: Type) -> bytes:
        if not isinstance(value, int):
            raise self._problem(value, "an integer")
        bits = 8 * type_.size
        if not -(1 << bits - 1) <= value < 1 << bits:
            raise OverflowError(str(self._problem(value, f"an integer of {bits} bits")))
        return (value & (1 << bits) - 1).to_bytes(type_.size, "little")

    def _pack_vector(self, value: Any, type_: Any) -> bytes:
        if not isinstance(value, Sequence) and getattr(value, "ndim", 0) != 1:
            raise self._problem(value, f"{type_.count} numbers")
        if len(value) != type_.count:
            raise self._problem(value, f"{type_.count} numbers")
        packed = b"".join(self._pack_number(each, type_.element) for each in value)
        return packed.ljust(type_.size, b"\0")

    def _pack_bytes(self, value: Any, size: int) -> bytes:
        try:
            content = bytes(memoryview(value).cast("B"))
        except TypeError:
            raise self._problem(value, f"{size} bytes") from None
        if len(content) != size:
            raise self._problem(value, f"{size} bytes")
        return content

    def _encode_untyped(self, value: Any) -> Encoded:
        """Where the type is not known, the value has to say how large it is."""
        if value is None or isinstance(value, Memory):
            return self._encode_pointer(value)
        if isinstance(value, Handle):
            return 8, ctypes.c_uint64(value.handle), value.resource
        if isinstance(value, ctypes._SimpleCData | bytes):
            return len(bytes(value)), bytes(value), None
        if getattr(value, "shape", None) == ():
            return value.dtype.itemsize, bytes(value.tobytes()), None
        expected = "memory, a NumPy scalar, a ctypes value or bytes (its type is not known)"
        raise self._problem(value, expected)


def arguments_in(spirv: bytes, kernel: str) -> tuple[Argument, ...]:
    """The arguments of a kernel, as its SPIR-V module declares them."""
    from groundstate.compiler.signature import describe_arguments
    from groundstate.compiler.spirv.reader import read

    module = read(spirv)
    found, types = describe_arguments(module, module.entry_points[kernel].function)
    return tuple(
        Argument(kernel, index, each.name, each.kind, type_)
        for index, (each, type_) in enumerate(zip(found, types, strict=True))
    )


# --- Types ----------------------------------------------------------------------------------------

_WORDS = {
    ("i", 1): "char",
    ("i", 2): "short",
    ("i", 4): "int",
    ("i", 8): "long",
    ("f", 2): "half",
    ("f", 4): "float",
    ("f", 8): "double",
}

Element = tuple[str, int]
"""i or f, and the size in bytes."""


def _element(type_: Type | None) -> Element | None:
    """What a pointer points to, if that is numbers; None also for bytes, which can be anything."""
    from groundstate.compiler.spirv.types import Array, Float, Int, Pointer, Vector

    target = type_.pointee if isinstance(type_, Pointer) else None
    while isinstance(target, Array | Vector):
        target = target.element
    if isinstance(target, Float):
        return "f", target.size
    if isinstance(target, Int) and target.size > 1:
        return "i", target.size
    return None


def _matches(typestr: str, expected: Element) -> bool:
    """Whether elements of a type fit; bytes are memory whose type nobody has said."""
    if typestr in ("|u1", "|i1") and expected[1] > 1:
        return typestr == "|u1"
    kind = "i" if typestr[1] in "iub" else typestr[1]
    components = 2 if kind == "c" else 1
    kind = "f" if kind == "c" else kind
    return (kind, int(typestr[2:]) // components) == expected


def spelled_element(element: Element) -> str:
    """An element in the words of OpenCL C."""
    return _WORDS[element]


def spelled(type_: Type) -> str:
    """A type in the words of OpenCL C."""
    from groundstate.compiler.spirv.types import Float, Int, Pointer, Vector

    if isinstance(type_, Pointer):
        space = {0: "constant ", 4: "local ", 5: "global ", 7: "", 8: ""}.get(type_.storage, "")
        return f"{space}{spelled(type_.pointee) if type_.pointee is not None else 'void'}*"
    if isinstance(type_, Vector):
        return f"{spelled(type_.element)}{type_.count}"
    if isinstance(type_, Int):
        return _WORDS.get(("i", type_.size), str(type_))
    if isinstance(type_, Float) and str(type_) != "bf16":
        return _WORDS[("f", type_.size)]
    return str(type_)


def _shown(value: object) -> str:
    """A value in an error message: what it is, and of what."""
    element = getattr(value, "dtype", None)
    of = f" of {getattr(element, 'name', element)}" if element is not None else ""
    return f"{type(value).__name__}{of}" if of else f"{value!r:.40} ({type(value).__name__})"
