"""Cases of the built-in variables, in every width that programs use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.compiler.instructions.instruction_support import Array, Shape, case

GROUPS = 4
"""How many groups a case without inputs has."""


def items(shape: Shape) -> Array:
    return np.arange(GROUPS * shape.group)


def lane(shape: Shape) -> Array:
    return items(shape) % shape.group % shape.width


def subgroups(shape: Shape) -> int:
    return -(-shape.group // shape.width)


def subgroup_size(shape: Shape) -> Array:
    local = items(shape) % shape.group
    return np.minimum(shape.width, shape.group - (local - local % shape.width))


def triple(x: Array, rest: int) -> Array:
    return np.stack([x, np.full(len(x), rest), np.full(len(x), rest)], axis=1)


def every(shape: Shape, value: int) -> Array:
    return np.full(GROUPS * shape.group, value)


TRIPLES: dict[str, Callable[[Shape], Array]] = {
    "NumWorkgroups": lambda shape: triple(every(shape, GROUPS), 1),
    "WorkgroupSize": lambda shape: triple(every(shape, shape.group), 1),
    "EnqueuedWorkgroupSize": lambda shape: triple(every(shape, shape.group), 1),
    "WorkgroupId": lambda shape: triple(items(shape) // shape.group, 0),
    "LocalInvocationId": lambda shape: triple(items(shape) % shape.group, 0),
    "GlobalInvocationId": lambda shape: triple(items(shape), 0),
    "GlobalSize": lambda shape: triple(every(shape, GROUPS * shape.group), 1),
    "GlobalOffset": lambda shape: triple(every(shape, 0), 0),
}
SINGLES: dict[str, Callable[[Shape], Array]] = {
    "WorkDim": lambda shape: every(shape, 3),
    "GlobalLinearId": items,
    "LocalInvocationIndex": lambda shape: items(shape) % shape.group,
    "SubgroupSize": subgroup_size,
    "SubgroupMaxSize": lambda shape: every(shape, shape.width),
    "NumSubgroups": lambda shape: every(shape, subgroups(shape)),
    "NumEnqueuedSubgroups": lambda shape: every(shape, subgroups(shape)),
    "SubgroupId": lambda shape: items(shape) % shape.group // shape.width,
    "SubgroupLocalInvocationId": lane,
}
for name, compute in TRIPLES.items():
    for kind in ("u32", "u64"):
        variable = f"%in:{name}:v3{kind}"
        case(
            f"{name}-{kind}",
            f"%r = OpLoad %v3{kind} {variable}",
            [],
            f"v3{kind}",
            lambda shape, compute=compute: compute(shape),
        )
        case(
            f"{name}-{kind}-component",
            f"%at = OpAccessChain %i*{kind} {variable} %u32:0\n%r = OpLoad %{kind} %at",
            [],
            kind,
            lambda shape, compute=compute: compute(shape)[:, 0],
        )
for name, compute in SINGLES.items():
    for kind in ("u32", "u64"):
        case(
            f"{name}-{kind}",
            f"%r = OpLoad %{kind} %in:{name}:{kind}",
            [],
            kind,
            lambda shape, compute=compute: compute(shape),
        )

MASKS: dict[str, Callable[[int, int], int]] = {
    "SubgroupEqMask": lambda own, width: 1 << own,
    "SubgroupGeMask": lambda own, width: (1 << width) - (1 << own),
    "SubgroupGtMask": lambda own, width: (1 << width) - (2 << own),
    "SubgroupLeMask": lambda own, width: (2 << own) - 1,
    "SubgroupLtMask": lambda own, width: (1 << own) - 1,
}
for name, mask in MASKS.items():
    case(
        name,
        f"%r = OpLoad %v4u32 %in:{name}:v4u32",
        [],
        "v4u32",
        lambda shape, mask=mask: np.array(
            [[mask(own, shape.width), 0, 0, 0] for own in lane(shape).tolist()]
        ),
        capabilities=("GroupNonUniformBallot",),
    )
    case(
        f"{name}-component",
        f"%at = OpAccessChain %i*u32 %in:{name}:v4u32 %u32:0\n%r = OpLoad %u32 %at",
        [],
        "u32",
        lambda shape, mask=mask: np.array([mask(own, shape.width) for own in lane(shape).tolist()]),
        capabilities=("GroupNonUniformBallot",),
    )
