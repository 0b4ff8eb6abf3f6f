"""Operations of work-items together: barriers, group operations, votes, shuffles and ballots."""

from __future__ import annotations

from groundstate.compiler.ir import lowered_checks as lowered
from groundstate.compiler.ir import operand_checks as checks
from groundstate.compiler.ir.operation import Category, Effect, LaneRule, SourceLane, define

GROUP, SHUFFLE, BARRIER = Category.GROUP, Category.SHUFFLE, Category.BARRIER
CONVERGENT = Effect.CONVERGENT

# --- Barriers -----------------------------------------------------------------------------------

define(
    "ControlBarrier",
    "whole. whole. whole. -> void",
    BARRIER,
    effect=Effect.ORDERS | Effect.CONVERGENT,
    lowered=lowered.barrier,
)
define("MemoryBarrier", "whole. whole. -> void", BARRIER, effect=Effect.ORDERS)
define(
    "GroupWaitEvents",
    "whole. whole. pointer. -> void",
    BARRIER,
    effect=Effect.ORDERS | Effect.CONVERGENT,
    divergence=LaneRule.VARYING,
)

# --- Votes and broadcasts: all lanes get the same -----------------------------------------------

for names, types in (
    ("GroupNonUniformAll GroupNonUniformAny", "whole. bool. -> bool."),
    ("GroupBroadcast", "whole. any= whole -> any"),
    ("GroupNonUniformBroadcast", "whole. any= whole. -> any"),
):
    define(
        names,
        types,
        GROUP,
        effect=CONVERGENT,
        divergence=LaneRule.UNIFORM,
        lowered=lowered.of_subgroup,
    )
for names, types in (
    ("GroupNonUniformBallot", "whole. bool. -> whole/"),
    ("SubgroupAllKHR SubgroupAnyKHR", "bool. -> bool."),
    ("SubgroupAllEqualKHR", "any -> bool."),
    ("SubgroupBallotKHR", "bool. -> whole/"),
    ("GroupNonUniformBroadcastFirst", "whole. any= -> any"),
    ("SubgroupReadInvocationKHR", "any= whole. -> any"),
    ("SubgroupFirstInvocationKHR", "any= -> any"),
):
    define(names, types, GROUP, effect=CONVERGENT, divergence=LaneRule.UNIFORM)

for name, combines in (("GroupAll", "And"), ("GroupAny", "Or")):
    define(
        name,
        "whole. bool. -> bool.",
        GROUP,
        effect=CONVERGENT,
        divergence=LaneRule.UNIFORM,
        combines=combines,
        lowered=lowered.of_subgroup,
    )

# --- Reductions and scans -----------------------------------------------------------------------

for combines, name, extension, kind in (
    ("IAdd", "IAdd", "", "whole"),
    ("FAdd", "FAdd", "", "ieee"),
    ("SMin", "SMin", "", "whole"),
    ("UMin", "UMin", "", "whole"),
    ("FMin", "FMin", "", "ieee"),
    ("SMax", "SMax", "", "whole"),
    ("UMax", "UMax", "", "whole"),
    ("FMax", "FMax", "", "ieee"),
    ("IMul", "IMul", "KHR", "whole"),
    ("FMul", "FMul", "KHR", "ieee"),
    ("And", "BitwiseAnd", "KHR", "whole"),
    ("Or", "BitwiseOr", "KHR", "whole"),
    ("Xor", "BitwiseXor", "KHR", "whole"),
    ("And", "LogicalAnd", "KHR", "bool"),
    ("Or", "LogicalOr", "KHR", "bool"),
    ("Xor", "LogicalXor", "KHR", "bool"),
):
    for full, more in ((f"Group{name}{extension}", ""), (f"GroupNonUniform{name}", "whole.?")):
        define(
            full,
            f"whole. {kind}= {more} -> {kind}",
            GROUP,
            effect=CONVERGENT,
            divergence=LaneRule.SPECIAL,
            combines=combines,
            check=checks.in_steps,
            lowered=lowered.of_subgroup,
        )

# --- Shuffles and ballots -----------------------------------------------------------------------


def _same(lane: int, amount: int) -> int:
    del lane
    return amount


def _exclusive_or(lane: int, amount: int) -> int:
    return lane ^ amount


def _down(lane: int, amount: int) -> int:
    return lane + amount


def _up(lane: int, amount: int) -> int:
    return lane - amount


OWN, SCOPED = "any= whole. -> any", "whole. any= whole. -> any"
SHUFFLES: tuple[tuple[str, str, SourceLane], ...] = (
    ("SubgroupShuffleINTEL", OWN, _same),
    ("SubgroupShuffleXorINTEL", OWN, _exclusive_or),
    ("GroupNonUniformShuffle", SCOPED, _same),
    ("GroupNonUniformShuffleXor", SCOPED, _exclusive_or),
    ("GroupNonUniformShuffleUp", SCOPED, _up),
    ("GroupNonUniformShuffleDown", SCOPED, _down),
)
for name, types, source_lane in SHUFFLES:
    define(
        name,
        types,
        SHUFFLE,
        effect=CONVERGENT,
        divergence=LaneRule.SPECIAL,
        source_lane=source_lane,
        lowered=lowered.of_subgroup if types == SCOPED else None,
    )
for name, types, check in (
    ("GroupNonUniformQuadBroadcast", SCOPED, lowered.of_subgroup),
    ("GroupNonUniformQuadSwap", SCOPED, lowered.quad_swap),
    ("GroupNonUniformRotateKHR", "whole. any= whole. whole.? -> any", lowered.of_subgroup),
):
    define(name, types, GROUP, effect=CONVERGENT, divergence=LaneRule.VARYING, lowered=check)
for names, types in (
    ("SubgroupShuffleUpINTEL SubgroupShuffleDownINTEL", "any= any= whole. -> any"),
    ("GroupNonUniformElect", "whole. -> bool."),
    ("GroupNonUniformAllEqual", "whole. any -> bool."),
    ("GroupNonUniformInverseBallot", "whole. whole/ -> bool."),
    ("GroupNonUniformBallotBitExtract", "whole. whole/ whole. -> bool."),
    (
        "GroupNonUniformBallotBitCount GroupNonUniformBallotFindLSB GroupNonUniformBallotFindMSB",
        "whole. whole/ -> whole.",
    ),
    ("GroupNonUniformQuadAllKHR GroupNonUniformQuadAnyKHR", "bool. -> bool."),
):
    define(names, types, GROUP, effect=CONVERGENT, divergence=LaneRule.VARYING)

# --- What operations of a whole work-group become (lower/group_operations.py) --------------------

define("WriteGroupCell", "any* -> void", Category.MEMORY, effect=Effect.WRITES | CONVERGENT)
define(
    "ReadGroupCells", "-> any", Category.MEMORY, effect=Effect.READS, divergence=LaneRule.UNIFORM
)
define("CombineGroup", "any= any= -> any", Category.ARITHMETIC)
