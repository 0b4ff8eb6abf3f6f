"""Kernels: creating them, arguments, group sizes, properties."""

import ctypes
from typing import Any

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver import fake_compiler
from tests.driver.kernels import KernelBench, group_count, launch, set_arguments
from tests.driver.support import address, finish


def test_unknown_kernel_error_lists_known_names(kernels: KernelBench) -> None:
    handle = ctypes.c_void_p()
    description = ze.ze_kernel_desc_t(pKernelName=b"subtract")
    module = kernels.module("add", "empty")
    result = ze.zeKernelCreate(module, ctypes.byref(description), ctypes.byref(handle))
    assert result == ze.ZE_RESULT_ERROR_INVALID_KERNEL_NAME
    assert "'subtract'" in last_error()
    assert "add, empty" in last_error()


def test_a_kernel_knows_its_name(kernels: KernelBench) -> None:
    kernel, size = kernels.kernel("describe"), ctypes.c_size_t()
    check(ze.zeKernelGetName(kernel, ctypes.byref(size), None))
    assert size.value == len("describe") + 1
    buffer = ctypes.create_string_buffer(size.value)
    check(ze.zeKernelGetName(kernel, ctypes.byref(size), buffer))
    assert buffer.value == b"describe"


def test_a_destroyed_kernel_is_no_kernel(kernels: KernelBench) -> None:
    kernel = kernels.kernel("empty")
    kernels.end(kernel)
    assert ze.zeKernelSetGroupSize(kernel, 1, 1, 1) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    assert ze.zeKernelDestroy(kernel) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE


# --- Arguments ------------------------------------------------------------------------------------


def run_values(kernels: KernelBench, *arguments: object) -> list[int]:
    out, commands = kernels.array(5, "int64"), kernels.immediate()
    launch(commands, kernels.kernel("values", *arguments, out, size=(1, 1, 1)), 1)
    finish(commands)
    return [int(each) for each in out]


def test_values_and_structs_arrive(kernels: KernelBench) -> None:
    mixture = np.array([(-3, 2.0e6, (1, 2, -9))], np.dtype("i1, f8, (3,)i4", align=True))
    assert mixture.itemsize == 32
    seen = run_values(kernels, b"\xfe", -(2**40), mixture.tobytes())
    assert seen == [-2, -(2**40), -3, 2_000_000, -9]


def test_a_null_value_is_zero(kernels: KernelBench) -> None:
    out, commands = kernels.array(5, "int64"), kernels.immediate()
    kernel = kernels.kernel("values", b"\1", 77, b"\1" * 32, out, size=(1, 1, 1))
    for index, size in enumerate((1, 8, 32)):
        check(ze.zeKernelSetArgumentValue(kernel, index, size, None))
    out[:] = 9
    launch(commands, kernel, 1)
    finish(commands)
    assert not out.any()


@pytest.mark.parametrize(("index", "size"), [(0, 0), (1, 0), (3, 4), (3, 0)])
def test_nothing_and_half_a_pointer_are_refused(
    kernels: KernelBench, index: int, size: int
) -> None:
    value = bytes(64)
    result = ze.zeKernelSetArgumentValue(kernels.kernel("values"), index, size, value)
    assert result == ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE
    assert f"argument {index}" in last_error()


def test_argument_of_wrong_size_is_cut_or_padded(kernels: KernelBench) -> None:
    out, commands = kernels.array(5, "int64"), kernels.immediate()
    kernel = kernels.kernel("values", b"\1", -1, b"\1" * 32, out, size=(1, 1, 1))
    check(ze.zeKernelSetArgumentValue(kernel, 0, 4, b"\5\6\7\x08"))
    check(ze.zeKernelSetArgumentValue(kernel, 1, 4, b"\xff\xff\xff\xff"))
    launch(commands, kernel, 1)
    finish(commands)
    assert list(out[:2]) == [5, 0xFFFFFFFF]


@pytest.mark.parametrize(("name", "index"), [("values", 4), ("empty", 0), ("add", 0xFFFFFFFF)])
def test_the_index_of_an_argument_must_exist(kernels: KernelBench, name: str, index: int) -> None:
    result = ze.zeKernelSetArgumentValue(kernels.kernel(name), index, 8, bytes(8))
    assert result == ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX


def test_any_pointer_is_taken(kernels: KernelBench) -> None:
    """Null, system memory, the middle of an allocation, an integer that is no address."""
    kernel = kernels.kernel("add")
    own = np.zeros(4, "float32")
    for value in (0, address(own), kernels.shared(64) + 12, 0xDEAD_BEEF):
        set_arguments(kernel, value)
    check(ze.zeKernelSetArgumentValue(kernel, 0, 8, None))


