"""The zex functions: words of memory in lists, imported pointers, counter-based events, handles."""

import ctypes
import threading
from collections.abc import Callable
from ctypes import POINTER, c_size_t, c_uint32, c_uint64, c_void_p

import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.intel import function
from tests.driver.support import FOREVER, Bench, address, close_list, finish, is_signalled, submit

NULL_HANDLE = ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
NULL_POINTER = ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
EQUAL, NOT_EQUAL, GREATER, AT_LEAST, LESS, AT_MOST = (1 << bit for bit in range(6))


class WaitDescription(ctypes.Structure):
    _fields_ = (("actionFlag", c_uint32), ("waitScope", c_uint32))


Wait = Callable[..., int]


@pytest.fixture
def wait32(bench: Bench) -> Wait:
    name = "zexCommandListAppendWaitOnMemory"
    return function(bench.driver, name, c_void_p, c_void_p, c_void_p, c_uint32, c_void_p)


@pytest.fixture
def wait64(bench: Bench) -> Wait:
    name = "zexCommandListAppendWaitOnMemory64"
    return function(bench.driver, name, c_void_p, c_void_p, c_void_p, c_uint64, c_void_p)


@pytest.fixture
def write(bench: Bench) -> Wait:
    name = "zexCommandListAppendWriteToMemory"
    return function(bench.driver, name, c_void_p, c_void_p, c_void_p, c_uint64)


def described(flag: int) -> object:
    return ctypes.byref(WaitDescription(flag, 0))


