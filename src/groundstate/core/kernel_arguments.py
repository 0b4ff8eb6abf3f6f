"""Arguments of kernels: what a kernel takes, and Python values as the device gets them.

The API itself knows only how large an argument is. What its type is stands in the SPIR-V module, so
the types are known, and checked, for modules that were made from one. There is a class for each way
to pass a value.
"""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import math
import struct
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from groundstate.core.api import number, size
from groundstate.core.dtype import DType, dtype, pack_bfloat16, require_byte_order
from groundstate.core.handle import Handle
from groundstate.core.image import Image
from groundstate.core.memory import Memory, Shape, shape_of
from groundstate.core.operand import borrow
from groundstate.core.sampler import Sampler

if TYPE_CHECKING:
    from groundstate.compiler.spirv.types import Type
    from groundstate.core.kernel_types import Declared


class Local:
    """Local memory for a kernel's argument: each work-group gets its own.

    >>> Local(64, "float32").size_bytes
    256
    """

    def __init__(self, shape: Shape, dtype: Any = "uint8") -> None:
        self.size_bytes = math.prod(shape_of(shape)) * _itemsize(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Local) and self.size_bytes == other.size_bytes

    def __hash__(self) -> int:
        return hash(self.size_bytes)

    def __repr__(self) -> str:
        return f"Local({self.size_bytes})"


def _itemsize(kind: Any) -> int:
    return dtype(kind).itemsize_bytes


Encoded = int | bytes | Local
"""A value for the API: an integer of the argument's size, bytes as they are, or local memory."""


class Shortcut(NamedTuple):
    """Which values of an argument need no closer look; by default none."""

    fitting: set[DType] = frozenset()  # type: ignore[assignment]
    """Types of memory that are known to be right."""
    end: int = 0
    """Integers from 0 up to this are passed as they are."""
    largest: float = -1.0
    """Numbers up to this, positive or negative, are passed as `pack` writes them."""
    pack: Callable[[float], bytes] = struct.Struct("<d").pack


class Argument:
    """One argument of a kernel: its name and type."""

    kind = ""
    """value, pointer, local, image or sampler; empty if it is not known."""
    type = ""
    """The type in the words of OpenCL C, or an empty string."""
    size_bytes = 0

    shortcut: Shortcut
    """What `Encoder` may do by itself, without asking `encode`."""

    def __init__(
        self,
        kernel: str,
        index: int,
        name: str = "",
        type_: Type | None = None,
        declared: Declared | None = None,
    ) -> None:
        self.kernel = kernel
        self.index = index
        self.name = name
        self.shortcut = Shortcut()
        if type_ is not None and declared is not None:
            self._learn(type_, declared)
        self.prepared = number(index), size(self.size_bytes)
        """Number and size, as a call takes them."""

    def _learn(self, type_: Type, declared: Declared) -> None:
        """Takes what it needs to know from the type."""
        self.type = declared.spelled(type_)
        self.size_bytes = type_.size

    def limited(self, is_reachable: Callable[[int], bool]) -> Argument:
        """The same for a device that does not reach all memory."""
        return self

    @property
    def declaration(self) -> str:
        """Type and name as the source has them, as far as they are known."""
        return f"{self.type} {self.name}".strip()

    def __repr__(self) -> str:
        return f"<Argument {self.index} {self.declaration}>"

    @abstractmethod
    def encode(self, value: Any, kept: dict[int, object]) -> Encoded:
        """A value as the API takes it; TypeError if it is not of the argument's type.

        What must stay alive until the kernel has run goes into `kept`, by its id.
        """

    def _require_byte_order(self, value: object) -> None:
        try:
            require_byte_order(getattr(value, "dtype", None))
        except TypeError as problem:
            raise self._problem(value, "little-endian values", str(problem)) from None

    def _problem(self, value: object, expected: str, advice: str = "") -> TypeError:
        what = self.declaration and f" ({self.declaration})"
        return TypeError(
            f"argument {self.index}{what} of kernel {self.kernel!r} takes {expected}, "
            f"not {_shown(value)}{advice and f': {advice}'}"
        )


