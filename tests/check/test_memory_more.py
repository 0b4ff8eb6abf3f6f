"""The memory checker on images, inner arrays, and vectors of pointers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groundstate.compiler.instrument.accesses import accesses
from groundstate.compiler.instrument.indices import check_indices
from groundstate.compiler.instrument.masked import split_masked
from groundstate.compiler.ir import Kernel
from groundstate.compiler.ir.parser import parse_kernel
from groundstate.compiler.ir.passes import Analyses, Pass, Run, run_passes
from groundstate.compiler.target import Target
from tests.compiler.spirv.assembler import assemble


def findings(folder: Path, program: str, *arguments: str, **more: str) -> list[dict[str, Any]]:
    """What the memory checker finds in a program."""
    output = folder / "findings"
    output.write_text("")
    environment = {"GROUNDSTATE_CHECK": "memory", "GROUNDSTATE_CHECK_OUTPUT": str(output)}
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | environment | more,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    lines = map(json.loads, output.read_text().splitlines())
    return [each for each in lines if "kind" in each]


# --- Images ---------------------------------------------------------------------------------------

IMAGES = """
import sys
import groundstate as gs
NONE = "CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST"
source = '''
constant sampler_t none = %s;
constant sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE;
kernel void k(read_only image2d_t in, write_only image2d_t out, global float *o, sampler_t s) {
    int x = get_global_id(0);
    %s;
}''' % (NONE, sys.argv[1])
context = gs.default_context()
numbers = context.alloc_shared(64, "float32")
images = [gs.Image(context, (16, 8), "rgba8unorm") for _ in range(2)]
sampler = gs.Sampler(context, gs.AddressMode[sys.argv[2]], normalized=False)
commands = context.default_list()
gs.Module(context, opencl=source, name="image.cl")["k"](commands, 2, 8, *images, numbers, sampler)
commands.synchronize()
"""

WRONG_IMAGES = {
    "o[x] = read_imagef(in, none, (int2)(x, 1)).x": "image read at (8, 1)",
    "o[x] = read_imagef(in, (int2)(1, x + 1)).x": "image read at (1, 16)",
    "o[x] = read_imagef(in, none, (float2)(x - 0.5f, 1)).x": "image read at (-0.5, 1.0)",
    "write_imagef(out, (int2)(-x, 3), (float4)(1))": "image write at (-1, 3)",
}
RIGHT_IMAGES = (
    "o[x] = read_imagef(in, edge, (int2)(x, 1)).x",
    "o[x] = read_imagef(in, edge, (float2)(x - 0.5f, 1)).x",
    "o[x] = read_imagef(in, none, (int2)(x / 2, x)).x",
    "if (x < 8) write_imagef(out, (int2)(x, 3), (float4)(1))",
)


@pytest.mark.parametrize("statement", WRONG_IMAGES)
def test_texel_out_of_range_is_reported(tmp_path: Path, statement: str) -> None:
    (found,) = findings(tmp_path, IMAGES, statement, "REPEAT")
    assert found["title"] == f"{WRONG_IMAGES[statement]}, out of range of 8 x 16 texels"
    access = "write" if "write" in statement else "read"
    assert found["kind"] == f"out-of-range-image-{access}"
    assert found["places"][0]["label"] in ("argument 0 'in'", "argument 1 'out'")


@pytest.mark.parametrize("statement", RIGHT_IMAGES)
def test_texel_in_range_or_by_sampler_is_right(tmp_path: Path, statement: str) -> None:
    assert findings(tmp_path, IMAGES, statement, "REPEAT") == []


@pytest.mark.parametrize(("mode", "count"), [("NONE", 1), ("CLAMP", 0)])
def test_addressing_of_a_passed_sampler_counts(tmp_path: Path, mode: str, count: int) -> None:
    statement = "o[x] = read_imagef(in, s, (int2)(x, 1)).x"
    assert len(findings(tmp_path, IMAGES, statement, mode)) == count


UNWATCHED = """
from groundstate.compiler.instrument import images
images._operands = lambda node: None
"""


def test_broken_checker_finds_no_texel(tmp_path: Path) -> None:
    statement = next(iter(WRONG_IMAGES))
    more = {"GROUNDSTATE_CACHE": "0"}
    assert findings(tmp_path, IMAGES, statement, "REPEAT", **more)
    assert findings(tmp_path, UNWATCHED + IMAGES, statement, "REPEAT", **more) == []


# --- Inner arrays ---------------------------------------------------------------------------------


def after(text: str, *functions: Run) -> Kernel:
    """A kernel after some passes."""
    kernel = parse_kernel(text)
    steps = [Pass(function.__name__, function) for function in functions]
    run_passes(steps, kernel, Analyses(kernel, Target(lanes=8)))
    return kernel


INNER = """
kernel "inner"
argument 0: global [2 x [3 x u32]]*
argument 1: u64
block 0:
  %0: u64 = Builtin ["GlobalInvocationId", 0]
  %1: global u32* = InBoundsPtrAccessChain argument 0, u64:0, ROW, COLUMN
  Store %1, u32:1
  return
