"""Modules: building, logs, options, constants, binaries, names, variables."""

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver import fake_compiler
from tests.driver.fake_compiler import spirv
from tests.driver.kernels import KernelBench, launch, module_description
from tests.driver.support import finish, view


def create(kernels: KernelBench, description: Any) -> tuple[int, int, str]:
    """Creates a module and reads its log; the result, the handle (0: none) and the log."""
    module, log = ctypes.c_void_p(), ctypes.c_void_p()
    result = ze.zeModuleCreate(
        kernels.context,
        kernels.device,
        ctypes.byref(description),
        ctypes.byref(module),
        ctypes.byref(log),
    )
    if module.value:
        kernels.adopt(module.value, ze.zeModuleDestroy)
    assert log.value is not None, "a log that was asked for is always made"
    text = read_log(log.value)
    check(ze.zeModuleBuildLogDestroy(log.value))
    return result, module.value or 0, text


def read_log(log: int) -> str:
    size = ctypes.c_size_t()
    check(ze.zeModuleBuildLogGetString(log, ctypes.byref(size), None))
    buffer = ctypes.create_string_buffer(size.value)
    check(ze.zeModuleBuildLogGetString(log, ctypes.byref(size), buffer))
    assert len(buffer.value) + 1 == size.value
    return buffer.value.decode()


def names(module: int) -> list[str]:
    count = ctypes.c_uint32()
    check(ze.zeModuleGetKernelNames(module, ctypes.byref(count), None))
    found = (ctypes.c_char_p * count.value)()
    check(ze.zeModuleGetKernelNames(module, ctypes.byref(count), found))
    return [(name or b"").decode() for name in found]


# --- Building -------------------------------------------------------------------------------------


def test_a_module_knows_its_kernels(kernels: KernelBench) -> None:
    assert names(kernels.module("add", "empty", "spin")) == ["add", "empty", "spin"]
    assert names(kernels.module()) == []


def test_fewer_kernel_names_may_be_asked_for(kernels: KernelBench) -> None:
    module = kernels.module("add", "empty")
    count, found = ctypes.c_uint32(1), (ctypes.c_char_p * 2)()
    check(ze.zeModuleGetKernelNames(module, ctypes.byref(count), found))
    assert (count.value, found[0], found[1]) == (1, b"add", None)


def test_a_module_that_cannot_be_built_says_why(kernels: KernelBench) -> None:
    reason = "error: kernel 'k': OpFoo is not known"
    result, module, log = create(kernels, module_description(spirv(fails=reason)))
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert module == 0
    assert log == reason
    assert reason in last_error()


def test_a_failed_build_needs_no_log(kernels: KernelBench) -> None:
    module = ctypes.c_void_p()
    result = ze.zeModuleCreate(
        kernels.context,
        kernels.device,
        ctypes.byref(module_description(b"not SPIR-V at all")),
        ctypes.byref(module),
        None,
    )
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "SPIR-V" in last_error()


