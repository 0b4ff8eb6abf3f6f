"""Whether the lanes of a sub-group may lie along another axis of the group than its first.

Many kernels have the row of a matrix as their first axis: `i = get_global_id(0)` and
`j = get_global_id(1)`, with `a[i * n + j]`. Lanes along the first axis would gather from as many
rows; along the second one they read what lies one behind the other. If nobody can tell which
work-items run side by side, the group is walked through in the other order. So are the groups of
the launch: the next one goes on in the same lines of the cache.
"""

from __future__ import annotations

from groundstate.compiler.analysis.refill import is_plain
from groundstate.compiler.ir import Kernel, Node

GroupSize = tuple[int, int, int]
WITHOUT_ORDER = frozenset(
    (
        *("LocalInvocationId", "GlobalInvocationId", "WorkgroupId", "NumWorkgroups"),
        *("GlobalOffset", "GlobalSize", "WorkDim", "WorkgroupSize", "EnqueuedWorkgroupSize"),
    )
)
"""The built-in variables that do not depend on the order of the work-items of a group."""


def other_axes(kernel: Kernel, group_size: GroupSize, first: int) -> tuple[int, ...]:
    """The axes along which lanes might lie instead of the first."""
    others = tuple(axis for axis in range(3) if axis != first and group_size[axis] > 1)
    is_free = not kernel.observes_subgroups and all(map(_is_free, kernel.nodes()))
    return others if others and is_free else ()


def group_order(axis: int | None) -> tuple[int, ...]:
    """The axes along which groups follow each other, the fastest first, where lanes were turned to
    an axis. All shapes of a kernel have to agree on it, as a launch is divided between them."""
    return tuple(sorted(range(3), key=lambda each: (each != axis, each)))


def _is_free(node: Node) -> bool:
    return is_plain(node) and (node.op != "Builtin" or node.literals[0] in WITHOUT_ORDER)