"""


@pytest.mark.parametrize(
    ("row", "column", "count"),
    [
        ("%0", "argument 1", 1),
        ("u64:1", "u64:3", 1),
        ("u64:1", "u64:2", 0),
        ("u64:0", "argument 1", 0),  # as a cast to one long array leaves it
    ],
)
def test_index_of_an_inner_array_is_watched(row: str, column: str, count: int) -> None:
    kernel = after(INNER.replace("ROW", row).replace("COLUMN", column), check_indices)
    assert sum(node.op == "Report" for node in kernel.nodes()) == count


SPIRV = """
OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %k "k" %id
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %id Constant
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%v3 = OpTypeVector %u64 3
%three = OpConstant %u64 3
%two = OpConstant %u64 2
%one = OpConstant %u64 1
%zero = OpConstant %u64 0
%number = OpConstant %u32 1
%row = OpTypeArray %u32 %three
%rows = OpTypeArray %row %two
%input = OpTypePointer Input %v3
%global = OpTypePointer CrossWorkgroup %rows
%element = OpTypePointer CrossWorkgroup %u32
%type = OpTypeFunction %void %global
%id = OpVariable %input Input
%k = OpFunction %void None %type
%out = OpFunctionParameter %global
%start = OpLabel
%ids = OpLoad %v3 %id
%i = OpCompositeExtract %u64 %ids 0
%place = OpInBoundsPtrAccessChain %element %out %zero %one %i
OpStore %place %number Aligned 4
OpReturn
OpFunctionEnd
"""
RUN = """
import sys
import groundstate as gs
context = gs.default_context()
memory = context.alloc_shared(128, "int32")
commands = context.default_list()
gs.Module(context, spirv=open(sys.argv[1], "rb").read())["k"](commands, 4, 16, memory)
commands.synchronize()
"""


def test_index_beyond_an_inner_array_is_reported(tmp_path: Path) -> None:
    module = tmp_path / "inner.spv"
    module.write_bytes(assemble(SPIRV))
    (found,) = findings(tmp_path, RUN, str(module))
    assert found["title"] == "out-of-bounds write of 4 bytes: index 3 of an array of 3 elements"
    assert found["kind"] == "out-of-bounds-write"
    assert found["work_item"] == [3, 0, 0]
    assert found["count"] == 61


LONG_LOOP = """
import groundstate as gs
source = '''kernel void k(global int *o) {
    int a[4];
    for (int i = 0; i <= 4; i++) a[i] = o[i];
    o[9] = a[1];
}'''
memory = gs.default_context().alloc_shared(64, "int32")
gs.Module(opencl=source)["k"](gs.default_context().default_list(), 1, 1, memory)
gs.default_context().default_list().synchronize()
"""
TABLE = """
import groundstate as gs
source = "kernel void k(global int *o) { int a[4] = {1, 2, 3, 4}; o[0] = a[o[1]]; }"
memory = gs.default_context().alloc_shared(64, "int32")
memory.numpy()[:] = 4
gs.Module(opencl=source)["k"](gs.default_context().default_list(), 1, 1, memory)
gs.default_context().default_list().synchronize()
"""


def test_table_has_the_name_of_its_variable(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, TABLE)
    assert found["places"][0]["label"] == "'k.a'"


NO_INDICES = """
from groundstate.compiler.opencl import array_indices
array_indices.mark = lambda ir: ir
"""


def test_broken_checker_finds_no_index_of_a_dropped_access(tmp_path: Path) -> None:
    more = {"GROUNDSTATE_CACHE": "0"}
    assert [each["kind"] for each in findings(tmp_path, LONG_LOOP, **more)] == [
        "out-of-bounds-write"
    ]
    assert findings(tmp_path, NO_INDICES + LONG_LOOP, **more) == []


# --- Vectors of pointers --------------------------------------------------------------------------

MASKED = """
kernel "masked"
argument 0: global u32*
argument 1: u64
block 0:
  %0: global u32* = PtrAccessChain argument 0, argument 1
  %1: global u32*x2 = CompositeConstruct argument 0, %0
  %2: u32x2 = MaskedGatherINTEL %1, boolx2:(bool:1, bool:0), u32x2:(u32:1, u32:2) [4]
  MaskedScatterINTEL %2, %1, boolx2:(bool:1, bool:1) [4]
  return
"""


def test_gather_and_scatter_are_single_accesses() -> None:
    before = after(MASKED)
    assert not [each for node in before.nodes() for each in accesses(node)]
    kernel = after(MASKED, split_masked)
    words = [each.words for node in kernel.nodes() for each in accesses(node)]
    assert words == ["read", "read", "write", "write"]
