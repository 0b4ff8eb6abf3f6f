"""Atomic instructions on private memory: nobody else sees it, so they are plain accesses. PTX has
no atomic ones for it.
"""

from __future__ import annotations

from groundstate.compiler.codegen.groups.operations import combine
from groundstate.compiler.codegen.thread.emitter import ThreadEmitter
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Pointer


def is_private(node: Node) -> bool:
    """Whether an atomic instruction is known to be one on private memory."""
    pointer = node.operands[0].type
    return isinstance(pointer, Pointer) and pointer.storage == StorageClass.Function


def load(emitter: ThreadEmitter, node: Node, type_: str) -> Lanes:
    """What lies there."""
    pointer = emitter.scalar(node.operands[0])
    return Lanes(type_, emitter.text.emit(f"load {type_}, ptr {pointer.name}"))


def store(emitter: ThreadEmitter, node: Node, value: Lanes) -> None:
    """Writes a value."""
    pointer = emitter.scalar(node.operands[0])
    emitter.text.do(f"store {value.type} {value.name}, ptr {pointer.name}")


def change(emitter: ThreadEmitter, node: Node, kind: str, value: Lanes) -> Lanes:
    """Puts a value together with what lies there, by an operation of groups, or by none: then it
    takes its place. What lay there before."""
    before = load(emitter, node, value.type)
    if kind:
        both = combine(kind, value.type, before.name, value.name, emitter)
        value = Lanes(value.type, both)
    store(emitter, node, value)
    return before


def exchange(emitter: ThreadEmitter, node: Node, comparator: Lanes, value: Lanes) -> Lanes:
    """Writes a value if another lies there. What lay there before."""
    before = load(emitter, node, value.type)
    text = emitter.text
    same = text.emit(f"icmp eq {value.type} {before.name}, {comparator.name}")
    chosen = text.emit(f"select i1 {same}, {value.type} {value.name}, {value.type} {before.name}")
    store(emitter, node, Lanes(value.type, chosen))
    return before
