"""Cases of control flow: branches, loops, switches, calls, calls through pointers."""

from __future__ import annotations

import numpy as np

from tests.compiler.instructions.arithmetic import COUNT, RANDOM
from tests.compiler.instructions.instruction_support import case

WORDS = RANDOM.integers(0, 1000, COUNT).astype(np.uint32)
WORD = [("u32", WORDS)]

case(
    "loop",
    """
    OpNop
    OpBranch %head
    %head = OpLabel
    %k = OpPhi %u32 %u32:0 %entry %next %again
    %total = OpPhi %u32 %u32:0 %entry %more %again
    OpLoopMerge %end %again None
    OpBranch %check
    %check = OpLabel
    %square = OpIMul %u32 %k %k
    %go.on = OpULessThan %bool %square %a
    OpLoopControlINTEL 2
    OpBranchConditional %go.on %again %end 9 1
    %again = OpLabel
    %more = OpIAdd %u32 %total %k
    %next = OpIAdd %u32 %k %u32:1
    OpBranch %head
    %end = OpLabel
    %r = OpCopyObject %u32 %total
    """,
    WORD,
    "u32",
    lambda a: np.array([sum(k for k in range(100) if k * k < each) for each in a.tolist()]),
    capabilities=("UnstructuredLoopControlsINTEL",),
    extensions=("SPV_INTEL_unstructured_loop_controls",),
)
for kind in ("u8", "u16", "u32", "u64"):
    convert = (
        "%key = OpBitwiseAnd %u32 %a %u32:7"
        if kind == "u32"
        else (f"%low = OpBitwiseAnd %u32 %a %u32:7\n%key = OpUConvert %{kind} %low")
    )
    case(
        f"Switch-{kind}",
        f"""
        {convert}
        OpSelectionMerge %end None
        OpSwitch %key %other 0 %zero 1 %one 3 %one 6 %end
        %zero = OpLabel
        OpBranch %one
        %one = OpLabel
        %value = OpPhi %u32 %u32:10 %entry %u32:20 %zero
        %grown = OpIAdd %u32 %value %a
        OpBranch %end
        %other = OpLabel
        OpBranch %end
        %end = OpLabel
        %r = OpPhi %u32 %u32:5 %other %grown %one %u32:7 %entry
        """,
        [("u32", WORDS.copy())],
        "u32",
        lambda a: np.select(
            [a & 7 == 0, (a & 7 == 1) | (a & 7 == 3), a & 7 == 6], [a + 20, a + 10, a * 0 + 7], 5
        ),
    )
case(
    "Unreachable",
    """
    %never = OpUGreaterThan %bool %a %u32:5000
    OpSelectionMerge %end None
    OpBranchConditional %never %dead %end
    %dead = OpLabel
    OpUnreachable
    %end = OpLabel
    %r = OpIAdd %u32 %a %u32:1
    """,
    [("u32", WORDS.copy())],
    "u32",
    lambda a: a + 1,
)

# --- Calls ----------------------------------------------------------------------------------------

TYPES = """
%number.to.number = OpTypeFunction %u32 %u32
%nothing = OpTypeFunction %void %p*u32
"""
FUNCTIONS = """
%double = OpFunction %u32 Inline %number.to.number
%x = OpFunctionParameter %u32
%double.entry = OpLabel
%is.small = OpULessThan %bool %x %u32:500
OpBranchConditional %is.small %double.small %double.large
%double.small = OpLabel
%twice = OpIMul %u32 %x %u32:2
OpReturnValue %twice
%double.large = OpLabel
OpReturnValue %x
OpFunctionEnd
%change = OpFunction %void None %nothing
%target = OpFunctionParameter %p*u32
%change.entry = OpLabel
%given = OpLoad %u32 %target
%changed = OpFunctionCall %u32 %double %given
OpStore %target %changed
OpReturn
OpFunctionEnd
"""
case(
    "FunctionCall",
    """
    %cell = OpVariable %p*u32 Function %u32:0
    OpStore %cell %a
    %void.result = OpFunctionCall %void %change %cell
    %r = OpLoad %u32 %cell
    """,
    WORD,
    "u32",
    lambda a: np.where(a < 500, 2 * a, a),
    functions=FUNCTIONS,
    declarations=TYPES,
    before="OpDecorate %double NoSignedWrap",
)
POINTERS = {
    "capabilities": ("FunctionPointersINTEL", "IndirectReferencesINTEL"),
    "extensions": ("SPV_INTEL_function_pointers",),
    "functions": """
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
%negate = OpFunction %u32 None %number.to.number
%x.n = OpFunctionParameter %u32
%negate.entry = OpLabel
%y.n = OpSNegate %u32 %x.n
OpReturnValue %y.n
OpFunctionEnd
""",
}
FUNCTION_TABLE = """
%number.to.number = OpTypeFunction %u32 %u32
%f*code = OpTypePointer CodeSectionINTEL %number.to.number
%one.pointer = OpConstantFunctionPointerINTEL %f*code %add.one
%three.pointer = OpConstantFunctionPointerINTEL %f*code %times.three
%table.type = OpTypeArray %f*code %u32:3
%c*table = OpTypePointer UniformConstant %table.type
%c*entry = OpTypePointer UniformConstant %f*code
%negate.pointer = OpConstantFunctionPointerINTEL %f*code %negate
%entries = OpConstantComposite %table.type %one.pointer %three.pointer %negate.pointer
%table = OpVariable %c*table UniformConstant %entries
"""
case(
    "FunctionPointerCallINTEL-of-a-choice",
    """
    %odd = OpBitwiseAnd %u32 %a %u32:1
    %is.odd = OpINotEqual %bool %odd %u32:0
    %pointer = OpSelect %f*code %is.odd %one.pointer %three.pointer
    %r = OpFunctionPointerCallINTEL %u32 %pointer %a
    """,
    WORD,
    "u32",
    lambda a: np.where(a & 1, a + 1, 3 * a),
    declarations=FUNCTION_TABLE,
    **POINTERS,
)
case(
    "FunctionPointerCallINTEL-of-a-table",
    """
    %third = OpUMod %u32 %a %u32:3
    %at = OpInBoundsAccessChain %c*entry %table %third
    %pointer = OpLoad %f*code %at
    %once = OpFunctionPointerCallINTEL %u32 %pointer %a
    %holder = OpVariable %p*f*code Function
    OpStore %holder %pointer
    %again = OpLoad %f*code %holder
    %r = OpFunctionPointerCallINTEL %u32 %again %once
    """,
    WORD,
    "u32",
    lambda a: np.select([a % 3 == 0, a % 3 == 1], [a + 2, 9 * a], a),
    declarations=FUNCTION_TABLE + "%p*f*code = OpTypePointer Function %f*code",
    **POINTERS,
)
case(
    "ConstantFunctionPointerINTEL-in-a-body",
    """
    %here = OpConstantFunctionPointerINTEL %f*code %negate
    %positive = OpFunctionPointerCallINTEL %u32 %here %a
    %number = OpConvertPtrToU %u64 %here
    %other = OpConvertPtrToU %u64 %negate.pointer
    %same = OpIEqual %bool %number %other
    %r = OpSelect %u32 %same %positive %u32:0
    """,
    WORD,
    "u32",
    lambda a: -a.astype(np.int64),
    declarations=FUNCTION_TABLE,
    **POINTERS,
)

