"""Arguments of kernels in Python: what arrives, and what is refused with which sentence."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import groundstate as gs

SOURCE = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

typedef float real;

kernel void saxpy(real a, global const real *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

kernel void set(global int *out, char c, uint u, long l, double d) {
    out[0] = c; out[1] = u; out[2] = (int)(l >> 32); out[3] = (int)d;
}

kernel void bits(global uint *out, float f) { out[0] = as_uint(f); }

kernel void halves(global half *out, half h) { out[0] = h; }

kernel void vectors(global float *out, float4 v, int3 w) {
    out[0] = v.x + v.y + v.z + v.w;
    out[1] = w.x + 10 * w.y + 100 * w.z;
}

typedef struct { char a; double b; int c[2]; } record;
kernel void structure(global double *out, record r) { out[0] = r.a + r.b + r.c[0] * r.c[1]; }
kernel void records(global record *r) { r[get_global_id(0)].b = 1 + get_global_id(0); }

kernel void table(constant float *t, global float *out) { out[0] = t[1]; }
kernel void bytes(global uchar *out) { out[0] = 1; }

kernel void reverse(global int *data, local int *copy) {
    size_t i = get_local_id(0), n = get_local_size(0);
    copy[i] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = copy[n - 1 - i];
}

kernel void nothing(void) {}
"""


@pytest.fixture
def module(ctx: gs.Context) -> Iterator[gs.Module]:
    with gs.Module(ctx, opencl=SOURCE) as made:
        yield made


# --- Values ---------------------------------------------------------------------------------------


