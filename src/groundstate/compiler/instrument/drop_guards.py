"""Guards of accesses that cannot leave their variable are dropped.

In goes a variant of a kernel with guards; out comes one without those that hold whatever the
program does: an array in local or private memory whose index follows from the group size, from
constants and from loops with a known number of iterations. Reports of such an index go, too.
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
    intervals = Intervals(analyses.variant.group_size)
    dropped = _drop_reports(kernel, intervals)
    if not guarded:
        return dropped
    provenance = Provenance(kernel)
    for node in guarded:
        for guard in guards_of(node):
            if _always_holds(guard, provenance, intervals):
                node.operands = [each for each in node.operands if each is not guard]
                dropped = True
    return dropped


def _drop_reports(kernel: Kernel, intervals: Intervals) -> bool:
    """Drops reports of indices that are known to be less than what they are compared with."""
    dropped = False
    for block in kernel.blocks:
        needless = {node for node in block.nodes if _is_never_made(node, intervals)}
        if needless:
            block.nodes = [node for node in block.nodes if node not in needless]
            dropped = True
    return dropped


def _is_never_made(report: Node, intervals: Intervals) -> bool:
    condition = report.operands[0] if report.op == "Report" else None
    if condition is not None and condition.op == "LogicalAnd":
        condition = condition.operands[0]
    if condition is None or condition.op != "UGreaterThanEqual":
        return False
    number, end = intervals.of(condition.operands[0]), constant_int(condition.operands[1])
    return number is not None and end is not None and number[0] >= 0 and number[1] < end


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
