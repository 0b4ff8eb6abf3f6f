"""Reading modules: what of a binary ends up where."""

from __future__ import annotations

from array import array

import pytest

from groundstate.compiler.spirv import InvalidModule, is_spirv, read
from groundstate.compiler.spirv.constants import Address, SamplerValue
from groundstate.compiler.spirv.opcodes import (
    AddressingModel,
    BuiltIn,
    Decoration,
    ExecutionMode,
    FunctionControl,
    FunctionParameterAttribute,
    Op,
    StorageClass,
)
from groundstate.compiler.spirv.operands import switch_cases
from groundstate.compiler.spirv.types import Float, FunctionType
from tests.compiler.spirv.spirv_support import (
    MODULE_NAMES,
    assemble,
    binary,
    by_name,
    instruction,
    module_data,
    read_text,
)


@pytest.mark.parametrize("minor", range(7))
def test_all_versions_are_read(minor: int) -> None:
    module = read(assemble("OpMemoryModel Physical64 OpenCL", f"1.{minor}"))
    assert module.version == (1, minor)
    assert module.function_ids == ()
    assert module.entry_points == {}


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_both_byte_orders_are_the_same_module(name: str) -> None:
    data = module_data(name)
    words = array("I", data)
    words.byteswap()
    one, other = read(data), read(words.tobytes())
    assert is_spirv(words.tobytes())
    assert one.names == other.names
    assert one.constants.keys() == other.constants.keys()
    for id in one.function_ids:
        assert repr(one.function(id)) == repr(other.function(id))


def test_what_is_not_spirv_is_told_apart() -> None:
    assert is_spirv(module_data("loop"))
    assert not is_spirv(b"\x7fELF")
    assert not is_spirv(b"")


def test_reader_keeps_physical32_addressing_model() -> None:
    module = read(assemble("OpMemoryModel Physical32 OpenCL"))
    assert module.addressing_model == AddressingModel.Physical32


def test_entry_points_that_share_a_function() -> None:
    module = read(module_data("loop"))
    assert list(module.entry_points) == ["sum_of_cases", "the_same_again"]
    first, second = module.entry_points.values()
    assert first.function == second.function == by_name(module, "main")
    gid = next(iter(module.variables))
    assert first.interface == (gid,)


def test_execution_modes() -> None:
    module = read(module_data("loop"))
    modes = module.execution_modes[by_name(module, "main")]
    assert modes[ExecutionMode.LocalSize] == (16, 2, 1)
    assert modes[ExecutionMode.ContractionOff] == ()
    assert modes[ExecutionMode.VecTypeHint] == (0,)


def test_execution_mode_ids_resolve_to_values() -> None:
    module = read(module_data("specialise"))
    modes = module.execution_modes[module.entry_points["scale"].function]
    assert modes[ExecutionMode.LocalSizeId] == (64, 1, 1)
    assert modes[ExecutionMode.LocalSize] == (64, 1, 1)
    assert modes[ExecutionMode.SubgroupSize] == (16,)


def test_variables_that_stand_for_built_in_values() -> None:
    module = read(module_data("loop"))
    (variable,) = module.variables.values()
    assert variable.builtin == BuiltIn.GlobalInvocationId
    assert variable.storage == StorageClass.Input
    assert variable.initializer is None
    assert str(variable.data_type) == "u64x3"


def test_imports_and_exports() -> None:
    module = read(module_data("loop"))
    gid = next(iter(module.variables))
    assert module.imports == {gid: "__spirv_BuiltInGlobalInvocationId"}
    assert module.exports == {by_name(module, "helper"): "helper"}
    layout = read(module_data("layout"))
    assert sorted(layout.exports.values()) == ["once", "table"]
    assert [layout.exports[id] for id in layout.link_once] == ["once"]


