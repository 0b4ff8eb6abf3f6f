"""Types of elements: what commands, images and kernels refuse, and records and bfloat16."""

from __future__ import annotations

import array
import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import groundstate as gs
from groundstate.compiler.spirv.types import Float
from groundstate.core.dtype import dtype
from groundstate.core.kernel_arguments import value_argument
from groundstate.core.kernel_types import Declared

SOURCE = """
typedef struct { float a; int b; char c; } item;
kernel void sums(global const item *items, global float *out) {
    size_t i = get_global_id(0);
    out[i] = items[i].a + items[i].b + items[i].c;
}
kernel void widen(global const ushort *from, ushort one, global float *to) {
    size_t i = get_global_id(0);
    to[i] = as_float((uint)from[i] << 16) + as_float((uint)one << 16);
}
kernel void copy(global const float *from, global float *to) {
    to[get_global_id(0)] = from[get_global_id(0)];
}
"""

ITEM = np.dtype([("a", "f4"), ("b", "i4"), ("c", "i1")], align=True)
CTYPES_DOUBLES = ctypes.c_double * 2
SWAPPED_DOUBLES = ctypes.c_double.__ctype_be__ * 2


@pytest.fixture
def module(ctx: gs.Context) -> Iterator[gs.Module]:
    with gs.Module(ctx, opencl=SOURCE) as made:
        yield made


# --- Copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (np.zeros(2, "float64"), "float64"),
        (np.zeros(4, "int32"), "int32"),
        (np.zeros(4, "uint32"), "uint32"),
        (np.zeros(8, "float16"), "float16"),
        (np.zeros(2, "complex64"), "complex64"),
        (np.zeros(2, ITEM), r"record\(a float32, b int32, c int8\)"),
        (np.zeros(4, "S4"), r"\|S4"),
        (array.array("d", [1, 2]), "float64"),
        (array.array("l", [1, 2]), "int64"),
        (CTYPES_DOUBLES(1, 2), "float64"),
        (memoryview(np.zeros(4, "int32")), "int32"),
    ],
)
def test_copy_refuses_elements_of_another_type(
    ctx: gs.Context, commands: gs.CommandList, source: Any, name: str
) -> None:
    memory = ctx.alloc_shared(8, "float32")
    message = f"the source has elements of {name} and the destination of float32"
    with pytest.raises(TypeError, match=message):
        commands.copy(memory, source)
    with pytest.raises(TypeError, match=message):
        commands.copy_region(memory, source, gs.Region(width=4))
    if isinstance(source, np.ndarray) and source.flags.writeable:
        with pytest.raises(TypeError, match="float32 and the destination of"):
            commands.copy(source, memory, 4)
    commands.copy(ctx.alloc_shared(64), source)  # memory of bytes takes all of them


def test_copy_dtype_mismatch_error_suggests_fix(ctx: gs.Context, commands: gs.CommandList) -> None:
    floats, numbers = ctx.array([1.0], "float32"), ctx.array([0], "int32")
    with pytest.raises(TypeError, match=r"use its \.view\("):
        commands.copy(numbers, floats)
    commands.copy(numbers, floats.view("uint8"))
    commands.copy(numbers.view("float32"), floats)
    with pytest.raises(TypeError, match=r"with \.astype\('int32'\), or use"):
        commands.copy(numbers, np.array([1.5], "float32"))
    commands.synchronize()
    assert numbers.tolist() == [0x3F800000]


SWAPPED = [np.zeros(4, ">f4"), np.zeros((2, 2), ">i8"), np.zeros(2, ITEM.newbyteorder(">"))]


@pytest.mark.parametrize("swapped", SWAPPED, ids=str)
def test_big_endian_elements_refused_everywhere(
    ctx: gs.Context, commands: gs.CommandList, module: gs.Module, swapped: Any
) -> None:
    memory = ctx.alloc_shared(64)
    out, image = ctx.alloc_shared(4, "float32"), gs.Image(ctx, (4, 4), "r32float")
    copy = module["copy"]
    for attempt in (
        lambda: commands.copy(memory, swapped),
        lambda: commands.copy(swapped, memory, 4),
        lambda: commands.copy_region(memory, swapped, gs.Region(width=4)),
        lambda: commands.fill(swapped, 1),
        lambda: commands.fill(memory, swapped),
        lambda: commands.copy_image(image, swapped),
        lambda: commands.copy_image(swapped, image),
        lambda: image.upload(swapped),
        lambda: ctx.array(swapped),
        lambda: ctx.alloc_shared(4, swapped.dtype),
        lambda: copy(commands, 1, 1, swapped, out),
        lambda: copy(commands, 1, 1, out, swapped),
    ):
        with pytest.raises(TypeError, match=r"big-endian .*little-endian; convert them, with"):
            attempt()


