"""Addresses of private memory, and what is asked of an address: which memory it leads to."""

from __future__ import annotations

from groundstate.compiler.emit.emitter import Emitter, handles
from groundstate.compiler.emit.text import overloaded
from groundstate.compiler.emit.values import Lanes
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Node
from groundstate.compiler.lower import is_group_barrier
from groundstate.compiler.spirv.types import Pointer, Type

STORAGE_WORKGROUP, STORAGE_CROSS_WORKGROUP, STORAGE_FUNCTION = 4, 5, 7
WORKGROUP_MEMORY, CROSS_WORKGROUP_MEMORY = 0x100, 0x200
ROOM_ALIGNMENT = 64


class _Places:
    """Where the addresses of all lanes lead. Local memory is at the start of the scratch memory,
    what is private to work-items behind it, and all else is global."""

    def __init__(self, emitter: Emitter, pointer: Lanes) -> None:
        text = emitter.text
        self.text = text
        self.wide, self.bits = text.vector_type("i64"), text.vector_type("i1")
        address = text.vector_type("ptr")
        self.number = text.emit(f"ptrtoint {address} {text.as_vector(pointer)} to {self.wide}")
        bounds = emitter.context.scratch_bounds
        numbers = [text.emit(f"ptrtoint ptr {each} to i64") for each in bounds]
        self.start, self.middle, self.end = (text.splat("i64", each) for each in numbers)

    def are_in(self, storage: int) -> str:
        """Which of the addresses lead to some memory."""
        if storage == STORAGE_WORKGROUP:
            return self._between(self.start, self.middle)
        if storage == STORAGE_FUNCTION:
            return self._between(self.middle, self.end)
        if storage == STORAGE_CROSS_WORKGROUP:
            inside = self._between(self.start, self.end)
            return self.text.emit(f"xor {self.bits} {inside}, {self.text.splat('i1', 'true')}")
        raise BuildError(f"no generic pointer leads to storage class {storage}")

    def _between(self, first: str, end: str) -> str:
        text = self.text
        after = text.emit(f"icmp uge {self.wide} {self.number}, {first}")
        before = text.emit(f"icmp ult {self.wide} {self.number}, {end}")
        return text.emit(f"and {self.bits} {after}, {before}")


@handles("GenericCastToPtrExplicit")
def _cast_explicit(emitter: Emitter, node: Node) -> None:
    """The same pointer if it leads to the memory that is asked for, else null."""
    text = emitter.text
    pointer = emitter.scalar(node.operands[0])
    places = _Places(emitter, pointer)
    fits = places.are_in(int(str(node.literals[0])))
    address = text.vector_type("ptr")
    null = "null" if emitter.width == 1 else "zeroinitializer"
    chosen = text.emit(
        f"select {places.bits} {fits}, {address} {text.as_vector(pointer)}, {address} {null}"
    )
    emitter.define(node, Lanes("ptr", chosen, None if emitter.width > 1 else 0))


@handles("GenericPtrMemSemantics")
def _semantics(emitter: Emitter, node: Node) -> None:
    """The bit of memory semantics for the memory that a pointer leads to; private has none."""
    text = emitter.text
    places = _Places(emitter, emitter.scalar(node.operands[0]))
    wide = text.vector_type("i32")
    result = text.splat("i32", "0")
    for storage, bit in (
        (STORAGE_WORKGROUP, WORKGROUP_MEMORY),
        (STORAGE_CROSS_WORKGROUP, CROSS_WORKGROUP_MEMORY),
    ):
        fits = places.are_in(storage)
        value = text.splat("i32", str(bit))
        result = text.emit(f"select {places.bits} {fits}, {wide} {value}, {wide} {result}")
    vector = Lanes("i32", result, None if emitter.width > 1 else 0)
    if emitter.uniformity.shape(node) == 0 and emitter.width > 1:
        vector = Lanes("i32", text.lane(vector, 0))
    emitter.define(node, vector)


# --- Private memory -------------------------------------------------------------------------------


@handles("Variable")
def _variable(emitter: Emitter, node: Node) -> None:
    """A private variable with an address: each lane's copy lies behind the one before."""
    if emitter.context.private_base is None:
        raise BuildError("there is no room for a private variable")
    base = emitter.context.private_base(emitter, node)
    emitter.define(node, Lanes("ptr", base, emitter.uniformity.shape(node)))


@handles("VariableLengthArrayINTEL")
def _variable_length(emitter: Emitter, node: Node) -> None:
    """Room on the stack for each lane's array, as much for each as the longest takes."""
    if any(map(is_group_barrier, emitter.kernel.nodes())):
        raise BuildError("an array of variable length does not outlive a barrier")
    text = emitter.text
    length = _longest(emitter, emitter.scalar(node.operands[0]))
    size = _element(node).size
    exact = text.emit(f"mul i64 {length}, {size}")
    more = text.emit(f"add i64 {exact}, {ROOM_ALIGNMENT - 1}")
    room = text.emit(f"and i64 {more}, -{ROOM_ALIGNMENT}")
    total = text.emit(f"mul i64 {room}, {emitter.width}")
    base = text.emit(f"alloca i8, i64 {total}, align {ROOM_ALIGNMENT}")
    if emitter.width == 1:
        emitter.define(node, Lanes("ptr", base))
        return
    wide = text.vector_type("i64")
    lanes = text.as_vector(Lanes("i64", "0", 1))
    offsets = text.emit(f"mul {wide} {text.splat('i64', room)}, {lanes}")
    emitter.define(
        node, Lanes("ptr", text.emit(f"getelementptr i8, ptr {base}, {wide} {offsets}"), None)
    )


def _element(node: Node) -> Type:
    if node.literals and isinstance(node.literals[0], Type):
        return node.literals[0]
    assert isinstance(node.type, Pointer)
    assert node.type.pointee is not None
    return node.type.pointee


def _longest(emitter: Emitter, length: Lanes) -> str:
    """The largest number of all active lanes, as i64."""
    text = emitter.text
    name = length.name
    if emitter.width > 1 and length.stride != 0:
        wide = text.vector_type(length.type)
        zero = text.splat(length.type, "0")
        given = text.select(emitter.mask, length.type, text.as_vector(length), zero)
        name = text.call(
            length.type, f"llvm.vector.reduce.umax.{overloaded(wide)}", [(wide, given)]
        )
    if length.type == "i64":
        return name
    return text.emit(f"zext {length.type} {name} to i64")


@handles("SaveMemoryINTEL")
def _save(emitter: Emitter, node: Node) -> None:
    emitter.define(node, Lanes("ptr", emitter.text.call("ptr", "llvm.stacksave.p0", [])))


@handles("RestoreMemoryINTEL")
def _restore(emitter: Emitter, node: Node) -> None:
    """Gives back what was taken from the stack since. Where only some lanes are, others may still
    need it: it is given back when the sub-group ends."""
    pointer = emitter.scalar(node.operands[0])
    if emitter.block not in emitter.uniformity.partial and pointer.stride == 0:
        emitter.text.call("void", "llvm.stackrestore.p0", [("ptr", pointer.name)])
