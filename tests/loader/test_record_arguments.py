"""A recording has the arguments of kernels where calls do not say how many or how large."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate.capture import place
from groundstate.capture.describe import NamedCall, named_calls
from groundstate.capture.stream import StreamReader
from groundstate.capture.stream.formats import Phase

from .conftest import TIMEOUT

pytestmark = pytest.mark.usefixtures("library")

PROGRAM = r'''
import ctypes, sys
import groundstate as gs
from groundstate import ze

SOURCE = """
typedef struct { char a; double b; short c[3]; } mixed;
typedef struct __attribute__((packed)) { char a; double b; } tight;
kernel void all(global int *out, char c, float3 v, mixed m, tight t, local int *room, ulong last) {
    room[0] = c + (int)v.y + (int)m.b + m.c[2] + (int)t.b + (int)last;
    out[0] = room[0];
}
"""

class Mixed(ctypes.Structure):
    _fields_ = [("a", ctypes.c_char), ("b", ctypes.c_double), ("c", ctypes.c_short * 3)]

class Tight(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("a", ctypes.c_char), ("b", ctypes.c_double)]

context = gs.Context(gs.devices()[0])
out = context.alloc_shared(1, "int32")
module = gs.Module(context, opencl=SOURCE)
if "native" in sys.argv:
    module = gs.Module(context, native=module.native_binary())
kernel = gs.Kernel(module, "all")
commands = gs.CommandList.immediate(context, in_order=True)
values = [
    ctypes.c_void_p(out.address), ctypes.c_char(3), (ctypes.c_float * 4)(1, 20, 3, 4),
    Mixed(b"a", 300.0, (1, 2, 4000)), Tight(b"b", 50000.0), ctypes.c_size_t(64),
    ctypes.c_uint64(600000),
]
pointers = (ctypes.c_void_p * 7)(*map(ctypes.addressof, values))
assert ze.zeCommandListAppendLaunchKernelWithArguments(
    commands.handle, kernel.handle, ze.ze_group_count_t(1, 1, 1), ze.ze_group_size_t(1, 1, 1),
    pointers, None, None, 0, None) == 0
commands.synchronize()
assert out.numpy()[0] == 654323, out.numpy()
'''


def launch_of(tmp_path: Path, *arguments: str) -> NamedCall:
    return only_call(tmp_path, "zeCommandListAppendLaunchKernelWithArguments", PROGRAM, *arguments)


def only_call(tmp_path: Path, name: str, program: str, *arguments: str) -> NamedCall:
    """The one call of a function that a Python program makes."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "groundstate", "record", "-o", str(out), "--"]
    done = subprocess.run(
        [*command, sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    (stream,) = place.streams_in(out)
    with StreamReader(stream) as reader:
        (call,) = (call for call in named_calls(reader) if call.name == name)
    return call


BUILD = r"""
import ctypes
from groundstate import ze

ze.zeInit(0)
triangle = (ctypes.c_uint32 * 3)(0, 1, 2)
vertices = (ctypes.c_float * 12)(*range(12))
triangles = ze.ze_rtas_builder_triangles_geometry_info_ext_t(
    geometryType=0, triangleFormat=5, triangleCount=1, vertexCount=3, vertexStride=16,
    pTriangleBuffer=ctypes.addressof(triangle), pVertexBuffer=ctypes.addressof(vertices))
matrix = (ctypes.c_float * 12)(*range(100, 112))
bounds = ze.ze_rtas_aabb_ext_t()
instance = ze.ze_rtas_builder_instance_geometry_info_ext_t(
    geometryType=3, transformFormat=1, pTransform=ctypes.addressof(matrix),
    pBounds=ctypes.addressof(bounds))
pointers = (ctypes.c_void_p * 2)(ctypes.addressof(triangles), ctypes.addressof(instance))
description = ze.ze_rtas_builder_build_op_ext_desc_t(
    ppGeometries=ctypes.addressof(pointers), numGeometries=2)
ze.zeRTASBuilderGetBuildPropertiesExt(
    1, ctypes.byref(description), ctypes.byref(ze.ze_rtas_builder_ext_properties_t()))
"""


def test_geometries_are_followed(tmp_path: Path) -> None:
    call = only_call(tmp_path, "zeRTASBuilderGetBuildPropertiesExt", BUILD)
    floats = [block.data for block in call.call.blocks if block.phase == Phase.BEFORE]
    assert bytes((ctypes.c_float * 12)(*range(12)))[:44] in floats  # two strides and a vertex
    assert bytes((ctypes.c_float * 12)(*range(100, 112))) in floats
    assert bytes((ctypes.c_uint32 * 3)(0, 1, 2)) in floats
    assert not call.call.incomplete


def values_of(launch: NamedCall) -> list[bytes]:
    pointers = launch.value("pArguments", Phase.BEFORE)
    blocks = [launch.call.at(pointer, Phase.BEFORE) for pointer in pointers]
    return [block.data for block in blocks if block is not None]


def test_sizes_are_those_of_the_module(tmp_path: Path) -> None:
    values = values_of(launch_of(tmp_path))
    # As the C compiler lays them out: a struct with its padding, a packed one without.
    assert [len(value) for value in values] == [8, 1, 16, 24, 9, 8, 8]
    assert values[1] == b"\3"
    assert list((ctypes.c_float * 4).from_buffer_copy(values[2]))[:2] == [1, 20]
    assert int.from_bytes(values[5], "little") == 64
    assert int.from_bytes(values[6], "little") == 600_000


def test_native_argument_values_copy_generously(tmp_path: Path) -> None:
    values = values_of(launch_of(tmp_path, "native"))
    assert len(values) == 7
    for value, least in zip(values, [8, 1, 16, 24, 9, 8, 8], strict=True):
        assert len(value) >= least
    assert int.from_bytes(values[6][:8], "little") == 600_000