def test_compiler_exception_is_a_build_failure(
    kernels: KernelBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(fake_compiler.Program, "_read", break_down)
    result, _, log = create(kernels, module_description(spirv("add")))
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "IndexError: list index out of range" in log


def test_a_log_is_cut_to_the_room_for_it(kernels: KernelBench) -> None:
    log, module = ctypes.c_void_p(), ctypes.c_void_p()
    description = module_description(spirv(fails="error: a long story"))
    ze.zeModuleCreate(
        kernels.context,
        kernels.device,
        ctypes.byref(description),
        ctypes.byref(module),
        ctypes.byref(log),
    )
    size, buffer = ctypes.c_size_t(6), ctypes.create_string_buffer(b"*" * 20)
    check(ze.zeModuleBuildLogGetString(log, ctypes.byref(size), buffer))
    assert buffer.raw[:8] == b"error\0**"
    assert size.value == len("error: a long story") + 1
    check(ze.zeModuleBuildLogDestroy(log))
    stale = ze.zeModuleBuildLogGetString(log, ctypes.byref(size), None)
    assert stale == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE


@pytest.mark.parametrize(
    ("options", "passed_on"),
    [
        (b"-ze-opt-disable", "-ze-opt-disable"),
        (b"-ze-opt-level=1", "-ze-opt-level=1"),
        (b"-ze-opt-level 0", "-ze-opt-level=0"),
        (b"-ze-opt-level=O2 -g", "-ze-opt-level=2 -g"),
        (
            b"-ze-opt-greater-than-4GB-buffer-required,-ze-opt-large-register-file",
            "-ze-opt-greater-than-4GB-buffer-required -ze-opt-large-register-file",
        ),
        (b"-ze-opt-has-buffer-offset-arg -cl-mad-enable", None),
        (b"", ""),
    ],
)
def test_documented_options_reach_the_compiler(
    kernels: KernelBench, options: bytes, passed_on: str | None
) -> None:
    result, _, log = create(kernels, module_description(spirv("add"), options))
    assert result == ze.ZE_RESULT_SUCCESS
    assert log == f"built with [{options.decode() if passed_on is None else passed_on}]"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (b"-ze-intel-has-buffer-offset-arg", "-ze-intel-has-buffer-offset-arg"),
        (b"-g -cl-intel-gtpin-rera", "-cl-intel-gtpin-rera"),
        (b"-device pvc -g", "-device pvc"),
        (b"--strange=1,2", "--strange=1"),
    ],
)
def test_an_unknown_option_is_a_line_in_the_log(
    kernels: KernelBench, options: bytes, named: str
) -> None:
    result, _, log = create(kernels, module_description(spirv("add"), options))
    assert result == ze.ZE_RESULT_SUCCESS
    warning, built = log.splitlines()
    assert warning.startswith("warning: ")
    assert named in warning
    assert built == f"built with [{'-g' if b'-g ' in options + b' ' else ''}]"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (b"-ze-opt-level=fast", "-ze-opt-level takes 0, 1 or 2, not 'fast'"),
        (b"-ze-opt-level", "not ''"),
        (b"-g fast", "'fast' is not a build option"),
        (b"- -g", "'-' is not a build option"),
        (b"\xff\xfe", "\\xff"),
    ],
)
def test_nonsense_is_refused(kernels: KernelBench, options: bytes, named: str) -> None:
    result, _, log = create(kernels, module_description(spirv("add"), options))
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert log.startswith("error: ")
    assert named in log


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def spirv_with_constants() -> bytes:
    """Declarations of four specialization constants: uint 7, double 9, bool 1, ushort 2."""
    header = words(0x07230203, 0x00010000, 0, 100, 0)
    decorations = b"".join(
        words(4 << 16 | 71, target, 1, number)
        for target, number in ((20, 7), (21, 9), (22, 1), (23, 2))
    )
    types = words(
        *(4 << 16 | 21, 10, 32, 0),
        *(3 << 16 | 22, 11, 64),
        *(2 << 16 | 20, 12),
        *(4 << 16 | 21, 13, 16, 0),
    )
    constants = words(
        *(4 << 16 | 50, 10, 20, 5),
        *(5 << 16 | 50, 11, 21, 0, 0),
        *(3 << 16 | 48, 12, 22),
        *(4 << 16 | 50, 13, 23, 6),
    )
    function = words(5 << 16 | 54, 10, 30, 0, 31)
    return header + decorations + types + constants + function


def swapped(module: bytes) -> bytes:
    return struct.pack(f">{len(module) // 4}I", *struct.unpack(f"<{len(module) // 4}I", module))


@pytest.mark.parametrize("order", [bytes, swapped])
def test_constants_have_size_stated_by_module(
    kernels: KernelBench, monkeypatch: pytest.MonkeyPatch, order: Any
) -> None:
    seen: list[dict[int, bytes]] = []
    real = fake_compiler.Program._read

    def spy(program: fake_compiler.Program, descriptions: Any) -> None:
        seen.append(program.constants)
        real(program, descriptions)

    monkeypatch.setattr(fake_compiler.Program, "_read", spy)
    number, precise, yes, short = (
        ctypes.c_uint32(0x01020304),
        ctypes.c_double(2.5),
        ctypes.c_uint8(1),
        ctypes.c_uint16(0xABCD),
    )
    ids = (ctypes.c_uint32 * 5)(7, 9, 1, 2, 1234)
    pointers = (ctypes.c_void_p * 5)(
        *(ctypes.addressof(each) for each in (number, precise, yes, short, number))
    )
    constants = ze.ze_module_constants_t(5, ctypes.addressof(ids), ctypes.addressof(pointers))
    description = module_description(
        spirv("add", prefix=order(spirv_with_constants())),
        pConstants=ctypes.addressof(constants),
    )
    result, _, _ = create(kernels, description)
    assert result == ze.ZE_RESULT_SUCCESS
    assert seen == [{7: bytes(number), 9: bytes(precise), 1: b"\1", 2: bytes(short)}]


