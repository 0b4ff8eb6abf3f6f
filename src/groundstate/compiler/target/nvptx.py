"""NVIDIA's GPUs, by compute capability: one work-item is one thread."""

from __future__ import annotations

import re

from groundstate.compiler.errors import BuildError
from groundstate.compiler.target.description import Target

TRIPLE = "nvptx64-nvidia-cuda"
WARP = 32
LEAST, MOST = 70, 129
"""Compute capabilities, times ten: from the first with fences and independent threads on."""
MOST_GROUP_ITEMS = 1024

_VERSIONS = ((100, 86), (90, 78), (0, 77))
"""From a compute capability on: the version of PTX, times ten. The lowest that has what is used:
then the oldest drivers take it."""
_NAME = re.compile(r"sm_(\d+)")


def nvptx(sm: int) -> Target:
    """The target of a compute capability, times ten: 90 is sm_90. Raises BuildError."""
    if not LEAST <= sm <= MOST:
        raise BuildError(
            f"there is no code for sm_{sm}; GPUs from sm_{LEAST} on are supported, such as sm_90"
        )
    version = next(version for least, version in _VERSIONS if sm >= least)
    return Target(
        1,
        f"sm_{sm}",
        pipeline="thread",
        cpu=f"sm_{sm}",
        features=f"+ptx{version}",
        triple=TRIPLE,
        vectors_per_value=1,
        subgroup_sizes=(8, 16, 32),
        subgroup_size=WARP,
        compute_capability=sm,
        trusts_alignment=True,
        has_half_arithmetic=True,
    )


def named(name: str) -> Target | None:
    """The target that is called so, as sm_90; None if it is no name of a GPU."""
    found = _NAME.fullmatch(name)
    return nvptx(int(found[1])) if found is not None else None
