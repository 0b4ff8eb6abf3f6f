"""The passes of checked mode, and those that count for metrics: imported for a checked kernel."""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.instrument.arithmetic import check_arithmetic
from groundstate.compiler.instrument.bounds import check_bounds
from groundstate.compiler.instrument.convergence import check_convergence
from groundstate.compiler.instrument.counting import count_instructions
from groundstate.compiler.instrument.images import check_images
from groundstate.compiler.instrument.indices import check_indices
from groundstate.compiler.instrument.masked import split_masked
from groundstate.compiler.instrument.races import tell_accesses, tell_barriers
from groundstate.compiler.instrument.uninitialised import check_uninitialised
from groundstate.compiler.ir.passes import Pass
from groundstate.compiler.pipeline import PASSES, SIMPLIFY

TELL_BARRIERS = Pass("tell-barriers", tell_barriers, keeps=(CFG,))

INSTRUMENT: dict[str, tuple[Pass, ...]] = {
    "counts": (Pass("count-instructions", count_instructions, keeps=(CFG,)),),
    "arithmetic": (Pass("check-arithmetic", check_arithmetic, keeps=(CFG,)),),
    "races": (Pass("tell-accesses", tell_accesses, keeps=(CFG,)), TELL_BARRIERS),
    "sync": (Pass("check-convergence", check_convergence, keeps=(CFG,)), TELL_BARRIERS),
    "memory": (
        Pass("split-masked", split_masked, keeps=(CFG,)),
        Pass("check-images", check_images, keeps=(CFG,)),
        Pass("check-indices", check_indices, keeps=(CFG,)),
        Pass("check-bounds", check_bounds, keeps=(CFG,)),
        SIMPLIFY,
    ),
    "uninit": (
        Pass("check-uninitialised", check_uninitialised),
        SIMPLIFY,
    ),
}
"""Of each checker of checked mode that changes code: run once for a lowered kernel, in this order.
What several of them need is run for the last."""

ALL_PASSES = PASSES | {step.name: step for steps in INSTRUMENT.values() for step in steps}
"""Those of the pipelines, too, by name."""


def wanted(checks: Sequence[str]) -> list[Pass]:
    """What a lowered kernel goes through for some checkers."""
    steps = [step for each, steps in INSTRUMENT.items() if each in checks for step in steps]
    return list(dict.fromkeys(reversed(steps)))[::-1]