def test_big_endian_buffers_are_refused(ctx: gs.Context, commands: gs.CommandList) -> None:
    with pytest.raises(TypeError, match="big-endian"):
        commands.copy(ctx.alloc_shared(16), SWAPPED_DOUBLES())


def test_big_endian_values_reach_kernel_correctly(
    ctx: gs.Context, commands: gs.CommandList
) -> None:
    source = """kernel void keep(global float *out, float a, float2 b, int c) {
        out[0] = a; out[1] = b.x; out[2] = b.y; out[3] = c;
    }"""
    out = ctx.alloc_shared(4, "float32")
    with gs.Module(ctx, opencl=source) as module:
        a, b, c = np.array(1.5, ">f4"), np.array([2.5, 3.5], ">f4"), np.array(4, ">i4")
        module["keep"](commands, 1, 1, out, a, b, c)
        commands.synchronize()
    assert out.tolist() == [1.5, 2.5, 3.5, 4]


@pytest.mark.parametrize(
    "gaps", [np.zeros(8, "float32")[::2], np.zeros((2, 2), "float32", order="F")], ids=str
)
def test_non_contiguous_array_error_suggests_fix(
    ctx: gs.Context, commands: gs.CommandList, module: gs.Module, gaps: Any
) -> None:
    memory, image = ctx.alloc_shared(8, "float32"), gs.Image(ctx, (2, 2), "r32float")
    for attempt in (
        lambda: commands.copy(memory, gaps),
        lambda: commands.copy(gaps, memory, 4),
        lambda: commands.fill(gaps, 1.0),
        lambda: image.upload(gaps),
        lambda: module["copy"](commands, 1, 1, gaps, memory),
    ):
        with pytest.raises(TypeError, match=r"not C-contiguous; pass numpy.ascontiguousarray"):
            attempt()


def test_upload_refuses_elements_of_another_type(ctx: gs.Context) -> None:
    for form, right, wrong in (
        ("r8unorm", "uint8", "float32"),
        ("r32float", "float32", "float64"),
        ("r16sint", "int16", "uint16"),
        ("rgb10a2unorm", "uint32", "float32"),
    ):
        image = gs.Image(ctx, (2, 2), form)
        image.upload(np.zeros((2, 2), right))
        image.upload(bytes(4 * image.format.texel_bytes))
        message = f"the source has elements of {wrong} and the image of {right}"
        with pytest.raises(TypeError, match=message):
            image.upload(np.zeros((2, 2), wrong))
        with (
            gs.CommandList.immediate(ctx) as commands,
            pytest.raises(TypeError, match=f"destination has elements of {wrong} and the image"),
        ):
            commands.copy_image(np.zeros((2, 2), wrong), image)


# --- Fills ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "pattern", "problem", "message"),
    [
        ("float32", "a", TypeError, "a fill of float32 takes a number, or bytes"),
        ("float32", None, TypeError, "float32 cannot be None: .* takes a number"),
        ("float32", 1e300, OverflowError, r"1e\+300 does not fit in float32"),
        ("float32", 1j, TypeError, "takes a number"),
        ("float32", [1, 2], TypeError, "takes a number"),
        ("float16", 1e6, OverflowError, "does not fit in float16"),
        ("complex64", "1j", TypeError, "takes a number"),
        ("bool", "a", TypeError, "takes True or False"),
        ("bool", 2, OverflowError, "takes True or False"),
        ("int32", 1.5, TypeError, "an integer from -2147483648 to 2147483647"),
        ("int32", "a", TypeError, "an integer from"),
        ("int8", 128, OverflowError, "an integer from -128 to 127"),
        ("uint8", -1, OverflowError, "an integer from 0 to 255"),
        ("uint64", 1 << 64, OverflowError, "an integer from 0 to 18446744073709551615"),
        ("bfloat16", "a", TypeError, "a fill of bfloat16 takes a number"),
        ("float32", np.zeros(2), TypeError, "the pattern has elements of float64"),
        (ITEM, "a", TypeError, "a tuple or a record of this type"),
    ],
)
def test_fill_says_what_a_pattern_can_be(
    ctx: gs.Context,
    commands: gs.CommandList,
    kind: Any,
    pattern: object,
    problem: type[Exception],
    message: str,
) -> None:
    memory = ctx.alloc_shared(4, kind)
    with pytest.raises(problem, match=message):
        commands.fill(memory, pattern)