def test_several_inputs_make_one_program(kernels: KernelBench) -> None:
    inputs = [spirv("add", imports=["f"]), spirv("empty", exports={"f": "function"})]
    module = kernels.adopt(program_of(kernels, inputs), ze.zeModuleDestroy)
    assert names(module) == ["add", "empty"]
    assert properties(module).flags == 0


def program_of(
    kernels: KernelBench,
    inputs: list[bytes],
    flags: list[bytes] | None = None,
    **fields: Any,
) -> int:
    """A module of the extension for programs, with the handle left to the caller."""
    buffers = [(ctypes.c_uint8 * len(each)).from_buffer_copy(each) for each in inputs]
    sizes = (ctypes.c_size_t * len(inputs))(*map(len, inputs))
    pointers = (ctypes.c_void_p * len(inputs))(*map(ctypes.addressof, buffers))
    options = (ctypes.c_char_p * len(inputs))(*flags) if flags else None
    several = ze.ze_module_program_exp_desc_t(
        count=len(inputs),
        inputSizes=ctypes.addressof(sizes),
        pInputModules=ctypes.addressof(pointers),
        pBuildFlags=ctypes.addressof(options) if options is not None else None,
    )
    description = ze.ze_module_desc_t(pNext=ctypes.addressof(several), **fields)
    handle = ctypes.c_void_p()
    check(
        ze.zeModuleCreate(
            kernels.context,
            kernels.device,
            ctypes.byref(description),
            ctypes.byref(handle),
            None,
        )
    )
    assert handle.value is not None
    return handle.value


def test_inputs_with_own_options_build_separately(kernels: KernelBench) -> None:
    inputs = [spirv("add"), spirv("empty")]
    flags = [b"-g", b"-ze-opt-disable"]
    module = kernels.adopt(program_of(kernels, inputs, flags), ze.zeModuleDestroy)
    assert names(module) == ["add", "empty"]


def test_a_module_is_for_a_device_of_its_context(kernels: KernelBench) -> None:
    """There is one device here, and every context has it; the check is that of native code."""
    assert kernels.module("add")


# --- Native binaries ------------------------------------------------------------------------------


def native_binary(module: int) -> bytes:
    size = ctypes.c_size_t()
    check(ze.zeModuleGetNativeBinary(module, ctypes.byref(size), None))
    buffer = (ctypes.c_uint8 * size.value)()
    check(ze.zeModuleGetNativeBinary(module, ctypes.byref(size), buffer))
    return bytes(buffer)


def test_a_native_binary_makes_the_same_module(kernels: KernelBench) -> None:
    binary = native_binary(kernels.module("add", "tally"))
    again = kernels.module_of(binary, format=ze.ZE_MODULE_FORMAT_NATIVE)
    assert names(again) == ["add", "tally"]
    assert native_binary(again) == binary
    counter, commands = kernels.array(1), kernels.immediate()
    launch(commands, kernels.kernel_in(again, "tally", counter, size=(3, 1, 1)), 2)
    finish(commands)
    assert counter[0] == 6


def test_a_native_binary_needs_room(kernels: KernelBench) -> None:
    size, buffer = ctypes.c_size_t(3), (ctypes.c_uint8 * 3)()
    result = ze.zeModuleGetNativeBinary(kernels.module("add"), ctypes.byref(size), buffer)
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert bytes(buffer) == b"\0\0\0"
    assert size.value > 3


def test_a_foreign_native_binary_is_refused(kernels: KernelBench) -> None:
    description = module_description(b"\x7fELF of somebody", format=ze.ZE_MODULE_FORMAT_NATIVE)
    result, _, log = create(kernels, description)
    assert result == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
    assert "not made by this driver" in log


def test_native_binaries_can_make_a_program(kernels: KernelBench) -> None:
    binaries = [native_binary(kernels.module(name)) for name in ("add", "empty")]
    handle = program_of(kernels, binaries, format=ze.ZE_MODULE_FORMAT_NATIVE)
    assert names(kernels.adopt(handle, ze.zeModuleDestroy)) == ["add", "empty"]