def test_only_what_changes_is_set_and_all_of_it(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out, other = ctx.alloc_shared(4, "int32"), ctx.alloc_shared(4, "int32")
    kernel = module["set"]
    values: list[list[int | float]] = [[1, 2, 3 << 32, 4.0], [1, 2, 3 << 32, 5.0], [-1, 2, 0, 5]]
    for row in values:
        for memory in (out, other, out):
            kernel(commands, 1, 1, memory, *row)
            commands.synchronize()
            assert memory.tolist() == [row[0], row[1], int(row[2]) >> 32, row[3]]


def test_zeros_keep_their_sign(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_shared(1, "uint32")
    for value in (0.0, -0.0, 0.0, math.nan, math.inf, -math.inf, 3.4028234663852886e38):
        module["bits"](commands, 1, 1, out, value)
        commands.synchronize()
        assert out.numpy().view("float32").tobytes() == np.float32(value).tobytes()


def test_scalars_of_all_kinds_arrive(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_shared(4, "int32")
    for values in (
        (-3, 0xFFFFFFFF, 5 << 32, 2.5),
        (np.int8(-3), np.uint32(0xFFFFFFFF), np.int64(5 << 32), np.float64(2.5)),
        (np.array(-3, "i1"), np.int32(-1), np.uint64(5 << 32), np.array(2.5)),
        (ctypes.c_int8(-3), ctypes.c_uint32(0xFFFFFFFF), ctypes.c_int64(5 << 32), 2.5),
        (-3, -1, 5 << 32, 2),
    ):
        module["set"](commands, 1, 1, out, *values)
        commands.synchronize()
        assert out.tolist() == [-3, -1, 5, 2]


def test_halves_arrive(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    out = ctx.alloc_shared(1, "float16")
    for value in (1.5, 2, np.float16(-0.25), math.inf, 65504.0, 1e-7):
        module["halves"](commands, 1, 1, out, value)
        commands.synchronize()
        assert out.tolist() == [float(np.float16(value))]
    with pytest.raises(OverflowError, match=r"fits a half, not 70000\.0"):
        module["halves"](commands, 1, 1, out, 70000.0)
    with pytest.raises(TypeError, match=r"of type half, not 2.5 \(numpy.float32\): write numpy.f"):
        module["halves"](commands, 1, 1, out, np.float32(2.5))


def test_vectors_arrive(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    out = ctx.alloc_shared(2, "float32")
    module["vectors"](commands, 1, 1, out, (1, 2, 3, 4.5), np.array([1, 2, 3], "int32"))
    commands.synchronize()
    assert out.tolist() == [10.5, 321.0]
    for wrong in ((1, 2, 3), 1.0, "1234", b"1234", np.zeros((2, 2), "f4")):
        with pytest.raises(TypeError, match=r"argument 1 \(float4 v\) .* takes 4 numbers, not"):
            module["vectors"](commands, 1, 1, out, wrong, (1, 2, 3))
    with pytest.raises(TypeError, match=r"argument 1 \(float4 v\) .* of type float, not"):
        module["vectors"](commands, 1, 1, out, np.zeros(4), (1, 2, 3))


class Record(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int8), ("b", ctypes.c_double), ("c", ctypes.c_int * 2))


class Named(NamedTuple):
    a: int
    b: float
    c: tuple[int, int]


@dataclass
class Data:
    a: int
    b: float
    c: tuple[int, int]


RECORD = np.dtype([("a", "i1"), ("b", "f8"), ("c", "i4", 2)], align=True)


def test_structures_arrive(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    out = ctx.alloc_shared(1, "float64")
    record = np.array([(1, 2.5, (3, 4))], RECORD)
    raw = Record(1, 2.5, (3, 4))
    plain = (1, 2.5, (3, 4))
    members = [plain, list(plain), Named(*plain), Data(*plain), (1, 2.5, np.array([3, 4], "int32"))]
    for value in (record, record[0], raw, bytes(raw), bytearray(raw), record.tobytes(), *members):
        commands.fill(out, 0)
        module["structure"](commands, 1, 1, out, value)
        commands.synchronize()
        assert out.tolist() == [15.5]


def test_a_structure_has_its_size(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    out = ctx.alloc_shared(1, "float64")
    packed = np.zeros(1, [("a", "i1"), ("b", "f8"), ("c", "i4", 2)])
    with pytest.raises(TypeError, match=r"24 bytes, not .*that has 17; .*align=True"):
        module["structure"](commands, 1, 1, out, packed[0])
    for wrong in (7, None, "text", 2.5):
        with pytest.raises(
            TypeError, match=r"takes 24 bytes, not .*: pass a tuple, a dataclass, a NumPy"
        ):
            module["structure"](commands, 1, 1, out, wrong)
    for members, message in [
        ((1, 2), "takes 3 members, not .* that has 2"),
        ((1, 2, (3, 4, 5)), r"\(int\[2\] r\[2\]\) .* takes 2 members"),
        ((1, "b", (3, 4)), r"\(double r\[1\]\) .* takes a number, not 'b'"),
    ]:
        with pytest.raises(TypeError, match=message):
            module["structure"](commands, 1, 1, out, members)
    with pytest.raises(OverflowError, match=r"\(char r\[0\]\) .* an integer of 8 bits"):
        module["structure"](commands, 1, 1, out, (1000, 2, (3, 4)))
    with pytest.raises(TypeError, match="takes little-endian values"):
        module["structure"](commands, 1, 1, out, np.zeros(1, RECORD.newbyteorder(">"))[0])


def test_a_structure_may_point_to_memory(ctx: gs.Context, commands: gs.CommandList) -> None:
    source = """
    typedef struct { global int *data; int add; } work;
    kernel void follow(work w) { w.data[get_global_id(0)] += w.add; }
    """
    memory = ctx.array(np.zeros(4, "int32"))
    with gs.Module(ctx, opencl=source) as module:
        module["follow"](commands, 1, 4, (memory, 3))
        commands.synchronize()
    assert memory.tolist() == [3] * 4


def test_arrays_are_memory_too(module: gs.Module, commands: gs.CommandList) -> None:
    x, y = np.ones(32, "float32"), np.ones(32, "float32")
    module["saxpy"](commands, 2, 16, 4, x, y)
    records = np.zeros(4, RECORD)
    module["records"](commands, 1, 4, records)
    table = np.arange(4, dtype="float32")
    table.flags.writeable = False
    module["table"](commands, 1, 1, table, y[31:])
    module["saxpy"](commands, 1, 2, 1, table[2:], y)
    commands.synchronize()
    assert y.tolist() == [7.0, 8.0] + [5.0] * 29 + [1.0]
    assert records["b"].tolist() == [1, 2, 3, 4]


def test_a_pointer_points_to_what_the_source_says(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    """The compiler to SPIR-V takes `uint *out` for a pointer to float: that is what is stored."""
    assert [each.type for each in module["bits"].arguments] == ["global uint*", "float"]
    module["bits"](commands, 1, 1, ctx.alloc_shared(1, "uint32"), 1.0)
    with pytest.raises(TypeError, match="takes memory of int, not Memory of float32"):
        module["bits"](commands, 1, 1, ctx.alloc_shared(1, "float32"), 1.0)


def test_pointers_unchecked_if_source_is_unknown(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    assert module.spirv is not None
    bare = gs.Module(ctx, spirv=module.spirv.replace(b"kernel_arg", b"kernel-arg"))
    assert [each.type for each in bare["saxpy"].arguments][:2] == ["float", "global pointer"]
    memory = ctx.alloc_shared(4, "float32")
    bare["bits"](commands, 1, 1, memory, 1.0)
    with pytest.raises(TypeError, match=r"argument 1 \(float f\) .* takes a number, not 'one'"):
        bare["bits"](commands, 1, 1, memory, "one")


def test_memory_of_bytes_can_be_anything(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    plain, numbers = ctx.alloc_shared(64), ctx.alloc_shared(16, "float32")
    pairs = ctx.alloc_shared(2, "complex64")
    for each in (plain, numbers, pairs):
        commands.fill(each, b"\0")
    module["saxpy"](commands, 1, 16, 0, plain, plain)
    module["bytes"](commands, 1, 1, numbers)
    module["saxpy"](commands, 1, 4, 0, numbers, pairs)


def test_local_memory_is_given_by_size(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    data = ctx.alloc_shared(64, "int32")
    data.numpy()[:] = np.arange(64)
    module["reverse"](commands, 4, 16, data, gs.Local(16, "int32"))
    commands.synchronize()
    assert (data.numpy() == np.arange(64).reshape(4, 16)[:, ::-1].ravel()).all()
    module["reverse"](commands, 2, 32, data, gs.Local(128))
    commands.synchronize()
    assert data.tolist()[:4] == [16, 17, 18, 19]


# --- Checks ---------------------------------------------------------------------------------------


def test_the_number_of_arguments_is_checked(module: gs.Module, commands: gs.CommandList) -> None:
    names = r"\(real a, global const real\* x, global float\* y\)"
    with pytest.raises(TypeError, match=rf"takes 3 arguments {names}, not 1"):
        module["saxpy"](commands, 1, 1, 2.0)
    with pytest.raises(TypeError, match="takes 0 arguments, not 1"):
        module["nothing"](commands, 1, 1, 2.0)


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        (0, "two", "a number, not 'two'"),
        (0, np.float64(2), r"of type float, not 2.0 \(numpy.float64\): write numpy.float32"),
        (0, 3j, "a number, not 3j"),
        (0, None, "a number, not None"),
        (1, 2.5, "memory, not 2.5"),
        (1, np.zeros(4, "float64"), "memory of float, not ndarray of float64"),
        (1, np.zeros(4, "int32"), "memory of float, not ndarray of int32"),
        (1, np.zeros(8, "float32")[::2], "memory, not ndarray of float32: .*not C-contiguous"),
        (1, np.broadcast_to(np.float32(1), 4), "memory, not ndarray of float32: .*"),
        (1, [1.0, 2.0], r"memory, not \[1.0, 2.0\] \(list\)"),
        (2, b"abcd", "memory, not b'abcd'"),
        (1, True, "memory, not True"),
        (1, np.float32(1), r"memory, not 1.0 \(numpy.float32\)"),
        (1, gs.Local(16), "no local memory"),
        (2, "text", "memory, not 'text'"),
    ],
)
def test_a_wrong_argument_is_named_with_its_type(
    ctx: gs.Context,
    module: gs.Module,
    commands: gs.CommandList,
    index: int,
    value: object,
    message: str,
) -> None:
    memory = ctx.alloc_shared(4, "float32")
    arguments: list[object] = [1.0, memory, memory]
    arguments[index] = value
    with pytest.raises(TypeError, match=message) as problem:
        module["saxpy"](commands, 1, 1, *arguments)
    assert f"argument {index} (" in str(problem.value)
    assert "kernel 'saxpy'" in str(problem.value)


def test_integers_must_fit(ctx: gs.Context, module: gs.Module, commands: gs.CommandList) -> None:
    out = ctx.alloc_shared(4, "int32")
    with pytest.raises(OverflowError, match="8 bits, not 300"):
        module["set"](commands, 1, 1, out, 300, 0, 0, 0.0)
    with pytest.raises(OverflowError, match="64 bits, not 18446744073709551616"):
        module["set"](commands, 1, 1, out, 0, 0, 1 << 64, 0.0)
    with pytest.raises(TypeError, match=r"an integer, not 1\.5"):
        module["set"](commands, 1, 1, out, 1.5, 0, 0, 0.0)
    with pytest.raises(TypeError, match=r"32 bits, not 3 \(numpy.int64\): write numpy.int32"):
        module["set"](commands, 1, 1, out, 0, np.int64(3), 0, 0.0)
    with pytest.raises(OverflowError, match=r"fits a float, not 1e\+39"):
        module["bits"](commands, 1, 1, out, 1e39)
    with pytest.raises(OverflowError, match="an address of 64 bits, not -1"):
        module["bits"](commands, 1, 1, -1, 1.0)


def test_local_memory_argument_takes_only_local(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    data = ctx.alloc_shared(16, "int32")
    for wrong in (64, None, data, b"text"):
        with pytest.raises(TypeError, match=r"takes groundstate\.Local"):
            module["reverse"](commands, 1, 16, data, wrong)
    with pytest.raises(gs.errors.InvalidKernelArgumentSize, match="asks for 0 bytes"):
        module["reverse"](commands, 1, 16, data, gs.Local(0))
    with pytest.raises(
        gs.errors.OutOfDeviceMemory, match="a group needs 1073741824 bytes of local mem"
    ):
        module["reverse"](commands, 1, 16, data, gs.Local(1 << 30))


def test_native_module_takes_values_of_known_size(
    ctx: gs.Context, module: gs.Module, commands: gs.CommandList
) -> None:
    native = gs.Module(ctx, native=module.native_binary())
    out, data = ctx.alloc_shared(4, "int32"), ctx.alloc_shared(4, "int32")
    native["set"](
        commands, 1, 1, out, np.int8(1), ctypes.c_uint32(2), b"\0\0\0\0\3\0\0\0", np.float64(4)
    )
    data.numpy()[:] = [1, 2, 3, 4]
    native["reverse"](commands, 1, 4, data, gs.Local(4, "int32"))
    commands.synchronize()
    assert (out.tolist(), data.tolist()) == ([1, 2, 3, 4], [4, 3, 2, 1])
    for wrong in (4, 2.5, "text", np.zeros(4, "int32"), [1]):
        with pytest.raises(TypeError, match="argument 1 of kernel 'set' takes memory, a NumPy sc"):
            native["set"](commands, 1, 1, out, wrong, 2, 3, 4)
    with pytest.raises(TypeError, match="takes 5 arguments, not 1"):
        native["set"](commands, 1, 1, out)