def test_decorations_of_groups_and_members() -> None:
    module = read(module_data("layout"))
    table = next(id for id, name in module.exports.items() if name == "table")
    assert module.decorations[table][Decoration.Alignment] == (64,)
    assert module.decorations[table][Decoration.Constant] == ()
    assert module.decorations[table][Decoration.UserSemantic] == "a note"
    assert module.decorations[table][Decoration.LinkageAttributes] == "table"
    natural, packed = by_name(module, "natural"), by_name(module, "packed")
    assert Decoration.Volatile in module.member_decorations[natural, 1]
    assert module.member_decorations[packed, 0][Decoration.Alignment] == (64,)
    assert module.member_names[natural, 1] == "value"


def test_all_attributes_of_parameter_are_kept() -> None:
    module = read(module_data("loop"))
    parameter = module.function(by_name(module, "main")).parameters[0]
    assert module.decorations[parameter.result][Decoration.FuncParamAttr] == (
        FunctionParameterAttribute.NoAlias,
        FunctionParameterAttribute.NoCapture,
    )


def test_a_function_is_read_into_blocks() -> None:
    module = read(module_data("loop"))
    helper = module.function(by_name(module, "helper"))
    assert helper.control == FunctionControl.Inline | FunctionControl.Pure
    assert isinstance(module.types[helper.type], FunctionType)
    assert module.types[helper.parameters[0].type] == Float(32)
    opcodes = [[i.opcode for i in block.instructions] for block in helper.blocks]
    assert opcodes == [
        [Op.SelectionMerge, Op.Switch],
        [Op.ExtInst, Op.Branch],
        [Op.FAdd, Op.Branch],
        [Op.Branch],
        [Op.Phi, Op.ReturnValue],
    ]
    phi = helper.blocks[4].instructions[0]
    assert phi.operands[1::2] == tuple(block.label for block in helper.blocks[1:4])


def test_the_cases_of_a_wide_switch() -> None:
    module = read(module_data("loop"))
    helper = module.function(by_name(module, "helper"))
    switch = helper.blocks[0].instructions[-1]
    types = {parameter.result: parameter.type for parameter in helper.parameters}
    cases = list(switch_cases(module, switch.operands, types))
    assert cases == [(1, helper.blocks[1].label), (1 << 32, helper.blocks[2].label)]


def test_functions_are_read_lazily_and_once() -> None:
    broken = instruction(Op.Function, 1, 3, 0, 2) + instruction(Op.FunctionEnd)
    module = read(
        binary(
            instruction(Op.TypeVoid, 1),
            instruction(Op.TypeFunction, 2, 1),
            instruction(Op.Function, 1, 4, 0, 2),
            instruction(Op.Label, 5),
            instruction(Op.Return),
            instruction(Op.FunctionEnd),
            broken[:5] + instruction(Op.Return) + broken[5:],
        )
    )
    assert module.function_ids == (4, 3)
    assert module.function(4) is module.function(4)
    with pytest.raises(InvalidModule, match="outside of a block"):
        module.function(3)
    with pytest.raises(InvalidModule, match="%1 is not a function"):
        module.function(1)


def test_a_function_without_blocks_is_an_import() -> None:
    module = read_text(
        """
        %takes = OpTypeFunction %void %uint
        %f = OpFunction %void None %takes
        %p = OpFunctionParameter %uint
        OpFunctionEnd
        """,
        'OpDecorate %f LinkageAttributes "elsewhere" Import',
    )
    (id,) = module.function_ids
    assert module.function(id).blocks == []
    assert len(module.function(id).parameters) == 1
    assert module.function_name(id) == "elsewhere"


def test_constants_of_every_kind() -> None:
    module = read(module_data("groups"))
    values = list(module.constants.values())
    sampler = next(v for v in values if isinstance(v.value, SamplerValue))
    assert sampler.value == SamplerValue(1, 0, 0)
    assert any(v.undef and v.value is None for v in values)
    assert any(v.is_null and v.value is None for v in values)