def test_system_memory_can_be_an_argument(kernels: KernelBench) -> None:
    a, b, c = (np.full(16, value, "float32") for value in (1, 2, 0))
    commands = kernels.immediate()
    launch(commands, kernels.kernel("add", a, b, c, size=(16, 1, 1)), 1)
    finish(commands)
    assert (c == 3).all()


def test_local_arguments_follow_static_locals(kernels: KernelBench) -> None:
    """100 bytes are static; each argument begins at a multiple of 128."""
    out, commands = kernels.array(30), kernels.immediate()
    kernel = kernels.kernel("locals", out, size=(1, 1, 1))
    check(ze.zeKernelSetArgumentValue(kernel, 1, 129, None))
    check(ze.zeKernelSetArgumentValue(kernel, 2, 16384, None))
    launch(commands, kernel, 10)
    finish(commands)
    assert (out.reshape(10, 3) == [128, 384, 384 + 16384]).all()


def test_local_memory_size_is_bound_at_append(kernels: KernelBench) -> None:
    first, second, commands = kernels.array(3), kernels.array(3), kernels.immediate()
    kernel = kernels.kernel("locals", first, size=(1, 1, 1))
    for out, size in ((first, 128), (second, 256)):
        set_arguments(kernel, out)
        check(ze.zeKernelSetArgumentValue(kernel, 1, size, None))
        check(ze.zeKernelSetArgumentValue(kernel, 2, 1, None))
        launch(commands, kernel, 1)
    finish(commands)
    assert list(first) == [128, 256, 384]
    assert list(second) == [128, 384, 512]


def test_a_local_argument_has_a_size_and_no_value(kernels: KernelBench) -> None:
    kernel = kernels.kernel("locals")
    with_value = ze.zeKernelSetArgumentValue(kernel, 1, 8, bytes(8))
    assert with_value == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "local memory" in last_error()
    empty = ze.zeKernelSetArgumentValue(kernel, 1, 0, None)
    assert empty == ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE


