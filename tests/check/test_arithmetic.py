"""The arithmetic checker on labelled kernels, and what it says.

`python -m tests.check arithmetic` prints recall and false alarms.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groundstate.compiler.instrument import arithmetic
from groundstate.compiler.ir.parser import parse_kernel
from groundstate.compiler.ir.passes import Analyses, Pass, run_passes
from groundstate.compiler.target import Target
from groundstate.driver.checking import arithmetic_findings
from tests.check.labelled.arithmetic import CASES
from tests.check.labelled.cases import Case
from tests.check.labelled.measure import Outcome, run_suite
from tests.compiler.spirv.assembler import assemble


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """What is found in each labelled kernel."""
    return {each.case.name: each for each in run_suite("arithmetic")}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernel_has_the_findings_of_its_label(case: Case, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[case.name]
    assert outcome.is_right, (case.kind, outcome.findings)


TITLES = {
    "divide_by_zero": "integer division by zero: 100 / 0",
    "unsigned_rest_by_zero": "remainder of a division by zero: 100 % 0",
    "least_by_minus_one": "signed overflow: -2147483648 / -1 does not fit in int",
    "sum_too_large": "signed overflow: 2147483585 + 63 does not fit in int",
    "sum_of_longs": "signed overflow: 9223372036854775807 + 1 does not fit in long",
    "negated_least": "signed overflow: -(-2147483648) does not fit in int",
    "negative_to_unsigned": "conversion of float -1.0 to uint, which does not fit in uint",
    "double_to_int_just_too_large": (
        "conversion of double 2147483648.0 to int, which does not fit in int"
    ),
    "vector_to_shorts": (
        "conversion of float 32768.0 to short, which does not fit in short, in component 2 (.z)"
    ),
    "one_over_zero": "infinity made of finite numbers: 1.0 / 0.0",
    "root_of_a_negative": "NaN made of finite numbers: sqrt(-1.0)",
    "double_too_large_for_float": "infinity made of finite numbers: (float) 3.5e+38",
}


@pytest.mark.parametrize("name", TITLES)
def test_title_has_the_numbers(name: str, outcomes: dict[str, Outcome]) -> None:
    found = outcomes[name].findings[0]
    assert found["title"] == TITLES[name]
    assert found["places"][0]["file"] == "labelled.cl"
    assert found["places"][0]["column"] > 0


def test_only_the_lane_that_is_wrong_reports(outcomes: dict[str, Outcome]) -> None:
    (found,) = outcomes["divide_by_zero"].findings
    assert found["work_item"] == [37, 0, 0]
    assert found["count"] == 1


def test_suite_has_wrong_and_right_kernels() -> None:
    assert sum(bool(case.kind) for case in CASES) >= 20
    assert sum(not case.kind for case in CASES) >= 20


# --- Without the front end of OpenCL C ------------------------------------------------------------

SHIFT = """
kernel "shift"
argument 0: global u32*
block 0:
  %0: u64 = Builtin ["GlobalInvocationId", 0]
  %1: global u32* = PtrAccessChain argument 0, %0
  %2: u32 = UConvert %0
  %3: u32 = ShiftLeftLogical u32:1, %2
  Store %1, %3
  return
"""


def checks(text: str) -> list[tuple[object, ...]]:
    """The literals of the checks that a kernel gets."""
    kernel = parse_kernel(text)
    step = Pass("check-arithmetic", arithmetic.check_arithmetic)
    run_passes([step], kernel, Analyses(kernel, Target(lanes=8)))
    return [node.literals[1:] for node in kernel.nodes() if node.op == "CheckArithmetic"]


def test_shift_by_a_number_from_memory_is_watched() -> None:
    assert checks(SHIFT) == [("shift", "ShiftLeftLogical", 2)]
    assert checks(SHIFT.replace("u32:1, %2", "%2, u32:31")) == []
    assert checks(SHIFT.replace("u32:1, %2", "%2, u32:32")) != []


def test_signed_overflow_needs_its_decoration() -> None:
    wraps = SHIFT.replace("ShiftLeftLogical u32:1, %2", "IAdd u32:1, %2")
    assert checks(wraps) == []
    assert checks(wraps.replace("u32:1, %2", "u32:1, %2 {4469: ()}")) == [("overflow", "IAdd", 2)]


PROGRAM = """
import sys
import groundstate as gs
context = gs.default_context()
module = gs.Module(context, spirv=open(sys.argv[1], "rb").read())
commands = context.default_list()
memory = context.alloc_shared(64, "int32")
module["k"](commands, 4, 16, memory)
commands.synchronize()
"""

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
%input = OpTypePointer Input %v3
%global = OpTypePointer CrossWorkgroup %u32
%type = OpTypeFunction %void %global
%one = OpConstant %u32 1
%id = OpVariable %input Input
%k = OpFunction %void None %type
%out = OpFunctionParameter %global
%start = OpLabel
%ids = OpLoad %v3 %id
%wide = OpCompositeExtract %u64 %ids 0
%i = OpUConvert %u32 %wide
%place = OpInBoundsPtrAccessChain %global %out %wide
%shifted = OpShiftLeftLogical %u32 %one %i
OpStore %place %shifted Aligned 4
OpReturn
OpFunctionEnd
"""


def run(tmp_path: Path, before: str = "", **more: str) -> list[dict[str, Any]]:
    """What is found in the kernel above."""
    module, output = tmp_path / "shift.spv", tmp_path / "findings"
    module.write_bytes(assemble(SPIRV))
    output.write_text("")
    environment = {"GROUNDSTATE_CHECK": "arithmetic", "GROUNDSTATE_CHECK_OUTPUT": str(output)}
    ended = subprocess.run(
        [sys.executable, "-c", before + PROGRAM, str(module)],
        env=os.environ | environment | more,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    lines = map(json.loads, output.read_text().splitlines())
    return [each for each in lines if "kind" in each]


def test_excessive_shift_is_reported(tmp_path: Path) -> None:
    (found,) = run(tmp_path)
    assert found["kind"] == "excessive-shift"
    assert found["title"] == "shift of 32 bits by 32: 1 << 32"
    assert found["work_item"] == [32, 0, 0]
    assert found["count"] == 32


def test_instruction_is_named_where_lines_are_not_known(tmp_path: Path) -> None:
    (found,) = run(tmp_path)
    module = tmp_path / "shift.spv"
    command = [sys.executable, "-m", "groundstate", "dis", "--words", str(module)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (line,) = [each for each in shown.splitlines() if "OpShiftLeftLogical" in each]
    text, _, word = line.partition("  ; word ")
    place = f"at word {word} of the module (groundstate dis --words): {text.strip()}"
    assert found["places"] == []
    assert place in found["notes"]


BROKEN = """
from groundstate.compiler.instrument import arithmetic
arithmetic.rules_of = lambda node: []
"""


def test_broken_checker_finds_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, GROUNDSTATE_CACHE="0")
    assert run(tmp_path, before=BROKEN, GROUNDSTATE_CACHE="0") == []


def test_arithmetic_is_by_option(tmp_path: Path) -> None:
    assert run(tmp_path, GROUNDSTATE_CHECK="1") == []


@pytest.mark.parametrize(
    ("value", "bits", "text"),
    [(0.1, 64, "0.1"), (0.10000000149011612, 32, "0.1"), (65504.0, 16, "65500.0")],
)
def test_numbers_have_the_digits_they_need(value: float, bits: int, text: str) -> None:
    (word,) = struct.unpack("<Q", struct.pack("<d", value))
    assert arithmetic_findings._float(word, bits) == text