# --- Words of memory ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flag", "before", "after"),
    [
        (EQUAL, 6, 5),
        (NOT_EQUAL, 5, 6),
        (GREATER, 5, 6),
        (AT_LEAST, 4, 5),
        (LESS, 5, 4),
        (AT_MOST, 6, 5),
    ],
)
def test_list_waits_for_a_word_of_memory(
    bench: Bench, wait32: Wait, wait64: Wait, flag: int, before: int, after: int
) -> None:
    words = bench.bytes(64, fill=0).view("uint64")
    words[:] = before
    words[1] = before | 7 << 32  # a word of 32 bits has nothing to do with its neighbour
    for wait, place in ((wait64, words.ctypes.data), (wait32, words.ctypes.data + 8)):
        commands, event = bench.immediate(in_order=True), bench.event()
        check(wait(commands, described(flag), place, 5, event))
        assert ze.zeCommandListHostSynchronize(commands, 0) == ze.ZE_RESULT_NOT_READY
        assert not is_signalled(event)
        words[(place - words.ctypes.data) // 8] = after
        finish(commands)
        assert is_signalled(event)


def test_word_that_fits_holds_nothing_up(bench: Bench, wait64: Wait) -> None:
    words, commands = bench.bytes(8, fill=0).view("uint64"), bench.immediate(in_order=True)
    check(wait64(commands, described(EQUAL), words.ctypes.data, 0, None))
    finish(commands)


def test_lists_hand_a_word_to_and_fro(bench: Bench, wait64: Wait, write: Wait) -> None:
    words = bench.bytes(16, fill=0).view("uint64")
    place, scope = words.ctypes.data, ctypes.byref(c_uint32(0))
    there, back = bench.immediate(in_order=True), bench.list()
    for turn in range(1, 9, 2):
        check(wait64(there, described(EQUAL), place, turn, None))
        check(write(there, scope, place, turn + 1))
        check(write(back, scope, place, turn))
        check(wait64(back, described(AT_LEAST), place, turn + 1, None))
        check(ze.zeCommandListAppendBarrier(back, None, 0, None))
    close_list(back)
    queue = bench.queue()
    submit(queue, back)
    finish(there)
    check(ze.zeCommandQueueSynchronize(queue, FOREVER))
    assert words[0] == 8


def test_words_of_memory_are_checked(bench: Bench, wait32: Wait, write: Wait) -> None:
    commands, memory = bench.immediate(), bench.bytes(64, fill=0)
    place, scope = address(memory), ctypes.byref(c_uint32(0))
    for flag in (0, 3, 64, 1 << 31):
        bad = wait32(commands, described(flag), place, 0, None)
        assert bad == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
    assert "no single comparison" in last_error()
    assert wait32(commands, None, place, 0, None) == NULL_POINTER
    assert wait32(commands, described(EQUAL), None, 0, None) == NULL_POINTER
    assert wait32(0xDEADBEEF, described(EQUAL), place, 0, None) == NULL_HANDLE
    odd = wait32(commands, described(EQUAL), place + 2, 0, None)
    assert odd == ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT
    nowhere = wait32(commands, described(EQUAL), 64, 0, None)
    assert nowhere == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    stale = wait32(commands, described(EQUAL), place, 0, 0xDEADBEEF)
    assert stale == ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT
    assert write(None, scope, place, 0) == NULL_HANDLE
    assert write(commands, scope, None, 0) == NULL_POINTER
    assert write(commands, scope, place + 4, 0) == ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT


# --- Imported host memory -------------------------------------------------------------------------


def test_imported_memory_is_known_until_released(bench: Bench) -> None:
    driver = bench.driver
    take = function(driver, "zexDriverImportExternalPointer", c_void_p, c_void_p, c_size_t)
    release = function(driver, "zexDriverReleaseImportedPointer", c_void_p, c_void_p)
    name = "zexDriverGetHostPointerBaseAddress"
    ask = function(driver, name, c_void_p, c_void_p, POINTER(c_void_p))
    memory = ctypes.create_string_buffer(8192)
    start, base = ctypes.addressof(memory), c_void_p()
    assert ask(driver, start, ctypes.byref(base)) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    check(take(driver, start, 4096))
    check(take(driver, start, 4096))  # the same again
    assert take(driver, start + 1, 4096) == ze.ZE_RESULT_ERROR_OVERLAPPING_REGIONS
    check(take(driver, start + 4096, 4096))
    check(ask(driver, start + 4095, ctypes.byref(base)))
    assert base.value == start
    check(ask(driver, start + 4096, None))
    for place in (start, start + 4096):
        check(release(driver, place))
        assert release(driver, place) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert take(driver, 8, 4096) == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert take(driver, start, 0) == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert take(driver, start, 2**64 - 1) == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert take(driver, None, 64) == NULL_POINTER
    assert take(None, start, 64) == NULL_HANDLE


# --- Counter-based events -------------------------------------------------------------------------


def test_counter_based_event_of_intel_follows_its_list(bench: Bench) -> None:
    name = "zexCounterBasedEventCreate2"
    create = function(bench.driver, name, c_void_p, c_void_p, c_void_p, c_void_p)
    event = c_void_p()
    description = ze.ze_event_counter_based_desc_t(stype=0x3001C, flags=7)
    check(create(bench.context, bench.device, ctypes.byref(description), ctypes.byref(event)))
    assert event.value is not None
    bench._endings[event.value] = ze.zeEventDestroy
    commands = bench.immediate(in_order=True)
    check(ze.zeCommandListAppendSignalEvent(commands, event))
    check(ze.zeEventHostSynchronize(event, FOREVER))
    refused = create(bench.context, bench.device, None, ctypes.byref(event))
    assert refused == NULL_POINTER


@pytest.mark.parametrize("way", ["zexCounterBasedEventCreate", "zexCounterBasedEventCreate2"])
def test_event_of_intel_waits_for_the_programs_counter(bench: Bench, way: str) -> None:
    word, event = bench.bytes(8, fill=0).view("uint64"), c_void_p()
    place = word.ctypes.data
    if way == "zexCounterBasedEventCreate":
        types = c_void_p, c_void_p, c_void_p, c_void_p, c_uint64, c_void_p, c_void_p
        description = ctypes.byref(ze.ze_event_desc_t())
        arguments = bench.context, bench.device, place, place, 3, description
    else:
        types = c_void_p, c_void_p, c_void_p, c_void_p
        counter = ze.ze_event_counter_based_external_sync_allocation_desc_t(
            stype=0x3001D, deviceAddress=place, hostAddress=place, completionValue=3
        )
        made = ze.ze_event_counter_based_desc_t(flags=7, pNext=ctypes.addressof(counter))
        arguments = bench.context, bench.device, ctypes.byref(made)
    check(function(bench.driver, way, *types)(*arguments, ctypes.byref(event)))
    assert event.value is not None
    bench._endings[event.value] = ze.zeEventDestroy
    value, there = c_uint64(), c_uint64()
    ask = function(bench.driver, "zexEventGetDeviceAddress", c_void_p, c_void_p, c_void_p)
    check(ask(event, ctypes.byref(value), ctypes.byref(there)))
    assert (value.value, there.value) == (3, place)
    assert not is_signalled(event.value)
    thread = threading.Timer(0.01, lambda: word.__setitem__(0, 3))
    thread.start()
    check(ze.zeEventHostSynchronize(event, FOREVER))
    thread.join()


def test_copy_and_fill_take_intels_order_of_parameters(bench: Bench) -> None:
    name = "zexCommandListAppendMemoryFillWithParameters"
    types = c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_void_p
    fill = function(bench.driver, name, *types, c_void_p, c_uint32, c_void_p)
    name = "zexCommandListAppendMemoryCopyWithParameters"
    types = c_void_p, c_void_p, c_void_p, c_size_t, c_void_p
    copy = function(bench.driver, name, *types, c_uint32, c_void_p, c_void_p)
    commands, filled, copied = bench.immediate(), bench.event(), bench.event()
    source, target = bench.bytes(64, fill=0), bench.bytes(64, fill=0)
    check(fill(commands, address(source), b"\x05", 1, 64, None, filled, 0, None))
    waits = (c_void_p * 1)(filled)
    check(copy(commands, address(target), address(source), 64, None, 1, waits, copied))
    check(ze.zeEventHostSynchronize(copied, FOREVER))
    assert (target == 5).all()
    finish(commands)


def test_an_allocation_has_one_handle(bench: Bench) -> None:
    get = function(bench.driver, "zexMemGetIpcHandles", c_void_p, c_void_p, c_void_p, c_void_p)
    name = "zexMemOpenIpcHandles"
    types = c_void_p, c_void_p, c_uint32, c_void_p, c_uint32, c_void_p
    open_handles = function(bench.driver, name, *types)
    memory, count = bench.local(4096), c_uint32(0)
    check(get(bench.context, memory, ctypes.byref(count), None))
    assert count.value == 1
    found, opened = ze.ze_ipc_mem_handle_t(), c_void_p()
    check(get(bench.context, memory, ctypes.byref(count), ctypes.byref(found)))
    where = bench.context, bench.device
    check(open_handles(*where, 1, ctypes.byref(found), 0, ctypes.byref(opened)))
    check(ze.zeMemCloseIpcHandle(bench.context, opened))
    two = open_handles(*where, 2, ctypes.byref(found), 0, ctypes.byref(opened))
    assert two == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert open_handles(*where, 1, None, 0, ctypes.byref(opened)) == NULL_POINTER
    assert get(bench.context, memory, None, None) == NULL_POINTER


def test_count_of_handles_is_of_memory_that_is_there(bench: Bench) -> None:
    get = function(bench.driver, "zexMemGetIpcHandles", c_void_p, c_void_p, c_void_p, c_void_p)
    memory, count = bench.local(4096), c_uint32(0)
    assert get(0xDEAD0, memory, ctypes.byref(count), None) == NULL_HANDLE
    assert get(bench.context, None, ctypes.byref(count), None) == NULL_POINTER
    foreign = ctypes.create_string_buffer(8)
    nothing = get(bench.context, ctypes.addressof(foreign), ctypes.byref(count), None)
    assert nothing == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "no memory of this context" in last_error()
    assert count.value == 0


def test_handle_of_another_kind_is_named(bench: Bench, wait32: Wait) -> None:
    word = bench.bytes(4, fill=0)
    assert wait32(bench.device, described(EQUAL), address(word), 0, None) == NULL_HANDLE
    assert f"{bench.device:#x}" in last_error()
