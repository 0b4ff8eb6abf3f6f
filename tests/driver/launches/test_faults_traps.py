"""Failed assertions and calls through bad pointers: traps, which lose the context."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, group_count, launch
from tests.driver.launches.test_kernels_compiled import spirv
from tests.driver.modules.test_modules_function_pointers import (
    WHOLE,
    WHOLE_BEFORE,
    module,
    pointer,
)
from tests.driver.support import FOREVER, finish

ITEMS = 150
NOT_A_FUNCTION = [0, 1, 0x10, (1 << 64) - 1]

ASSERTIONS = {
    "__assert_fail": (
        "void __assert_fail(constant char *what, constant char *file, uint line, constant char *);",
        '__assert_fail("x < limit", "kernel.cl", 7, "checked")',
    ),
    "__devicelib_assert_fail": (
        "void __devicelib_assert_fail(constant char *what, constant char *file, int line,"
        " constant char *f, ulong gx, ulong gy, ulong gz, ulong lx, ulong ly, ulong lz);",
        '__devicelib_assert_fail("x < limit", "kernel.cpp", 7, "checked", 0, 0, 0, 0, 0, 0)',
    ),
    "abort": ("void abort(void);", "abort()"),
}


def expect_trap(commands: int, kernel: int, groups: int) -> str:
    """Appends a launch, which comes to a trap; what is said about it."""
    counts = ctypes.byref(group_count(groups))
    ze.zeCommandListAppendLaunchKernel(commands, kernel, counts, None, 0, None)
    lost = ze.ZE_RESULT_ERROR_DEVICE_LOST
    assert ze.zeCommandListHostSynchronize(commands, FOREVER) == lost
    said = last_error()
    assert "came to a trap" in said
    return said


@pytest.mark.parametrize("function", ASSERTIONS)
def test_failed_assertion_is_a_trap(driver: int, device: int, function: str) -> None:
    declaration, call = ASSERTIONS[function]
    source = f"""
    {declaration}
    kernel void checked(global int *out, int limit) {{
        int x = get_global_id(0);
        if (x >= limit) {call};
        out[x] = x;
    }}
    """
    code = spirv(source)
    bench = KernelBench(driver, device)
    built, out, commands = (
        bench.module_of(code),
        bench.array(ITEMS, "int32"),
        bench.immediate(),
    )
    holds = bench.kernel_in(built, "checked", out, ITEMS.to_bytes(4, "little"), size=(50, 1, 1))
    launch(commands, holds, ITEMS // 50)
    finish(commands)
    assert list(out) == list(range(ITEMS))
    fails = bench.kernel_in(built, "checked", out, (120).to_bytes(4, "little"), size=(50, 1, 1))
    said = expect_trap(commands, fails, ITEMS // 50)
    assert "kernel 'checked' in group (2, 0, 0)" in said
    check(ze.zeContextDestroy(bench.context))


@pytest.mark.parametrize("bad", NOT_A_FUNCTION)
def test_call_through_bad_function_pointer_traps(driver: int, device: int, bad: int) -> None:
    code = module(*WHOLE, before=WHOLE_BEFORE)
    bench = KernelBench(driver, device)
    built, out = bench.module_of(code), bench.array(ITEMS, "uint32")
    target = np.uint64(bad).tobytes()
    kernel = bench.kernel_in(built, "call", target, out, size=(50, 1, 1))
    assert "kernel 'call' in group (" in expect_trap(bench.immediate(), kernel, ITEMS // 50)
    check(ze.zeContextDestroy(bench.context))


def test_one_bad_pointer_among_many_is_a_trap(driver: int, device: int) -> None:
    code = module(*WHOLE, before=WHOLE_BEFORE)
    bench = KernelBench(driver, device)
    built, out = bench.module_of(code), bench.array(ITEMS, "uint32")
    table = bench.array(ITEMS)
    table[:] = pointer(built, "add")
    table[77] = pointer(built, "add") + 1
    kernel = bench.kernel_in(built, "each", table, out, size=(50, 1, 1))
    said = expect_trap(bench.immediate(), kernel, ITEMS // 50)
    assert "kernel 'each' in group (1, 0, 0)" in said
    check(ze.zeContextDestroy(bench.context))
