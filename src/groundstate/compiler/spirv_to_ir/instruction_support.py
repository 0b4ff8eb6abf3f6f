"""Which instructions of SPIR-V the compiler does not take, and why; what others mean to it.

Every instruction of the grammar is in one of these tables, is read by `compiler/spirv` or
`inlining`, or has a writer in `codegen/`. A test holds that.
"""

from __future__ import annotations

from groundstate.compiler.spirv.debug_info import is_debug_set
from groundstate.compiler.spirv.instructions import ROWS, enumeration
from groundstate.compiler.spirv.opcodes import ExecutionMode
from groundstate.compiler.spirv.operands import OPENCL_STD

SHADER_IMAGES = "reading images in this way is for shaders, not for kernels"
SPARSE_IMAGES = "images of which parts are missing are not supported"
IMAGE_ATOMICS = "atomic operations on texels are not supported"
IMAGE_BLOCKS = "blocks of texels for a whole sub-group are not supported"
PIPES = "pipes are not supported"
ENQUEUE = "kernels cannot enqueue kernels on this device"
GRAPHICS = "it is for shaders, not for kernels"
MATRICES = "matrices are for shaders, not for kernels"
ASSEMBLY = "inline assembly is for one kind of GPU; there is no such instruction on a CPU"
NAMED_BARRIERS = "barriers among some of the sub-groups of a work-group are not supported"
MOTION = "motion estimation needs a video unit, which a CPU does not have"


IMAGES = (
    "ImageSampleExplicitLod",
    "ImageFetch",
    "ImageRead",
    "ImageWrite",
    "Image",
    "ImageQueryFormat",
    "ImageQueryOrder",
    "ImageQuerySizeLod",
    "ImageQuerySize",
    "ImageQueryLevels",
    "ImageQuerySamples",
)
"""What kernels do with images."""


_NUMBERS = {row.name[len("Op") :]: number for number, row in ROWS.items()}


def _between(first: str, last: str) -> list[str]:
    """The instructions with the numbers from one to another."""
    low, high = _NUMBERS[first], _NUMBERS[last]
    return [name for name, number in _NUMBERS.items() if low <= number <= high]


def _table() -> dict[str, str]:
    refused = dict.fromkeys(_between("ImageSampleImplicitLod", "ImageQuerySamples"), SHADER_IMAGES)
    for name in IMAGES:
        del refused[name]
    sparse = _between("ImageSparseSampleImplicitLod", "ImageSparseTexelsResident")
    refused |= dict.fromkeys([*sparse, "ImageSparseRead"], SPARSE_IMAGES)
    refused["ImageTexelPointer"] = IMAGE_ATOMICS
    refused |= dict.fromkeys(
        [
            "SubgroupImageBlockReadINTEL",
            "SubgroupImageBlockWriteINTEL",
            "SubgroupImageMediaBlockReadINTEL",
            "SubgroupImageMediaBlockWriteINTEL",
        ],
        IMAGE_BLOCKS,
    )
    refused |= dict.fromkeys(_between("ReadPipe", "GroupCommitWritePipe"), PIPES)
    refused |= dict.fromkeys(["ConstantPipeStorage", "CreatePipeFromPipeStorage"], PIPES)
    refused |= dict.fromkeys(_between("EnqueueMarker", "BuildNDRange"), ENQUEUE)
    refused |= dict.fromkeys(
        ["GetKernelLocalSizeForSubgroupCount", "GetKernelMaxNumSubgroups"], ENQUEUE
    )
    refused |= dict.fromkeys(_between("MatrixTimesScalar", "OuterProduct"), MATRICES)
    refused["Transpose"] = MATRICES
    refused |= dict.fromkeys(_between("DPdx", "EndStreamPrimitive"), GRAPHICS)
    refused |= dict.fromkeys(
        ["ArrayLength", "UntypedArrayLengthKHR", "Kill", "TerminateInvocation"], GRAPHICS
    )
    refused |= dict.fromkeys(["NamedBarrierInitialize", "MemoryNamedBarrier"], NAMED_BARRIERS)
    refused |= dict.fromkeys(["AsmTargetINTEL", "AsmINTEL", "AsmCallINTEL"], ASSEMBLY)
    refused |= dict.fromkeys(
        _between("VmeImageINTEL", "SubgroupAvcSicGetInterRawSadsINTEL"), MOTION
    )
    refused["AbortKHR"] = "a work-item cannot stop a whole launch on this device"
    return refused


REFUSED: dict[str, str] = _table()
"""Instructions in the body of a function that make a build fail, and the reason."""

REFUSED_NUMBERS = frozenset(map(_NUMBERS.__getitem__, REFUSED))

