"""In which shapes a kernel is compiled: as vectors of work-items, or one work-item after the other.

A shape has a number, for the kernel cache: how many work-items run side by side, and what is added
for lanes that are refilled or lie along another axis.

A kernel whose work-items do not wait for each other, and cannot tell how they run, may run in
either way. If lanes leave a loop one by one, a narrower vector lies between them. The kernel begins
in the shape that seems cheaper. Others that could be faster are compiled when it has run for some
time, and compared on the program's own data.
"""

from __future__ import annotations

from groundstate import knobs
from groundstate.compiler.analysis import facts
from groundstate.compiler.analysis.cost import accesses_apart, estimate, has_gathers
from groundstate.compiler.analysis.divergence import Divergence
from groundstate.compiler.analysis.refill import can_refill, refilled_loop
from groundstate.compiler.analysis.rows import TURNED_ROWS, rows_together, turned_loads
from groundstate.compiler.analysis.waiting import may_wait
from groundstate.compiler.ir.passes import GroupSize, Variant

ONE_BY_ONE = 1
REFILLED = 256
"""Added to the width of a vector whose lanes take the next work-items when they are done."""
MOST_REFILLED = 32
"""Lanes of such a vector: one word counts those that wait."""
TURNED = 512
"""Added for each axis that lanes do not lie along. One work-item after the other then goes along
that axis, too: a launch is divided between shapes, which have to number its groups alike."""


def shape_of(variant: Variant) -> int:
    """The number of a shape."""
    turned = TURNED * variant.axis if variant.axis is not None else 0
    return variant.width + REFILLED * variant.refills + turned


def variant_of(shape: int, group_size: GroupSize) -> Variant:
    """What such a number says."""
    axis, shape = divmod(shape, TURNED)
    refills, width = divmod(shape, REFILLED)
    return Variant(group_size, width, width, bool(refills), axis or None)


def shape_alone(shape: int) -> int:
    """That of one work-item after the other, along the axis of another shape."""
    return shape // TURNED * TURNED + ONE_BY_ONE


def shapes(divergence: Divergence) -> tuple[int, ...]:
    """The widths that a kernel may run with, the one to begin with first."""
    target, variant, shape = divergence.target, divergence.variant, shape_of(divergence.variant)
    wanted = knobs.SHAPE.get()
    if variant.width == 1 or wanted == "vector" or not _can_choose(divergence):
        return (shape,)
    scalar = shape_alone(shape)
    if wanted == "scalar":
        return (scalar,)
    narrow, refilled = _narrow(divergence), _refilled(divergence)
    if wanted == "refilled":
        return refilled or (shape,)
    cost = estimate(divergence)
    if cost.one_by_one * target.clearly_faster < cost.as_vector:
        return (scalar, shape, *narrow, *refilled)
    parts = bool(divergence.divergent_loops)
    if parts and cost.one_by_one < cost.as_vector * target.perhaps_faster:
        return (shape, scalar, *refilled, *narrow)
    slower = target.most_slower_in_loops if parts else target.most_slower
    if cost.one_by_one < cost.as_vector * slower:
        return (shape, *refilled, *narrow, scalar)
    return (shape, *refilled, *narrow)


def _narrow(divergence: Divergence) -> tuple[int, ...]:
    """The width of a narrower vector, if fewer of its lanes may be idle; or of half as many, which
    need half as many cache lines at a time, if lanes gather in loops."""
    width = divergence.target.narrow_lanes
    if divergence.variant.axis is not None:
        return ()
    if not divergence.divergent_loops and divergence.cfg.loops and has_gathers(divergence):
        width = divergence.width // 2
    elif not divergence.divergent_loops:
        return ()
    return (width,) if divergence.target.narrow_lanes <= width < divergence.width else ()


def _refilled(divergence: Divergence) -> tuple[int, ...]:
    """The shape in which no lane waits for others to leave a loop, if there can be one."""
    kernel, cfg = divergence.kernel, divergence.cfg
    if refilled_loop(cfg) not in divergence.divergent_loops:
        return ()
    width = min(divergence.width, MOST_REFILLED)
    return (REFILLED + width,) if can_refill(kernel, cfg, divergence.group_size) else ()


def _can_choose(divergence: Divergence) -> bool:
    """True if lanes do not need each other, and do different things."""
    kernel = divergence.kernel
    apart = set(accesses_apart(divergence))
    if apart and rows_together(divergence).vectors >= TURNED_ROWS:
        apart -= turned_loads(divergence)
    return bool(divergence.divergent_branches or apart) and not (
        facts.has_barriers(kernel) or may_wait(kernel)
    )
