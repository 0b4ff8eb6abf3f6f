"""Elements of every type, read and written by OpenCL C as the type that is computed in.

Half floats go through `vload_half`, so devices without half arithmetic can use them; bfloat16 is
the upper half of a float. Integers are rounded to nearest even and saturated.
"""

from __future__ import annotations

from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.errors import unimplemented
from groundstate.dnn.types import DataType

C_TYPES = {
    DataType.f32: "float",
    DataType.f64: "double",
    DataType.f16: "half",
    DataType.bf16: "ushort",
    DataType.s32: "int",
    DataType.s8: "char",
    DataType.u8: "uchar",
    DataType.s64: "long",
}
"""What an element is in memory."""

LOWEST = {
    DataType.f32: "-FLT_MAX",
    DataType.f64: "-DBL_MAX",
    DataType.f16: "-65504.0f",
    DataType.bf16: "as_float(0xff7f0000u)",
    DataType.s32: "-2147483648.0f",
    DataType.s8: "-128.0f",
    DataType.u8: "0.0f",
}
"""The maximum of nothing."""

HIGHEST = {
    DataType.f32: "FLT_MAX",
    DataType.f64: "DBL_MAX",
    DataType.f16: "65504.0f",
    DataType.bf16: "as_float(0x7f7f0000u)",
    DataType.s32: "2147483647.0f",
    DataType.s8: "127.0f",
    DataType.u8: "255.0f",
}
"""The minimum of nothing."""

CACHE_BYTES = 32 << 20
"""What caches hold at most. A larger result is written around them, so it is not read before."""

INTEGERS = frozenset({DataType.s32, DataType.s8, DataType.u8, DataType.s64})

PRELUDE = """\
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
static inline float gs_from_bf16(ushort x) { return as_float((uint)x << 16); }
static inline ushort gs_to_bf16(float x) {
    uint bits = as_uint(x);
    uint rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return isnan(x) ? (ushort)((bits >> 16) | 0x40u) : (ushort)(rounded >> 16);
}
static inline float gs_bell(float x) {
    float q = 170.0f < x * x ? 170.0f : x * x;
    float shifted = fma(q, -0.72134752f, 12582912.0f), whole = shifted - 12582912.0f;
    float r = fma(q, -0.72134752f, -whole), p = fma(0.00132647271f, r, 0.00967151265f);
    p = fma(fma(p, r * r, fma(0.0555073374f, r, 0.240222421f)), r * r, fma(0.693146978f, r, 1.0f));
    return as_float(as_int(p) + (as_int(shifted) << 23));
}
static inline float gs_tail(float x) {
    float a = fabs(x), t = 1.0f / fma(0.305f, a, 1.0f), u = t * t;
    float p = fma(fma(0.121021634f, t, 0.103420882f), u, fma(0.122466814f, t, 0.121639733f));
    float q = fma(fma(0.0366991842f, t, -0.152988281f), u, fma(0.185716838f, t, -0.0379767574f));
    return fma(q, u * u, p) * (t * gs_bell(x));
}
static inline float gs_below(float x) {
    float tail = gs_tail(x);
    return x > 0.0f ? 1.0f - tail : tail;
}
"""
"""What every program begins with.

`gs_bell` is exp(-x * x / 2), as long as a float holds it, `gs_tail` the part of the normal
distribution that is further from 0 than x, on one side, and `gs_below` the part below x. The first
takes the exponent from the bits of a number that is so large that it ends at the point. The second
is a polynomial in 1 / (1 + 0.305 |x|), fitted with a relative error of 1e-7. Both are written as
trees, because what takes time is that steps wait for each other.
"""


def c_type(data_type: DataType) -> str:
    """The type of an element in memory."""
    if data_type not in C_TYPES:
        unimplemented(f"kernels do not know the type {data_type.name}")
    return C_TYPES[data_type]


def bits_type(data_type: DataType) -> DataType:
    """A type of the same size whose elements are copied without a change."""
    return {DataType.f16: DataType.bf16}.get(data_type, data_type)


def real(double: bool) -> str:
    """The type that is computed in."""
    return "double" if double else "float"


def load(data_type: DataType, pointer: str, index: str, *, to: str = "float") -> str:
    """An expression for the element at an index, as a number of type `to`."""
    c_type(data_type)
    if data_type == DataType.f16:
        text = f"vload_half({index}, {pointer})"
        return text if to == "float" else f"({to}){text}"
    if data_type == DataType.bf16 and to != C_TYPES[data_type]:
        text = f"gs_from_bf16({pointer}[{index}])"
        return text if to == "float" else f"({to}){text}"
    text = f"{pointer}[{index}]"
    return text if C_TYPES[data_type] == to else f"({to}){text}"


def store(
    data_type: DataType,
    pointer: str,
    index: str,
    value: str,
    *,
    of: str = "float",
    around: bool = False,
) -> str:
    """A statement that writes a number, of type `of`, to an index, perhaps around the cache."""
    kind = c_type(data_type)
    if data_type == DataType.f16:
        return f"vstore_half_rte({value}, {index}, {pointer});"
    if kind == of:
        converted = value
    elif data_type == DataType.bf16:
        number = value if of == "float" else f"(float)({value})"
        converted = f"gs_to_bf16({number})"
    elif data_type in INTEGERS:
        rounding = "" if of in ("int", "long") else "_rte"
        converted = f"convert_{kind}_sat{rounding}({value})"
    else:
        converted = f"({kind})({value})"
    if around:
        return f"__builtin_nontemporal_store({converted}, {pointer} + ({index}));"
    return f"{pointer}[{index}] = {converted};"


def exceeds_cache(tensor: Descriptor) -> bool:
    """True if what is written first is no longer in a cache when the last is written."""
    return tensor.size_bytes() >= CACHE_BYTES
