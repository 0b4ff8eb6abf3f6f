"""Modules, kernels and launches with the real compiler: OpenCL C in, results out."""

import ctypes
import functools
from collections.abc import Iterator

import numpy as np
import pytest

from groundstate import ze
from groundstate.compiler.opencl import frontend
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, launch, module_description
from tests.driver.launches.test_kernels import properties, source_attributes, suggest
from tests.driver.modules.test_modules import (
    create,
    global_pointer,
    names,
    native_binary,
    program_of,
)
from tests.driver.modules.test_modules_linking import create_kernel, link
from tests.driver.support import FOREVER, finish, view


@pytest.fixture
def real(driver: int, device: int) -> Iterator[KernelBench]:
    bench = KernelBench(driver, device)
    yield bench
    bench.close()


@functools.cache
def spirv(source: str) -> bytes:
    return frontend.compile_opencl(source)


IDS = """
kernel void ids(global ulong *out) {
    size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    size_t i = (z * get_global_size(1) + y) * get_global_size(0) + x;
    out[i] = x + 1000 * y + 1000000 * z;
}
"""


@pytest.mark.parametrize("size", [(1, 1, 1), (7, 1, 1), (16, 2, 1), (5, 3, 2), (100, 1, 1)])
def test_work_items_know_their_place(real: KernelBench, size: tuple[int, int, int]) -> None:
    groups = 3, 4, 2
    whole = [count * each for count, each in zip(groups, size, strict=True)]
    out, commands = real.array(int(np.prod(whole))), real.immediate()
    launch(commands, real.kernel_in(real.module_of(spirv(IDS)), "ids", out, size=size), *groups)
    finish(commands)
    z, y, x = np.indices(whole[::-1])
    assert (out == (x + 1000 * y + 1000000 * z).ravel()).all()


def test_kernels_with_barriers_get_no_larger_groups(real: KernelBench) -> None:
    without = real.kernel_in(real.module_of(spirv(IDS)), "ids")
    waiting = real.kernel_in(real.module_of(spirv(LOCALS)), "total")
    assert suggest(without, 1 << 20, 1, 1) == (1024, 1, 1)
    assert suggest(waiting, 1 << 20, 1, 1) == (256, 1, 1)


LOCALS = """
kernel void total(global const float *in, global float *out, local float *part) {
    size_t i = get_local_id(0);
    part[i] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (i < step) part[i] += part[i + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i == 0) out[get_group_id(0)] = part[0];
}
"""


def test_local_arguments_and_barriers(real: KernelBench) -> None:
    values, sums = real.array(64 * 256, "float32"), real.array(64, "float32")
    values[:] = np.arange(len(values)) % 17
    kernel = real.kernel_in(real.module_of(spirv(LOCALS)), "total", values, sums)
    check(ze.zeKernelSetGroupSize(kernel, 256, 1, 1))
    check(ze.zeKernelSetArgumentValue(kernel, 2, 1024, None))
    commands, event = real.immediate(), real.event()
    launch(commands, kernel, 64, signal=event)
    check(ze.zeEventHostSynchronize(event, FOREVER))
    assert (sums == values.reshape(64, 256).sum(1)).all()


def test_caller_does_not_run_kernel_awaiting_host(real: KernelBench) -> None:
    source = "kernel void wait(global volatile int *flag) { while (*flag == 0) ; flag[1] = 2; }"
    flag, commands = real.array(2, "int32"), real.immediate()
    launch(commands, real.kernel_in(real.module_of(spirv(source)), "wait", flag, size=(1, 1, 1)), 1)
    flag[0] = 1
    finish(commands)
    assert flag[1] == 2


def test_properties_are_true(real: KernelBench) -> None:
    source = """
    __attribute__((reqd_work_group_size(4, 4, 2))) __attribute__((intel_reqd_sub_group_size(8)))
    kernel void tile(global int *out, int n) {
        local int shared[100];
        shared[get_local_id(0)] = n;
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] = shared[0];
    }
    """
    kernel = real.kernel_in(real.module_of(spirv(source)), "tile")
    answer = properties(kernel)
    assert answer.numKernelArgs == 2
    assert answer.maxSubgroupSize == 8
    required = answer.requiredGroupSizeX, answer.requiredGroupSizeY, answer.requiredGroupSizeZ
    assert required == (4, 4, 2)
    assert answer.localMemSize >= 400
    assert b"reqd_work_group_size(4,4,2)" in source_attributes(kernel)
    size = ctypes.c_size_t()
    ze.zeKernelGetBinaryExp(kernel, ctypes.byref(size), (ctypes.c_uint8 * 1)())
    assert size.value > 100


def test_variables_of_a_module(real: KernelBench) -> None:
    source = """
    global int ticks = 5;
    constant float table[4] = {1, 2, 3, 4};
    kernel void bump(global float *out) {
        atomic_add(&ticks, 1);
        out[get_global_id(0)] = table[get_global_id(0) % 4];
    }
    """
    module, out = real.module_of(spirv(source)), real.array(10, "float32")
    place, size = global_pointer(module, b"ticks")
    ticks = view(place, 4).view("int32")
    assert (size, ticks[0]) == (4, 5)
    commands = real.immediate()
    launch(commands, real.kernel_in(module, "bump", out, size=(5, 1, 1)), 2)
    finish(commands)
    assert ticks[0] == 15
    assert list(out) == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]