REFUSED_MODES = {
    ExecutionMode.RoundingModeRTZ: "RoundingModeRTZ: the device rounds to the nearest number",
    ExecutionMode.RoundingModeRTPINTEL: "RoundingModeRTPINTEL: the device rounds to the nearest "
    "number",
    ExecutionMode.RoundingModeRTNINTEL: "RoundingModeRTNINTEL: the device rounds to the nearest "
    "number",
    ExecutionMode.FloatingPointModeALTINTEL: "FloatingPointModeALTINTEL: the device computes as "
    "IEEE 754 says",
}
"""Execution modes that would change what every instruction of a kernel computes."""

READ = frozenset(
    name
    for name in _NUMBERS
    if name.startswith(("Type", "Constant", "SpecConstant", "Source", "Alias"))
    and name not in REFUSED
    and name != "ConstantFunctionPointerINTEL"
) | {
    "Name",
    "MemberName",
    "String",
    "Extension",
    "ExtInstImport",
    "MemoryModel",
    "EntryPoint",
    "ExecutionMode",
    "ExecutionModeId",
    "Capability",
    "ModuleProcessed",
    "Decorate",
    "DecorateId",
    "DecorateString",
    "MemberDecorate",
    "MemberDecorateString",
    "DecorationGroup",
    "GroupDecorate",
    "GroupMemberDecorate",
    "Function",
    "FunctionParameter",
    "FunctionEnd",
    "Label",
    "CompositeConstructContinuedINTEL",
    "ExtInstWithForwardRefsKHR",
}
"""Instructions that `compiler/spirv` reads: they make up the module and its functions."""

INLINED = frozenset(
    [
        "Undef",
        "PoisonKHR",
        "ConstantFunctionPointerINTEL",
        "UntypedVariableKHR",
        "FunctionCall",
        "FunctionPointerCallINTEL",
        "Phi",
        "Branch",
        "BranchConditional",
        "Switch",
        "Return",
        "ReturnValue",
        "Unreachable",
    ]
)
"""Instructions that `inlining` takes: calls, branches, and values that belong to no block."""

NO_CODE = frozenset(
    [
        "Nop",
        "Line",
        "NoLine",
        "LoopMerge",
        "SelectionMerge",
        "LoopControlINTEL",
        "LifetimeStart",
        "LifetimeStop",
        "AssumeTrueKHR",
        "SubgroupBlockPrefetchINTEL",
        "UntypedPrefetchKHR",
    ]
)
"""Instructions that leave nothing behind: places in the source, hints, the lives of variables."""

RENAMED = {
    "ControlBarrierArriveINTEL": "MemoryBarrier",
    "ControlBarrierWaitINTEL": "ControlBarrier",
    "PtrCastToCrossWorkgroupINTEL": "PtrCastToGeneric",
    "CrossWorkgroupCastToPtrINTEL": "GenericCastToPtr",
    "UntypedAccessChainKHR": "AccessChain",
    "UntypedInBoundsAccessChainKHR": "InBoundsAccessChain",
    "UntypedPtrAccessChainKHR": "PtrAccessChain",
    "UntypedInBoundsPtrAccessChainKHR": "InBoundsPtrAccessChain",
    "UntypedVariableLengthArrayINTEL": "VariableLengthArrayINTEL",
}
"""Instructions that do the same as others here."""

UNTYPED = frozenset(name for name in RENAMED if name.startswith("Untyped"))
"""Instructions whose first operand is a type."""


def reason_against_set(name: str) -> str | None:
    """Why no instruction of a set can be compiled, or None if some can or all may be left out."""
    if name == OPENCL_STD or is_debug_set(name):
        return None
    return f"the extended instructions '{name}' are not for kernels"


BUILTINS = frozenset(
    [
        "NumWorkgroups",
        "WorkgroupSize",
        "WorkgroupId",
        "LocalInvocationId",
        "GlobalInvocationId",
        "LocalInvocationIndex",
        "WorkDim",
        "GlobalSize",
        "EnqueuedWorkgroupSize",
        "GlobalOffset",
        "GlobalLinearId",
        "SubgroupSize",
        "SubgroupMaxSize",
        "NumSubgroups",
        "NumEnqueuedSubgroups",
        "SubgroupId",
        "SubgroupLocalInvocationId",
        "SubgroupEqMask",
        "SubgroupGeMask",
        "SubgroupGtMask",
        "SubgroupLeMask",
        "SubgroupLtMask",
    ]
)
"""The built-in variables of the OpenCL environment, all of which there are."""


def refused_builtins() -> frozenset[str]:
    """The built-in variables that only shaders have, or only devices of one maker."""
    return frozenset(each.name for each in enumeration("BuiltIn").values()) - BUILTINS
