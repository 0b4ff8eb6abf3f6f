"""Operations of work-items together: barriers, group operations, votes, shuffles and ballots."""

from __future__ import annotations

from groundstate.compiler.ir.operation import Category, Effect, LaneRule, define

GROUP, SHUFFLE, BARRIER = Category.GROUP, Category.SHUFFLE, Category.BARRIER
CONVERGENT = Effect.CONVERGENT

# --- Barriers -----------------------------------------------------------------------------------

define("ControlBarrier", "any any any -> void", BARRIER, effect=Effect.ORDERS | Effect.CONVERGENT)
define("MemoryBarrier", "any any -> void", BARRIER, effect=Effect.ORDERS)
define(
    "GroupWaitEvents",
    "any any any -> void",
    BARRIER,
    effect=Effect.ORDERS | Effect.CONVERGENT,
    divergence=LaneRule.VARYING,
)

# --- Votes and broadcasts: all lanes get the same -----------------------------------------------

for names, signature in (
    ("GroupAll GroupAny", "any any -> any"),
    ("GroupNonUniformAll GroupNonUniformAny GroupNonUniformBallot", "any any -> any"),
    ("SubgroupAllKHR SubgroupAnyKHR SubgroupAllEqualKHR SubgroupBallotKHR", "any -> any"),
    ("GroupBroadcast GroupNonUniformBroadcast", "any any any -> any"),
    ("GroupNonUniformBroadcastFirst", "any any -> any"),
    ("SubgroupReadInvocationKHR", "any any -> any"),
    ("SubgroupFirstInvocationKHR", "any -> any"),
):
    define(names, signature, GROUP, effect=CONVERGENT, divergence=LaneRule.UNIFORM)

# --- Reductions and scans -----------------------------------------------------------------------

for kind in ("", "NonUniform"):
    suffix = "" if kind else "KHR"
    integers = " ".join(f"Group{kind}{each}" for each in ("IAdd", "SMin", "SMax", "UMin", "UMax"))
    floats = " ".join(f"Group{kind}{each}" for each in ("FAdd", "FMin", "FMax"))
    others = " ".join(
        f"Group{kind}{each}{suffix}"
        for each in (
            *("IMul", "FMul", "BitwiseAnd", "BitwiseOr", "BitwiseXor"),
            *("LogicalAnd", "LogicalOr", "LogicalXor"),
        )
    )
    define(
        f"{integers} {floats} {others}",
        "any any any ... -> any" if kind else "any any -> any",
        GROUP,
        effect=CONVERGENT,
        divergence=LaneRule.SPECIAL,
    )

# --- Shuffles and ballots -----------------------------------------------------------------------

for names, signature in (
    ("SubgroupShuffleINTEL SubgroupShuffleXorINTEL", "any any -> any"),
    ("GroupNonUniformShuffle GroupNonUniformShuffleXor", "any any any -> any"),
    ("GroupNonUniformShuffleUp GroupNonUniformShuffleDown", "any any any -> any"),
):
    define(names, signature, SHUFFLE, effect=CONVERGENT, divergence=LaneRule.SPECIAL)
for names, signature in (
    ("SubgroupShuffleUpINTEL SubgroupShuffleDownINTEL", "any any any -> any"),
    ("GroupNonUniformElect", "any -> any"),
    ("GroupNonUniformAllEqual GroupNonUniformInverseBallot", "any any -> any"),
    ("GroupNonUniformBallotBitExtract", "any any any -> any"),
    ("GroupNonUniformBallotBitCount", "any any -> any"),
    ("GroupNonUniformBallotFindLSB GroupNonUniformBallotFindMSB", "any any -> any"),
    ("GroupNonUniformQuadBroadcast GroupNonUniformQuadSwap", "any any any -> any"),
    ("GroupNonUniformQuadAllKHR GroupNonUniformQuadAnyKHR", "any -> any"),
    ("GroupNonUniformRotateKHR", "any any any any ... -> any"),
):
    define(names, signature, GROUP, effect=CONVERGENT, divergence=LaneRule.VARYING)

# --- What operations of a whole work-group become (lower/groups.py) -----------------------------

define("WriteGroupCell", "any ... -> void", Category.MEMORY, effect=Effect.WRITES | CONVERGENT)
define(
    "ReadGroupCells", "-> any", Category.MEMORY, effect=Effect.READS, divergence=LaneRule.UNIFORM
)
define("CombineGroup", "any any -> any", Category.ARITHMETIC)
