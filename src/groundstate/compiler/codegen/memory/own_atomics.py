"""Atomic operations on local memory, which are none for the CPU.

The work-items of a group run on one thread, one vector after the other, and nobody else sees the
group's local memory. So an atomic operation there is a load, an operation and a store, which take a
tenth of the time of a locked instruction. Lanes take turns, as they do elsewhere. What an operation
orders, only the group could tell: it is enough that LLVM keeps the order.
"""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.text import overloaded, scalar_bytes
from groundstate.compiler.ir import Node
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Pointer

PLAIN = {
    **{kind: f"{kind} {{t}} {{old}}, {{value}}" for kind in ("add", "sub", "and", "or", "xor")},
    "fadd": "fadd {t} {old}, {value}",
}
"""LLVM's instruction for an operation that is one."""
CALLS = {"min": "smin", "max": "smax", "umin": "umin", "umax": "umax"}
CALLS |= {"fmin": "minnum", "fmax": "maxnum"}
"""The intrinsic for one that is not."""


def is_own(node: Node) -> bool:
    """Whether an atomic operation is on memory that only the thread of its group uses."""
    place = node.operands[0].type
    return isinstance(place, Pointer) and place.storage == StorageClass.Workgroup


def update(
    emitter: Emitter, kind: str, type_: str, address: str, value: str, order: str, own: bool
) -> str:
    """Writes an operation of LLVM's `atomicrmw` for one address; what was there before."""
    text = emitter.text
    if not own:
        return text.emit(f"atomicrmw {kind} ptr {address}, {type_} {value} {order}")
    _keep_order(emitter, order)
    old = text.emit(f"load {type_}, ptr {address}, align {scalar_bytes(type_)}")
    if kind in CALLS:
        function = f"llvm.{CALLS[kind]}.{overloaded(type_)}"
        new = text.call(type_, function, [(type_, old), (type_, value)])
    else:
        template = PLAIN.get(kind)
        new = text.emit(template.format(t=type_, old=old, value=value)) if template else value
    text.do(f"store {type_} {new}, ptr {address}, align {scalar_bytes(type_)}")
    _keep_order(emitter, order)
    return old


def compare_exchange(
    emitter: Emitter, type_: str, names: tuple[str, str, str], orders: tuple[str, str], own: bool
) -> str:
    """Writes a compare-and-exchange of an address, a value and what is expected; what was there."""
    text = emitter.text
    address, value, expected = names
    if not own:
        operands = f"ptr {address}, {type_} {expected}, {type_} {value}"
        pair = text.emit(f"cmpxchg {operands} {orders[0]} {orders[1]}")
        return text.emit(f"extractvalue {{ {type_}, i1 }} {pair}, 0")
    _keep_order(emitter, orders[0])
    old = text.emit(f"load {type_}, ptr {address}, align {scalar_bytes(type_)}")
    same = text.emit(f"icmp eq {type_} {old}, {expected}")
    new = text.emit(f"select i1 {same}, {type_} {value}, {type_} {old}")
    text.do(f"store {type_} {new}, ptr {address}, align {scalar_bytes(type_)}")
    _keep_order(emitter, orders[0])
    return old


def _keep_order(emitter: Emitter, order: str) -> None:
    if order != "monotonic":
        emitter.text.do(f'fence syncscope("singlethread") {order}')