def test_addresses_in_initialisers() -> None:
    module = read(module_data("layout"))
    table = next(id for id, name in module.exports.items() if name == "table")
    pointer = next(
        v.initializer for v in module.variables.values() if v.initializer and v.id != table
    )
    assert pointer.value == Address(table, 2)
    contents = module.variables[table].initializer
    assert contents is not None
    assert isinstance(contents.value, tuple)
    assert [part.value for part in contents.value] == [1, 65535]


def test_variables_may_refer_to_one_another() -> None:
    module = read_text(
        """
        %to_uchar = OpTypePointer CrossWorkgroup %uchar
        %to_pointer = OpTypePointer CrossWorkgroup %to_uchar
        %cast1 = OpSpecConstantOp %to_uchar Bitcast %second
        %cast2 = OpSpecConstantOp %to_uchar Bitcast %first
        %first = OpVariable %to_pointer CrossWorkgroup %cast1
        %second = OpVariable %to_pointer CrossWorkgroup %cast2
        """
    )
    first, second = module.variables.values()
    assert first.initializer is not None
    assert second.initializer is not None
    assert first.initializer.value == Address(second.id)
    assert second.initializer.value == Address(first.id)


def test_reader_keeps_unknown_parts_without_error() -> None:
    module = read(
        binary(
            instruction(Op.Capability, 65000),
            instruction(Op.Extension, "SPV_ANY_invention"),
            instruction(Op.ExtInstImport, 1, "NonSemantic.Notes"),
            instruction(Op.MemoryModel, 2, 2),
            instruction(Op.Decorate, 2, 60001, 1, 2, 3),
            instruction(Op.TypeVoid, 2),
            instruction(Op.ExtInst, 2, 3, 1, 99, 77),
            instruction(Op.TypeFunction, 4, 2),
            instruction(Op.Function, 2, 5, 0, 4),
            instruction(Op.Label, 6),
            instruction(Op.ExtInst, 2, 7, 1, 98, 88),
            instruction(Op.Return),
            instruction(Op.FunctionEnd),
        )
    )
    assert module.capabilities == {65000}
    assert module.extensions == {"SPV_ANY_invention"}
    assert module.ext_imports == {1: "NonSemantic.Notes"}
    assert module.decorations[2][60001] == (1, 2, 3)
    assert len(module.function(5).blocks[0].instructions) == 2


def test_block_may_precede_its_dominator() -> None:
    module = read_text(
        """
        %takes = OpTypeFunction %void %uint
        %f = OpFunction %void None %takes
        %n = OpFunctionParameter %uint
        %start = OpLabel
        OpBranch %b
        %a = OpLabel
        %y = OpIAdd %uint %x %x
        OpReturn
        %b = OpLabel
        %x = OpIAdd %uint %n %n
        OpBranch %a
        OpFunctionEnd
        """
    )
    function = module.function(module.function_ids[0])
    assert [len(block.instructions) for block in function.blocks] == [1, 2, 2]


def test_continued_structures_and_composites() -> None:
    module = read(
        binary(
            instruction(Op.TypeInt, 1, 32, 0),
            instruction(Op.Constant, 1, 2, 7),
            instruction(Op.TypeStruct, 3, 1),
            instruction(Op.TypeStructContinuedINTEL, 1, 1),
            instruction(Op.ConstantComposite, 3, 4, 2),
            instruction(Op.ConstantCompositeContinuedINTEL, 2, 2),
        )
    )
    assert module.types[3].size == 12
    assert module.constants[4].part_count == 3


def test_untyped_pointers() -> None:
    module = read(
        binary(
            instruction(Op.TypeInt, 1, 32, 0),
            instruction(Op.TypeUntypedPointerKHR, 2, StorageClass.CrossWorkgroup),
            instruction(Op.UntypedVariableKHR, 2, 3, StorageClass.CrossWorkgroup, 1),
        )
    )
    assert module.variables[3].type.pointee is None
    assert module.variables[3].data_type is module.types[1]


def test_invalid_utf8_is_read_with_replacement() -> None:
    module = read(binary(instruction(Op.Name, 1, 0x00FFFEFD)))
    assert module.names[1] == "\ufffd\ufffd\ufffd"
