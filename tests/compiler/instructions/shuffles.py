"""Cases in which a lane takes the value of another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.compiler.instructions.groups import (
    DOUBLES,
    FLAGS,
    PAIRS,
    SHORT,
    SUBGROUP,
    TRUTH,
    WORDS,
    each_part,
    parts,
)
from tests.compiler.instructions.instruction_support import Array, Shape, case

# Where a lane asks for one that is not there, anything will do.

SHUFFLES = {
    "capabilities": ("SubgroupShuffleINTEL", "GroupNonUniformShuffle"),
    "extensions": ("SPV_INTEL_subgroups",),
}
NUMBER_OF_LANES = """
%lanes = OpLoad %u32 %in:SubgroupSize:u32
%lane = OpLoad %u32 %in:SubgroupLocalInvocationId:u32
"""


def moved(source: Callable[[int, int, int], int]) -> Callable[..., Array]:
    """Every lane takes the value of another, or keeps its own where there is none."""

    def apply(a: Array, b: Array, *, shape: Shape) -> Array:
        result = a.copy()
        for items in parts(shape):
            for lane, item in enumerate(items):
                place = source(lane, int(b[item]), len(items))
                if 0 <= place < len(items):
                    result[item] = a[items[place]]
        return result

    return apply


MOVES: dict[str, tuple[str, Callable[[int, int, int], int]]] = {
    "SubgroupShuffleINTEL": ("%b", lambda lane, by, count: by),
    "GroupNonUniformShuffle": ("%b", lambda lane, by, count: by),
    "SubgroupShuffleXorINTEL": ("%x", lambda lane, by, count: lane ^ by),
    "GroupNonUniformShuffleXor": ("%x", lambda lane, by, count: lane ^ by),
    "GroupNonUniformShuffleUp": ("%u", lambda lane, by, count: lane - by),
    "GroupNonUniformShuffleDown": ("%d", lambda lane, by, count: lane + by),
}
PLACES = {
    "%b": "%place = OpIAdd %u32 %b %u32:0",
    "%x": "%place = OpBitwiseXor %u32 %lane %b",
    "%u": "%place = OpISub %u32 %lane %b",
    "%d": "%place = OpIAdd %u32 %lane %b",
}
for op, (sign, source) in MOVES.items():
    scope = f"{SUBGROUP} " if op.startswith("Group") else ""
    for kind, data in (("u32", WORDS), ("f64", DOUBLES), ("v2u32", PAIRS)):
        case(
            f"{op}-{kind}",
            f"{NUMBER_OF_LANES}\n{PLACES[sign]}\n%there = OpULessThan %bool %place %lanes\n"
            f"%other = Op{op} %{kind} {scope}%a %b\n%r = OpSelect %{kind} %there %other %a",
            [(kind, data), ("u32", SHORT)],
            kind,
            moved(source),
            **SHUFFLES,
        )
    case(
        f"{op}-constant",
        f"{NUMBER_OF_LANES}\n%one = OpIAdd %u32 %b %u32:0\n"
        f"{PLACES[sign].replace('%b', '%u32:1')}\n%there = OpULessThan %bool %place %lanes\n"
        f"%other = Op{op} %u32 {scope}%a %u32:1\n%r = OpSelect %u32 %there %other %a",
        [("u32", WORDS), ("u32", SHORT)],
        "u32",
        moved(lambda lane, by, count, source=source: source(lane, 1, count)),
        **SHUFFLES,
    )

# Places that follow from the number of the lane and constants alone are known to the compiler.
KNOWN: dict[str, tuple[str, Callable[[int], int]]] = {
    "first-of-four": (
        "%quarter = OpSDiv %u32 %lane %u32:4\n%first = OpIMul %u32 %quarter %u32:4\n"
        "%place = OpIAdd %u32 %first %u32:1",
        lambda lane: lane // 4 * 4 + 1,
    ),
    "even": ("%place = OpBitwiseAnd %u32 %lane %u32:6", lambda lane: lane & 6),
    "backwards": ("%place = OpISub %u32 %u32:3 %lane", lambda lane: 3 - lane),
    "doubled": (
        "%wide = OpUConvert %u64 %lane\n%twice = OpShiftLeftLogical %u64 %wide %u64:1\n"
        "%rest = OpUMod %u64 %twice %u64:5\n%place = OpUConvert %u32 %rest",
        lambda lane: lane * 2 % 5,
    ),
}
for name, (text, place) in KNOWN.items():
    for kind, data in (("u32", WORDS), ("f64", DOUBLES)):
        case(
            f"SubgroupShuffleINTEL-{name}-{kind}",
            f"{NUMBER_OF_LANES}\n{text}\n%there = OpULessThan %bool %place %lanes\n"
            f"%other = OpSubgroupShuffleINTEL %{kind} %a %place\n"
            f"%r = OpSelect %{kind} %there %other %a",
            [(kind, data), ("u32", SHORT)],
            kind,
            moved(lambda lane, by, count, place=place: place(lane)),
            **SHUFFLES,
        )


def shifted(up: bool) -> Callable[..., Array]:
    """Lanes that reach beyond their sub-group find it again there, plus one thousand."""

    def apply(a: Array, b: Array, *, shape: Shape) -> Array:
        result = np.zeros_like(a)
        for items in parts(shape):
            for lane, item in enumerate(items):
                place = lane + (-int(b[item]) if up else int(b[item]))
                beyond = place < 0 or place >= shape.width
                place %= shape.width
                inside = place < len(items)
                result[item] = a[items[place]] + 1000 * beyond if inside else a[item]
        return result

    return apply


WHOLE = (Shape(1, 11), Shape(8, 16), Shape(16, 16))
case(
    "SubgroupShuffleDownINTEL",
    "%next = OpIAdd %u32 %a %u32:1000\n%r = OpSubgroupShuffleDownINTEL %u32 %a %next %b",
    [("u32", WORDS // 2), ("u32", np.minimum(SHORT, 1))],
    "u32",
    shifted(False),
    shapes=WHOLE,
    **SHUFFLES,
)
case(
    "SubgroupShuffleUpINTEL",
    "%before = OpIAdd %u32 %a %u32:1000\n%r = OpSubgroupShuffleUpINTEL %u32 %before %a %b",
    [("u32", WORDS // 2), ("u32", np.minimum(SHORT, 1))],
    "u32",
    shifted(True),
    shapes=WHOLE,
    **SHUFFLES,
)
ROTATE = {
    "capabilities": ("GroupNonUniformRotateKHR",),
    "extensions": ("SPV_KHR_subgroup_rotate",),
    "shapes": WHOLE,
}
for cluster, text in ((None, ""), (4, " %u32:4")):
    case(
        f"GroupNonUniformRotateKHR{text[-2:]}",
        f"%r = OpGroupNonUniformRotateKHR %u32 {SUBGROUP} %a %u32:3{text}",
        [("u32", WORDS)],
        "u32",
        each_part(
            lambda values, shape, cluster=cluster: [
                values[lane // size * size + (lane % size + 3) % size]
                for size in [min(cluster or len(values), len(values))]
                for lane in range(len(values))
            ]
        ),
        **ROTATE,
    )
QUADS = {
    "capabilities": ("GroupNonUniformQuad", "QuadControlKHR"),
    "extensions": ("SPV_KHR_quad_control",),
    "shapes": (Shape(8, 16), Shape(16, 16)),
}
for direction, by in enumerate((1, 2, 3)):
    case(
        f"GroupNonUniformQuadSwap-{direction}",
        f"%r = OpGroupNonUniformQuadSwap %u32 {SUBGROUP} %a %u32:{direction}",
        [("u32", WORDS)],
        "u32",
        each_part(lambda values, shape, by=by: [values[lane ^ by] for lane in range(len(values))]),
        **QUADS,
    )
case(
    "GroupNonUniformQuadBroadcast",
    f"%r = OpGroupNonUniformQuadBroadcast %u32 {SUBGROUP} %a %u32:2",
    [("u32", WORDS)],
    "u32",
    each_part(lambda values, shape: [values[lane // 4 * 4 + 2] for lane in range(len(values))]),
    **QUADS,
)
for op, decide in (("All", all), ("Any", any)):
    case(
        f"GroupNonUniformQuad{op}KHR",
        f"{TRUTH}\n%r = OpGroupNonUniformQuad{op}KHR %bool %truth",
        [("u8", FLAGS)],
        "bool",
        each_part(
            lambda values, shape, decide=decide: [
                decide(values[lane // 4 * 4 : lane // 4 * 4 + 4]) for lane in range(len(values))
            ]
        ),
        **QUADS,
    )
