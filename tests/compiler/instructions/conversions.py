"""Cases of conversions between kinds of numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.compiler.instructions.arithmetic import COUNT, FLOATS, INTEGERS, floats, signed, unsigned
from tests.compiler.instructions.instruction_support import Array, case


def clamped(data: Array, low: int, high: int, width: int) -> Array:
    """Integers brought into a range, as their bits in a width."""
    values = [max(low, min(high, each)) % (1 << width) for each in data.tolist()]
    return np.array(values, f"u{width // 8}")


for source in INTEGERS:
    data = unsigned(source)
    for target in INTEGERS:
        kind = f"u{target}"
        given = [(f"u{source}", data)]
        if source != target:
            case(
                f"UConvert-u{source}-{kind}",
                f"%r = OpUConvert %{kind} %a",
                given,
                kind,
                lambda a, kind=kind: a.astype(f"u{int(kind[1:]) // 8}"),
            )
            case(
                f"SConvert-u{source}-{kind}",
                f"%r = OpSConvert %{kind} %a",
                given,
                kind,
                lambda a, kind=kind: (
                    signed(a).astype(f"i{int(kind[1:]) // 8}").view(f"u{int(kind[1:]) // 8}")
                ),
            )
        most, half = (1 << target) - 1, 1 << (target - 1)
        case(
            f"SatConvertSToU-u{source}-{kind}",
            f"%r = OpSatConvertSToU %{kind} %a",
            given,
            kind,
            lambda a, most=most, target=target: clamped(signed(a), 0, most, target),
        )
        case(
            f"SatConvertUToS-u{source}-{kind}",
            f"%r = OpSatConvertUToS %{kind} %a",
            given,
            kind,
            lambda a, half=half, target=target: clamped(a, 0, half - 1, target),
        )
    for target in FLOATS:
        kind = f"f{target}"
        dtype = np.dtype(f"f{target // 8}")
        given = [(f"u{source}", data)]
        case(
            f"ConvertUToF-u{source}-{kind}",
            f"%r = OpConvertUToF %{kind} %a",
            given,
            kind,
            lambda a, dtype=dtype: np.array([dtype.type(each) for each in a.tolist()]),
        )
        case(
            f"ConvertSToF-u{source}-{kind}",
            f"%r = OpConvertSToF %{kind} %a",
            given,
            kind,
            lambda a, dtype=dtype: np.array([dtype.type(each) for each in signed(a).tolist()]),
        )

for source in FLOATS:
    numbers = np.nan_to_num(floats(source), nan=0.0).astype(f"f{source // 8}")
    for target in INTEGERS:
        most, half = (1 << target) - 1, 1 << (target - 1)
        given = [(f"f{source}", numbers)]

        def to_integers(a: Array, low: int, high: int, target: int) -> Array:
            finite = np.clip(a.astype(np.float64), -1e30, 1e30)
            whole = np.array([int(each) for each in finite.tolist()], object)
            return clamped(whole, low, high, target)

        case(
            f"ConvertFToU-f{source}-u{target}",
            f"%r = OpConvertFToU %u{target} %a",
            given,
            f"u{target}",
            lambda a, most=most, target=target: to_integers(a, 0, most, target),
        )
        case(
            f"ConvertFToS-f{source}-u{target}",
            f"%r = OpConvertFToS %u{target} %a",
            given,
            f"u{target}",
            lambda a, half=half, target=target: to_integers(a, -half, half - 1, target),
        )
    every = floats(source)
    for target in FLOATS:
        if source != target:
            case(
                f"FConvert-f{source}-f{target}",
                f"%r = OpFConvert %f{target} %a",
                [(f"f{source}", every)],
                f"f{target}",
                lambda a, target=target: a.astype(f"f{target // 8}"),
            )

# --- The same bits --------------------------------------------------------------------------------

WORDS, PAIRS = unsigned(32), unsigned(64)
BYTES = np.stack([unsigned(8) for _ in range(4)], axis=1)
for name, source, target, data in (
    ("word-to-float", "u32", "f32", WORDS),
    ("word-to-bytes", "u32", "v4u8", WORDS),
    ("bytes-to-word", "v4u8", "u32", BYTES),
    ("bytes-to-shorts", "v4u8", "v2u16", BYTES),
    ("long-to-double", "u64", "f64", PAIRS),
    ("long-to-halves", "u64", "v4f16", PAIRS),
):
    case(
        f"Bitcast-{name}",
        f"%r = OpBitcast %{target} %a",
        [(source, data)],
        target,
        lambda a, target=target: (
            np.ascontiguousarray(a)
            .view(
                f"{target[-3] if target[-3:-2] in 'uf' else target[-2]}"
                f"{int(target.split('u')[-1].split('f')[-1]) // 8}"
            )
            .reshape((len(a), -1) if target.startswith("v") else (len(a),))
        ),
    )
case(
    "ConvertPtrToU-and-back",
    """
    %whole = OpConvertPtrToU %u64 %at.a
    %next = OpIAdd %u64 %whole %u64:4
    %pointer = OpConvertUToPtr %g*u32 %next
    %below = OpISub %u64 %i %u64:0
    %r = OpLoad %u32 %at.a Aligned 4
    %unused = OpConvertPtrToU %u64 %pointer
    """,
    [("u32", WORDS)],
    "u32",
    WORDS,
)
case(
    "Bitcast-pointer",
    "%bytes = OpBitcast %g*u8 %at.a\n%second = OpInBoundsPtrAccessChain %g*u8 %bytes %u32:1\n"
    "%r = OpLoad %u8 %second Aligned 1",
    [("u32", WORDS)],
    "u8",
    lambda a: (a >> 8).astype(np.uint8),
)

# --- Small floating-point numbers -----------------------------------------------------------------

SINGLES = np.concatenate([floats(32), unsigned(32).view(np.float32)])[:COUNT]
SINGLES = SINGLES.astype(np.float32)
NORMAL_HALVES = np.where(np.abs(SINGLES) < 2.0**-14, np.copysign(0, SINGLES), SINGLES)
case(
    "QuantizeToF16",
    "%r = OpQuantizeToF16 %f32 %a",
    [("f32", NORMAL_HALVES.astype(np.float32))],
    "f32",
    lambda a: a.astype(np.float16).astype(np.float32),
)


def rounded_bits(a: Array, dropped: int) -> Array:
    """The bits of floats, rounded to nearest even where the lowest are dropped; NaNs stay NaNs."""
    result = []
    for each, is_nan in zip(a.view(np.uint32).tolist(), np.isnan(a).tolist(), strict=True):
        if is_nan:
            result.append((each | 0x400000) >> dropped << dropped)
            continue
        low, unit = each & ((1 << dropped) - 1), 1 << dropped
        up = low > unit // 2 or (low == unit // 2 and each >> dropped & 1)
        result.append((each - low + (unit if up else 0)) & 0xFFFFFFFF)
    return np.array(result, np.uint32)


BF16 = ("BFloat16ConversionINTEL",), ("SPV_INTEL_bfloat16_conversion",)
case(
    "ConvertFToBF16INTEL",
    "%r = OpConvertFToBF16INTEL %u16 %a",
    [("f32", SINGLES)],
    "u16",
    lambda a: rounded_bits(a, 16) >> 16,
    capabilities=BF16[0],
    extensions=BF16[1],
)
FOURS = np.stack([SINGLES, SINGLES[::-1], np.roll(SINGLES, 5), -SINGLES], axis=1)
case(
    "ConvertFToBF16INTEL-vector",
    "%small = OpConvertFToBF16INTEL %v4u16 %a\n%r = OpConvertBF16ToFINTEL %v4f32 %small",
    [("v4f32", FOURS)],
    "v4f32",
    lambda a: rounded_bits(a.reshape(-1), 16).view(np.float32).reshape(a.shape),
    capabilities=BF16[0],
    extensions=BF16[1],
)
case(
    "ConvertBF16ToFINTEL",
    "%r = OpConvertBF16ToFINTEL %f32 %a",
    [("u16", unsigned(16))],
    "f32",
    lambda a: (a.astype(np.uint32) << 16).view(np.float32),
    capabilities=BF16[0],
    extensions=BF16[1],
)
case(
    "RoundFToTF32INTEL",
    "%r = OpRoundFToTF32INTEL %f32 %a",
    [("f32", SINGLES)],
    "f32",
    lambda a: rounded_bits(a, 13).view(np.float32),
    capabilities=("TensorFloat32RoundingINTEL",),
    extensions=("SPV_INTEL_tensor_float32_conversion",),
)
BFLOAT = {
    "capabilities": ("BFloat16TypeKHR", "BFloat16DotProductKHR"),
    "extensions": ("SPV_KHR_bfloat16",),
}
case(
    "FConvert-bfloat16",
    "%small = OpFConvert %bf16 %a\n%r = OpBitcast %u16 %small",
    [("f32", np.nan_to_num(SINGLES, posinf=1.0, neginf=2.0))],
    "u16",
    lambda a: rounded_bits(a, 16) >> 16,
    **BFLOAT,
)
case(
    "FConvert-from-bfloat16",
    "%r = OpFConvert %f64 %a",
    [("bf16", unsigned(16))],
    "f64",
    lambda a: (a.astype(np.uint32) << 16).view(np.float32).astype(np.float64),
    **BFLOAT,
)
SHORTS = np.stack([(unsigned(16) & 0x7) | 0x3F80 for _ in range(2)], axis=1).astype(np.uint16)
case(
    "Dot-bfloat16",
    "%small = OpDot %bf16 %a %a\n%r = OpFConvert %f32 %small",
    [("v2bf16", SHORTS & 0xFF80)],
    "f32",
    lambda a: ((a.astype(np.uint32) << 16).view(np.float32) ** 2).sum(axis=1),
    **BFLOAT,
)
DOUBLES = np.where(np.isfinite(SINGLES), SINGLES, 1).astype(np.float64) * (1 + 2.0**-40)
MODES = {"RTE": 0, "RTZ": 1, "RTP": 2, "RTN": 3}


def to_bfloat(a: Array, mode: str) -> Array:
    """The bfloat next to a number in the direction of a mode, by comparing with both neighbours."""
    near = (rounded_bits(a.astype(np.float32), 16) >> 16).astype(np.int64)
    result = []
    for value, middle in zip(a.tolist(), near.tolist(), strict=True):
        around = [(middle + step) & 0xFFFF for step in (-1, 0, 1)]
        numbers = {bits: float(np.uint32(bits << 16).view(np.float32)) for bits in around}
        below = [bits for bits, number in numbers.items() if number <= value]
        above = [bits for bits, number in numbers.items() if number >= value]
        low, high = max(below, key=numbers.__getitem__), min(above, key=numbers.__getitem__)
        if mode == "RTZ":
            result.append(low if value >= 0 else high)
        else:
            result.append(high if mode == "RTP" else low)
    return np.array(result, np.uint16)


NORMAL = np.where(np.abs(DOUBLES) < 1e-30, 1.25 + 2.0**-30, DOUBLES)
NORMAL = np.where(np.abs(NORMAL) > 1e30, -3.3, NORMAL)
for mode in ("RTZ", "RTP", "RTN"):
    case(
        f"FConvert-bfloat16-{mode}",
        "%small = OpFConvert %bf16 %a\n%r = OpBitcast %u16 %small",
        [("f64", NORMAL)],
        "u16",
        lambda a, mode=mode: to_bfloat(a, mode),
        before=f"OpDecorate %small FPRoundingMode {mode}",
        **BFLOAT,
    )


def nearest_bfloat(number: int) -> float:
    """An integer with eight bits, ties to even; as exact arithmetic has it."""
    drop = max(0, abs(number).bit_length() - 8)
    rounded = round(Fraction(abs(number), 1 << drop)) << drop
    return float(rounded if number >= 0 else -rounded)


for letter in "SU":
    for bits in (8, 32, 64):
        # Numbers of every length, and those next to what lies between two bfloats.
        lengths = range(bits - (letter == "S"))
        near = [(1 << top) + (1 << max(0, top - 8)) + by for top in lengths for by in (-1, 0, 1)]
        signs = (-1, 1) if letter == "S" else (1,)
        fitting = [each * sign for each in near for sign in signs if each < 1 << len(lengths)]
        numbers = np.array(fitting, f"int{bits}" if letter == "S" else f"uint{bits}")
        case(
            f"Convert{letter}ToF-{bits}-bfloat16",
            f"%small = OpConvert{letter}ToF %bf16 %a\n%r = OpFConvert %f32 %small",
            [(f"u{bits}", numbers)],
            "f32",
            lambda a, wanted=tuple(fitting): np.array([nearest_bfloat(each) for each in wanted]),
            **BFLOAT,
        )
case(
    "ConvertFToS-bfloat16",
    "%r = OpConvertFToS %u32 %a",
    [("bf16", SHORTS[:, 0].copy() ^ 0x8480)],
    "u32",
    lambda a: (a.astype(np.uint32) << 16).view(np.float32).astype(np.int32).view(np.uint32),
    **BFLOAT,
)
case(
    "functions-of-bfloat16",
    "%high = OpExtInst %bf16 %cl ceil %a\n%root = OpExtInst %bf16 %cl sqrt %high\n"
    "%most = OpExtInst %bf16 %cl fmax %root %a\n%r = OpBitcast %u16 %most",
    [("bf16", SHORTS[:, 0].copy())],
    "u16",
    lambda a: np.maximum(
        rounded_bits(np.sqrt(np.ceil((a.astype(np.uint32) << 16).view(np.float32))), 16) >> 16, a
    ),
    **BFLOAT,
)
case(
    "FAdd-bfloat16",
    "%sum = OpFAdd %bf16 %a %a\n%less = OpFOrdLessThan %bool %a %sum\n"
    "%both = OpSelect %bf16 %less %sum %a\n%r = OpFConvert %f32 %both",
    [("bf16", SHORTS[:, 0].copy())],
    "f32",
    lambda a: 2 * (a.astype(np.uint32) << 16).view(np.float32),
    **BFLOAT,
)