class PointerArgument(Argument):
    """Memory that all work-items see."""

    kind = "pointer"
    is_reachable: Callable[[int], bool] | None = None
    """For a device that reaches allocations only: whether an address is of one."""

    def limited(self, is_reachable: Callable[[int], bool]) -> Argument:
        made = copy.copy(self)
        made.is_reachable = is_reachable
        return made

    def _learn(self, type_: Type, declared: Declared) -> None:
        super()._learn(type_, declared)
        self._element = declared.element
        self._is_read_only = declared.is_read_only
        self.shortcut = Shortcut(fitting=set())

    def encode(self, value: Any, kept: dict[int, object]) -> int:
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return self._address(value or 0)
        self._check(value)
        try:
            borrowed = borrow(value, writable=not self._is_read_only)
        except TypeError as problem:
            raise self._problem(value, "memory", str(problem)) from None
        if self.is_reachable is not None and not self.is_reachable(borrowed.address):
            advice = "the device does not reach other memory of the program; copy it, or import it"
            raise self._problem(value, "memory of the context", advice)
        kept[id(borrowed.owner)] = borrowed.owner
        return borrowed.address

    def _address(self, value: int) -> int:
        if not 0 <= value < 1 << 64:
            raise OverflowError(str(self._problem(value, "an address of 64 bits")))
        return value

    def _check(self, value: Any) -> None:
        if isinstance(value, Local):
            raise self._problem(value, "no local memory")
        if isinstance(value, float | bool | complex | str) or getattr(value, "shape", None) == ():
            raise self._problem(value, "memory", "pass a Memory or a NumPy array")
        self._require_byte_order(value)
        element, given = self._element, getattr(value, "dtype", None)
        if element is not None and given is not None and not _can_hold(given, element):
            raise self._problem(value, f"memory of {element}")
        if isinstance(value, Memory):
            self.shortcut.fitting.add(value.dtype)


class IntegerArgument(Argument):
    """An integer by value. SPIR-V does not say whether it has a sign, so both ranges are fine."""

    kind = "value"

    def _learn(self, type_: Type, declared: Declared) -> None:
        super()._learn(type_, declared)
        self._end = 1 << 8 * type_.size
        self.shortcut = Shortcut(end=self._end)

    def encode(self, value: Any, kept: dict[int, object]) -> int:
        plain = self._plain(value)
        if 0 <= plain < self._end:
            return plain
        if -self._end <= 2 * plain < 0:
            return plain + self._end
        expected = f"an integer of {8 * self.size_bytes} bits"
        raise OverflowError(str(self._problem(value, expected)))

    def _plain(self, value: Any) -> int:
        """What else can stand for an integer: NumPy's and ctypes' of the same size."""
        if isinstance(value, int):
            return int(value)
        given = getattr(value, "dtype", None)
        if given is not None and value.shape == ():
            if given.name == "bfloat16" and self.size_bytes == 2:
                return int.from_bytes(value.tobytes(), "little")  # OpenCL C has it as a ushort
            if given.kind not in "iub" or given.itemsize != self.size_bytes:
                advice = f"write numpy.int{8 * self.size_bytes}(...), or int(...)"
                raise self._problem(value, f"a number of {8 * self.size_bytes} bits", advice)
            return int(value)
        if isinstance(value, ctypes._SimpleCData) and ctypes.sizeof(value) == self.size_bytes:
            return int.from_bytes(bytes(value), "little")
        raise self._problem(value, "an integer")


_FLOATS = {2: (65504.0, "<e"), 4: (3.4028234e38, "<f"), 8: (math.inf, "<d")}
"""By size: what can be packed without a look at it, and how the struct module writes it."""


