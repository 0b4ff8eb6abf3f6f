"""Whether lanes that are done with a loop can take the next work-items.

Where work-items go round a loop for very different times, most lanes of a vector wait for the last
one. If nobody can tell which work-items run side by side, a lane that is done need not wait: it
ends its work-item and begins the next one, of the same group or of a later one, while the other
lanes are still in the loop. So lanes are in different iterations, and whatever the loop carries
along differs between them.
"""

from __future__ import annotations

from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.ops import guards_of, has_side_effects
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Pointer

GroupSize = tuple[int, int, int]
PLAIN = frozenset(("Load", "Store"))


def refilled_loop(cfg: CFG) -> Loop | None:
    """The loop that is left and entered again: the only one that is in no other."""
    outer = [loop for loop in cfg.loops if loop.parent is None]
    return outer[0] if len(outer) == 1 and cfg.reducible else None


def can_refill(kernel: Kernel, cfg: CFG, group_size: GroupSize) -> bool:
    """True if work-items of several groups can be side by side: they have no memory of their group,
    and do nothing but compute, load and store. Groups lie in a line, so that ids are had by
    counting. Reports of checked mode need the ids at every access."""
    return (
        refilled_loop(cfg) is not None
        and group_size[1:] == (1, 1)
        and all(map(is_plain, kernel.nodes()))
    )


def is_plain(node: Node) -> bool:
    """True for an operation that does the same whichever work-items run beside its own."""
    if guards_of(node) or any(map(_is_of_group, (node, *node.operands))):
        return False
    return node.op in PLAIN or not has_side_effects(node)


def _is_of_group(node: Node) -> bool:
    return isinstance(node.type, Pointer) and node.type.storage == StorageClass.Workgroup