USER = """
int helper(int x);
kernel void use(global int *out) { out[get_global_id(0)] = helper(get_global_id(0)); }
"""
HELPER = "int helper(int x) { return 10 * x + 3; }"


def run_use(real: KernelBench, module: int) -> list[int]:
    out, commands = real.array(8, "int32"), real.immediate()
    launch(commands, real.kernel_in(module, "use", out, size=(4, 1, 1)), 2)
    finish(commands)
    return [int(each) for each in out]


EXPECTED = [3, 13, 23, 33, 43, 53, 63, 73]


def test_modules_are_linked(real: KernelBench) -> None:
    module, helper = real.module_of(spirv(USER)), real.module_of(spirv(HELPER))
    assert create_kernel(module, "use") == ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED
    assert "helper" in last_error()
    assert link(module, helper) == (ze.ZE_RESULT_SUCCESS, "")
    assert run_use(real, module) == EXPECTED


def test_several_inputs_make_one_program(real: KernelBench) -> None:
    handle = program_of(real, [spirv(USER), spirv(HELPER)])
    module = real.adopt(handle, ze.zeModuleDestroy)
    assert names(module) == ["use"]
    assert run_use(real, module) == EXPECTED


def test_unused_declared_import_is_harmless(real: KernelBench) -> None:
    source = "int helper(int x); kernel void use(global int *out) { out[get_global_id(0)] = 7; }"
    assert run_use(real, real.module_of(spirv(source))) == [7] * 8


def test_a_native_binary_is_made_again(real: KernelBench) -> None:
    module = real.module_of(spirv(USER))
    assert link(module, real.module_of(spirv(HELPER)))[0] == ze.ZE_RESULT_SUCCESS
    assert run_use(real, module) == EXPECTED
    again = real.module_of(native_binary(module), format=ze.ZE_MODULE_FORMAT_NATIVE)
    assert run_use(real, again) == EXPECTED


@pytest.mark.parametrize("damage", ["cut", "version", "garbage"])
def test_damaged_native_binary_refused_with_log(real: KernelBench, damage: str) -> None:
    binary = native_binary(real.module_of(spirv(IDS)))
    damaged = {
        "cut": binary[: len(binary) // 2],
        "version": binary.replace(b'"version": "', b'"version": "x'),
        "garbage": binary[:8] + b"\xff" * 64,
    }[damage]
    description = module_description(damaged, format=ze.ZE_MODULE_FORMAT_NATIVE)
    result, _, log = create(real, description)
    assert result == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
    assert log


def test_specialization_constant_replaces_default(real: KernelBench) -> None:
    source = """
    int __attribute__((overloadable)) __spirv_SpecConstant(int number, int value);
    double __attribute__((overloadable)) __spirv_SpecConstant(int number, double value);
    kernel void constants(global double *out) {
        out[0] = __spirv_SpecConstant(3, 42);
        out[1] = __spirv_SpecConstant(7, 1.5);
    }
    """
    whole, precise = ctypes.c_int32(-11), ctypes.c_double(2.25)
    ids = (ctypes.c_uint32 * 2)(7, 3)
    pointers = (ctypes.c_void_p * 2)(ctypes.addressof(precise), ctypes.addressof(whole))
    given = ze.ze_module_constants_t(2, ctypes.addressof(ids), ctypes.addressof(pointers))
    for constants, expected in ((None, [42, 1.5]), (ctypes.addressof(given), [-11, 2.25])):
        module = real.module_of(spirv(source), pConstants=constants)
        again = real.module_of(native_binary(module), format=ze.ZE_MODULE_FORMAT_NATIVE)
        for each in (module, again):
            out, commands = real.array(2, "float64"), real.immediate()
            launch(commands, real.kernel_in(each, "constants", out, size=(1, 1, 1)), 1)
            finish(commands)
            assert list(out) == expected


def test_printf_prints(real: KernelBench, capfd: pytest.CaptureFixture[str]) -> None:
    source = """
    kernel void show(int n) {
        if (get_global_id(0) < 2)
            printf("%d %5.2f %s %v4d %lx\\n", n + (int)get_global_id(0), 1.5f * n, "text",
                   (int4)(1, -2, 3, 4), 0x123456789abcdefL);
    }
    """
    commands = real.immediate()
    kernel = real.kernel_in(real.module_of(spirv(source)), "show", (7).to_bytes(4, "little"))
    launch(commands, kernel, 4)
    finish(commands)
    lines = capfd.readouterr().out.splitlines()
    assert lines == [f"{n} 10.50 text 1,-2,3,4 123456789abcdef" for n in (7, 8)]


@pytest.mark.parametrize("length", [0, 3, 4, 19, 22, 64, 200])
def test_a_truncated_module_is_a_failed_build(real: KernelBench, length: int) -> None:
    result, _, log = create(real, module_description(spirv(IDS)[:length] or b"\0"))
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert log
