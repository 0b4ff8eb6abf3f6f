"""Running OpenCL C on arrays, one result for each element, and measuring errors in last places."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.program.dispatch import Dispatch, Memory

Array = np.ndarray[Any, Any]
GROUP = 64
PREAMBLE = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
"""
FORMATS: dict[str, tuple[Any, int, int, int]] = {
    "half": (np.float16, 11, -14, 15),
    "float": (np.float32, 24, -126, 127),
    "double": (np.float64, 53, -1022, 1023),
}
"""The NumPy type, the bits of precision, and the least and greatest exponents of normal numbers."""


@functools.cache
def program(source: str) -> Program:
    """The module of some OpenCL C, compiled once."""
    return Program(compile_opencl(PREAMBLE + source))


def run(source: str, kernel: str, items: int, *arrays: Array, width: int = 8) -> None:
    """Runs a kernel that takes only pointers, with so many work-items (a multiple of 64)."""
    module = program(source)
    signature = module.signature(kernel)
    code = module.compile(kernel, (GROUP, 1, 1), width)
    block = bytearray(signature.block_bytes + 16)
    copies = [aligned(array) for array in arrays]
    for argument, copy in zip(signature.arguments, copies, strict=True):
        block[argument.offset : argument.offset + 8] = copy.ctypes.data.to_bytes(8, "little")
    arguments = (ctypes.c_char * len(block)).from_buffer(block)
    memory = Memory(code.local_bytes, code.private_bytes, code.saved_bytes)
    groups = items // GROUP
    dispatch = Dispatch(
        ctypes.addressof(arguments),
        (0, 0, 0),
        (groups, 1, 1),
        (GROUP, 1, 1),
        1,
        None,
        None,
        code.local_bytes,
    )
    prototype = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p
    )
    prototype(code.address)(ctypes.addressof(dispatch), 0, groups, memory.address)
    for array, copy in zip(arrays, copies, strict=True):
        array[...] = copy


def aligned(array: Array) -> Array:
    """A copy at an address that suits every type: vectors of 16 doubles take 128 bytes."""
    room = np.empty(array.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 128
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def padded(values: Array) -> Array:
    """Repeated to a multiple of the group size."""
    return np.resize(values, -(-len(values) // GROUP) * GROUP)


def map_source(kind: str, expressions: dict[str, str], inputs: int) -> str:
    """A kernel that writes f(a[i]), f(a[i], b[i])... of each function, one array after another."""
    names = "abc"[:inputs]
    pointers = ", ".join(f"global const {kind} *p{name}" for name in names)
    loads = " ".join(f"{kind} {name} = p{name}[i];" for name in names)
    lines = [
        f"out[{at} * n + i] = {expression};" for at, expression in enumerate(expressions.values())
    ]
    return (
        f"kernel void f({pointers}, global {kind} *out) {{ size_t i = get_global_id(0);"
        f" size_t n = get_global_size(0); {loads}\n" + "\n".join(lines) + "}"
    )


def evaluate(
    kind: str, expressions: dict[str, str], *inputs: Array, width: int = 8
) -> dict[str, Array]:
    """The results of each function for each element."""
    type_ = FORMATS[kind][0]
    count = len(inputs[0])
    arrays = [padded(each.astype(type_)) for each in inputs]
    out = np.zeros(len(expressions) * len(arrays[0]), type_)
    run(map_source(kind, expressions, len(inputs)), "f", len(arrays[0]), *arrays, out, width=width)
    rows = out.reshape(len(expressions), -1)
    return {name: rows[at][:count] for at, name in enumerate(expressions)}


def ulp_error(kind: str, result: float, exact: Any) -> float:
    """How far a result is from the exact one, in units of the exact one's last place.

    Infinity is right if the exact result is beyond the largest number, give or take a unit.
    """
    _, precision, least, greatest = FORMATS[kind]
    if np.isnan(result):
        return float("inf")
    exact = mpf(exact)
    if not mpmath.isfinite(exact):
        return 0.0 if result == float(exact) else float("inf")
    mantissa, power = exact.man_exp
    exponent = least
    if mantissa:
        exponent = max(least, abs(mantissa).bit_length() - 1 + power)
    if exponent > greatest:
        top = mpf(2) ** (greatest + 1)
        bounded = top if exact > 0 else -top
        if np.isinf(result):
            return 0.0 if (result > 0) == (exact > 0) else float("inf")
        return float((abs(bounded - mpf(result))) / mpf(2) ** (greatest - precision + 1))
    unit = mpf(2) ** (exponent - precision + 1)
    value = mpf(float(result))
    if np.isinf(result):
        value = mpf(2) ** (greatest + 1) * (1 if result > 0 else -1)
    return float(abs(value - exact) / unit)


def samples(kind: str, count: int, seed: int) -> Array:
    """Numbers of every size, more of them of usual sizes, and those at the edges of the format."""
    type_, precision, least, greatest = FORMATS[kind]
    random = np.random.default_rng(seed)
    part = count // 4
    wide = np.ldexp(random.uniform(0.5, 1, part), random.integers(least - 4, greatest + 1, part))
    usual = np.ldexp(random.uniform(0.5, 1, part), random.integers(-12, 12, part))
    near_one = 1 + np.ldexp(random.uniform(-1, 1, part), random.integers(-precision, -1, part))
    unit = random.uniform(0, 1, part)
    numbers = np.concatenate([wide, usual, near_one, unit])
    numbers *= random.choice([-1, 1], len(numbers))
    with np.errstate(over="ignore"):
        return numbers.astype(type_)
