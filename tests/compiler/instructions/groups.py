"""Cases of what the work-items of a sub-group or a work-group do together."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import reduce

import numpy as np

from tests.compiler.instructions.arithmetic import COUNT, RANDOM
from tests.compiler.instructions.instruction_support import Array, Shape, case

SUBGROUP, WORKGROUP = "%u32:3", "%u32:2"
WORDS = RANDOM.integers(0, 1 << 32, COUNT).astype(np.uint32)
LONGS = RANDOM.integers(0, 1 << 63, COUNT).astype(np.uint64)
BYTES = RANDOM.integers(0, 256, COUNT).astype(np.uint8)
FLOATS = RANDOM.integers(-20, 20, COUNT).astype(np.float32)
DOUBLES = RANDOM.integers(-20, 20, COUNT).astype(np.float64)
HALVES = RANDOM.integers(-4, 4, COUNT).astype(np.float16)
FACTORS = np.where(FLOATS % 3 == 0, 0.5, 2).astype(np.float32)
PAIRS = RANDOM.integers(0, 1 << 32, (COUNT, 2)).astype(np.uint32)
SHORT = RANDOM.integers(0, 3, COUNT).astype(np.uint32)


def parts(shape: Shape, scope: str = SUBGROUP) -> Iterator[range]:
    """The work-items of each sub-group or work-group."""
    size = shape.width if scope == SUBGROUP else shape.group
    for group in range(COUNT // shape.group):
        start, end = group * shape.group, (group + 1) * shape.group
        for first in range(start, end, size):
            yield range(first, min(first + size, end))


def each_part(
    compute: Callable[[list, Shape], list], scope: str = SUBGROUP
) -> Callable[..., Array]:
    """What every item gets, computed from the values of its sub-group or work-group."""

    def apply(a: Array, *, shape: Shape) -> Array:
        result = np.zeros_like(a)
        for items in parts(shape, scope):
            values = compute([a[item] for item in items], shape)
            for item, value in zip(items, values, strict=True):
                result[item] = value
        return result

    return apply


# --- Reductions and scans -------------------------------------------------------------------------


def signed(kind: np.dtype, pick: Callable) -> Callable:
    """The smaller or larger of two numbers with a sign."""
    return lambda x, y: pick(x, y, key=lambda each: each.view(f"i{kind.itemsize}"))


OPERATIONS: dict[str, tuple[Callable, dict[str, Array]]] = {
    "IAdd": (operator.add, {"u8": BYTES, "u32": WORDS, "u64": LONGS}),
    "IMul": (operator.mul, {"u32": WORDS, "u64": LONGS}),
    "FAdd": (operator.add, {"f16": HALVES, "f32": FLOATS, "f64": DOUBLES}),
    "FMul": (operator.mul, {"f32": FACTORS}),
    "SMin": (min, {"u32": WORDS, "u64": LONGS}),
    "UMin": (min, {"u8": BYTES, "u32": WORDS}),
    "FMin": (min, {"f16": HALVES, "f32": FLOATS, "f64": DOUBLES}),
    "SMax": (max, {"u32": WORDS, "u64": LONGS}),
    "UMax": (max, {"u8": BYTES, "u32": WORDS}),
    "FMax": (max, {"f16": HALVES, "f32": FLOATS, "f64": DOUBLES}),
    "BitwiseAnd": (operator.and_, {"u32": WORDS | 0xFFF, "u64": LONGS}),
    "BitwiseOr": (operator.or_, {"u32": WORDS & 0x11111111, "u64": LONGS}),
    "BitwiseXor": (operator.xor, {"u32": WORDS, "u64": LONGS}),
}
NEUTRAL: dict[str, Callable[[np.dtype], object]] = {
    "IAdd": lambda kind: 0,
    "IMul": lambda kind: 1,
    "FAdd": lambda kind: 0.0,
    "FMul": lambda kind: 1.0,
    "SMin": lambda kind: (1 << (8 * kind.itemsize - 1)) - 1,
    "UMin": lambda kind: (1 << 8 * kind.itemsize) - 1,
    "FMin": lambda kind: np.inf,
    "SMax": lambda kind: 1 << (8 * kind.itemsize - 1),
    "UMax": lambda kind: 0,
    "FMax": lambda kind: -np.inf,
    "BitwiseAnd": lambda kind: (1 << 8 * kind.itemsize) - 1,
    "BitwiseOr": lambda kind: 0,
    "BitwiseXor": lambda kind: 0,
}
HAS_KHR_NAME = ("IMul", "FMul", "BitwiseAnd", "BitwiseOr", "BitwiseXor")


def folded(op: str, how: str, kind: np.dtype) -> Callable[[list, Shape], list]:
    """What a reduction or scan gives each item."""
    combine = OPERATIONS[op][0]
    if op in ("SMin", "SMax"):
        combine = signed(kind, combine)
    start = np.array(NEUTRAL[op](kind), kind)[()]

    def apply(values: list, shape: Shape) -> list:
        with np.errstate(all="ignore"):
            if how == "Reduce":
                return [reduce(combine, values)] * len(values)
            ends = range(1, len(values) + 1) if how == "InclusiveScan" else range(len(values))
            return [reduce(combine, values[:end], start) for end in ends]

    return apply


for op, (_, types) in OPERATIONS.items():
    for kind, data in types.items():
        for how in ("Reduce", "InclusiveScan", "ExclusiveScan"):
            case(
                f"GroupNonUniform{op}-{kind}-{how}",
                f"%r = OpGroupNonUniform{op} %{kind} {SUBGROUP} {how} %a",
                [(kind, data)],
                kind,
                each_part(folded(op, how, data.dtype)),
                capabilities=("GroupNonUniformArithmetic",),
            )
            plain = f"Group{op}KHR" if op in HAS_KHR_NAME else f"Group{op}"
            for scope, word in ((SUBGROUP, "sub-group"), (WORKGROUP, "work-group")):
                case(
                    f"{plain}-{kind}-{how}-{word}",
                    f"%r = Op{plain} %{kind} {scope} {how} %a",
                    [(kind, data)],
                    kind,
                    each_part(folded(op, how, data.dtype), scope),
                    capabilities=("GroupUniformArithmeticKHR",),
                    extensions=("SPV_KHR_uniform_group_instructions",),
                )

LOGIC = {"LogicalAnd": all, "LogicalOr": any, "LogicalXor": lambda values: sum(values) % 2}
TRUTH = "%truth = OpINotEqual %bool %a %u8:0"
FLAGS = (RANDOM.random(COUNT) < 0.9).astype(np.uint8)
FLAGS[: COUNT // 3] = 1
FLAGS[-COUNT // 4 :] = 0
for op, decide in LOGIC.items():
    for prefix, suffix, scope in (
        ("GroupNonUniform", "", SUBGROUP),
        ("Group", "KHR", SUBGROUP),
        ("Group", "KHR", WORKGROUP),
    ):
        case(
            f"{prefix}{op}{suffix}-{scope[-1]}",
            f"{TRUTH}\n%r = Op{prefix}{op}{suffix} %bool {scope} Reduce %truth",
            [("u8", FLAGS)],
            "bool",
            each_part(lambda values, shape, decide=decide: [decide(values)] * len(values), scope),
            capabilities=("GroupNonUniformArithmetic", "GroupUniformArithmeticKHR"),
            extensions=("SPV_KHR_uniform_group_instructions",),
        )


def clustered(values: list, shape: Shape) -> list:
    """Sums of every four, where a last cluster may have fewer."""
    starts = [4 * (lane // 4) for lane in range(len(values))]
    return [sum(values[start : start + 4]) for start in starts]


case(
    "GroupNonUniformFAdd-ClusteredReduce",
    f"%r = OpGroupNonUniformFAdd %f32 {SUBGROUP} ClusteredReduce %a %u32:4",
    [("f32", FLOATS)],
    "f32",
    each_part(clustered),
    capabilities=("GroupNonUniformClustered",),
    shapes=(Shape(8, 16), Shape(16, 11)),
)
case(
    "GroupNonUniformIAdd-vector",
    f"%r = OpGroupNonUniformIAdd %v2u32 {SUBGROUP} Reduce %a",
    [("v2u32", PAIRS)],
    "v2u32",
    each_part(lambda values, shape: [np.sum(values, axis=0, dtype=np.uint32)] * len(values)),
    capabilities=("GroupNonUniformArithmetic",),
)
case(
    "GroupNonUniformIAdd-among-some",
    f"""
    %odd = OpBitwiseAnd %u32 %a %u32:1
    %is.odd = OpINotEqual %bool %odd %u32:0
    OpSelectionMerge %end None
    OpBranchConditional %is.odd %some %end
    %some = OpLabel
    %sum = OpGroupNonUniformIAdd %u32 {SUBGROUP} Reduce %a
    OpBranch %end
    %end = OpLabel
    %r = OpPhi %u32 %sum %some %u32:0 %entry
    """,
    [("u32", WORDS)],
    "u32",
    each_part(
        lambda values, shape: [
            np.sum([each for each in values if each & 1], dtype=np.uint32) if value & 1 else 0
            for value in values
        ]
    ),
    capabilities=("GroupNonUniformArithmetic",),
)

# --- Votes, ballots, broadcasts -------------------------------------------------------------------

for op, decide in (("All", all), ("Any", any)):
    votes = each_part(lambda values, shape, decide=decide: [decide(values)] * len(values))
    for text, extension in (
        (f"OpGroup{op} %bool {SUBGROUP} %truth", ()),
        (f"OpGroupNonUniform{op} %bool {SUBGROUP} %truth", ()),
        (f"OpSubgroup{op}KHR %bool %truth", ("SPV_KHR_subgroup_vote",)),
    ):
        case(
            text.split()[0],
            f"{TRUTH}\n%r = {text}",
            [("u8", FLAGS)],
            "bool",
            votes,
            capabilities=("GroupNonUniformVote", "SubgroupVoteKHR"),
            extensions=extension,
        )
    case(
        f"Group{op}-work-group",
        f"{TRUTH}\n%r = OpGroup{op} %bool {WORKGROUP} %truth",
        [("u8", FLAGS)],
        "bool",
        each_part(lambda values, shape, decide=decide: [decide(values)] * len(values), WORKGROUP),
    )
EQUAL = np.where(np.arange(COUNT) < COUNT // 2, 5, FLOATS).astype(np.float32)
for text in (f"OpGroupNonUniformAllEqual %bool {SUBGROUP} %a", "OpSubgroupAllEqualKHR %bool %a"):
    case(
        text.split()[0],
        f"%r = {text}",
        [("f32", EQUAL)],
        "bool",
        lambda a, shape: each_part(
            lambda values, shape: [float(len(set(values)) == 1)] * len(values)
        )(a, shape=shape),
        capabilities=("GroupNonUniformVote", "SubgroupVoteKHR"),
        extensions=("SPV_KHR_subgroup_vote",),
    )
case(
    "GroupNonUniformElect",
    f"%r = OpGroupNonUniformElect %bool {SUBGROUP}",
    [("u8", FLAGS)],
    "bool",
    each_part(lambda values, shape: [lane == 0 for lane in range(len(values))]),
    capabilities=("GroupNonUniform",),
)


def ballot(values: list) -> int:
    return sum(1 << lane for lane, value in enumerate(values) if value)


BALLOTS = {
    "capabilities": ("GroupNonUniformBallot", "SubgroupBallotKHR"),
    "extensions": ("SPV_KHR_shader_ballot",),
}
BALLOT = f"{TRUTH}\n%ballot = OpGroupNonUniformBallot %v4u32 {SUBGROUP} %truth"
BALLOT_CASES: dict[str, tuple[str, str, Callable[[list, int], list]]] = {
    "SubgroupBallotKHR": (
        "%other = OpSubgroupBallotKHR %v4u32 %truth\n%r = OpCompositeExtract %u32 %other 0",
        "u32",
        lambda values, word: [word] * len(values),
    ),
    "GroupNonUniformBallot": (
        "%r = OpCompositeExtract %u32 %ballot 0",
        "u32",
        lambda values, word: [word] * len(values),
    ),
    "GroupNonUniformInverseBallot": (
        f"%r = OpGroupNonUniformInverseBallot %bool {SUBGROUP} %ballot",
        "bool",
        lambda values, word: values,
    ),
    "GroupNonUniformBallotBitExtract": (
        f"%r = OpGroupNonUniformBallotBitExtract %bool {SUBGROUP} %ballot %u32:0",
        "bool",
        lambda values, word: [word & 1] * len(values),
    ),
    "GroupNonUniformBallotBitCount-Reduce": (
        f"%r = OpGroupNonUniformBallotBitCount %u32 {SUBGROUP} Reduce %ballot",
        "u32",
        lambda values, word: [sum(values)] * len(values),
    ),
    "GroupNonUniformBallotBitCount-InclusiveScan": (
        f"%r = OpGroupNonUniformBallotBitCount %u32 {SUBGROUP} InclusiveScan %ballot",
        "u32",
        lambda values, word: [sum(values[: lane + 1]) for lane in range(len(values))],
    ),
    "GroupNonUniformBallotBitCount-ExclusiveScan": (
        f"%r = OpGroupNonUniformBallotBitCount %u32 {SUBGROUP} ExclusiveScan %ballot",
        "u32",
        lambda values, word: [sum(values[:lane]) for lane in range(len(values))],
    ),
    "GroupNonUniformBallotFindLSB": (
        f"%first = OpGroupNonUniformBallotFindLSB %u32 {SUBGROUP} %ballot\n"
        f"%word = OpCompositeExtract %u32 %ballot 0\n%some = OpINotEqual %bool %word %u32:0\n"
        "%r = OpSelect %u32 %some %first %u32:99",
        "u32",
        lambda values, word: [(word & -word).bit_length() - 1 if word else 99] * len(values),
    ),
    "GroupNonUniformBallotFindMSB": (
        f"%last = OpGroupNonUniformBallotFindMSB %u32 {SUBGROUP} %ballot\n"
        f"%word = OpCompositeExtract %u32 %ballot 0\n%some = OpINotEqual %bool %word %u32:0\n"
        "%r = OpSelect %u32 %some %last %u32:99",
        "u32",
        lambda values, word: [word.bit_length() - 1 if word else 99] * len(values),
    ),
}
NUMBERS = FLAGS.astype(np.uint8)


def of_ballot(compute: Callable[[list, int], list]) -> Callable[..., Array]:
    def apply(a: Array, *, shape: Shape) -> Array:
        wide = each_part(
            lambda values, shape: compute([int(each) for each in values], ballot(values))
        )
        return wide(a.astype(np.uint32), shape=shape)

    return apply


for name, (body, output, compute) in BALLOT_CASES.items():
    case(name, f"{BALLOT}\n{body}", [("u8", NUMBERS)], output, of_ballot(compute), **BALLOTS)

for name, body, lane in (
    ("GroupBroadcast", f"OpGroupBroadcast %u32 {SUBGROUP} %a %u32:0", 0),
    ("GroupNonUniformBroadcast", f"OpGroupNonUniformBroadcast %u32 {SUBGROUP} %a %u32:0", 0),
    ("GroupNonUniformBroadcastFirst", f"OpGroupNonUniformBroadcastFirst %u32 {SUBGROUP} %a", 0),
    ("SubgroupFirstInvocationKHR", "OpSubgroupFirstInvocationKHR %u32 %a", 0),
    ("SubgroupReadInvocationKHR", "OpSubgroupReadInvocationKHR %u32 %a %u32:0", 0),
):
    case(
        name,
        f"%r = {body}",
        [("u32", WORDS)],
        "u32",
        each_part(lambda values, shape, lane=lane: [values[lane]] * len(values)),
        **BALLOTS,
    )
case(
    "GroupBroadcast-work-group",
    f"%r = OpGroupBroadcast %u32 {WORKGROUP} %a %v3u64:5,0,0",
    [("u32", WORDS)],
    "u32",
    each_part(lambda values, shape: [values[5]] * len(values), WORKGROUP),
)
