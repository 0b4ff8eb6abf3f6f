"""Modules as text: the bare assembly against Debian's tools, and the form for people."""

from __future__ import annotations

import re
import shutil
import subprocess
from array import array
from pathlib import Path

import pytest

from groundstate.cli.main import main
from groundstate.compiler.spirv import InvalidModule, read
from groundstate.compiler.spirv.assembly import assembly
from groundstate.compiler.spirv.disassemble import disassemble
from groundstate.compiler.spirv.opcodes import Op
from groundstate.compiler.spirv.text import enumerant_text, float_text, number_text
from groundstate.compiler.spirv.types import Bool, Float, Int
from tests.compiler.spirv.spirv_support import (
    MODULE_NAMES,
    assemble,
    binary,
    instruction,
    module_data,
    read_text,
)


def words_of(data: bytes) -> list[int]:
    """The words behind the header."""
    return array("I", data).tolist()[5:]


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_the_modules_of_these_tests_are_valid(name: str, tmp_path: Path) -> None:
    if shutil.which("spirv-val") is None:
        pytest.skip("spirv-val of the package spirv-tools is not installed")
    path = tmp_path / "module.spv"
    path.write_bytes(module_data(name))
    done = subprocess.run(["spirv-val", path], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_assembled_disassembly_gives_same_words(name: str) -> None:
    data = module_data(name)
    assert words_of(assemble("\n".join(assembly(data)))) == words_of(data)


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_the_text_says_what_spirv_dis_says(name: str, tmp_path: Path) -> None:
    if shutil.which("spirv-dis") is None:
        pytest.skip("spirv-dis of the package spirv-tools is not installed")
    path = tmp_path / "module.spv"
    path.write_bytes(module_data(name))
    command = ["spirv-dis", "--raw-id", "--no-indent", "--no-header", str(path)]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ours = "\n".join(assembly(path.read_bytes()))
    kept = [line.strip() for line in ours.splitlines() if not line.startswith(";")]
    assert kept == theirs.splitlines()


CONSTANTS = """
    %one = OpConstant %float 1
    %tenth = OpConstant %float 0.1
    %tiny = OpConstant %float 0x1p-149
    %huge = OpConstant %float 3.40282347e+38
    %inf = OpConstant %float 0x1p+128
    %nan = OpConstant %float -0x1.8p+128
    %zero = OpConstant %float -0.0
    %third = OpConstant %double 0.3333333333333333
    %big = OpConstant %double -0x1p+1024
    %half_third = OpConstant %half 0x1.554p-2
    %wide = OpConstant %ulong 18446744073709551615
"""


def test_numbers_survive_the_trip_through_text() -> None:
    data = assemble("OpCapability Float16\n" + TEXT_TYPES + CONSTANTS)
    assert words_of(assemble("\n".join(assembly(data)))) == words_of(data)


TEXT_TYPES = """
    %half = OpTypeFloat 16
    %float = OpTypeFloat 32
    %double = OpTypeFloat 64
    %ulong = OpTypeInt 64 0
"""


@pytest.mark.parametrize(
    ("kind", "bits", "text"),
    [
        (Float(32), 0x3F800000, "1"),
        (Float(32), 0x3DCCCCCD, "0.1"),
        (Float(32), 0x7F800000, "0x1p+128"),
        (Float(32), 0xFFC00000, "-0x1.8p+128"),
        (Float(64), 0x7FF0000000000000, "0x1p+1024"),
        (Float(16), 0x3C00, "1"),
        (Float(16), 0x7E00, "0x1.8p+16"),
        (Float(16, 0), 0x3F80, "0x3f80"),
    ],
)
def test_floats_print_with_fewest_digits(kind: Float, bits: int, text: str) -> None:
    assert float_text(kind, bits) == text


def test_numbers_and_names() -> None:
    assert number_text(Int(8, True), 0xFF) == "-1"
    assert number_text(Int(8), 0xFF) == "255"
    assert number_text(Bool(), 1) == "true"
    assert enumerant_text("FunctionControl", 0) == "None"
    assert enumerant_text("FunctionControl", 3) == "Inline|DontInline"
    assert enumerant_text("Capability", 65000) == "!65000"


def test_unknown_instructions_print_as_numbers() -> None:
    lines = list(assembly(binary(instruction(60000, 7), instruction(Op.TypeVoid, 1, 9))))
    assert lines[1].split() == [f"!{2 << 16 | 60000}", "!7"]
    assert lines[2].split() == ["%1", "=", "OpTypeVoid", "!9"]


def test_text_before_broken_instruction_is_shown() -> None:
    lines = assembly(binary(instruction(Op.TypeVoid, 1), [0]))
    assert "Version: 1.2" in next(lines)
    assert next(lines).endswith("OpTypeVoid")
    with pytest.raises(InvalidModule, match="does not fit"):
        next(lines)


# --- For people -----------------------------------------------------------------------------------


def shown(name: str) -> str:
    return "\n".join(disassemble(read(module_data(name))))


def test_function_prints_types_and_values_inline() -> None:
    text = shown("loop")
    assert '; kernel "sum_of_cases": LocalSize 16 2 1, ContractionOff' in text
    assert "f32 %helper(f32 %" in text
    assert 'Inline|Pure {  ; export "helper"' in text
    assert re.search(r"%i += OpPhi u64 0 %\d+ %\d+ %\d+", text)
    assert re.search(r"OpSwitch %\d+ %\d+ 1 %\d+ 4294967296 %\d+", text)
    assert re.search(r"OpExtInst f32 OpenCL.std.sqrt %\d+", text)
    assert re.search(r"OpStore %\d+ %\d+ Volatile\|Aligned\|Nontemporal 4", text)
    assert "OpLine" not in text


def test_structures_are_shown_with_their_offsets() -> None:
    text = shown("layout")
    assert "struct %natural { u8 flag @0; f64 value @8; u16 _2 @16 }  ; 24 bytes" in text
    assert "packed struct %packed { u8 _0 @0; f64 _1 @1; u16 _2 @9 }  ; 11 bytes" in text
    assert "struct %node { u32 _0 @0; global struct %node* _1 @8 }" in text
    assert re.search(r"constant global u16\* %\d+ = &%\d+ \+ 2", text)


def test_names_are_short_where_they_are_clear() -> None:
    module = read_text(
        """
        %takes = OpTypeFunction %void %uint
        %f = OpFunction %void None %takes
        %x1 = OpFunctionParameter %uint
        %l1 = OpLabel
        %s1 = OpIAdd %uint %x1 %x1
        %s2 = OpIAdd %uint %s1 %x1
        OpReturn
        OpFunctionEnd
        %g = OpFunction %void None %takes
        %x2 = OpFunctionParameter %uint
        %l2 = OpLabel
        OpReturn
        OpFunctionEnd
        """,
        """
        OpName %f "twice"
        OpName %g "not a word"
        OpName %x1 "x"
        OpName %x2 "x"
        OpName %s1 "sum"
        OpName %s2 "sum"
        """,
    )
    text = "\n".join(disassemble(module))
    assert "void %twice(u32 %x) {" in text
    assert "void %not_a_word(u32 %x) {" in text
    assert re.search(r"%sum\.\d+ = OpIAdd u32 %x %x", text)


def test_texts_are_shown_as_such() -> None:
    module = read_text(
        """
        %n = OpConstant %ulong 20
        %text = OpTypeArray %uchar %n
        %c = OpConstant %uchar 104
        %line = OpConstant %uchar 10
        %end = OpConstant %uchar 0
        %all = OpConstantComposite %text """
        + " ".join(["%c"] * 18)
        + " %line %end"
    )
    assert f'= "{"h" * 18}\\n"' in "\n".join(disassemble(module))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.spv"
    path.write_bytes(module_data("loop"))
    assert main(["dis", str(path)]) == 0
    assert "; capabilities: Addresses, Linkage, Kernel, Int64" in capsys.readouterr().out
    assert main(["dis", str(path), "--raw"]) == 0
    assert "OpFunctionEnd" in capsys.readouterr().out
    assert main(["dis", str(path), "--function", "the_same_again"]) == 0
    assert capsys.readouterr().out.startswith('; kernel "sum_of_cases"')


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.spv"
    assert main(["dis", str(path)]) == 1
    assert "no such file" in capsys.readouterr().err
    path.write_bytes(b"text")
    assert main(["dis", str(path)]) == 1
    assert "at least 20 bytes" in capsys.readouterr().err
    path.write_bytes(module_data("loop"))
    assert main(["dis", str(path), "--function", "nothing"]) == 1
    expected = "there is no function 'nothing'; there are helper, main, sum_of_cases"
    assert expected in capsys.readouterr().err
