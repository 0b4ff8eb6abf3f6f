"""Cases of atomics, barriers and fences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.compiler.instructions.arithmetic import COUNT, RANDOM, unsigned
from tests.compiler.instructions.instruction_support import Array, Shape, case

WORDS = unsigned(32)
DEVICE, RELAXED, ACQUIRE_RELEASE, SEQUENTIAL = "%u32:1", "%u32:0", "%u32:0x208", "%u32:0x210"


def signed(compute: Callable) -> Callable[[Array, Array], Array]:
    """An operation on numbers with a sign."""

    def apply(a: Array, b: Array) -> Array:
        kind = f"i{a.dtype.itemsize}"
        return compute(a.view(kind), b.view(kind)).view(a.dtype)

    return apply


OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "AtomicIAdd": lambda a, b: a + b,
    "AtomicISub": lambda a, b: a - b,
    "AtomicSMin": signed(np.minimum),
    "AtomicUMin": np.minimum,
    "AtomicSMax": signed(np.maximum),
    "AtomicUMax": np.maximum,
    "AtomicAnd": lambda a, b: a & b,
    "AtomicOr": lambda a, b: a | b,
    "AtomicXor": lambda a, b: a ^ b,
    "AtomicExchange": lambda a, b: b,
}
OWN = """
    %cell = OpVariable %p*{kind} Function
    OpStore %cell %a