# --- Asking ---------------------------------------------------------------------------------------


def properties(module: int) -> ze.ze_module_properties_t:
    answer = ze.ze_module_properties_t()
    check(ze.zeModuleGetProperties(module, ctypes.byref(answer)))
    return answer


def test_properties_say_whether_there_are_imports(kernels: KernelBench) -> None:
    assert properties(kernels.module("add")).flags == 0
    importing = kernels.module("add", imports=["f"])
    assert properties(importing).flags == ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS


def test_kernels_outlive_their_module(kernels: KernelBench) -> None:
    """Also for group sizes that have no code yet, and other modules' code comes and goes."""
    counter = kernels.array(1)
    module = kernels.module("tally")
    kernel = kernels.kernel_in(module, "tally", counter, size=(1, 1, 1))
    kernels.end(module)
    assert ze.zeModuleDestroy(module) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    kernels.end(kernels.module("add"))
    commands = kernels.immediate()
    launch(commands, kernel, 3)
    finish(commands)
    check(ze.zeKernelSetGroupSize(kernel, 32, 1, 1))
    launch(commands, kernel, 1)
    finish(commands)
    assert counter[0] == 3 + 32
    properties = ze.ze_kernel_properties_t()
    check(ze.zeKernelGetProperties(kernel, ctypes.byref(properties)))
    assert properties.numKernelArgs == 1


# --- Program-scope variables ----------------------------------------------------------------------

VARIABLES = {"start": (0, 4), "ticks": (64, 4)}
IMAGE = np.array([11], "uint32").tobytes() + bytes(60) + np.array([5], "uint32").tobytes()


def global_pointer(module: int, name: bytes) -> tuple[int, int]:
    size, pointer = ctypes.c_size_t(), ctypes.c_void_p()
    check(ze.zeModuleGetGlobalPointer(module, name, ctypes.byref(size), ctypes.byref(pointer)))
    return pointer.value or 0, size.value


def test_kernels_change_initialised_variable(kernels: KernelBench) -> None:
    module = kernels.module("bump", variables=VARIABLES, image=IMAGE)
    place, size = global_pointer(module, b"ticks")
    assert size == 4
    assert view(place, 4).view("uint32")[0] == 5
    assert view(global_pointer(module, b"start")[0], 4).view("uint32")[0] == 11
    out, commands = kernels.array(10, "uint32"), kernels.immediate()
    launch(commands, kernels.kernel_in(module, "bump", out, size=(1, 1, 1)), 10)
    finish(commands)
    assert sorted(out) == list(range(5, 15))
    assert view(place, 4).view("uint32")[0] == 15


def test_variable_is_device_memory_of_context(kernels: KernelBench) -> None:
    module = kernels.module("bump", variables=VARIABLES, image=IMAGE)
    answer, device = ze.ze_memory_allocation_properties_t(), ctypes.c_void_p()
    check(
        ze.zeMemGetAllocProperties(
            kernels.context,
            global_pointer(module, b"ticks")[0],
            ctypes.byref(answer),
            ctypes.byref(device),
        )
    )
    assert answer.type == ze.ZE_MEMORY_TYPE_DEVICE
    assert device.value == kernels.device


def test_each_module_has_variables_of_its_own(kernels: KernelBench) -> None:
    binary = spirv("bump", variables=VARIABLES, image=IMAGE)
    one, other = kernels.module_of(binary), kernels.module_of(binary)
    assert global_pointer(one, b"ticks") != global_pointer(other, b"ticks")


def test_only_what_is_asked_for_is_written(kernels: KernelBench) -> None:
    module = kernels.module("bump", variables=VARIABLES, image=IMAGE)
    check(ze.zeModuleGetGlobalPointer(module, b"ticks", None, None))


def test_an_unknown_variable_is_named(kernels: KernelBench) -> None:
    pointer = ctypes.c_void_p()
    module = kernels.module("bump", variables=VARIABLES, image=IMAGE)
    result = ze.zeModuleGetGlobalPointer(module, b"tocks", None, ctypes.byref(pointer))
    assert result == ze.ZE_RESULT_ERROR_INVALID_GLOBAL_NAME
    assert "'tocks'" in last_error()
