"""The types of SPIR-V, with the sizes and alignments that OpenCL gives them.

A type is an immutable value: two types that look the same are equal. The exception is a structure,
which is equal only to itself, so that types which contain pointers to themselves can be compared.
Sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from groundstate.compiler.light_dataclass import field, light_dataclass
from groundstate.compiler.spirv.errors import InvalidModule
from groundstate.compiler.spirv.opcodes import StorageClass

POINTER_SIZE = 8
MAX_SIZE = 1 << 48
"""No object of a program can be larger than what a processor can address."""
MAX_DEPTH = 255
"""How deep types may nest: SPIR-V's own limit for structures, taken for all."""
MAX_MEMBERS = 1 << 16
"""How many members a structure may have with those of its members, and theirs: a few structures
that contain each other twice would have billions, and nobody could look at all."""


@light_dataclass(eq=False)
class Type:
    """Any type. `size` and `align` are those of OpenCL; 0 for what has none."""

    size: int = field(init=False, repr=False, default=0)
    align: int = field(init=False, repr=False, default=1)
    depth: int = field(init=False, repr=False, default=0)
    """How many types are nested in this one."""
    parts: int = field(init=False, repr=False, default=1)
    """How many numbers and addresses a value consists of; an empty structure counts as one."""
    members_within: int = field(init=False, repr=False, default=1)
    """How many types there are in this one, where the elements of an array count once."""
    _key: Hashable = field(init=False, repr=False, default=None)
    _hash: int = field(init=False, repr=False, default=0)

    def _settle(
        self,
        key: Hashable,
        size: int,
        align: int,
        depth: int = 0,
        parts: int = 1,
        members_within: int = 1,
    ) -> None:
        """Fills in what follows from the parts."""
        if members_within > MAX_MEMBERS:
            raise InvalidModule(
                f"a type has more than {MAX_MEMBERS} members, with those of its members"
            )
        if size > MAX_SIZE:
            raise InvalidModule(f"a type of {size} bytes is larger than any memory")
        if depth > MAX_DEPTH:
            raise InvalidModule(f"types are nested more than {MAX_DEPTH} deep")
        put = object.__setattr__
        put(self, "size", size)
        put(self, "align", align)
        put(self, "depth", depth)
        put(self, "parts", parts)
        put(self, "members_within", members_within)
        put(self, "_key", key)
        put(self, "_hash", hash((type(self).__name__, key)))

    def __post_init__(self) -> None:
        self._settle((), 0, 1)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Type):
            return False
        return self._hash == other._hash and self._key == other._key

    def __str__(self) -> str:
        return type(self).__name__.lower()


class Void(Type):
    """No value."""


class Bool(Type):
    """True or false; it has no size in SPIR-V, and one byte here."""

    def __post_init__(self) -> None:
        self._settle((), 1, 1)