"""
"""A place that each item has for itself: what is there before and afterwards is known."""

for width in (32, 64):
    kind, before, given = f"u{width}", unsigned(width), unsigned(width)
    inputs = [(kind, before), (kind, given)]
    own = OWN.format(kind=kind)
    for op, compute in OPERATIONS.items():
        old = f"{own}\n%old = Op{op} %{kind} %cell {DEVICE} {ACQUIRE_RELEASE} %b"
        case(f"{op}-{kind}", f"{old}\n%r = OpLoad %{kind} %cell", inputs, kind, compute)
        case(
            f"{op}-{kind}-old",
            f"{old}\n%r = OpCopyObject %{kind} %old",
            inputs,
            kind,
            lambda a, b: a,
        )
    for op, step in (("AtomicIIncrement", 1), ("AtomicIDecrement", -1)):
        case(
            f"{op}-{kind}",
            f"{own}\n%old = Op{op} %{kind} %cell {DEVICE} {RELAXED}\n%r = OpLoad %{kind} %cell",
            inputs,
            kind,
            lambda a, b, step=step: a + np.array(step).astype(a.dtype),
        )
    case(
        f"AtomicLoad-and-AtomicStore-{kind}",
        f"{own}\nOpAtomicStore %cell {DEVICE} {SEQUENTIAL} %b\n"
        f"%r = OpAtomicLoad %{kind} %cell {DEVICE} {SEQUENTIAL}",
        inputs,
        kind,
        lambda a, b: b,
    )
    equal = np.where(np.arange(COUNT) % 2, before, given)
    for op in ("AtomicCompareExchange", "AtomicCompareExchangeWeak"):
        case(
            f"{op}-{kind}",
            f"{own}\n%old = Op{op} %{kind} %cell {DEVICE} {ACQUIRE_RELEASE} {RELAXED} "
            f"%{kind}:7 %b\n%r = OpLoad %{kind} %cell",
            [(kind, before), (kind, equal)],
            kind,
            lambda a, b: np.where(a == b, 7, a),
        )

# --- Floating-point numbers -----------------------------------------------------------------------

FLOATING = {
    "AtomicFAddEXT": lambda a, b: a + b,
    "AtomicFMinEXT": np.minimum,
    "AtomicFMaxEXT": np.maximum,
    "AtomicExchange": lambda a, b: b,
}
FLOAT_CAPABILITIES = tuple(
    f"AtomicFloat{width}{what}EXT" for width in (16, 32, 64) for what in ("Add", "MinMax")
)
for width in (16, 32, 64):
    kind = f"f{width}"
    first, second = (RANDOM.integers(-99, 99, COUNT).astype(f"f{width // 8}") for _ in range(2))
    for op, compute in FLOATING.items():
        case(
            f"{op}-{kind}",
            f"{OWN.format(kind=kind)}\n"
            f"%old = Op{op} %{kind} %cell {DEVICE} {RELAXED} %b\n%r = OpLoad %{kind} %cell",
            [(kind, first), (kind, second)],
            kind,
            compute,
            capabilities=FLOAT_CAPABILITIES,
            extensions=("SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float_min_max"),
        )
    case(
        f"AtomicLoad-{kind}",
        f"{OWN.format(kind=kind)}\nOpAtomicStore %cell {DEVICE} {SEQUENTIAL} %b\n"
        f"%r = OpAtomicLoad %{kind} %cell {DEVICE} {RELAXED}",
        [(kind, first), (kind, second)],
        kind,
        lambda a, b: b,
    )

# --- The same in local memory, where they are plain accesses --------------------------------------


def local_case(op: str, kind: str, inputs: list, compute: Callable, **needs: tuple) -> None:
    """A case of an operation on a place in local memory that each item has for itself."""
    case(
        f"{op}-{kind}-local",
        "%mine = OpLoad %u64 %in:LocalInvocationIndex:u64\n"
        f"%cell = OpInBoundsAccessChain %l*{kind} %cells %mine\nOpStore %cell %a\n"
        f"%old = Op{op} %{kind} %cell %u32:2 {ACQUIRE_RELEASE} %b\n%r = OpLoad %{kind} %cell",
        inputs,
        kind,
        compute,
        declarations=f"%all = OpTypeArray %{kind} %u32:{COUNT}\n"
        "%l*all = OpTypePointer Workgroup %all\n%cells = OpVariable %l*all Workgroup",
        **needs,
    )


for op, compute in OPERATIONS.items():
    local_case(op, "u32", [("u32", unsigned(32)), ("u32", unsigned(32))], compute)
for op, compute in FLOATING.items():
    first, second = (RANDOM.integers(-99, 99, COUNT).astype(np.float32) for _ in range(2))
    local_case(
        op,
        "f32",
        [("f32", first), ("f32", second)],
        compute,
        capabilities=FLOAT_CAPABILITIES,
        extensions=("SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float_min_max"),
    )

# --- Together: every item adds to one place ------------------------------------------------------

SHARED = "%total = OpVariable %l*u32 Workgroup"
BARRIER = "OpControlBarrier %u32:2 %u32:2 %u32:0x108"
FIRST = f"""
    {BARRIER}
    %local.id = OpLoad %u64 %in:LocalInvocationIndex:u64
    %is.first = OpIEqual %bool %local.id %u64:0
"""


def sums(a: Array, *, shape: Shape) -> Array:
    rows = a[: COUNT // shape.group * shape.group].reshape(-1, shape.group)
    return np.repeat(rows.sum(axis=1, dtype=a.dtype), shape.group)


SUM = f"""
    {FIRST}
    OpSelectionMerge %begun None
    OpBranchConditional %is.first %begin %begun
    %begin = OpLabel
    OpStore %total %u32:0
    OpBranch %begun
    %begun = OpLabel
    {BARRIER}
    %old = OpAtomicIAdd %u32 %total %u32:2 %u32:0x108 %a