def test_fill_takes_every_kind_of_number(ctx: gs.Context, commands: gs.CommandList) -> None:
    for kind, patterns in {
        "float32": (2, 2.0, np.float64(2), np.int8(2), np.array(2.0), True + True),
        "int16": (2, np.int64(2), np.uint8(2), np.array(2)),
        "complex64": (2, 2.0, 2 + 0j, np.complex128(2)),
    }.items():
        for pattern in patterns:
            memory = ctx.array(np.zeros(3, kind))
            commands.fill(memory, pattern)
            commands.synchronize()
            assert memory.tolist() == [2, 2, 2]
    truths = ctx.array(np.zeros(2, "bool"))
    commands.fill(truths, np.bool_(True))
    pairs = ctx.array(np.zeros(4, "float32"))
    commands.fill(pairs, np.array([1, 2], "float32"))
    commands.synchronize()
    assert truths.tolist() == [True, True]
    assert pairs.tolist() == [1, 2, 1, 2]


# --- Records --------------------------------------------------------------------------------------


def test_memory_of_records(ctx: gs.Context, commands: gs.CommandList, module: gs.Module) -> None:
    items = np.array([(1.5, 2, 3), (4.5, 5, 6)], ITEM)
    memory, out = ctx.array(items), ctx.alloc_shared(2, "float32")
    assert memory.dtype is dtype(ITEM)
    assert memory.numpy().dtype == ITEM
    assert memory.tolist() == items.tolist()
    assert repr(memory).endswith("shared record(a float32, b int32, c int8) (2,)>")
    for given in (memory, items):
        out.numpy()[:] = 0
        module["sums"](commands, 1, 2, given, out)
        commands.synchronize()
        assert out.tolist() == [6.5, 15.5]
    commands.fill(memory, (7, 8, 9))
    commands.copy(memory[:1], items[1:])
    commands.synchronize()
    assert memory.tolist() == [(4.5, 5, 6), (7.0, 8, 9)]
    with pytest.raises(BufferError, match="DLPack has no records"):
        memory.__dlpack__()


# --- bfloat16 -------------------------------------------------------------------------------------


def test_bfloat16_needs_no_package(ctx: gs.Context, commands: gs.CommandList) -> None:
    memory = ctx.alloc_shared(4, "bfloat16")
    commands.fill(memory, 1.5)
    commands.synchronize()
    assert memory.view("uint16").tolist() == [0x3FC0] * 4
    assert memory.size_bytes == 8


def test_a_float_is_given_for_a_bfloat16_argument() -> None:
    number = value_argument("k", 0, "x", Float(16, 0), Declared())
    assert number.encode(1.5, {}) == b"\xc0\x3f"
    assert number.encode(3, {}) == b"\x40\x40"
    with pytest.raises(
        TypeError, match=r"type bfloat16.* write ml_dtypes.bfloat16\(...\), or float"
    ):
        number.encode(np.float32(1.5), {})
    with pytest.raises(OverflowError, match="a number that fits a bfloat16"):
        number.encode(1e300, {})


def test_bfloat16_of_ml_dtypes(
    ctx: gs.Context, commands: gs.CommandList, module: gs.Module
) -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    values = np.array([1, 2.5, -3], bfloat16)
    memory, out = ctx.array(values), ctx.alloc_shared(3, "float32")
    assert memory.dtype is dtype("bfloat16")
    assert memory.numpy().dtype == bfloat16
    for given in (memory, values):
        module["widen"](commands, 1, 3, given, bfloat16(0.5), out)
        commands.synchronize()
        assert out.tolist() == [1.5, 3.0, -2.5]
    commands.copy(memory, np.array([4, 5, 6], bfloat16))
    commands.synchronize()
    assert memory.tolist() == [4, 5, 6]
    number = value_argument("k", 0, "x", Float(16, 0), Declared())
    assert number.encode(bfloat16(1.5), {}) == b"\xc0\x3f"
    with pytest.raises(TypeError, match="bfloat16 and the destination of float32"):
        commands.copy(out, values)