class FloatArgument(Argument):
    """A floating-point number by value."""

    kind = "value"

    def _learn(self, type_: Type, declared: Declared) -> None:
        from groundstate.core.kernel_types import number_of

        super()._learn(type_, declared)
        self._element = number_of(type_)
        largest, form = _FLOATS[type_.size]
        self._pack = struct.Struct(form).pack
        if self._element == ("bfloat16", 2):
            largest, self._pack = -1.0, pack_bfloat16
        self.shortcut = Shortcut(largest=largest, pack=self._pack)

    def encode(self, value: Any, kept: dict[int, object]) -> bytes:
        given = getattr(value, "dtype", None)
        if given is not None and value.shape == ():
            return self._encode_numpy(value)
        if isinstance(value, ctypes._SimpleCData) and ctypes.sizeof(value) == self.size_bytes:
            return bytes(value)
        if not isinstance(value, int | float):
            raise self._problem(value, "a number")
        try:
            return self._pack(value)
        except (OverflowError, struct.error):
            expected = f"a number that fits a {self._element}"
            raise OverflowError(str(self._problem(value, expected))) from None

    def _encode_numpy(self, value: Any) -> bytes:
        assert self._element is not None
        if value.dtype.kind == "V" and value.dtype.name != "bfloat16":
            raise self._problem(value, f"a number of type {self._element}")
        plain = value[()]  # which is little-endian even if the array was not
        if not self._element.is_of(plain.dtype):
            own = "ml_dtypes.bfloat16" if self._element.kind == "bfloat16" else "numpy.float"
            own += str(8 * self.size_bytes) * (self._element.kind == "f")
            advice = f"write {own}(...), or float(...)"
            raise self._problem(value, f"a number of type {self._element}", advice)
        return bytes(plain.tobytes())


class VectorArgument(Argument):
    """Several numbers by value."""

    kind = "value"

    def _learn(self, type_: Type, declared: Declared) -> None:
        super()._learn(type_, declared)
        element: Type = type_.element  # type: ignore[attr-defined]
        self._count: int = type_.count  # type: ignore[attr-defined]
        self._number = value_argument(self.kernel, self.index, self.name, element, declared)
        self._number.type = self.type  # for messages

    def encode(self, value: Any, kept: dict[int, object]) -> bytes:
        is_row = isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1
        if not is_row or isinstance(value, str | bytes) or len(value) != self._count:
            raise self._problem(value, f"{self._count} numbers")
        number = self._number
        packed = b"".join(as_bytes(number, number.encode(each, {})) for each in value)
        return packed.ljust(self.size_bytes, b"\0")


class StructureArgument(Argument):
    """A structure, or anything else, by value: its members one by one, or its bytes."""

    kind = "value"

    def _learn(self, type_: Type, declared: Declared) -> None:
        super()._learn(type_, declared)
        members, offsets = _layout(type_)
        untold = type(declared)()
        self._members = [
            (offset, value_argument(self.kernel, self.index, f"{self.name}[{place}]", each, untold))
            for place, (offset, each) in enumerate(zip(offsets, members, strict=True))
        ]

    def encode(self, value: Any, kept: dict[int, object]) -> bytes:
        values = _member_values(value)
        if values is not None:
            return self._encode_members(value, values, kept)
        self._require_byte_order(value)
        content = _content(value)
        if content is None:
            advice = "pass a tuple, a dataclass, a NumPy record, a ctypes structure or bytes"
            raise self._problem(value, f"{self.size_bytes} bytes", advice)
        if len(content) != self.size_bytes:
            advice = "NumPy lays out a record as C does with numpy.dtype(..., align=True)"
            raise self._problem(
                value, f"{self.size_bytes} bytes", f"that has {len(content)}; {advice}"
            )
        return content

    def _encode_members(
        self, value: object, values: Sequence[Any], kept: dict[int, object]
    ) -> bytes:
        if len(values) != len(self._members):
            raise self._problem(value, f"{len(self._members)} members", f"that has {len(values)}")
        content = bytearray(self.size_bytes)
        for (offset, member), each in zip(self._members, values, strict=True):
            encoded = as_bytes(member, member.encode(each, kept))
            content[offset : offset + len(encoded)] = encoded
        return bytes(content)


class LocalArgument(Argument):
    """Memory that the work-items of a group share."""

    kind = "local"

    def encode(self, value: Any, kept: dict[int, object]) -> Local:
        if not isinstance(value, Local):
            raise self._problem(value, "groundstate.Local(size)")
        return value


class OpaqueArgument(Argument):
    """An image or a sampler, which is passed as its handle."""

    def _learn(self, type_: Type, declared: Declared) -> None:
        super()._learn(type_, declared)
        self.kind = type(type_).__name__.lower()

    def encode(self, value: Any, kept: dict[int, object]) -> int:
        expected = Image if self.kind == "image" else Sampler
        if not isinstance(value, expected):
            raise self._problem(value, f"a groundstate.{expected.__name__}")
        kept[id(value.resource)] = value.resource
        return value.handle


