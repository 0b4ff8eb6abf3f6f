"""Private memory of a thread, and which memory a generic address leads to."""

from __future__ import annotations

from groundstate.compiler.codegen.thread.emitter import ThreadEmitter, writes
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Node
from groundstate.compiler.spirv.opcodes import MemorySemantics, StorageClass
from groundstate.compiler.spirv.types import Pointer

MEMORIES = {
    StorageClass.Workgroup: "shared",
    StorageClass.Function: "local",
    StorageClass.CrossWorkgroup: "global",
}
"""What PTX calls the memory of a storage class."""
MOST_ALIGNMENT = 16


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


@writes("VariableLengthArrayINTEL", "SaveMemoryINTEL", "RestoreMemoryINTEL")
def _variable_length(emitter: ThreadEmitter, node: Node) -> None:
    del emitter, node
    raise BuildError("arrays of variable length are not supported on GPUs")
