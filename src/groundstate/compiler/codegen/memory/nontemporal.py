"""Stores that go around the cache.

A launch whose results are larger than the cache need not read the lines that it overwrites. That
pays for stores that happen once for each work-item, to memory that the kernel does not read. A
program that calls a store `Nontemporal` knows that it pays, whatever the size of the launch.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops import CHAINS, Effect, operation
from groundstate.compiler.spirv.opcodes import MemoryAccess

MOST_STEPS = 64
"""From an argument to an address that is computed from it."""
FENCE = "  fence seq_cst"
"""Behind the last store, so that others see the results when they hear that they are there."""


def nontemporal_stores(kernel: Kernel, cfg: CFG) -> set[Node]:
    """The stores of a kernel that may go around the cache."""
    nodes = list(kernel.nodes())
    if any(map(_orders_memory, nodes)):
        return set()
    read = {_argument(node.operands[0]) for node in nodes if node.op == "Load"}
    return {
        node
        for node in nodes
        if node.op == "Store"
        and node.block is not None
        and (
            _is_nontemporal(node)
            or (
                node.block not in cfg.loop_of
                and (written := _argument(node.operands[0])) is not None
                and written not in read
            )
        )
    }


def _orders_memory(node: Node) -> bool:
    """Whether others may rely on what was stored before a node: no fence waits for such stores."""
    return bool(operation(node).effect & Effect.ORDERS)


def _is_nontemporal(store: Node) -> bool:
    flags = next((each for each in store.literals if isinstance(each, int)), 0)
    return bool(flags & MemoryAccess.Nontemporal)


def condition(emitter: Emitter, store: Node) -> str:
    """When a store goes around the cache, as a truth value of LLVM; empty for never."""
    context = emitter.context
    if store not in context.nontemporal:
        return ""
    return "true" if _is_nontemporal(store) else str(context.streams)


def _argument(pointer: Node) -> Node | None:
    """The kernel argument that an address is computed from."""
    for _ in range(MOST_STEPS):
        if pointer.op not in CHAINS and pointer.op != "Bitcast":
            break
        pointer = pointer.operands[0]
    return pointer if pointer.op == "Argument" else None


def store_vector(
    emitter: Emitter, wide: str, size: int, name: str, pointer: str, align: int
) -> None:
    """Stores a vector of `size` bytes, around the cache if the launch and the address allow it."""
    text, context = emitter.text, emitter.context
    plain = f"store {wide} {name}, ptr {pointer}, align {align}"
    needed = context.target.vector_bytes
    if not emitter.streams or size % needed:
        text.do(plain)
        return
    number = text.emit(f"ptrtoint ptr {pointer} to i64")
    low = text.emit(f"and i64 {number}, {needed - 1}")
    aligned = text.emit(f"icmp eq i64 {low}, 0")
    both = text.emit(f"and i1 {aligned}, {emitter.streams}")
    around, through, after = text.label("around"), text.label("through"), text.label("stored")
    text.do(f"br i1 {both}, label %{around}, label %{through}")
    text.start(around)
    text.do(f"store {wide} {name}, ptr {pointer}, align {needed}, !nontemporal !1")
    text.do(f"br label %{after}")
    text.start(through)
    text.do(plain)
    text.do(f"br label %{after}")
    text.start(after)
