"""Elements of every type, read and written by OpenCL C as the type that is computed in.

Half floats go through `vload_half`, so devices without half arithmetic can use them; bfloat16 is
the upper half of a float. Integers are rounded to nearest even and saturated.
"""

from __future__ import annotations

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

INTEGERS = frozenset({DataType.s32, DataType.s8, DataType.u8, DataType.s64})

PRELUDE = """\
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
static inline float gs_from_bf16(ushort x) { return as_float((uint)x << 16); }
static inline ushort gs_to_bf16(float x) {
    uint bits = as_uint(x);
    uint rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return isnan(x) ? (ushort)((bits >> 16) | 0x40u) : (ushort)(rounded >> 16);
}
static inline float gs_erfc(float x) {
    float a = fabs(x), t = 1.0f / (1.0f + 0.5f * a), p = -0.0597149190f;
    p = fma(p, t, 0.2877683095f), p = fma(p, t, -0.4938636487f), p = fma(p, t, 0.2856977103f);
    p = fma(p, t, -0.0318417574f), p = fma(p, t, 0.2048536551f), p = fma(p, t, 0.2425728930f);
    p = fma(p, t, 0.2824450420f), p = fma(p, t, 0.2820826737f);
    float y = p * t * exp(-a * a);
    return x < 0.0f ? 2.0f - y : y;
}
"""
"""What every program begins with.

`gs_erfc` is a polynomial in 1 / (1 + x / 2), fitted to erfc(x) exp(x * x) with a relative error of
5e-8; the built-in function costs several times as much.
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
    if data_type == DataType.bf16:
        text = f"gs_from_bf16({pointer}[{index}])"
        return text if to == "float" else f"({to}){text}"
    text = f"{pointer}[{index}]"
    return text if C_TYPES[data_type] == to else f"({to}){text}"


def store(data_type: DataType, pointer: str, index: str, value: str, *, of: str = "float") -> str:
    """A statement that writes a number, of type `of`, to an index."""
    kind = c_type(data_type)
    if data_type == DataType.f16:
        return f"vstore_half_rte({value}, {index}, {pointer});"
    if data_type == DataType.bf16:
        number = value if of == "float" else f"(float)({value})"
        return f"{pointer}[{index}] = gs_to_bf16({number});"
    if kind == of:
        return f"{pointer}[{index}] = {value};"
    if data_type in INTEGERS:
        rounding = "" if of in ("int", "long") else "_rte"
        return f"{pointer}[{index}] = convert_{kind}_sat{rounding}({value});"
    return f"{pointer}[{index}] = ({kind})({value});"
