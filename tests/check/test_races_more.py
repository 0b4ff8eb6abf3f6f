"""Races of images between commands, and of copies whose elements have a size that only the program
knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.check.test_memory_more import findings
from tests.compiler.spirv.assembler import assemble

# --- Images between commands ----------------------------------------------------------------------

IMAGES = """
import sys
import groundstate as gs
source = '''
kernel void put(write_only image2d_t to) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, p, (float4)(p.x));
}
kernel void step(read_only image2d_t from, write_only image2d_t to) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, p, read_imagef(from, (int2)(p.x ^ 1, p.y)));
}
'''
context = gs.default_context()
module = gs.Module(opencl=source, name="images.cl")
one, other = gs.Image(context, (8, 64), "r32float"), gs.Image(context, (8, 64), "r32float")
host = context.alloc_host((8, 64), "float32")
pool = gs.EventPool(context, 4)
events = [pool.event() for _ in range(4)]
with gs.CommandList.immediate(context, in_order=True) as first, \\
        gs.CommandList.immediate(context, in_order=True) as second:
    def launch(commands, name, *arguments, **events):
        module[name](commands, (4, 1), (16, 8), *arguments, **events)
    exec(sys.argv[1])
    for commands in (first, second):
        commands.synchronize()
"""

WRONG = {
    "launch and launch": "launch(first, 'put', one); launch(second, 'step', one, other)",
    "through a view": "launch(first, 'put', one); launch(second, 'put', one.view())",
    "launch and copy": "launch(first, 'put', one); second.copy_image(host, one)",
    "copy and launch": "first.copy_image(one, host); launch(second, 'step', one, other)",
}
RIGHT = {
    "ping-pong in one list": """
for _ in range(3):
    launch(first, 'step', one, other); launch(first, 'step', other, one)
first.copy_image(host, one)""",
    "ping-pong with events": """
launch(first, 'step', one, other, signal=events[0])
launch(second, 'step', other, one, wait=[events[0]], signal=events[1])
launch(first, 'step', one, other, wait=[events[1]], signal=events[2])
second.copy_image(host, one, wait=[events[2]])""",
    "both read": "launch(first, 'step', one, other); second.copy_image(host, one)",
    "waited for": "launch(first, 'put', one); first.synchronize(); second.copy_image(host, one)",
}


def races(folder: Path, code: str) -> list[dict[str, Any]]:
    return findings(folder, IMAGES, code, GROUNDSTATE_CHECK="races")


@pytest.mark.parametrize("code", WRONG.values(), ids=WRONG)
def test_commands_meet_in_an_image(tmp_path: Path, code: str) -> None:
    (found,) = races(tmp_path, code)
    assert found["kind"] == "race-between-commands"
    assert found["places"][0]["file"]


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_commands_on_an_image_are_ordered(tmp_path: Path, code: str) -> None:
    assert races(tmp_path, code) == []


def test_both_accesses_of_an_image_are_shown(tmp_path: Path) -> None:
    (found,) = races(tmp_path, WRONG["launch and launch"])
    assert found["title"] == (
        "race between kernel 'step' and kernel 'put': read and write of the same bytes"
    )
    lines = [(each["file"], each["line"]) for each in found["places"]]
    assert lines == [("images.cl", 8), ("images.cl", 4)]


# --- Copies of a group ----------------------------------------------------------------------------

COPY = """
OpCapability Kernel
OpCapability Addresses
OpCapability Groups
OpCapability Int64
OpCapability UntypedPointersKHR
OpExtension "SPV_KHR_untyped_pointers"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %k "k" %id %copies
OpDecorate %id BuiltIn LocalInvocationId
OpDecorate %id Constant
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%v3 = OpTypeVector %u64 3
%group = OpConstant %u32 2
%once = OpConstant %u32 1
%one = OpConstant %u64 1
%half = OpConstant %u64 32
%all = OpConstant %u64 64
%happens = OpTypeEvent
%place = OpTypePointer Function %happens
%none = OpConstantNull %happens
%numbers = OpTypeArray %u32 %all
%local = OpTypePointer Workgroup %numbers
%number = OpTypePointer Workgroup %u32
%any = OpTypeUntypedPointerKHR Workgroup
%anywhere = OpTypeUntypedPointerKHR CrossWorkgroup
%input = OpTypePointer Input %v3
%global = OpTypePointer CrossWorkgroup %u32
%type = OpTypeFunction %void %global %u64
%id = OpVariable %input Input
%copies = OpVariable %local Workgroup
%k = OpFunction %void None %type
%out = OpFunctionParameter %global
%bytes = OpFunctionParameter %u64
%start = OpLabel
%event = OpVariable %place Function
%ids = OpLoad %v3 %id
%i = OpCompositeExtract %u64 %ids 0
%to = OpBitcast %any %copies
%from = OpBitcast %anywhere %out
%done = OpUntypedGroupAsyncCopyKHR %happens %group %to %from %bytes %half %one %none
OpStore %event %done
BEFORE
OpGroupWaitEvents %group %once %event
AFTER
%into = OpInBoundsPtrAccessChain %global %out %far
OpStore %into %value Aligned 4
OpReturn
OpFunctionEnd
"""
READ = """%second = OpIAdd %u64 %i %half
%at = OpInBoundsAccessChain %number %copies %second
%value = OpLoad %u32 %at Aligned 4
%far = OpIAdd %u64 %second %all"""
RUN_COPY = """
import sys
import groundstate as gs
context = gs.default_context()
memory = context.alloc_shared(256, "int32")
commands = context.default_list()
kernel = gs.Module(context, spirv=open(sys.argv[1], "rb").read())["k"]
kernel(commands, 1, 32, memory, int(sys.argv[2]))
commands.synchronize()
"""


def found_in_copy(folder: Path, bytes_: int, before: str, after: str) -> list[dict[str, Any]]:
    module = folder / "copy.spv"
    module.write_bytes(assemble(COPY.replace("BEFORE", before).replace("AFTER", after)))
    return findings(folder, RUN_COPY, str(module), str(bytes_), GROUNDSTATE_CHECK="races")


def test_copy_of_elements_of_unknown_size_is_read_too_early(tmp_path: Path) -> None:
    (found,) = found_in_copy(tmp_path, 8, READ, "")
    assert found["kind"] == "race-in-local-memory"
    assert "copy's write" in found["title"]


@pytest.mark.parametrize(("bytes_", "before", "after"), [(8, "", READ), (4, READ, "")])
def test_copy_of_elements_of_unknown_size_is_no_race(
    tmp_path: Path, bytes_: int, before: str, after: str
) -> None:
    assert found_in_copy(tmp_path, bytes_, before, after) == []
