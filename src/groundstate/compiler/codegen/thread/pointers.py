"""Private memory of a thread, and which memory a generic address leads to."""

from __future__ import annotations

from groundstate.compiler.codegen.memory.pointers import array_element
from groundstate.compiler.codegen.thread.emitter import ThreadEmitter, writes
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.addresses import array_step
from groundstate.compiler.spirv.opcodes import MemorySemantics, StorageClass
from groundstate.compiler.spirv.types import Pointer

MEMORIES = {
    StorageClass.Workgroup: "shared",
    StorageClass.Function: "local",
    StorageClass.CrossWorkgroup: "global",
}
"""What PTX calls the memory of a storage class."""
MOST_ALIGNMENT = 16
ROOM = "%room"
ROOM_BYTES = 4096
"""For all arrays of variable length that a work-item has at a time. The GPU sets as much aside for
each thread that it can run at once: 4 KiB are 1.1 GB on an H200, for as long as the module is
there."""


def _leads_to(emitter: ThreadEmitter, pointer: Lanes, memory: str) -> str:
    return emitter.text.call("i1", f"llvm.nvvm.isspacep.{memory}", [("ptr", pointer.name)])


@writes("GenericCastToPtrExplicit")
def _cast_explicit(emitter: ThreadEmitter, node: Node) -> None:
    """The same pointer if it leads to the memory that is asked for, else null."""
    pointer = emitter.scalar(node.operands[0])
    memory = MEMORIES[int(str(node.literals[0]))]
    fits = _leads_to(emitter, pointer, memory)
    chosen = emitter.text.emit(f"select i1 {fits}, ptr {pointer.name}, ptr null")
    emitter.define(node, Lanes("ptr", chosen))


@writes("GenericPtrMemSemantics")
def _semantics(emitter: ThreadEmitter, node: Node) -> None:
    """The bit of memory semantics for the memory that a pointer leads to; private has none."""
    text, pointer, result = emitter.text, emitter.scalar(node.operands[0]), "0"
    for memory, bit in (
        ("shared", MemorySemantics.WorkgroupMemory),
        ("global", MemorySemantics.CrossWorkgroupMemory),
    ):
        fits = _leads_to(emitter, pointer, memory)
        result = text.emit(f"select i1 {fits}, i32 {int(bit)}, i32 {result}")
    emitter.define(node, Lanes("i32", result))


@writes("Variable")
def _variable(emitter: ThreadEmitter, node: Node) -> None:
    """A private variable, whose room is there from the start of the kernel on."""
    assert isinstance(node.type, Pointer)
    pointee = node.type.pointee
    size = max(1, pointee.size) if pointee is not None else 1
    align = max(1, min(pointee.align, MOST_ALIGNMENT)) if pointee is not None else 1
    name = f"%p{node.index}"
    emitter.allocas.append(f"  {name} = alloca [{size} x i8], align {align}")
    emitter.define(node, Lanes("ptr", name))


# --- Arrays of variable length ------------------------------------------------------------------


@writes("VariableLengthArrayINTEL")
def _variable_length(emitter: ThreadEmitter, node: Node) -> None:
    """A part of the room that the kernel has for all of them. Without room the kernel traps."""
    text, taken = emitter.text, _taken_room(emitter)
    length = emitter.scalar(node.operands[0])
    count = length.name
    if length.type != "i64":
        count = text.emit(f"zext {length.type} {count} to i64")
    size = max(1, array_step(array_element(node)))
    count = text.call("i64", "llvm.umin.i64", [("i64", count), ("i64", str(ROOM_BYTES + 1))])
    exact = text.emit(f"mul i64 {count}, {size}")
    more = text.emit(f"add i64 {exact}, {MOST_ALIGNMENT - 1}")
    room = text.emit(f"and i64 {more}, -{MOST_ALIGNMENT}")
    start = text.emit(f"load i64, ptr {taken}")
    end = text.emit(f"add i64 {start}, {room}")
    fits = text.emit(f"icmp ule i64 {end}, {ROOM_BYTES}")
    beyond, inside = text.label("full"), text.label("room")
    text.do(f"br i1 {fits}, label %{inside}, label %{beyond}")
    text.start(beyond)
    text.call("void", "llvm.trap", [])
    text.do(f"br label %{inside}")
    text.start(inside)
    text.do(f"store i64 {end}, ptr {taken}")
    emitter.define(node, Lanes("ptr", text.emit(f"getelementptr i8, ptr {ROOM}, i64 {start}")))


@writes("SaveMemoryINTEL")
def _save(emitter: ThreadEmitter, node: Node) -> None:
    """How much of the room is taken, as a pointer."""
    taken = emitter.text.emit(f"load i64, ptr {_taken_room(emitter)}")
    emitter.define(node, Lanes("ptr", emitter.text.emit(f"inttoptr i64 {taken} to ptr")))


@writes("RestoreMemoryINTEL")
def _restore(emitter: ThreadEmitter, node: Node) -> None:
    """Gives back what was taken since."""
    saved = emitter.scalar(node.operands[0])
    taken = emitter.text.emit(f"ptrtoint ptr {saved.name} to i64")
    emitter.text.do(f"store i64 {taken}, ptr {_taken_room(emitter)}")


def _taken_room(emitter: ThreadEmitter) -> str:
    """The variable that tells how much of the room is taken; made with the room on first use."""
    taken = f"{ROOM}.taken"
    if not emitter.context.has_room:
        emitter.context.has_room = True
        emitter.allocas += (
            f"  {ROOM} = alloca [{ROOM_BYTES} x i8], align {MOST_ALIGNMENT}",
            f"  {taken} = alloca i64",
            f"  store i64 0, ptr {taken}",
        )
    return taken
