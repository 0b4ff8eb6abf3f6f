"""Chains of structs that loop, lead nowhere known, or were never initialised."""

import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import Bench, address, close_list, finish, handles

UNKNOWN_STYPE = 0x7FFF1234


class Link(ctypes.Structure):
    """What every struct in a chain begins with."""

    _fields_ = [
        ("stype", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("rest", ctypes.c_uint8 * 64),
    ]


def loop() -> Link:
    """A struct whose chain leads back to itself."""
    link = Link(stype=UNKNOWN_STYPE)
    link.pNext = ctypes.addressof(link)
    return link


def unknown() -> Link:
    return Link(stype=UNKNOWN_STYPE)


def astray() -> Link:
    """A struct of which nobody has set the pointer to the next."""
    return Link(stype=UNKNOWN_STYPE, pNext=0x3000000000)


def forbidden() -> Link:
    """A struct whose chain leads to memory that nobody may read, as the driver reserves it."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start), mmap.PAGESIZE, 0) == 0
    link = Link(stype=UNKNOWN_STYPE, pNext=start)
    link.page = page
    return link


def query(name: str, *arguments: Any) -> Callable[[Bench, Any], int]:
    """A call that fills one struct; "device" and "driver" stand for those handles."""

    def run(bench: Bench, struct: Any) -> int:
        values = [getattr(bench, each) if isinstance(each, str) else each for each in arguments]
        return int(getattr(ze, name)(*values, ctypes.byref(struct)))

    return run


QUERIES = {
    "ze_driver_properties_t": query("zeDriverGetProperties", "driver"),
    "ze_driver_ipc_properties_t": query("zeDriverGetIpcProperties", "driver"),
    "ze_device_properties_t": query("zeDeviceGetProperties", "device"),
    "ze_device_compute_properties_t": query("zeDeviceGetComputeProperties", "device"),
    "ze_device_module_properties_t": query("zeDeviceGetModuleProperties", "device"),
    "ze_device_memory_access_properties_t": query("zeDeviceGetMemoryAccessProperties", "device"),
    "ze_device_image_properties_t": query("zeDeviceGetImageProperties", "device"),
    "ze_device_external_memory_properties_t": query(
        "zeDeviceGetExternalMemoryProperties", "device"
    ),
    "ze_device_p2p_properties_t": query("zeDeviceGetP2PProperties", "device", "device"),
}


@pytest.mark.parametrize("struct", QUERIES)
@pytest.mark.parametrize("make", [loop, unknown, astray, forbidden])
def test_query_ignores_looping_or_unknown_chain(
    bench: Bench, struct: str, make: Callable[[], Link]
) -> None:
    """The answer is the same as without the chain, and the call returns."""
    plain, chained, link = getattr(ze, struct)(), getattr(ze, struct)(), make()
    check(QUERIES[struct](bench, plain))
    chained.pNext = ctypes.addressof(link)
    check(QUERIES[struct](bench, chained))
    assert link.stype == UNKNOWN_STYPE
    assert not any(link.rest)
    chained.pNext = None
    assert bytes(plain) == bytes(chained)


@pytest.mark.parametrize("struct", QUERIES)
def test_properties_that_were_never_initialised(bench: Bench, struct: str) -> None:
    """Old programs leave garbage in stype and pNext: nothing is followed, and all is answered."""
    plain, dirty = getattr(ze, struct)(), getattr(ze, struct)()
    check(QUERIES[struct](bench, plain))
    ctypes.memset(ctypes.addressof(dirty), 0xC3, ctypes.sizeof(dirty))
    check(QUERIES[struct](bench, dirty))
    dirty.stype, dirty.pNext = plain.stype, None
    for name, *_ in plain._fields_:
        value = getattr(plain, name)
        if isinstance(value, (int, float)):
            assert getattr(dirty, name) == value, name


def test_known_struct_behind_unknown_is_found(bench: Bench) -> None:
    handles_struct = ze.ze_driver_ddi_handles_ext_properties_t()
    second, first = unknown(), unknown()
    second.pNext = ctypes.addressof(handles_struct)
    first.pNext = ctypes.addressof(second)
    properties = ze.ze_driver_properties_t(pNext=ctypes.addressof(first))
    check(ze.zeDriverGetProperties(bench.driver, ctypes.byref(properties)))
    assert handles_struct.flags == ze.ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED


def created(bench: Bench, name: str, ending: Any, arguments: list[Any]) -> None:
    """Calls a function that creates an object, and destroys what it made."""
    made = ctypes.c_void_p()
    check(getattr(ze, name)(*arguments, ctypes.byref(made)))
    check(ending(made))


@pytest.mark.parametrize("make", [loop, unknown, astray, forbidden])
def test_create_ignores_looping_or_unknown_chain(bench: Bench, make: Callable[[], Link]) -> None:
    link = make()
    chain = {"pNext": ctypes.addressof(link)}
    context, device, queue = bench.context, bench.device, bench.queue()
    pool = bench.pool(1)

    def free(pointer: Any) -> int:
        return int(ze.zeMemFree(context, pointer))

    by_device = ctypes.byref(ze.ze_device_mem_alloc_desc_t(**chain))
    by_host = ctypes.byref(ze.ze_host_mem_alloc_desc_t(**chain))
    plans: list[tuple[str, Any, list[Any]]] = [
        ("zeContextCreate", ze.zeContextDestroy, [bench.driver, ze.ze_context_desc_t(**chain)]),
        ("zeMemAllocHost", free, [context, by_host, 100, 0]),
        ("zeMemAllocDevice", free, [context, by_device, 100, 0, device]),
        ("zeMemAllocShared", free, [context, by_device, by_host, 100, 0, device]),
        (
            "zeCommandQueueCreate",
            ze.zeCommandQueueDestroy,
            [context, device, ze.ze_command_queue_desc_t(**chain)],
        ),
        (
            "zeCommandListCreate",
            ze.zeCommandListDestroy,
            [context, device, ze.ze_command_list_desc_t(**chain)],
        ),
        (
            "zeCommandListCreateImmediate",
            ze.zeCommandListDestroy,
            [context, device, ze.ze_command_queue_desc_t(**chain)],
        ),
        (
            "zeEventPoolCreate",
            ze.zeEventPoolDestroy,
            [context, ze.ze_event_pool_desc_t(count=1, **chain), 0, None],
        ),
        ("zeEventCreate", ze.zeEventDestroy, [pool, ze.ze_event_desc_t(**chain)]),
        (
            "zeEventCounterBasedCreate",
            ze.zeEventDestroy,
            [context, device, ze.ze_event_counter_based_desc_t(**chain)],
        ),
        ("zeFenceCreate", ze.zeFenceDestroy, [queue, ze.ze_fence_desc_t(**chain)]),
        (
            "zePhysicalMemCreate",
            lambda handle: ze.zePhysicalMemDestroy(context, handle),
            [context, device, ze.ze_physical_mem_desc_t(size=4096, **chain)],
        ),
    ]
    for name, ending, arguments in plans:
        passed = [
            ctypes.byref(each) if isinstance(each, ctypes.Structure) else each for each in arguments
        ]
        created(bench, name, ending, passed)


@pytest.mark.parametrize("make", [loop, unknown, astray, forbidden])
def test_allocation_properties_with_such_a_chain(bench: Bench, make: Callable[[], Link]) -> None:
    link = make()
    memory = bench.host(100)
    properties = ze.ze_memory_allocation_properties_t(pNext=ctypes.addressof(link))
    check(ze.zeMemGetAllocProperties(bench.context, memory, ctypes.byref(properties), None))
    assert properties.type == ze.ZE_MEMORY_TYPE_HOST


def test_garbage_stype_in_descriptor_is_accepted(bench: Bench) -> None:
    """`stype` of the descriptor itself is not looked at: many programs leave it out."""
    description = ze.ze_command_queue_desc_t(stype=0x12345678)
    queue = ctypes.c_void_p()
    check(
        ze.zeCommandQueueCreate(
            bench.context, bench.device, ctypes.byref(description), ctypes.byref(queue)
        )
    )
    check(ze.zeCommandQueueDestroy(queue))


# --- Functions that take a pNext for extensions to come -------------------------------------------


def test_commands_refuse_unknown_extensions(bench: Bench) -> None:
    memory = bench.bytes(64, fill=0)
    commands, regular = bench.immediate(), close_list(bench.list())
    link = ctypes.byref(unknown())

    def never(_: int | None) -> None:
        memory[0] = 1

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(never)

    plans = {
        "zeCommandListAppendMemoryCopyWithParameters": (
            address(memory), address(memory, 32), 8, link, None, 0, None,
        ),
        "zeCommandListAppendMemoryFillWithParameters": (
            address(memory), b"x", 1, 8, link, None, 0, None,
        ),
        "zeCommandListAppendHostFunction": (callback, None, link, None, 0, None),
        "zeCommandListImmediateAppendCommandListsWithParameters": (
            1, handles(regular), link, None, 0, None,
        ),
    }  # fmt: skip
    for name, arguments in plans.items():
        result = getattr(ze, name)(commands, *arguments)
        assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, name
        assert name in last_error()
    finish(commands)
    assert not memory.any()
