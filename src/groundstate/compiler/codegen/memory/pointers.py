"""Addresses of private memory, and what is asked of an address: which memory it leads to."""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.spirv.opcodes import MemorySemantics, StorageClass
from groundstate.compiler.spirv.types import Pointer, Type

ROOM_ALIGNMENT = 64
ROOM_BYTES = 8 << 20
"""For all arrays of variable length that a sub-group has at a time."""
TAKEN_ROOM = "%room"


class _Places:
    """Where the addresses of all lanes lead: to local memory, to what is private to work-items, or
    else to global memory."""

    def __init__(self, emitter: Emitter, pointer: Lanes) -> None:
        text = emitter.text
        self.text = text
        self.wide, self.bits = text.vector_type("i64"), text.vector_type("i1")
        address = text.vector_type("ptr")
        self.number = text.emit(f"ptrtoint {address} {text.as_vector(pointer)} to {self.wide}")

    def are_in(self, storage: int) -> str:
        """Which of the addresses lead to some memory."""
        if storage == StorageClass.Workgroup:
            return self._between("%local", "%local.end")
        if storage == StorageClass.Function:
            return self._between("%privates", "%privates.end")
        assert storage == StorageClass.CrossWorkgroup
        text = self.text
        local, private = map(self.are_in, (StorageClass.Workgroup, StorageClass.Function))
        inside = text.emit(f"or {self.bits} {local}, {private}")
        return text.emit(f"xor {self.bits} {inside}, {text.splat('i1', 'true')}")

    def _between(self, first: str, end: str) -> str:
        text = self.text
        numbers = [text.emit(f"ptrtoint ptr {each} to i64") for each in (first, end)]
        bounds = [text.splat("i64", each) for each in numbers]
        after = text.emit(f"icmp uge {self.wide} {self.number}, {bounds[0]}")
        before = text.emit(f"icmp ult {self.wide} {self.number}, {bounds[1]}")
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
        (StorageClass.Workgroup, MemorySemantics.WorkgroupMemory),
        (StorageClass.CrossWorkgroup, MemorySemantics.CrossWorkgroupMemory),
    ):
        fits = places.are_in(storage)
        value = text.splat("i32", str(bit))
        result = text.emit(f"select {places.bits} {fits}, {wide} {value}, {wide} {result}")
    vector = Lanes("i32", result, None if emitter.width > 1 else 0)
    if emitter.divergence.stride(node) == 0 and emitter.width > 1:
        vector = Lanes("i32", text.lane(vector, 0))
    emitter.define(node, vector)


# --- Private memory -------------------------------------------------------------------------------


@handles("Variable")
def _variable(emitter: Emitter, node: Node) -> None:
    """A private variable with an address: each lane's copy lies behind the one before."""
    assert emitter.context.private_base is not None
    base = emitter.context.private_base(emitter, node)
    emitter.define(node, Lanes("ptr", base, emitter.divergence.stride(node)))


@handles("VariableLengthArrayINTEL")
def _variable_length(emitter: Emitter, node: Node) -> None:
    """Room for each lane's array at the end of private memory, as much for each as the longest
    takes. An array for which there is no room begins where private memory ends, so that whoever
    uses it is stopped."""
    text = emitter.text
    taken = _taken_room(emitter)
    start = text.emit(f"load ptr, ptr {taken}")
    most = ROOM_BYTES // emitter.width // ROOM_ALIGNMENT * ROOM_ALIGNMENT
    size = max(1, array_element(node).size)
    length = _longest(emitter, emitter.scalar(node.operands[0]))
    longest = text.call("i64", "llvm.umin.i64", [("i64", length), ("i64", str(most // size + 1))])
    exact = text.emit(f"mul i64 {longest}, {size}")
    more = text.emit(f"add i64 {exact}, {ROOM_ALIGNMENT - 1}")
    room = text.emit(f"and i64 {more}, -{ROOM_ALIGNMENT}")
    total = text.emit(f"mul i64 {room}, {emitter.width}")
    end = text.emit(f"getelementptr i8, ptr {start}, i64 {total}")
    fits = text.emit(f"icmp ule ptr {end}, %privates.end")
    base = text.emit(f"select i1 {fits}, ptr {start}, ptr %privates.end")
    text.do(f"store ptr {text.emit(f'select i1 {fits}, ptr {end}, ptr {start}')}, ptr {taken}")
    if emitter.width == 1:
        emitter.define(node, Lanes("ptr", base))
        return
    wide = text.vector_type("i64")
    lanes = text.as_vector(Lanes("i64", "0", 1))
    offsets = text.emit(f"mul {wide} {text.splat('i64', room)}, {lanes}")
    emitter.define(
        node, Lanes("ptr", text.emit(f"getelementptr i8, ptr {base}, {wide} {offsets}"), None)
    )


def array_element(node: Node) -> Type:
    """The elements of an array of variable length."""
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


def _taken_room(emitter: Emitter) -> str:
    """Where it stands how far the room for arrays of variable length is taken."""
    if emitter.context.room_bytes == 0:
        emitter.context.room_bytes = ROOM_BYTES
        start = f"getelementptr i8, ptr %privates.end, i64 -{ROOM_BYTES}"
        emitter.allocas += [
            f"  {TAKEN_ROOM} = alloca ptr",
            f"  {TAKEN_ROOM}.start = {start}",
            f"  store ptr {TAKEN_ROOM}.start, ptr {TAKEN_ROOM}",
        ]
    return TAKEN_ROOM


@handles("SaveMemoryINTEL")
def _save(emitter: Emitter, node: Node) -> None:
    taken = _taken_room(emitter)
    emitter.define(node, Lanes("ptr", emitter.text.emit(f"load ptr, ptr {taken}")))


@handles("RestoreMemoryINTEL")
def _restore(emitter: Emitter, node: Node) -> None:
    """Gives back the room that was taken since. Where only some lanes are, others may still need
    it: it is given back when the sub-group ends."""
    pointer = emitter.scalar(node.operands[0])
    if emitter.block not in emitter.divergence.divergent_blocks and pointer.stride == 0:
        emitter.text.do(f"store ptr {pointer.name}, ptr {_taken_room(emitter)}")
