"""The tables of instructions: that they say what the grammar and newer extensions say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from groundstate.compiler.spirv.instructions import (
    ROWS,
    enumeration,
    is_bits,
    opcode_name,
    opencl_rows,
)
from groundstate.compiler.spirv.opcodes import CL, Capability, Decoration, MemoryAccess, Op
from registry.generators import spirv as generate_spirv


@pytest.mark.parametrize("path", generate_spirv.OUTPUTS, ids=lambda path: path.name)
def test_checked_in_tables_match_generator(path: Path) -> None:
    if not generate_spirv.CORE.exists():
        pytest.skip("the package spirv-headers is not installed")
    expected = "\n".join(generate_spirv.OUTPUTS[path]()) + "\n"
    assert path.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    ("number", "name", "has_type", "has_result", "fewest", "most"),
    [
        (Op.Nop, "OpNop", False, False, 0, 0),
        (Op.Label, "OpLabel", False, True, 0, 0),
        (Op.IAdd, "OpIAdd", True, True, 2, 2),
        (Op.Store, "OpStore", False, False, 2, None),
        (Op.FunctionCall, "OpFunctionCall", True, True, 1, None),
        (Op.AtomicCompareExchange, "OpAtomicCompareExchange", True, True, 6, 6),
        (Op.SDotAccSat, "OpSDotAccSat", True, True, 3, 4),
    ],
)
def test_a_row_says_what_an_instruction_takes(
    number: int, name: str, has_type: bool, has_result: bool, fewest: int, most: int | None
) -> None:
    row = ROWS[number]
    assert (row.name, row.has_type, row.has_result) == (name, has_type, has_result)
    assert (row.fewest, row.most) == (fewest, most)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("SubgroupShuffleINTEL", 5571),
        ("ConvertFToBF16INTEL", 6116),
        ("ConvertBF16ToFINTEL", 6117),
        ("AssumeTrueKHR", 5630),
        ("ExpectKHR", 5631),
        ("SDot", 4450),
        ("SUDotAccSat", 4455),
        ("AtomicFMinEXT", 5614),
        ("AtomicFMaxEXT", 5615),
        ("AtomicFAddEXT", 6035),
        ("AliasDomainDeclINTEL", 5911),
        ("ControlBarrierArriveINTEL", 6142),
        ("ControlBarrierWaitINTEL", 6143),
        ("TypeUntypedPointerKHR", 4417),
        ("GroupIMulKHR", 6401),
        ("GroupLogicalXorKHR", 6408),
    ],
)
def test_kernel_compiler_extensions_are_known(name: str, number: int) -> None:
    assert getattr(Op, name) == number
    assert ROWS[number].name == f"Op{name}"


def test_aliases_of_one_opcode_are_all_known() -> None:
    assert Op.SDot == Op.SDotKHR
    assert ROWS[Op.SDot].name == "OpSDot"


def test_the_set_of_opencl_is_complete() -> None:
    names = {row.name: number for number, row in opencl_rows().items()}
    assert len(names) == 162
    assert (names["acos"], names["printf"], names["u_mad_hi"]) == (0, CL.printf, 204)


def test_enumerations_tell_values_from_bits() -> None:
    assert is_bits("MemoryAccess")
    assert not is_bits("StorageClass")
    aligned = enumeration("MemoryAccess")[MemoryAccess.Aligned]
    assert [operand.kind for operand in aligned.operands] == ["integer"]
    assert enumeration("Decoration")[Decoration.LinkageAttributes].name == "LinkageAttributes"
    assert Capability.BFloat16ConversionINTEL == 6115


def test_an_unknown_instruction_has_no_name() -> None:
    assert opcode_name(60000) == "instruction 60000"


@pytest.mark.parametrize("name", ["errors", "instructions", "text", "types"])
def test_examples_in_the_documentation_are_true(name: str) -> None:
    module = importlib.import_module(f"groundstate.compiler.spirv.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