class UntypedArgument(Argument):
    """An argument of which nothing is known, so that the value has to say how large it is."""

    size_bytes = 8

    def encode(self, value: Any, kept: dict[int, object]) -> Encoded:
        if value is None:
            return 0
        if isinstance(value, Local):
            return value
        if isinstance(value, Memory):
            kept[id(value.resource)] = value.resource
            return value.address
        if isinstance(value, Handle):
            kept[id(value.resource)] = value.resource
            return value.handle
        self._require_byte_order(value)
        content = None if isinstance(value, int) else _content(value)
        if content is None or (getattr(value, "shape", ()) != () and not _is_record(value)):
            expected = "memory, a NumPy scalar, a ctypes value or bytes"
            raise self._problem(value, expected, "its type is not known in a native module")
        return content


# --- The arguments of a kernel --------------------------------------------------------------------


class Encoder:
    """Turns the values for all arguments of a kernel into what the API takes."""

    def __init__(self, arguments: tuple[Argument, ...]) -> None:
        self.count = len(arguments)
        self._steps = tuple((*each.shortcut, each.encode) for each in arguments)

    def encode(self, values: tuple[Any, ...], kept: dict[int, object]) -> list[Encoded]:
        """One value for each argument; see `Argument.encode`.

        What most values are is dealt with right here, because calling a method for each of them
        would take longer than all the rest of a launch.
        """
        encoded: list[Encoded] = []
        for value, step in zip(values, self._steps):  # noqa: B905  `strict` costs too much
            kind = type(value)
            if kind is Memory and value.dtype in step[0] and (resource := value._resource):
                kept[id(resource)] = resource
                encoded.append(resource.value + value.offset_bytes)
            elif kind is int and 0 <= value < step[1]:
                encoded.append(value)
            elif kind is float and abs(value) <= step[2]:
                encoded.append(step[3](value))
            else:
                encoded.append(step[4](value, kept))
        return encoded


CONSTANTS: frozenset[type] = frozenset((int, float, bool, bytes, type(None), Local))
"""Types of values that do not change as long as they are the same object."""


def value_argument(kernel: str, index: int, name: str, type_: Type, declared: Declared) -> Argument:
    """An argument that is passed by value, or a member of one."""
    from groundstate.compiler.spirv.types import Float, Int, Pointer, Vector

    ways: dict[type[Type], type[Argument]] = {
        Int: IntegerArgument,
        Float: FloatArgument,
        Vector: VectorArgument,
        Pointer: PointerArgument,
    }
    return ways.get(type(type_), StructureArgument)(kernel, index, name, type_, declared)


# --- Values ---------------------------------------------------------------------------------------


def _can_hold(given: Any, element: Any) -> bool:
    try:
        return bool(element.can_be_in(given))
    except TypeError:
        return False  # a type that is no number at all, such as a record


def _content(value: Any) -> bytes | None:
    """The bytes of a record, a structure or a buffer; None for what is none of these."""
    if hasattr(value, "dtype") and hasattr(value, "tobytes"):
        return bytes(value.tobytes())
    try:
        return memoryview(value).tobytes()
    except TypeError:
        return None


def _layout(type_: Type) -> tuple[Sequence[Type], Sequence[int]]:
    """The members of a structure or an array, and where each lies."""
    from groundstate.compiler.spirv.types import Array, Struct

    if isinstance(type_, Struct):
        return type_.members, type_.offsets
    if isinstance(type_, Array):
        return [type_.element] * type_.length, range(0, type_.size, type_.stride)
    return (), ()


def _member_values(value: Any) -> Sequence[Any] | None:
    """The members of a tuple, a list or a dataclass, in order; None for what is none of these."""
    if isinstance(value, tuple | list):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, each.name) for each in dataclasses.fields(value)]
    return None


def as_bytes(argument: Argument, encoded: Encoded) -> bytes:
    """An encoded value as it lies in memory."""
    if isinstance(encoded, int):
        return encoded.to_bytes(argument.size_bytes, "little")
    assert isinstance(encoded, bytes)
    return encoded


def _is_record(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "names", None) is not None


def _shown(value: object) -> str:
    """A value in an error message: what it is, and of what."""
    element, kind = getattr(value, "dtype", None), type(value).__name__
    if element is None:
        return f"{value!r:.40} ({kind})"
    if getattr(value, "shape", None) == ():
        return f"{value} ({type(value).__module__}.{kind})"
    return f"{kind} of {getattr(element, 'name', element)}"
