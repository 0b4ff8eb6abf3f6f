"""Program-scope variables: what they start with, addresses in them, initializers."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler.errors import BuildError
from groundstate.compiler.program import Program
from tests.compiler.instructions.instruction_support import each_item, module
from tests.compiler.runner import new_variables, run

COUNT = 32


def outputs(program: Program, width: int, variables: np.ndarray | None = None) -> np.ndarray:
    result = np.zeros(COUNT, np.uint32)
    run(program, "kernel", (2, 1, 1), (16, 1, 1), result, width=width, variables=variables)
    return result


ARRAYS = """
%four = OpTypeArray %u32 %u32:4
%g*four = OpTypePointer CrossWorkgroup %four
%numbers = OpConstantComposite %four %u32:10 %u32:20 %u32:30 %u32:40
%data = OpVariable %g*four CrossWorkgroup %numbers
"""


@pytest.mark.parametrize("width", [1, 8])
def test_a_variable_can_hold_addresses_of_others(width: int) -> None:
    declarations = f"""
    {ARRAYS}
    %at.2 = OpSpecConstantOp %g*u32 InBoundsPtrAccessChain %data %u32:0 %u32:2
    %bytes = OpSpecConstantOp %g*u8 Bitcast %data
    %byte.4 = OpSpecConstantOp %g*u8 PtrAccessChain %bytes %u64:4
    %at.1 = OpSpecConstantOp %g*u32 Bitcast %byte.4
    %as.number = OpSpecConstantOp %u64 ConvertPtrToU %at.1
    %further = OpSpecConstantOp %u64 IAdd %as.number %u64:8
    %held = OpTypeStruct %u8 %g*u32 %u64 %g*u32
    %g*held = OpTypePointer CrossWorkgroup %held
    %holding = OpConstantComposite %held %u8:7 %at.2 %further %g*u32:null
    %holder = OpVariable %g*held CrossWorkgroup %holding
    %g*g*held = OpTypePointer CrossWorkgroup %g*held
    %outer = OpVariable %g*g*held CrossWorkgroup %holder
    """
    body = """
    %inner = OpLoad %g*held %outer
    %at = OpInBoundsAccessChain %g*g*u32 %inner %u32:1
    %pointer = OpLoad %g*u32 %at
    %x = OpLoad %u32 %pointer
    %number.at = OpInBoundsAccessChain %g*u64 %inner %u32:2
    %number = OpLoad %u64 %number.at
    %there = OpConvertUToPtr %g*u32 %number
    %y = OpLoad %u32 %there
    %null.at = OpInBoundsAccessChain %g*g*u32 %inner %u32:3
    %nothing = OpLoad %g*u32 %null.at
    %is.null = OpPtrEqual %bool %nothing %g*u32:null
    %z = OpSelect %u32 %is.null %u32:1 %u32:0
    %sum = OpIAdd %u32 %x %y
    %r = OpIAdd %u32 %sum %z
    """
    program = Program(module(each_item([body], [], ["u32"]), declarations=declarations))
    assert outputs(program, width).tolist() == [30 + 40 + 1] * COUNT


@pytest.mark.parametrize("width", [1, 8])
def test_constants_of_a_kernel_can_hold_addresses(width: int) -> None:
    declarations = f"""
    {ARRAYS}
    %row = OpTypeArray %u32 %u32:16
    %l*row = OpTypePointer Workgroup %row
    %shared = OpVariable %l*row Workgroup
    %shared.5 = OpSpecConstantOp %l*u32 InBoundsPtrAccessChain %shared %u32:0 %u32:5
    %data.3 = OpSpecConstantOp %g*u32 InBoundsPtrAccessChain %data %u32:0 %u32:3
    %data.number = OpSpecConstantOp %u64 ConvertPtrToU %data.3
    %start.number = OpSpecConstantOp %u64 ConvertPtrToU %data
    %distance = OpSpecConstantOp %u64 ISub %data.number %start.number
    %is.same = OpSpecConstantOp %bool IEqual %data.number %start.number
    %both = OpTypeStruct %g*u32 %u64
    %pair = OpConstantComposite %both %data.3 %data.number
    """
    body = """
    OpStore %shared.5 %u32:7
    %x = OpLoad %u32 %shared.5
    %pointer = OpCompositeExtract %g*u32 %pair 0
    %y = OpLoad %u32 %pointer
    %number = OpCompositeExtract %u64 %pair 1
    %there = OpConvertUToPtr %g*u32 %number
    %z = OpLoad %u32 %there
    %sum = OpIAdd %u32 %x %y
    %more = OpIAdd %u32 %sum %z
    %bytes = OpUConvert %u32 %distance
    %all = OpIAdd %u32 %more %bytes
    %r = OpSelect %u32 %is.same %u32:0 %all
    """
    program = Program(module(each_item([body], [], ["u32"]), declarations=declarations))
    assert outputs(program, width).tolist() == [7 + 40 + 40 + 12] * COUNT


@pytest.mark.parametrize(("asked", "given"), [(256, 256), (4096, 4096), (3, 4), (1 << 20, 4)])
def test_variable_is_as_aligned_as_the_module_asks(asked: int, given: int) -> None:
    program = Program(
        module(
            each_item(["%r = OpLoad %u32 %second"], [], ["u32"]),
            declarations="%first = OpVariable %g*u32 CrossWorkgroup %u32:5\n"
            "%second = OpVariable %g*u32 CrossWorkgroup %u32:6",
            before='OpDecorate %second LinkageAttributes "second" Export\n'
            f"OpDecorate %second Alignment {asked}",
        )
    )
    assert program.global_offsets["second"] == (given, 4)
    assert outputs(program, 8).tolist() == [6] * COUNT


LOCAL_IN_A_LIST = """
%row = OpTypeArray %u32 %u32:16
%l*row = OpTypePointer Workgroup %row
%shared = OpVariable %l*row Workgroup
%shared.bytes = OpSpecConstantOp %f*u8 Bitcast %shared
%list = OpTypeStruct %u32 %f*u8 %u32
%g*list = OpTypePointer CrossWorkgroup %list
%listed = OpConstantComposite %list %u32:5 %shared.bytes %u32:6
%keeps = OpVariable %g*list CrossWorkgroup %listed
"""


@pytest.mark.parametrize("width", [1, 8])
def test_listed_local_variable_stays_local(width: int) -> None:
    """Compilers list what they want to keep, in a variable that nobody reads."""
    body = """
    %at = OpInBoundsAccessChain %l*u32 %shared %u32:3
    OpStore %at %u32:7
    %r = OpLoad %u32 %at
    """
    program = Program(module(each_item([body], [], ["u32"]), declarations=LOCAL_IN_A_LIST))
    assert program.globals.image.count(0) == len(program.globals.image) - 2
    assert outputs(program, width).tolist() == [7] * COUNT


def test_kernel_cannot_read_a_list_of_local_variables() -> None:
    body = """
    %at = OpInBoundsAccessChain %g*u32 %keeps %u32:0
    %r = OpLoad %u32 %at
    """
    program = Program(module(each_item([body], [], ["u32"]), declarations=LOCAL_IN_A_LIST))
    with pytest.raises(BuildError, match="starts with the address of a variable in local memory"):
        outputs(program, 8)


FUNCTIONS = """
%add.one = OpFunction %u32 None %number.to.number
%x.1 = OpFunctionParameter %u32
%add.one.entry = OpLabel
%y.1 = OpIAdd %u32 %x.1 %u32:1
OpReturnValue %y.1
OpFunctionEnd
%times.three = OpFunction %u32 None %number.to.number
%x.3 = OpFunctionParameter %u32
%times.three.entry = OpLabel
%y.3 = OpIMul %u32 %x.3 %u32:3
OpReturnValue %y.3
OpFunctionEnd
"""
TABLE = """
%number.to.number = OpTypeFunction %u32 %u32
%f*code = OpTypePointer CodeSectionINTEL %number.to.number
%one.pointer = OpConstantFunctionPointerINTEL %f*code %add.one
%three.pointer = OpConstantFunctionPointerINTEL %f*code %times.three
%bytes.of.three = OpSpecConstantOp %f*u8 Bitcast %three.pointer
%slots = OpTypeArray %f*u8 %u32:2
%first.slot = OpSpecConstantOp %f*u8 Bitcast %one.pointer
%filled = OpConstantComposite %slots %first.slot %bytes.of.three
%g*slots = OpTypePointer CrossWorkgroup %slots
%virtual.table = OpVariable %g*slots CrossWorkgroup %filled
%g*g*slots = OpTypePointer CrossWorkgroup %g*slots
%object = OpVariable %g*g*slots CrossWorkgroup %virtual.table
"""


@pytest.mark.parametrize("width", [1, 8])
def test_a_virtual_function_is_called(width: int) -> None:
    body = """
    %index = OpUConvert %u32 %i
    %table = OpLoad %g*slots %object
    %odd = OpBitwiseAnd %u32 %index %u32:1
    %slot = OpInBoundsAccessChain %g*f*u8 %table %odd
    %plain = OpLoad %f*u8 %slot
    %code = OpBitcast %f*code %plain
    %r = OpFunctionPointerCallINTEL %u32 %code %index
    """
    spirv = module(
        each_item([body], [], ["u32"], FUNCTIONS),
        declarations=TABLE,
        capabilities=("FunctionPointersINTEL",),
        extensions=("SPV_INTEL_function_pointers",),
    )
    items = np.arange(COUNT)
    expected = np.where(items % 2, 3 * items, items + 1)
    assert outputs(Program(spirv), width).tolist() == expected.tolist()


def test_recursion_is_refused_by_name() -> None:
    functions = """
    %first = OpFunction %u32 None %number.to.number
    %x = OpFunctionParameter %u32
    %first.entry = OpLabel
    %y = OpFunctionCall %u32 %second %x
    OpReturnValue %y
    OpFunctionEnd
    %second = OpFunction %u32 None %number.to.number
    %z = OpFunctionParameter %u32
    %second.entry = OpLabel
    %w = OpFunctionCall %u32 %first %z
    OpReturnValue %w
    OpFunctionEnd
    """
    spirv = module(
        each_item(["%r = OpFunctionCall %u32 %first %u32:1"], [], ["u32"], functions),
        declarations="%number.to.number = OpTypeFunction %u32 %u32",
        before='OpName %first "first"\nOpName %second "second"',
    )
    program = Program(spirv)
    with pytest.raises(BuildError, match=r"recursion .*first calls second calls first"):
        program.check("kernel")


# --- Initializers and finalizers ------------------------------------------------------------------

CONSTRUCTORS = """
%nothing = OpTypeFunction %void
%total = OpVariable %g*u32 CrossWorkgroup %u32:5
"""
CONSTRUCTOR_BODIES = """
%grow = OpFunction %void None %nothing
%grow.entry = OpLabel
%before = OpLoad %u32 %total
%after = OpIMul %u32 %before %u32:3
OpStore %total %after
OpReturn
OpFunctionEnd
%step = OpFunction %void None %nothing
%step.entry = OpLabel
%old = OpLoad %u32 %total
%new = OpIAdd %u32 %old %u32:1
OpStore %total %new
OpReturn
OpFunctionEnd
"""
READ = "%r = OpLoad %u32 %total"


def test_initializers_run_once_finalizers_after() -> None:
    spirv = module(
        each_item([READ], [], ["u32"], CONSTRUCTOR_BODIES),
        kernels=("kernel", "grow"),
        declarations=CONSTRUCTORS,
        before="OpExecutionMode %grow Initializer\nOpExecutionMode %step Finalizer\n"
        'OpName %total "total"',
    )
    program = Program(spirv)
    assert program.kernel_names == ("kernel",)
    variables = new_variables(program)
    for _ in range(2):
        assert outputs(program, 8, variables).tolist() == [15] * COUNT
    program.finalise(variables.ctypes.data)
    assert outputs(program, 8, variables).tolist() == [16] * COUNT


def test_constructors_run_in_priority_order() -> None:
    declarations = f"""
    {CONSTRUCTORS}
    %f*nothing = OpTypePointer CodeSectionINTEL %nothing
    %grow.pointer = OpConstantFunctionPointerINTEL %f*nothing %grow
    %step.pointer = OpConstantFunctionPointerINTEL %f*nothing %step
    %ctor = OpTypeStruct %u32 %f*nothing %g*u8
    %ctors = OpTypeArray %ctor %u32:2
    %late = OpConstantComposite %ctor %u32:65535 %grow.pointer %g*u8:null
    %early = OpConstantComposite %ctor %u32:101 %step.pointer %g*u8:null
    %list = OpConstantComposite %ctors %late %early
    %g*ctors = OpTypePointer CrossWorkgroup %ctors
    %constructors = OpVariable %g*ctors CrossWorkgroup %list
    """
    spirv = module(
        each_item([READ], [], ["u32"], CONSTRUCTOR_BODIES),
        declarations=declarations,
        before='OpDecorate %constructors LinkageAttributes "llvm.global_ctors" Export',
        capabilities=("FunctionPointersINTEL",),
        extensions=("SPV_INTEL_function_pointers",),
    )
    program = Program(spirv)
    assert program.kernel_names == ("kernel",)
    assert outputs(program, 8).tolist() == [18] * COUNT


# --- Several modules ------------------------------------------------------------------------------


def test_address_reaches_variable_of_other_module() -> None:
    user = module(
        each_item(["%pointer = OpLoad %g*u32 %holder\n%r = OpLoad %u32 %pointer"], [], ["u32"]),
        declarations="%value = OpVariable %g*u32 CrossWorkgroup\n"
        "%holder = OpVariable %g*g*u32 CrossWorkgroup %value",
        before='OpDecorate %value LinkageAttributes "value" Import',
    )
    owner = module(
        "",
        kernels=(),
        declarations="%padding = OpVariable %g*u64 CrossWorkgroup %u64:1\n"
        "%value = OpVariable %g*u32 CrossWorkgroup %u32:77",
        before='OpDecorate %value LinkageAttributes "value" Export',
    )
    program = Program.link([Program(user), Program(owner)])
    assert outputs(program, 8).tolist() == [77] * COUNT


def test_link_once_variable_is_shared_by_modules() -> None:
    def part(name: str, body: str) -> bytes:
        text = each_item([body], [], ["u32"]).replace("%kernel", f"%{name}")
        return module(
            text,
            kernels=(name,),
            declarations="%shared = OpVariable %g*u32 CrossWorkgroup %u32:3",
            before='OpDecorate %shared LinkageAttributes "shared" LinkOnceODR',
        )

    writer = part("writer", "OpStore %shared %u32:9\n%r = OpLoad %u32 %shared")
    reader = part("kernel", "%r = OpLoad %u32 %shared")
    program = Program.link([Program(writer), Program(reader)])
    variables = new_variables(program)
    run(
        program,
        "writer",
        (1, 1, 1),
        (16, 1, 1),
        np.zeros(16, np.uint32),
        variables=variables,
    )
    assert outputs(program, 8, variables).tolist() == [9] * COUNT