# --- Structures by value --------------------------------------------------------------------------

case(
    "structure-by-value",
    """
    %mine = OpVariable %p*pair Function
    %first = OpInBoundsAccessChain %p*u32 %mine %u32:0
    OpStore %first %a
    %sum = OpFunctionCall %u32 %consume %mine
    %kept = OpLoad %u32 %first
    %shifted = OpIMul %u32 %sum %u32:1000
    %r = OpIAdd %u32 %shifted %kept
    """,
    WORD,
    "u32",
    lambda a: (a + 7) * 1000 + a,
    declarations="""
    %pair = OpTypeStruct %u32 %u32
    %p*pair = OpTypePointer Function %pair
    %takes.a.pair = OpTypeFunction %u32 %p*pair
    """,
    before="OpDecorate %by.value FuncParamAttr ByVal",
    functions="""
    %consume = OpFunction %u32 None %takes.a.pair
    %by.value = OpFunctionParameter %p*pair
    %consume.entry = OpLabel
    %inside = OpInBoundsAccessChain %p*u32 %by.value %u32:0
    %before.it = OpLoad %u32 %inside
    %after.it = OpIAdd %u32 %before.it %u32:7
    OpStore %inside %after.it
    %result = OpLoad %u32 %inside
    OpReturnValue %result
    OpFunctionEnd
    """,
)

# --- What debuggers and compilers leave in a module -----------------------------------------------

case(
    "sources-and-lines",
    """
    OpLine %file 12 3
    %debug = OpExtInst %void %debug.set 4 %file
    %sum = OpIAdd %u32 %a %u32:1
    OpNoLine
    %r = OpExtInst %u32 %cl u_max %sum %u32:500
    """,
    WORD,
    "u32",
    lambda a: np.maximum(a + 1, 500),
    before="""
    %debug.set = OpExtInstImport "NonSemantic.Something"
    %file = OpString "kernel.cl"
    OpSourceExtension "cl_khr_fp16"
    OpSource OpenCL_C 300000 %file "kernel void f()"
    OpSourceContinued "{}"
    OpName %sum "sum"
    OpModuleProcessed "by hand"
    OpDecorate %group NoSignedWrap
    %group = OpDecorationGroup
    OpGroupDecorate %group %sum
    """,
)
case(
    "decorations-of-every-form",
    """
    %value = OpCompositeConstruct %decorated %a %u32:1
    %sum = OpIAdd %u32 %a %u32:1
    %r = OpCompositeExtract %u32 %value 0
    """,
    WORD,
    "u32",
    WORDS,
    declarations="%decorated = OpTypeStruct %u32 %u32",
    before="""
    OpMemberName %decorated 0 "first"
    OpMemberDecorate %decorated 0 Constant
    OpMemberDecorateString %decorated 1 UserSemantic "meaning"
    OpDecorateString %decorated UserSemantic "pair"
    OpDecorate %shared NoUnsignedWrap
    %shared = OpDecorationGroup
    OpGroupMemberDecorate %shared %decorated 0
    """,
)