"""
case(
    "ControlBarrier-and-local-atomics",
    f"{SUM}\n{BARRIER}\n%r = OpLoad %u32 %total",
    [("u32", WORDS)],
    "u32",
    sums,
    declarations=SHARED,
)
case(
    "split-barrier",
    f"{SUM}\nOpControlBarrierArriveINTEL %u32:2 %u32:2 %u32:0x104\n"
    "%unrelated = OpIMul %u32 %a %a\nOpControlBarrierWaitINTEL %u32:2 %u32:2 %u32:0x102\n"
    "%r = OpLoad %u32 %total",
    [("u32", WORDS)],
    "u32",
    sums,
    declarations=SHARED,
    capabilities=("SplitBarrierINTEL",),
    extensions=("SPV_INTEL_split_barrier",),
)
case(
    "MemoryBarrier-and-sub-group-barrier",
    "OpMemoryBarrier %u32:1 %u32:0x208\nOpControlBarrier %u32:3 %u32:3 %u32:0x108\n"
    "%r = OpCopyObject %u32 %a",
    [("u32", WORDS)],
    "u32",
    WORDS,
)


def one_of_each_group(a: Array, *, shape: Shape) -> Array:
    """How many items of a group found the flag not set."""
    return np.ones(COUNT // shape.group * shape.group, np.uint32)


case(
    "AtomicFlag",
    f"""
    {FIRST}
    OpSelectionMerge %begun None
    OpBranchConditional %is.first %begin %begun
    %begin = OpLabel
    OpStore %total %u32:0
    OpAtomicFlagClear %flag %u32:2 %u32:0x104
    OpBranch %begun
    %begun = OpLabel
    {BARRIER}
    %was.set = OpAtomicFlagTestAndSet %bool %flag %u32:2 %u32:0x108
    %one = OpSelect %u32 %was.set %u32:0 %u32:1
    %old = OpAtomicIAdd %u32 %total %u32:2 %u32:0x108 %one
    {BARRIER}
    %r = OpLoad %u32 %total
    """,
    [("u32", WORDS)],
    "u32",
    one_of_each_group,
    declarations=f"{SHARED}\n%flag = OpVariable %l*u32 Workgroup",
)

# --- Copies of a group ----------------------------------------------------------------------------

ASYNC = """
%happens = OpTypeEvent
%p*happens = OpTypePointer Function %happens
%no.event = OpConstantNull %happens
%rows = OpTypeArray %u32 %u32:64
%l*rows = OpTypePointer Workgroup %rows
%copies = OpVariable %l*rows Workgroup
%l.any = OpTypeUntypedPointerKHR Workgroup
%g.any = OpTypeUntypedPointerKHR CrossWorkgroup
"""
START = """
    %group.ids = OpLoad %v3u64 %in:WorkgroupId
    %group.sizes = OpLoad %v3u64 %in:WorkgroupSize
    %group.id = OpCompositeExtract %u64 %group.ids 0
    %size = OpCompositeExtract %u64 %group.sizes 0
    %start = OpIMul %u64 %group.id %size
    %from = OpInBoundsPtrAccessChain %g*u32 %in.a %start
    %event = OpVariable %p*happens Function
    %local.id = OpLoad %u64 %in:LocalInvocationIndex:u64
    %last = OpISub %u64 %size %u64:1
    %mirrored = OpISub %u64 %last %local.id
    %at = OpInBoundsAccessChain %l*u32 %copies %mirrored
"""


def reversed_groups(a: Array, *, shape: Shape) -> Array:
    rows = a[: COUNT // shape.group * shape.group].reshape(-1, shape.group)
    return rows[:, ::-1].reshape(-1)


for name, copy in (
    (
        "GroupAsyncCopy",
        "%to = OpInBoundsAccessChain %l*u32 %copies %u32:0\n"
        "%done = OpGroupAsyncCopy %happens %u32:2 %to %from %size %u64:1 %no.event",
    ),
    (
        "UntypedGroupAsyncCopyKHR",
        "%to = OpBitcast %l.any %copies\n%origin = OpBitcast %g.any %from\n"
        "%done = OpUntypedGroupAsyncCopyKHR %happens %u32:2 %to %origin %u64:4 %size %u64:1 "
        "%no.event",
    ),
):
    case(
        name,
        f"{START}\n{copy}\nOpStore %event %done\nOpGroupWaitEvents %u32:2 %u32:1 %event\n"
        "%r = OpLoad %u32 %at",
        [("u32", WORDS)],
        "u32",
        reversed_groups,
        declarations=ASYNC,
        capabilities=("UntypedPointersKHR",),
        extensions=("SPV_KHR_untyped_pointers",),
    )
