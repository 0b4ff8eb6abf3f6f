"""Stores that go around the cache.

A launch whose results are larger than the cache need not read the lines that it overwrites. That
pays for stores that happen once for each work-item and fill whole lines, to memory that the kernel
does not read: a line that was just read is in the cache. Whether two arguments are the same memory,
only the launch knows. A program that calls a store `Nontemporal` knows that it pays, whatever the
size of the launch.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.memory.masked import store_masked
from groundstate.compiler.codegen.memory.ordering import barrier_fence
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops import CHAINS, Effect, operation
from groundstate.compiler.lower.barriers import is_group_barrier
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
    read = _read_arguments(kernel)
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


def _read_arguments(kernel: Kernel) -> set[Node | None]:
    """The arguments that a kernel loads from; None stands for addresses from elsewhere."""
    return {_argument(node.operands[0]) for node in kernel.nodes() if node.op == "Load"}


def _orders_memory(node: Node) -> bool:
    """Whether others may rely on what was stored before a node: no fence waits for such stores.

    The work-items of a group run on one thread, which sees its own stores in order."""
    if is_group_barrier(node):
        return node.op == "ControlBarrier" and barrier_fence(node) != ""
    return bool(operation(node).effect & Effect.ORDERS)


def _is_nontemporal(store: Node) -> bool:
    flags = next((each for each in store.literals if isinstance(each, int)), 0)
    return bool(flags & MemoryAccess.Nontemporal)


def condition(emitter: Emitter, store: Node) -> str:
    """When a store goes around the cache, as a truth value of LLVM; empty for never."""
    context = emitter.context
    if store not in context.nontemporal:
        return ""
    if _is_nontemporal(store):
        return "true"
    written = _argument(store.operands[0])
    assert written is not None
    if written not in context.streams:
        context.streams[written] = _reads_elsewhere(emitter, written)
    return context.streams[written]


def _reads_elsewhere(emitter: Emitter, written: Node) -> str:
    """True if the launch is large, and no argument that the kernel reads is the one that it
    writes."""
    text, result = emitter.text, emitter.context.is_large
    place = emitter.scalar(written)
    read = [each for each in _read_arguments(emitter.kernel) if each is not None]
    for argument in sorted(read, key=_number):
        value = emitter.get(argument)
        if isinstance(value, Lanes) and value.type == "ptr":
            other = text.emit(f"icmp ne ptr {place.name}, {value.name}")
            result = text.emit(f"and i1 {result}, {other}")
    return result


def _number(argument: Node) -> int:
    return int(str(argument.literals[0]))


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
    text = emitter.text
    plain = f"store {wide} {name}, ptr {pointer}, align {align}"
    around = _begin_choice(emitter, size, pointer)
    text.do(plain)
    if around:
        _end_choice(emitter, around, wide, name, pointer)


def store_masked_vector(
    emitter: Emitter, wide: str, size: int, name: str, pointer: str, align: int, mask: str
) -> None:
    """Stores the active lanes of a vector of `size` bytes, around the cache where all lanes
    are active. Without mask registers, blocks with stores are written for both cases anyway."""
    around = ""
    if emitter.mask is not None and emitter.context.target.has_mask_registers:
        around = _begin_choice(emitter, size, pointer, emitter.mask)
    store_masked(emitter, wide, name, pointer, align, mask)
    if around:
        _end_choice(emitter, around, wide, name, pointer)


def _begin_choice(emitter: Emitter, size: int, pointer: str, mask: str | None = None) -> str:
    """Branches to where a vector is stored around the cache, and begins the other way. Returns the
    label of the former; empty if it never is."""
    text, needed = emitter.text, emitter.context.target.vector_bytes
    if not emitter.streams or size % needed or not _fills_lines(emitter, size):
        return ""
    number = text.emit(f"ptrtoint ptr {pointer} to i64")
    low = text.emit(f"and i64 {number}, {needed - 1}")
    aligned = text.emit(f"icmp eq i64 {low}, 0")
    holds = text.emit(f"and i1 {aligned}, {emitter.streams}")
    if mask is not None:
        holds = text.emit(f"and i1 {holds}, {text.all(mask)}")
    around, through = text.label("around"), text.label("through")
    text.do(f"br i1 {holds}, label %{around}, label %{through}")
    text.start(through)
    return around


def _end_choice(emitter: Emitter, around: str, wide: str, name: str, pointer: str) -> None:
    text, needed = emitter.text, emitter.context.target.vector_bytes
    after = text.label("stored")
    text.do(f"br label %{after}")
    text.start(around)
    text.do(f"store {wide} {name}, ptr {pointer}, align {needed}, !nontemporal !1")
    text.do(f"br label %{after}")
    text.start(after)


def _fills_lines(emitter: Emitter, size: int) -> bool:
    """True if a row of the group writes whole lines, one vector of `size` bytes after the other."""
    divergence = emitter.divergence
    if emitter.streams == "true" or not divergence.rows_are_whole:
        return True
    row = divergence.group_size[divergence.axis] // divergence.width
    return row * size % emitter.context.target.cache_line_bytes == 0
