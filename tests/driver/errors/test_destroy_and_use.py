"""Objects that one thread destroys while another uses them.

The program is wrong, but each call answers with what the specification has for it, never with
ZE_RESULT_ERROR_UNKNOWN: that is for mistakes of the driver.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.fake_compiler import spirv
from tests.driver.images.images import describe, format_of
from tests.driver.kernels import KernelBench, launch, module_description
from tests.driver.lists.mutable import mutable, next_id, update
from tests.driver.support import address, barrier, close_list, handles

ROUNDS = 1000
ALLOWED = {
    ze.ZE_RESULT_SUCCESS,
    ze.ZE_RESULT_NOT_READY,
    ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
    ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
    ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
    ze.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
}

Use = Callable[[int], int]
Kind = tuple[Callable[[], int], list[Use], Use]
"""How an object is made, used and destroyed."""


@pytest.fixture(autouse=True)
def threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def made(function: Any, *arguments: Any) -> int:
    handle = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(handle)))
    return handle.value or 0


def module(bench: KernelBench) -> int:
    description = module_description(spirv("strike"))
    where = (bench.context, bench.device, ctypes.byref(description))
    handle = ctypes.c_void_p()
    check(ze.zeModuleCreate(*where, ctypes.byref(handle), None))
    return handle.value or 0


def modules(bench: KernelBench) -> Kind:
    count, size = ctypes.c_uint32(), ctypes.c_size_t()
    properties = ze.ze_module_properties_t()
    description = ze.ze_kernel_desc_t(pKernelName=b"strike")

    def kernel(handle: int) -> int:
        created = ctypes.c_void_p()
        result = ze.zeKernelCreate(handle, ctypes.byref(description), ctypes.byref(created))
        return int(result or ze.zeKernelDestroy(created))

    def linked(handle: int) -> int:
        return int(ze.zeModuleDynamicLink(1, handles(handle), None))

    uses: list[Use] = [
        lambda handle: ze.zeModuleGetProperties(handle, ctypes.byref(properties)),
        lambda handle: ze.zeModuleGetKernelNames(handle, ctypes.byref(count), None),
        lambda handle: ze.zeModuleGetNativeBinary(handle, ctypes.byref(size), None),
        kernel,
        linked,
        ze.zeModuleDestroy,
    ]
    return lambda: module(bench), uses, ze.zeModuleDestroy


def kernels_of_a_module(bench: KernelBench) -> Kind:
    one = bench.module("strike")
    description = ze.ze_kernel_desc_t(pKernelName=b"strike")
    size, properties = ctypes.c_size_t(), ze.ze_kernel_properties_t()
    sizes = itertools.cycle(range(1, 9))
    uses: list[Use] = [
        lambda handle: ze.zeKernelGetProperties(handle, ctypes.byref(properties)),
        lambda handle: ze.zeKernelGetName(handle, ctypes.byref(size), None),
        lambda handle: ze.zeKernelSetGroupSize(handle, next(sizes), 1, 1),
        lambda handle: ze.zeKernelSetArgumentValue(handle, 0, 8, None),
        ze.zeKernelDestroy,
    ]
    return lambda: made(ze.zeKernelCreate, one, ctypes.byref(description)), uses, ze.zeKernelDestroy


def build_logs(bench: KernelBench) -> Kind:
    description = module_description(spirv("strike"))
    where = (bench.context, bench.device, ctypes.byref(description))
    size, text = ctypes.c_size_t(100), ctypes.create_string_buffer(100)

    def log() -> int:
        handle, created = ctypes.c_void_p(), ctypes.c_void_p()
        check(ze.zeModuleCreate(*where, ctypes.byref(created), ctypes.byref(handle)))
        check(ze.zeModuleDestroy(created))
        return handle.value or 0

    uses: list[Use] = [
        lambda handle: ze.zeModuleBuildLogGetString(handle, ctypes.byref(size), text),
        ze.zeModuleBuildLogDestroy,
    ]
    return log, uses, ze.zeModuleBuildLogDestroy


def physical_memory(bench: KernelBench) -> Kind:
    size = mmap.PAGESIZE
    description = ze.ze_physical_mem_desc_t(size=size)
    start = made(ze.zeVirtualMemReserve, bench.context, None, size)
    bench.adopt(start, lambda address: int(ze.zeVirtualMemFree(bench.context, address, size)))

    def exported(handle: int) -> int:
        request = ze.ze_external_memory_export_fd_t(
            flags=ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, fd=-1
        )
        properties = ze.ze_physical_mem_properties_t(pNext=ctypes.addressof(request))
        where = (bench.context, handle, ctypes.byref(properties))
        result = int(ze.zePhysicalMemGetProperties(*where))
        if request.fd >= 0:
            os.close(request.fd)
        return result

    def shared(handle: int) -> int:
        ipc = ze.ze_ipc_mem_handle_t()
        return int(ze.zeMemGetIpcHandle(bench.context, handle, ctypes.byref(ipc)))

    def mapped(handle: int) -> int:
        access = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE
        result = ze.zeVirtualMemMap(bench.context, start, size, handle, 0, access)
        return int(result or ze.zeVirtualMemUnmap(bench.context, start, size))

    def destroy(handle: int) -> int:
        return int(ze.zePhysicalMemDestroy(bench.context, handle))

    create = (ze.zePhysicalMemCreate, bench.context, bench.device, ctypes.byref(description))
    return lambda: made(*create), [exported, shared, mapped, destroy], destroy


def memory(bench: KernelBench) -> Kind:
    description = ze.ze_device_mem_alloc_desc_t()

    def exported(pointer: int) -> int:
        request = ze.ze_external_memory_export_fd_t(
            flags=ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, fd=-1
        )
        properties = ze.ze_memory_allocation_properties_t(pNext=ctypes.addressof(request))
        where = (bench.context, pointer, ctypes.byref(properties))
        result = int(ze.zeMemGetAllocProperties(*where, None))
        if request.fd >= 0:
            os.close(request.fd)
        return result

    def shared(pointer: int) -> int:
        ipc, opened = ze.ze_ipc_mem_handle_t(), ctypes.c_void_p()
        result = ze.zeMemGetIpcHandle(bench.context, pointer, ctypes.byref(ipc))
        where = (bench.context, bench.device, ipc, 0, ctypes.byref(opened))
        result = result or ze.zeMemOpenIpcHandle(*where)
        return int(result or ze.zeMemCloseIpcHandle(bench.context, opened))

    def free(pointer: int) -> int:
        return int(ze.zeMemFree(bench.context, pointer))

    create = (ze.zeMemAllocDevice, bench.context, ctypes.byref(description), 100, 0, bench.device)
    return lambda: made(*create), [exported, shared, free], free


def event_pools(bench: KernelBench) -> Kind:
    description = ze.ze_event_pool_desc_t(count=1, flags=ze.ZE_EVENT_POOL_FLAG_IPC)

    def shared(handle: int) -> int:
        ipc, opened = ze.ze_ipc_event_pool_handle_t(), ctypes.c_void_p()
        result = ze.zeEventPoolGetIpcHandle(handle, ctypes.byref(ipc))
        where = (bench.context, ipc, ctypes.byref(opened))
        result = result or ze.zeEventPoolOpenIpcHandle(*where)
        return int(result or ze.zeEventPoolCloseIpcHandle(opened))

    create = (ze.zeEventPoolCreate, bench.context, ctypes.byref(description), 0, None)
    return lambda: made(*create), [shared, ze.zeEventPoolDestroy], ze.zeEventPoolDestroy


def contexts(bench: KernelBench) -> Kind:
    description, size = ze.ze_context_desc_t(), ctypes.c_size_t()
    binary = module_description(spirv("strike"))

    def reserve(handle: int) -> int:
        start = ctypes.c_void_p()
        page = mmap.PAGESIZE
        result = ze.zeVirtualMemReserve(handle, None, page, ctypes.byref(start))
        return int(result or ze.zeVirtualMemFree(handle, start, page))

    def build(handle: int) -> int:
        created = ctypes.c_void_p()
        where = (handle, bench.device, ctypes.byref(binary), ctypes.byref(created), None)
        return int(ze.zeModuleCreate(*where) or ze.zeModuleDestroy(created))

    def pages(handle: int) -> int:
        where = (handle, bench.device, 1, ctypes.byref(size))
        return int(ze.zeVirtualMemQueryPageSize(*where))

    create = (ze.zeContextCreate, bench.driver, ctypes.byref(description))
    uses: list[Use] = [pages, reserve, build, ze.zeContextGetStatus]
    return lambda: made(*create), uses, ze.zeContextDestroy


def lists_and_queues(bench: KernelBench) -> Kind:
    description = ze.ze_command_queue_desc_t()
    ordinal = ctypes.c_uint32()
    uses: list[Use] = [
        lambda handle: ze.zeCommandListAppendBarrier(handle, None, 0, None),
        lambda handle: ze.zeCommandListHostSynchronize(handle, 0),
        lambda handle: ze.zeCommandListGetOrdinal(handle, ctypes.byref(ordinal)),
        ze.zeCommandListDestroy,
    ]
    where = (bench.context, bench.device, ctypes.byref(description))
    create = (ze.zeCommandListCreateImmediate, *where)
    return lambda: made(*create), uses, ze.zeCommandListDestroy


def a_launch_that_changes(bench: KernelBench) -> tuple[int, int, int]:
    """A kernel with an image and a sampler, a mutable list that launches it, and the command."""
    kernel = bench.kernel("look", size=(1, 1, 1))
    out = ctypes.c_void_p(address(bench.array(8)))
    for index, value in enumerate((None, None, ctypes.byref(out))):
        check(ze.zeKernelSetArgumentValue(kernel, index, 8, value))
    commands = mutable(bench)
    command = next_id(commands)
    launch(commands, kernel, 1)
    close_list(commands)
    return kernel, commands, command


def arguments(bench: KernelBench, index: int) -> list[Use]:
    """Ways to give a kernel the handle of an image or sampler, itself and in a chain of structs."""
    kernel, commands, command = a_launch_that_changes(bench)

    def changed(handle: int) -> int:
        word = ctypes.c_uint64(handle)
        change = ze.ze_mutable_kernel_argument_exp_desc_t(
            commandId=command, argIndex=index, argSize=8, pArgValue=ctypes.addressof(word)
        )
        return update(commands, change, change.__class__.from_buffer_copy(change))

    def set_directly(handle: int) -> int:
        word = ctypes.c_uint64(handle)
        return int(ze.zeKernelSetArgumentValue(kernel, index, 8, ctypes.byref(word)))

    return [changed, set_directly]


def images_of_commands(bench: KernelBench) -> Kind:
    description = describe("2D", (4, 4), format_of("8_8_8_8"))
    create = (ze.zeImageCreate, bench.context, bench.device, ctypes.byref(description))
    uses = [*arguments(bench, 0), ze.zeImageDestroy]
    return lambda: made(*create), uses, ze.zeImageDestroy


def samplers_of_commands(bench: KernelBench) -> Kind:
    description = ze.ze_sampler_desc_t()
    create = (ze.zeSamplerCreate, bench.context, bench.device, ctypes.byref(description))
    uses = [*arguments(bench, 1), ze.zeSamplerDestroy]
    return lambda: made(*create), uses, ze.zeSamplerDestroy


def events_of_commands(bench: KernelBench) -> Kind:
    pool, commands = bench.pool(1), mutable(bench)
    command = next_id(commands)
    barrier(commands)
    close_list(commands)
    uses: list[Use] = [
        lambda handle: ze.zeCommandListUpdateMutableCommandSignalEventExp(
            commands, command, handle
        ),
        lambda _: ze.zeCommandListClose(commands),
        lambda _: ze.zeCommandListUpdateMutableCommandSignalEventExp(commands, command, None),
        lambda _: ze.zeCommandListClose(commands),
    ]
    description = ze.ze_event_desc_t()
    create = (ze.zeEventCreate, pool, ctypes.byref(description))
    return lambda: made(*create), uses, ze.zeEventDestroy


@pytest.mark.parametrize(
    "kind",
    [
        modules,
        kernels_of_a_module,
        build_logs,
        physical_memory,
        memory,
        event_pools,
        contexts,
        lists_and_queues,
        images_of_commands,
        samplers_of_commands,
        events_of_commands,
    ],
)
def test_no_answer_is_unknown(kernels: KernelBench, kind: Callable[[KernelBench], Kind]) -> None:
    create, uses, destroy = kind(kernels)
    answers: dict[int, str] = {}

    def note(result: int) -> None:
        if result not in ALLOWED and result not in answers:
            answers[result] = last_error()

    def use(handle: int, begun: threading.Event) -> None:
        begun.set()
        for each in itertools.islice(itertools.cycle(uses[:-1]), 2 * len(uses)):
            note(each(handle))
        note(uses[-1](handle))

    for _ in range(ROUNDS):
        handle, begun = create(), threading.Event()
        user = threading.Thread(target=use, args=(handle, begun))
        user.start()
        begun.wait()
        result = destroy(handle)
        user.join()
        note(result)
    assert answers == {}