@light_dataclass(eq=False)
class Int(Type):
    """An integer."""

    width: int
    signed: bool = False

    def __post_init__(self) -> None:
        size = power_of_two_from((self.width + 7) // 8)
        self._settle((self.width, self.signed), size, min(size, 16))

    def __str__(self) -> str:
        return f"{'i' if self.signed else 'u'}{self.width}"


@light_dataclass(eq=False)
class Float(Type):
    """A floating-point number; `encoding` is None for those of IEEE 754."""

    width: int
    encoding: int | None = None

    def __post_init__(self) -> None:
        size = power_of_two_from((self.width + 7) // 8)
        self._settle((self.width, self.encoding), size, size)

    @property
    def is_bfloat16(self) -> bool:
        """Whether this is the upper half of a 32-bit number."""
        return self.width == 16 and self.encoding == 0

    def __str__(self) -> str:
        return "bf16" if self.is_bfloat16 else f"f{self.width}"


@light_dataclass(eq=False)
class Vector(Type):
    """A vector of numbers; one of three takes the room of one of four."""

    element: Type
    count: int

    def __post_init__(self) -> None:
        size = self.element.size * power_of_two_from(self.count)
        depth = self.element.depth + 1
        self._settle((self.element, self.count), size, max(size, 1), depth, self.count, 2)

    def __str__(self) -> str:
        return f"{self.element}x{self.count}"


@light_dataclass(eq=False)
class Array(Type):
    """Elements one behind the other."""

    element: Type
    length: int

    def __post_init__(self) -> None:
        size = self.stride * self.length
        key, inner = (self.element, self.length), self.element
        parts, within = max(1, self.length) * inner.parts, inner.members_within + 1
        self._settle(key, size, inner.align, inner.depth + 1, parts, within)

    @property
    def stride(self) -> int:
        """The bytes from one element to the next."""
        return self.element.size

    def __str__(self) -> str:
        return f"[{self.length} x {self.element}]"


@light_dataclass(eq=False)
class RuntimeArray(Type):
    """An array whose length is not known."""

    element: Type

    def __post_init__(self) -> None:
        inner = self.element
        within = inner.members_within + 1
        self._settle(inner, 0, inner.align, inner.depth + 1, inner.parts, within)

    def __str__(self) -> str:
        return f"[? x {self.element}]"


@light_dataclass(eq=False)
class Struct(Type):
    """A structure; `offsets` says where its members lie."""

    id: int
    members: tuple[Type, ...] = field(repr=False)
    packed: bool = False
    least_align: int = field(default=1, repr=False)
    owner: object = field(default=None, repr=False)
    """What tells the structures of one module from those of another."""
    offsets: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        offsets, size, align = [], 0, 1
        for member in self.members:
            if not self.packed:
                size = round_up(size, member.align)
                align = max(align, member.align)
            offsets.append(size)
            size += member.size
        align = max(align, self.least_align)
        object.__setattr__(self, "offsets", tuple(offsets))
        depth = 1 + max((member.depth for member in self.members), default=0)
        parts = sum(member.parts for member in self.members)
        within = 1 + sum(member.members_within for member in self.members)
        key = (self.id, id(self.owner))
        self._settle(key, round_up(size, align), align, depth, max(1, parts), within)

    def __str__(self) -> str:
        return f"struct %{self.id}"


@light_dataclass(eq=False)
class Pointer(Type):
    """An address in a storage class; `pointee` is None where it is not said what is there."""

    storage: int
    pointee: Type | None = None
    forward: bool = field(default=False, repr=False)
    """Whether it was declared before what it points to; then it is equal only to itself."""

    def __post_init__(self) -> None:
        key = (self.storage, id(self) if self.forward else self.pointee)
        depth = 1 + (self.pointee.depth if self.pointee is not None else 0)
        within = 1  # what data a pointer leads to, nobody compares or walks through
        if isinstance(self.pointee, Pointer | FunctionType):
            within += self.pointee.members_within
        self._settle(key, POINTER_SIZE, POINTER_SIZE, depth, members_within=within)

    def settle_pointee(self, pointee: Type) -> None:
        """Says what a forward pointer points to, once that is known."""
        object.__setattr__(self, "pointee", pointee)

    def __str__(self) -> str:
        target = "void" if self.pointee is None else brief(self.pointee)
        return f"{STORAGE_WORDS.get(self.storage, self.storage)} {target}*"

    def __repr__(self) -> str:
        return f"Pointer({self.storage}, {self.pointee})"


@light_dataclass(eq=False)
class FunctionType(Type):
    """What a function takes and returns."""

    result: Type
    parameters: tuple[Type, ...]

    def __post_init__(self) -> None:
        parts = (self.result, *self.parameters)
        depth = 1 + max(part.depth for part in parts)
        within = 1 + sum(part.members_within for part in parts)
        self._settle((self.result, self.parameters), 0, 1, depth, members_within=within)

    def __str__(self) -> str:
        return f"{brief(self.result)}({', '.join(map(brief, self.parameters))})"

    def __repr__(self) -> str:
        return f"FunctionType({self})"


class Handle(Type):
    """Something of the device that a program only passes around."""

    def __post_init__(self) -> None:
        self._settle((), POINTER_SIZE, POINTER_SIZE)


class Event(Handle):
    """What an asynchronous copy returns."""


class DeviceEvent(Handle):
    """What enqueueing a kernel from a kernel returns."""


class ReserveId(Handle):
    """A reservation in a pipe."""


class Queue(Handle):
    """A queue that a kernel can put kernels into."""


class PipeStorage(Handle):
    """The memory of a pipe."""


class NamedBarrier(Handle):
    """A barrier among some sub-groups of a work-group."""


class Sampler(Handle):
    """How an image is read between its pixels."""


@light_dataclass(eq=False)
class Pipe(Handle):
    """A pipe, to read from or to write to."""

    access: int = 0

    def __post_init__(self) -> None:
        self._settle(self.access, POINTER_SIZE, POINTER_SIZE)


@light_dataclass(eq=False)
class Image(Handle):
    """An image; the fields are the operands of OpTypeImage."""

    sampled_type: Type
    dim: int
    depth_image: int = 0
    arrayed: int = 0
    multisampled: int = 0
    sampled: int = 0
    format: int = 0
    access: int | None = None

    def __post_init__(self) -> None:
        shape = (self.dim, self.depth_image, self.arrayed, self.multisampled)
        key = (self.sampled_type, shape, self.sampled, self.format, self.access)
        self._settle(key, POINTER_SIZE, POINTER_SIZE)


@light_dataclass(eq=False)
class SampledImage(Handle):
    """An image together with a sampler."""

    image: Type

    def __post_init__(self) -> None:
        depth = self.image.depth + 1
        self._settle(self.image, 2 * POINTER_SIZE, POINTER_SIZE, depth)


@light_dataclass(eq=False)
class Opaque(Handle):
    """A type of which only the name is known."""

    name: str = ""

    def __post_init__(self) -> None:
        self._settle(self.name, POINTER_SIZE, POINTER_SIZE)

    def __str__(self) -> str:
        return f"opaque {self.name}"


STORAGE_WORDS = {
    StorageClass.UniformConstant: "constant",
    StorageClass.Input: "input",
    StorageClass.Workgroup: "local",
    StorageClass.CrossWorkgroup: "global",
    StorageClass.Private: "private",
    StorageClass.Function: "function",
    StorageClass.Generic: "generic",
}
"""The storage classes of kernels, in OpenCL's words."""


def brief(kind: Type) -> str:
    """A type as text, without what a function takes, which can be long beyond all measure."""
    return "function" if isinstance(kind, FunctionType) else str(kind)


def target_of(kind: Type) -> Type | None:
    """The one type that a pointer or an array is made of; None for all others."""
    if isinstance(kind, Pointer):
        return kind.pointee
    return kind.element if isinstance(kind, Vector | Array | RuntimeArray) else None


def check_chains(pointers: Sequence[Pointer]) -> None:
    """Refuses pointers that lead to themselves with no structure on the way, or too far."""
    lengths: dict[int, int] = {}  # how far it is from a type to its end, by id()
    for pointer in pointers:
        way: list[Type] = []
        kind: Type | None = pointer
        while kind is not None and id(kind) not in lengths and len(way) <= MAX_DEPTH:
            way.append(kind)
            kind = target_of(kind)
        length = lengths.get(id(kind), 0)
        if len(way) + length > MAX_DEPTH:
            raise InvalidModule(
                f"pointers are nested more than {MAX_DEPTH} deep", instruction="OpTypePointer"
            )
        for step in reversed(way):
            length += 1
            lengths[id(step)] = length


def power_of_two_from(number: int) -> int:
    """The next power of two.

    >>> [power_of_two_from(n) for n in (0, 1, 3, 4, 5)]
    [1, 1, 4, 4, 8]
    """
    return 1 << max(number - 1, 0).bit_length()


def round_up(offset: int, align: int) -> int:
    """The next multiple of an alignment."""
    return -(-offset // align) * align


def is_scalar(kind: Type) -> bool:
    """Whether values of a type are single numbers or truths."""
    return isinstance(kind, Int | Float | Bool)


def member_type(kind: Type, index: int) -> Type | None:
    """The type of a part of a composite, or None if there is no such part."""
    match kind:
        case Struct(members=members):
            return members[index] if 0 <= index < len(members) else None
        case Vector(element=element, count=count) | Array(element=element, length=count):
            return element if 0 <= index < count else None
        case RuntimeArray(element=element):
            return element
    return None


def member_count(kind: Type) -> int:
    """How many parts a composite has; 0 for what has none."""
    match kind:
        case Struct(members=members):
            return len(members)
        case Vector(count=count) | Array(length=count):
            return count
    return 0


def compatible(expected: Type, given: Type) -> bool:
    """Whether a value of one type can stand for one of another: pointers often differ."""
    return expected == given or (type(expected) is type(given) and expected.size == given.size)
