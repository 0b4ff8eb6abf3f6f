"""Guards of accesses that cannot leave their variable are dropped.

In goes a variant of a kernel with guards; out comes one without those that hold whatever the
program does: an array in local or private memory whose index follows from the group size, from
constants and from loops with a known number of iterations.
"""

from __future__ import annotations

from groundstate.compiler.analysis.intervals import Interval, Intervals
from groundstate.compiler.instrument.provenance import Provenance, known_size
from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.ir.ops import guards_of
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.types import Int


def drop_guards(kernel: Kernel, analyses: Analyses) -> bool:
    """Drops guards of accesses that are known to lie in their variables."""
    guarded = [node for node in kernel.nodes() if guards_of(node)]
    if not guarded:
        return False
    provenance, intervals = Provenance(kernel), Intervals(analyses.variant.group_size)
    dropped = False
    for node in guarded:
        for guard in guards_of(node):
            if _always_holds(guard, provenance, intervals):
                node.operands = [each for each in node.operands if each is not guard]
                dropped = True
    return dropped


def _always_holds(guard: Node, provenance: Provenance, intervals: Intervals) -> bool:
    value, _, upper = guard.operands[:3]
    _, size, align, looks = (int(str(each)) for each in guard.literals)
    if looks or align > 1:
        return False
    if isinstance(value.type, Int):
        distance, end = intervals.of(value), constant_int(upper)
        if constant_int(guard.operands[1]) != 0:
            return False
    else:
        root = provenance.root(value)
        end = known_size(root) if root is not None else None
        distance = _distance(value, root, provenance, intervals) if root is not None else None
    return (
        distance is not None and end is not None and distance[0] >= 0 and distance[1] + size <= end
    )


def _distance(
    pointer: Node, root: Node, provenance: Provenance, intervals: Intervals
) -> Interval | None:
    """Between which distances from its root a pointer leads."""
    terms = provenance.terms(pointer, lambda each: each is not root)
    if terms is None:
        return None
    low = high = terms.fixed
    for index, size in terms.steps:
        found = intervals.of(index)
        if found is None:
            return None
        low, high = low + found[0] * size, high + found[1] * size
    return low, high
