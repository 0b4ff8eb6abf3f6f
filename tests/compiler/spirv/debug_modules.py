"""Modules with debug information of each kind, for the same kernel.

`twice` is called by the kernel `k` in line 8 of `blur.cl`. It loads in line 2, where the compiler
that wrote the module has inlined `pick`, which is in `pick.h`: its store is in line 3 there.
"""

from __future__ import annotations

from tests.compiler.spirv.spirv_support import assemble

PREAMBLE = """
    OpCapability Addresses
    OpCapability Kernel
    OpCapability Int64
    {extension}
    {imported}
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %k "k"
    %file = OpString "blur.cl"
    %header = OpString "pick.h"
    %name_k = OpString "k"
    %name_twice = OpString "twice"
    %name_pick = OpString "pick"
    %text = OpString "first line
    second line"
    {source}
    OpName %twice "twice"
    %void = OpTypeVoid
    %uint = OpTypeInt 32 0
    %two = OpConstant %uint 2
    %three = OpConstant %uint 3
    %five = OpConstant %uint 5
    %eight = OpConstant %uint 8
    %pointer = OpTypePointer CrossWorkgroup %uint
    %type = OpTypeFunction %void %pointer
    {debug}
    %twice = OpFunction %void None %type
    %address = OpFunctionParameter %pointer
    %start = OpLabel
    {in_twice}
    %value = OpLoad %uint %address Aligned 4
    %sum = OpIAdd %uint %value %value
    {in_pick}
    OpStore %address %sum Aligned 4
    {nowhere}
    OpStore %address %two Aligned 4
    OpReturn
    OpFunctionEnd
    %k = OpFunction %void None %type
    %argument = OpFunctionParameter %pointer
    %entry = OpLabel
    {in_k}
    %called = OpFunctionCall %void %twice %argument
    OpReturn
    OpFunctionEnd
"""

LINES = {
    "extension": "",
    "imported": "",
    "debug": "",
    "source": 'OpSource OpenCL_C 200000 %file "first line\n    second line"',
    "in_twice": "OpLine %file 2 5",
    "in_pick": "OpLine %header 3 7",
    "nowhere": "OpNoLine",
    "in_k": "OpLine %file 8 3",
}
"""OpLine and nothing else: calls that were inlined are not known."""

SCOPES = """
    %none = OpExtInst %void %set DebugInfoNone
    %source = OpExtInst %void %set DebugSource %file %text
    %other = OpExtInst %void %set DebugSource %header
    %unit = OpExtInst %void %set DebugCompilationUnit 65536 4 %source OpenCL_C
    %kind = OpExtInst %void %set DebugTypeFunction None %void
    %scope_k = OpExtInst %void %set DebugFunction %name_k %kind %source 7 0 %unit %name_k \
        FlagIsDefinition 7 %none
    %scope_twice = OpExtInst %void %set DebugFunction %name_twice %kind %source 1 0 %unit \
        %name_twice FlagIsDefinition 1 %none
    %scope_pick = OpExtInst %void %set DebugFunction %name_pick %kind %other 1 0 %unit %name_pick \
        FlagIsDefinition 1 %none
    %block = OpExtInst %void %set DebugLexicalBlock %other 3 1 %scope_pick
    %site = OpExtInst %void %set DebugInlinedAt 5 %scope_twice
"""

OPENCL = LINES | {
    "imported": '%set = OpExtInstImport "OpenCL.DebugInfo.100"',
    "source": "OpSource OpenCL_C 200000",
    "debug": SCOPES,
    "in_twice": "%s1 = OpExtInst %void %set DebugScope %scope_twice\nOpLine %file 2 5",
    "in_pick": "%s2 = OpExtInst %void %set DebugScope %block %site\nOpLine %header 3 7",
    "nowhere": "%s3 = OpExtInst %void %set DebugNoScope\nOpNoLine",
    "in_k": "%s4 = OpExtInst %void %set DebugScope %scope_k\nOpLine %file 8 3",
}

SHADER = OPENCL | {
    "extension": 'OpExtension "SPV_KHR_non_semantic_info"',
    "imported": '%set = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"',
    "debug": """
    %zero = OpConstant %uint 0
    %one = OpConstant %uint 1
    %seven = OpConstant %uint 7
    %none = OpExtInst %void %set DebugInfoNone
    %source = OpExtInst %void %set DebugSource %file %text
    %other = OpExtInst %void %set DebugSource %header
    %unit = OpExtInst %void %set DebugCompilationUnit %one %five %source %three
    %kind = OpExtInst %void %set DebugTypeFunction %zero %void
    %scope_k = OpExtInst %void %set DebugFunction %name_k %kind %source %seven %zero %unit %name_k \
        %eight %seven
    %scope_twice = OpExtInst %void %set DebugFunction %name_twice %kind %source %one %zero %unit \
        %name_twice %eight %one
    %scope_pick = OpExtInst %void %set DebugFunction %name_pick %kind %other %one %zero %unit \
        %name_pick %eight %one
    %block = OpExtInst %void %set DebugLexicalBlock %other %three %one %scope_pick
    %site = OpExtInst %void %set DebugInlinedAt %five %scope_twice
""",
    "in_twice": "%s1 = OpExtInst %void %set DebugScope %scope_twice\n"
    "%l1 = OpExtInst %void %set DebugLine %source %two %two %five %five",
    "in_pick": "%s2 = OpExtInst %void %set DebugScope %block %site\n"
    "%l2 = OpExtInst %void %set DebugLine %other %three %three %seven %seven",
    "nowhere": "%l3 = OpExtInst %void %set DebugNoLine",
    "in_k": "%s4 = OpExtInst %void %set DebugScope %scope_k\n"
    "%l4 = OpExtInst %void %set DebugLine %source %eight %eight %three %three",
}

NOTHING = dict.fromkeys(LINES, "")

TRANSLATOR_SET, OLD_SET = b"OpenCL.DebugInfo.100", b"SPIRV.debug"


def module(kind: dict[str, str]) -> bytes:
    """The binary of the kernel with debug information of a kind."""
    return assemble(PREAMBLE.format(**kind), "1.2")


def of_old_translator() -> bytes:
    """The binary as older translators write it: the same instructions, in a set of another name."""
    return module(OPENCL).replace(TRANSLATOR_SET, OLD_SET.ljust(len(TRANSLATOR_SET), b"\0"))
