"""zeModuleGetFunctionPointer: the host names a function, a kernel calls it by its pointer."""

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

from groundstate import ze
from tests.compiler.spirv.spirv_support import assemble
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, launch
from tests.driver.modules.test_modules import native_binary, program_of
from tests.driver.modules.test_modules_linking import create_kernel, link
from tests.driver.support import finish

ITEMS = 150


@pytest.fixture
def real(driver: int, device: int) -> Iterator[KernelBench]:
    bench = KernelBench(driver, device)
    yield bench
    bench.close()


HEADER = """
OpCapability Addresses
OpCapability Kernel
OpCapability Linkage
OpCapability Int64
OpCapability FunctionPointersINTEL
OpExtension "SPV_INTEL_function_pointers"
OpMemoryModel Physical64 OpenCL
"""
TYPES = """
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%one = OpConstant %uint 1
%three = OpConstant %uint 3
%ten = OpConstant %uint 10
%v3ulong = OpTypeVector %ulong 3
%id_pointer = OpTypePointer Input %v3ulong
%id = OpVariable %id_pointer Input
%words = OpTypePointer CrossWorkgroup %uint
%longs = OpTypePointer CrossWorkgroup %ulong
%unary = OpTypeFunction %uint %uint
%code = OpTypePointer CodeSectionINTEL %unary
%pointers = OpTypePointer CrossWorkgroup %code
%call_type = OpTypeFunction %void %code %words
%each_type = OpTypeFunction %void %pointers %words
"""
BUILTIN = "OpDecorate %id BuiltIn GlobalInvocationId\nOpDecorate %id Constant\n"
PLACE = """
%{0}_ids = OpLoad %v3ulong %id
%{0}_at = OpCompositeExtract %ulong %{0}_ids 0
%{0}_place = OpInBoundsPtrAccessChain %words %{0}_out %{0}_at
%{0}_before = OpLoad %uint %{0}_place
"""
CALL_ONE = (
    """
%call = OpFunction %void None %call_type
%call_f = OpFunctionParameter %code
%call_out = OpFunctionParameter %words
%call_entry = OpLabel
"""
    + PLACE.format("call")
    + """
%call_after = OpFunctionPointerCallINTEL %uint %call_f %call_before
OpStore %call_place %call_after
OpReturn
OpFunctionEnd
"""
)
CALL_EACH = (
    """
%each = OpFunction %void None %each_type
%each_table = OpFunctionParameter %pointers
%each_out = OpFunctionParameter %words
%each_entry = OpLabel
"""
    + PLACE.format("each")
    + """
%each_entry_at = OpInBoundsPtrAccessChain %pointers %each_table %each_at
%each_f = OpLoad %code %each_entry_at
%each_after = OpFunctionPointerCallINTEL %uint %each_f %each_before
OpStore %each_place %each_after
OpReturn
OpFunctionEnd
"""
)


def function(name: str, body: str) -> str:
    return f"""
%{name} = OpFunction %uint None %unary
%{name}_x = OpFunctionParameter %uint
%{name}_entry = OpLabel
{body}
OpReturnValue %{name}_y
OpFunctionEnd
"""


ADD = function("add", "%add_y = OpIAdd %uint %add_x %one")
TRIPLE = function("triple", "%triple_y = OpIMul %uint %triple_x %three")
SQUARE = function("square", "%square_y = OpIMul %uint %square_x %square_x")
BOTH_KERNELS = 'OpEntryPoint Kernel %call "call" %id\nOpEntryPoint Kernel %each "each" %id\n'


def exports(*names: str, kind: str = "Export") -> str:
    return "".join(f'OpDecorate %{name} LinkageAttributes "{name}" {kind}\n' for name in names)


def module(*parts: str, before: str = "", after_types: str = "") -> bytes:
    return assemble(HEADER + before + BUILTIN + TYPES + after_types + "".join(parts))


WHOLE = (CALL_ONE, CALL_EACH, ADD, TRIPLE, SQUARE)
WHOLE_BEFORE = BOTH_KERNELS + exports("add", "triple", "square")