def test_local_memory_ends(kernels: KernelBench) -> None:
    compute = ze.ze_device_compute_properties_t()
    check(ze.zeDeviceGetComputeProperties(kernels.device, ctypes.byref(compute)))
    most = compute.maxSharedLocalMemory
    kernel = kernels.kernel("locals", kernels.array(3))
    for first, second in ((most // 2, most // 2), (most + 1, 8), ((1 << 32) - 1, (1 << 32) - 1)):
        check(ze.zeKernelSetArgumentValue(kernel, 1, first, None))
        check(ze.zeKernelSetArgumentValue(kernel, 2, second, None))
        result = ze.zeCommandListAppendLaunchKernel(
            kernels.immediate(), kernel, ctypes.byref(group_count(1)), None, 0, None
        )
        assert result == ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
        assert "maxSharedLocalMemory" in last_error()
    for beyond in (1 << 32, (1 << 64) - 1):
        result = ze.zeKernelSetArgumentValue(kernel, 1, beyond, None)
        assert result == ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE


# --- Group sizes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1025, 1, 1), (32, 33, 1), (1 << 31, 2, 1 << 31)]
)
def test_impossible_group_sizes_are_refused(
    kernels: KernelBench, size: tuple[int, int, int]
) -> None:
    result = ze.zeKernelSetGroupSize(kernels.kernel("empty"), *size)
    assert result == ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION


def append_one_group(kernels: KernelBench, kernel: int) -> int:
    result = ze.zeCommandListAppendLaunchKernel(
        kernels.immediate(), kernel, ctypes.byref(group_count(1)), None, 0, None
    )
    return int(result)


def test_unlaunched_group_size_is_not_compiled(kernels: KernelBench) -> None:
    kernel = kernels.kernel("empty")
    fake_compiler.compiled.clear()
    for size in range(1, 65):
        check(ze.zeKernelSetGroupSize(kernel, size, 1, 1))
    assert fake_compiler.compiled == []


def test_kernel_compiles_once_per_group_size(kernels: KernelBench) -> None:
    fake_compiler.compiled.clear()
    module = kernels.module("empty")
    for _ in range(2):
        kernel = kernels.kernel_in(module, "empty")
        for size in ((8, 1, 1), (4, 2, 1), (8, 1, 1)):
            check(ze.zeKernelSetGroupSize(kernel, *size))
            check(append_one_group(kernels, kernel))
    assert fake_compiler.compiled == [("empty", (8, 1, 1)), ("empty", (4, 2, 1))]


def test_compile_failure_of_kernel_says_why(kernels: KernelBench) -> None:
    kernel = kernels.kernel("empty", size=(2, 2, 1))
    check(ze.zeKernelSetGroupSize(kernel, 13, 13, 1))
    assert append_one_group(kernels, kernel) == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "13 x 13" in last_error()
    out = kernels.array(12)
    described = kernels.kernel("describe", out, size=(13, 13, 1))
    assert append_one_group(kernels, described) == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    check(ze.zeKernelSetGroupSize(described, 2, 2, 1))
    commands = kernels.immediate()
    launch(commands, described, 1)  # another size works after that
    finish(commands)
    assert list(out[6:9]) == [2, 2, 1]


def test_without_a_group_size_a_default_is_chosen(kernels: KernelBench) -> None:
    out, commands = kernels.array(12), kernels.immediate()
    launch(commands, kernels.kernel("describe", out), 2)
    finish(commands)
    assert list(out[6:9]) == [fake_compiler.LANES, 1, 1]


def test_a_required_group_size_is_the_only_one(kernels: KernelBench) -> None:
    out, commands = kernels.array(12), kernels.immediate()
    kernel = kernels.kernel("describe_8x4", out)
    result = ze.zeKernelSetGroupSize(kernel, 4, 8, 1)
    assert result == ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION
    assert "8 x 4 x 1" in last_error()
    check(ze.zeKernelSetGroupSize(kernel, 8, 4, 1))
    launch(commands, kernel, 1)
    finish(commands)
    assert list(out[6:9]) == [8, 4, 1]


def suggest(kernel: int, *size: int) -> tuple[int, int, int]:
    x, y, z = ctypes.c_uint32(), ctypes.c_uint32(), ctypes.c_uint32()
    check(
        ze.zeKernelSuggestGroupSize(
            kernel, *size, ctypes.byref(x), ctypes.byref(y), ctypes.byref(z)
        )
    )
    return x.value, y.value, z.value


@pytest.mark.parametrize(
    "size", [(1, 1, 1), (1024, 1024, 1), (1000, 7, 3), (97, 1, 1), (2**32 - 1, 5, 1), (3, 3, 3)]
)
def test_a_suggested_size_divides_the_range(
    kernels: KernelBench, size: tuple[int, int, int]
) -> None:
    suggested = suggest(kernels.kernel("empty"), *size)
    assert all(whole % part == 0 for whole, part in zip(size, suggested, strict=True))
    assert np.prod(suggested) <= 1024


def test_a_suggested_size_fills_vectors(kernels: KernelBench) -> None:
    kernel = kernels.kernel("empty")
    assert suggest(kernel, 1 << 20, 1, 1)[0] % fake_compiler.LANES == 0
    assert suggest(kernel, 48, 100, 1)[0] == 48


def test_long_line_gets_large_groups(kernels: KernelBench) -> None:
    empty = kernels.kernel("empty")
    assert suggest(empty, 1 << 20, 1, 1) == (1024, 1, 1)
    assert suggest(empty, 1 << 19, 1, 1)[0] <= 256
    assert suggest(empty, (1 << 20) + 256, 1, 1)[0] <= 256
    assert suggest(empty, 1 << 20, 2, 1)[0] <= 256


def test_a_required_size_is_suggested(kernels: KernelBench) -> None:
    assert suggest(kernels.kernel("describe_8x4"), 64, 64, 1) == (8, 4, 1)


def test_an_empty_range_has_no_group_size(kernels: KernelBench) -> None:
    x = ctypes.c_uint32()
    arguments = [ctypes.byref(x)] * 3
    result = ze.zeKernelSuggestGroupSize(kernels.kernel("empty"), 5, 0, 1, *arguments)
    assert result == ze.ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION


def test_compiler_exception_is_a_build_failure(
    kernels: KernelBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise RecursionError("too deep")

    kernel = kernels.kernel("empty")
    monkeypatch.setattr(fake_compiler.Program, "compile", break_down)
    result = ze.zeCommandListAppendLaunchKernel(
        kernels.immediate(), kernel, ctypes.byref(group_count(1)), None, 0, None
    )
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "RecursionError: too deep" in last_error()


# --- Properties -----------------------------------------------------------------------------------


def properties(kernel: int, chained: Any = None) -> ze.ze_kernel_properties_t:
    answer = ze.ze_kernel_properties_t(
        pNext=ctypes.addressof(chained) if chained is not None else None
    )
    check(ze.zeKernelGetProperties(kernel, ctypes.byref(answer)))
    return answer


def test_properties_are_those_of_the_kernel(kernels: KernelBench) -> None:
    answer = properties(kernels.kernel("locals"))
    assert answer.numKernelArgs == 3
    assert answer.localMemSize == 100
    assert answer.privateMemSize == 24
    assert answer.maxSubgroupSize == fake_compiler.LANES
    assert answer.maxNumSubgroups == 1024 // fake_compiler.LANES
    required = answer.requiredGroupSizeX, answer.requiredGroupSizeY, answer.requiredGroupSizeZ
    assert required == (0, 0, 0)


def test_properties_tell_the_required_size(kernels: KernelBench) -> None:
    answer = properties(kernels.kernel("describe_8x4"))
    required = answer.requiredGroupSizeX, answer.requiredGroupSizeY, answer.requiredGroupSizeZ
    assert required == (8, 4, 1)


def test_kernels_have_different_identities(kernels: KernelBench) -> None:
    module = kernels.module("add", "empty")
    ids = [
        bytes(properties(kernels.kernel_in(module, name)).uuid.kid)
        for name in ("add", "empty", "add")
    ]
    assert ids[0] == ids[2] != ids[1]


def test_more_properties_can_be_chained(kernels: KernelBench) -> None:
    preferred = ze.ze_kernel_preferred_group_size_properties_t()
    most = ze.ze_kernel_max_group_size_properties_ext_t()
    preferred.pNext = ctypes.addressof(most)
    properties(kernels.kernel("empty"), preferred)
    assert preferred.preferredMultiple == fake_compiler.LANES
    assert most.maxGroupSize == 1024
    properties(kernels.kernel("describe_8x4"), preferred)
    assert most.maxGroupSize == 32


def source_attributes(kernel: int) -> bytes:
    size = ctypes.c_uint32()
    check(ze.zeKernelGetSourceAttributes(kernel, ctypes.byref(size), None))
    buffer = ctypes.create_string_buffer(size.value)
    pointer = ctypes.c_char_p(ctypes.addressof(buffer))
    check(ze.zeKernelGetSourceAttributes(kernel, ctypes.byref(size), ctypes.byref(pointer)))
    assert size.value == len(buffer.value) + 1
    return buffer.value


def test_source_attributes_are_a_string(kernels: KernelBench) -> None:
    assert source_attributes(kernels.kernel("empty")) == b""
    assert source_attributes(kernels.kernel("describe_8x4")) == b"reqd_work_group_size(8,4)"


def test_indirect_access_is_kept(kernels: KernelBench) -> None:
    kernel, flags = kernels.kernel("empty"), ctypes.c_uint32(99)
    check(ze.zeKernelGetIndirectAccess(kernel, ctypes.byref(flags)))
    assert flags.value == 0
    wanted = ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED
    check(ze.zeKernelSetIndirectAccess(kernel, wanted))
    check(ze.zeKernelGetIndirectAccess(kernel, ctypes.byref(flags)))
    assert flags.value == wanted


def test_hints_are_taken(kernels: KernelBench) -> None:
    kernel = kernels.kernel("empty")
    check(ze.zeKernelSetCacheConfig(kernel, ze.ZE_CACHE_CONFIG_FLAG_LARGE_SLM))
    hint = ze.ze_scheduling_hint_exp_desc_t(flags=ze.ZE_SCHEDULING_HINT_EXP_FLAG_ROUND_ROBIN)
    check(ze.zeKernelSchedulingHintExp(kernel, ctypes.byref(hint)))


def test_a_kernel_hands_out_its_code(kernels: KernelBench) -> None:
    kernel, size = kernels.kernel("empty", size=(3, 2, 1)), ctypes.c_size_t()
    check(ze.zeKernelGetBinaryExp(kernel, ctypes.byref(size), (ctypes.c_uint8 * 1)()))
    buffer = (ctypes.c_uint8 * size.value)()
    check(ze.zeKernelGetBinaryExp(kernel, ctypes.byref(size), buffer))
    assert bytes(buffer) == b"code of empty for (3, 2, 1)"


def test_allocations_of_arguments_are_listed(kernels: KernelBench) -> None:
    module = kernels.module("add", variables={"v": (0, 4)}, image=bytes(4))
    first, third = kernels.array(100, "float32"), kernels.array(8, "float32")
    kernel = kernels.kernel_in(module, "add", address(first, 40), address(np.zeros(1)), third)
    count = ctypes.c_uint32()
    check(ze.zeKernelGetAllocationPropertiesExp(kernel, ctypes.byref(count), None))
    found = ze.ze_kernel_allocation_exp_properties_t.array(count.value)
    check(ze.zeKernelGetAllocationPropertiesExp(kernel, ctypes.byref(count), found))
    assert [each.argIndex for each in found] == [0, 2, 0xFFFFFFFF]
    assert [each.base for each in found[:2]] == [address(first), address(third)]
    assert [each.size for each in found[:2]] == [400, 32]
    assert [each.type for each in found] == [
        ze.ZE_MEMORY_TYPE_SHARED,
        ze.ZE_MEMORY_TYPE_SHARED,
        ze.ZE_MEMORY_TYPE_DEVICE,
    ]
