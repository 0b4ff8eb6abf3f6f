"""Numbers of the data types: how they are stored, rounded and told apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STORAGE = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "s32": np.dtype(np.int32),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
}
INTEGERS = ("s32", "s8", "u8")
EPSILON = {
    "f64": 2.0**-52,
    "f32": 2.0**-23,
    "f16": 2.0**-10,
    "bf16": 2.0**-7,
    "s32": 0.0,
    "s8": 0.0,
    "u8": 0.0,
}
LOWEST = {
    "f64": -float(np.finfo(np.float64).max),
    "f32": -float(np.finfo(np.float32).max),
    "f16": -65504.0,
    "bf16": -(2.0**128) * (1 - 2.0**-8),
    "s32": -(2.0**31),
    "s8": -128.0,
    "u8": 0.0,
}
HIGHEST = {dtype: -low for dtype, low in LOWEST.items()} | {
    "s32": 2.0**31 - 1,
    "s8": 127.0,
    "u8": 255.0,
}
DIGITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "s32": 31, "s8": 7, "u8": 8}


def encode(values: Array, dtype: str) -> NDArray[np.generic]:
    """The values as the type stores them: rounded to nearest even, integers saturated."""
    if dtype in INTEGERS:
        limits = np.iinfo(STORAGE[dtype])
        whole = np.rint(np.nan_to_num(values, posinf=np.inf, neginf=-np.inf))
        return np.clip(whole, limits.min, limits.max).astype(STORAGE[dtype])
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == "bf16":
            return bf16_bits(values.astype(np.float32))
        return values.astype(STORAGE[dtype])


def bf16_bits(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The upper half of each number, rounded to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | 0x40
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)


def decode(stored: NDArray[np.generic], dtype: str) -> Array:
    """What is stored, as numbers."""
    if dtype == "bf16":
        wide = stored.astype(np.uint32) << 16
        return wide.view(np.float32).astype(np.float64)
    return stored.astype(np.float64)


def representable(values: Array, dtype: str) -> Array:
    """The values as they are after a journey through the type."""
    return decode(encode(np.asarray(values, dtype=np.float64), dtype), dtype)