def pointer(handle: int, name: str) -> int:
    found = ctypes.c_void_p()
    check(ze.zeModuleGetFunctionPointer(handle, name.encode(), ctypes.byref(found)))
    assert found.value, "a function pointer is not null"
    return found.value


def refused(handle: int, name: str) -> int:
    found = ctypes.c_void_p()
    result = ze.zeModuleGetFunctionPointer(handle, name.encode(), ctypes.byref(found))
    assert found.value is None
    return int(result)


def call(bench: KernelBench, handle: int, target: int, size: int = 50) -> list[int]:
    """What the kernel `call` makes of 0, 1, 2 ..."""
    out, commands = bench.array(ITEMS, "uint32"), bench.immediate()
    out[:] = np.arange(ITEMS)
    kernel = bench.kernel_in(handle, "call", target, out, size=(size, 1, 1))
    launch(commands, kernel, ITEMS // size)
    finish(commands)
    return list(map(int, out))


@pytest.mark.parametrize("size", [1, 10, 50, 150])
def test_kernel_calls_function_that_host_names(real: KernelBench, size: int) -> None:
    handle = real.module_of(module(*WHOLE, before=WHOLE_BEFORE))
    assert call(real, handle, pointer(handle, "add"), size) == [x + 1 for x in range(ITEMS)]
    assert call(real, handle, pointer(handle, "triple"), size) == [x * 3 for x in range(ITEMS)]
    assert call(real, handle, pointer(handle, "square"), size) == [x * x for x in range(ITEMS)]


@pytest.mark.parametrize("size", [1, 10, 50, 150])
def test_sub_group_items_call_different_functions(real: KernelBench, size: int) -> None:
    handle = real.module_of(module(*WHOLE, before=WHOLE_BEFORE))
    targets = [pointer(handle, name) for name in ("add", "triple", "square")]
    table, out, commands = real.array(ITEMS), real.array(ITEMS, "uint32"), real.immediate()
    table[:] = [targets[x % 3] for x in range(ITEMS)]
    out[:] = np.arange(ITEMS)
    launch(commands, real.kernel_in(handle, "each", table, out, size=(size, 1, 1)), ITEMS // size)
    finish(commands)
    expected = [(x + 1, x * 3, x * x)[x % 3] for x in range(ITEMS)]
    assert list(map(int, out)) == expected


def test_pointers_differ_by_function_and_module(real: KernelBench) -> None:
    first = real.module_of(module(*WHOLE, before=WHOLE_BEFORE))
    second = real.module_of(module(ADD, before=exports("add")))
    names = ("add", "triple", "square", "call", "each")
    found = [pointer(first, name) for name in names] + [pointer(second, "add")]
    assert len(set(found)) == len(found)
    assert pointer(first, "add") == found[0]


def test_host_pointer_equals_kernel_taken_address(real: KernelBench) -> None:
    declarations = """
%taken = OpConstantFunctionPointerINTEL %code %triple
%tell_type = OpTypeFunction %void %longs
"""
    tell = """
%tell = OpFunction %void None %tell_type
%tell_out = OpFunctionParameter %longs
%tell_entry = OpLabel
%tell_number = OpConvertPtrToU %ulong %taken
OpStore %tell_out %tell_number
OpReturn
OpFunctionEnd
"""
    before = 'OpEntryPoint Kernel %tell "tell"\n' + exports("triple")
    handle = real.module_of(module(tell, TRIPLE, before=before, after_types=declarations))
    out, commands = real.array(1), real.immediate()
    launch(commands, real.kernel_in(handle, "tell", out, size=(1, 1, 1)), 1)
    finish(commands)
    assert int(out[0]) == pointer(handle, "triple")


def test_address_taken_function_needs_no_export(real: KernelBench) -> None:
    before = BOTH_KERNELS + 'OpName %triple "triple"\n'
    declarations = "%taken = OpConstantFunctionPointerINTEL %code %triple\n"
    parts = (CALL_ONE, CALL_EACH, TRIPLE)
    handle = real.module_of(module(*parts, before=before, after_types=declarations))
    assert call(real, handle, pointer(handle, "triple")) == [x * 3 for x in range(ITEMS)]


@pytest.mark.parametrize("name", ["nobody", "variable", "hidden", ""])
def test_pointer_to_unexported_name_is_refused(real: KernelBench, name: str) -> None:
    before = BOTH_KERNELS + exports("add", "variable") + 'OpName %hidden "hidden"\n'
    hidden = function("hidden", "%hidden_y = OpIAdd %uint %hidden_x %ten")
    parts = (CALL_ONE, CALL_EACH, ADD, hidden)
    variable = "%variable = OpVariable %words CrossWorkgroup %one\n"
    handle = real.module_of(module(*parts, before=before, after_types=variable))
    assert refused(handle, name) == ze.ZE_RESULT_ERROR_INVALID_FUNCTION_NAME
    assert repr(name) in last_error()


def test_recursive_function_lacks_pointer_only(real: KernelBench) -> None:
    again = function("again", "%again_y = OpFunctionCall %uint %again %again_x")
    before = BOTH_KERNELS + exports("add", "again")
    handle = real.module_of(module(CALL_ONE, CALL_EACH, ADD, again, before=before))
    assert refused(handle, "again") == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
    assert "recursion" in last_error()
    assert call(real, handle, pointer(handle, "add")) == [x + 1 for x in range(ITEMS)]


def test_pointer_called_function_may_call_others(real: KernelBench) -> None:
    body = """
%twice_once = OpFunctionCall %uint %add %twice_x
%twice_y = OpFunctionCall %uint %add %twice_once
"""
    before = BOTH_KERNELS + exports("twice")
    handle = real.module_of(
        module(CALL_ONE, CALL_EACH, ADD, function("twice", body), before=before)
    )
    assert call(real, handle, pointer(handle, "twice")) == [x + 2 for x in range(ITEMS)]


CALLER = (CALL_ONE, CALL_EACH)


def test_linked_module_provides_the_function(real: KernelBench) -> None:
    caller = real.module_of(module(*CALLER, before=BOTH_KERNELS))
    library = real.module_of(module(ADD, TRIPLE, before=exports("add", "triple")))
    early = pointer(library, "triple")
    assert link(caller, library) == (ze.ZE_RESULT_SUCCESS, "")
    assert pointer(library, "triple") == early, "linking leaves pointers as they are"
    assert pointer(caller, "add") == pointer(library, "add")
    assert call(real, caller, early) == [x * 3 for x in range(ITEMS)]
    assert call(real, caller, pointer(library, "add")) == [x + 1 for x in range(ITEMS)]


def test_kernel_without_callee_says_to_link(real: KernelBench) -> None:
    caller = real.module_of(module(*CALLER, before=BOTH_KERNELS))
    assert create_kernel(caller, "call") != ze.ZE_RESULT_SUCCESS
    assert "zeModuleDynamicLink" in last_error()


def test_import_has_pointer_of_its_definition(real: KernelBench) -> None:
    declared = """
%add = OpFunction %uint None %unary
%add_x = OpFunctionParameter %uint
OpFunctionEnd
"""
    body = "%more_y = OpFunctionCall %uint %add %more_x"
    before = BOTH_KERNELS + exports("more") + exports("add", kind="Import")
    user = real.module_of(module(declared, *CALLER, function("more", body), before=before))
    library = real.module_of(module(ADD, before=exports("add")))
    assert refused(user, "more") == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
    assert "link" in last_error()
    assert link(user, library) == (ze.ZE_RESULT_SUCCESS, "")
    assert call(real, user, pointer(user, "more")) == [x + 1 for x in range(ITEMS)]
    assert pointer(user, "add") == pointer(library, "add")


def test_linked_and_native_modules_keep_pointers(real: KernelBench) -> None:
    parts = [module(*CALLER, before=BOTH_KERNELS), module(TRIPLE, before=exports("triple"))]
    program = real.adopt(program_of(real, parts), ze.zeModuleDestroy)
    target = pointer(program, "triple")
    assert target == pointer(real.module_of(parts[1]), "triple")
    assert call(real, program, target) == [x * 3 for x in range(ITEMS)]
    copy = real.module_of(native_binary(program), format=ze.ZE_MODULE_FORMAT_NATIVE)
    assert call(real, copy, target) == [x * 3 for x in range(ITEMS)]
