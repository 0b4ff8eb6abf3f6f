"""What zeDriverGetLastErrorDescription says, and to whom."""

import ctypes
import threading
from collections.abc import Callable

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import MILLISECOND, Bench, handles


def test_error_description_lasts_until_next_error(bench: Bench) -> None:
    assert ze.zeContextDestroy(None) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    said = last_error()
    assert "zeContextDestroy" in said
    assert "hContext" in said
    check(ze.zeContextGetStatus(bench.context))
    assert last_error() == said
    assert ze.zeFenceReset(bench.context) != ze.ZE_RESULT_SUCCESS
    assert "zeFenceReset" in last_error()


def test_each_thread_has_its_own() -> None:
    assert ze.zeContextDestroy(None) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    mine = last_error()
    others: list[str] = []

    def fail_elsewhere() -> None:
        others.append(last_error())
        ze.zeEventDestroy(None)
        others.append(last_error())

    thread = threading.Thread(target=fail_elsewhere)
    thread.start()
    thread.join()
    assert others[0] == ""
    assert "zeEventDestroy" in others[1]
    assert last_error() == mine


def blocked(bench: Bench) -> dict[str, Callable[[], int]]:
    """Everything that can be asked for what is not ready, by the name of the function."""
    gate = bench.event()
    stamped = bench.event(flags=ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
    immediate, queue = bench.immediate(), bench.queue()
    fence = bench.fence(queue)
    regular = bench.list()
    check(ze.zeCommandListAppendWaitOnEvents(immediate, 1, handles(gate)))
    check(ze.zeCommandListAppendWaitOnEvents(regular, 1, handles(gate)))
    check(ze.zeCommandListClose(regular))
    check(ze.zeCommandQueueExecuteCommandLists(queue, 1, handles(regular), fence))
    count, stamps = ctypes.c_uint32(1), ze.ze_kernel_timestamp_result_t()
    several = (stamped, bench.device, ctypes.byref(count), ctypes.byref(stamps))
    return {
        "zeEventQueryStatus": lambda: ze.zeEventQueryStatus(gate),
        "zeEventHostSynchronize": lambda: ze.zeEventHostSynchronize(gate, MILLISECOND),
        "zeEventQueryKernelTimestamp": lambda: ze.zeEventQueryKernelTimestamp(
            stamped, ctypes.byref(stamps)
        ),
        "zeEventQueryTimestampsExp": lambda: ze.zeEventQueryTimestampsExp(*several),
        "zeFenceQueryStatus": lambda: ze.zeFenceQueryStatus(fence),
        "zeFenceHostSynchronize": lambda: ze.zeFenceHostSynchronize(fence, 0),
        "zeCommandQueueSynchronize": lambda: ze.zeCommandQueueSynchronize(queue, 0),
        "zeCommandListHostSynchronize": lambda: ze.zeCommandListHostSynchronize(immediate, 0),
    }


def test_not_ready_replaces_error_description(bench: Bench) -> None:
    for name, ask in blocked(bench).items():
        assert ze.zeContextDestroy(None) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
        assert ask() == ze.ZE_RESULT_NOT_READY, name
        assert last_error().startswith(f"{name}: "), last_error()
        assert last_error().endswith("not done yet"), last_error()
        assert ze.zeContextDestroy(None) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
        assert last_error().startswith("zeContextDestroy: "), name


def test_query_answering_no_keeps_last_error(bench: Bench) -> None:
    assert ze.zeContextDestroy(None) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    layout = ze.ZE_IMAGE_FORMAT_LAYOUT_8
    wide = ze.ze_image_desc_t(width=1 << 40, height=1, depth=1, format=ze.ze_image_format_t(layout))
    support = ze.ze_image_format_support_ext_properties_t(supported=1)
    properties = ze.ze_image_properties_t(pNext=ctypes.addressof(support))
    check(ze.zeImageGetProperties(bench.device, ctypes.byref(wide), ctypes.byref(properties)))
    assert support.supported == 0
    assert last_error().startswith("zeContextDestroy: ")


def test_not_ready_keeps_error_of_another_thread(bench: Bench) -> None:
    asks = blocked(bench)
    assert ze.zeContextDestroy(None) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    threads = [threading.Thread(target=ask) for ask in asks.values()]
    for thread in threads:
        thread.start()
        thread.join()
    assert last_error().startswith("zeContextDestroy: ")


def test_the_wrong_kind_of_handle_is_named(bench: Bench) -> None:
    assert ze.zeEventQueryStatus(bench.queue()) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    assert "ze_command_queue_handle_t" in last_error()
    assert "ze_event_handle_t" in last_error()


def test_a_handler_in_python_explains_itself_too(bench: Bench) -> None:
    pointer = ctypes.c_void_p()
    result = ze.zeVirtualMemReserve(bench.context, None, 100, ctypes.byref(pointer))
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE
    assert last_error().startswith("zeVirtualMemReserve:")
    assert "Traceback" not in last_error()


def test_functions_that_are_not_there_say_so(bench: Bench) -> None:
    size = ctypes.c_size_t()
    result = ze.zeDeviceReserveCacheExt(bench.device, 0, 0)
    assert result in (ze.ZE_RESULT_SUCCESS, ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
    if result != ze.ZE_RESULT_SUCCESS:
        assert "zeDeviceReserveCacheExt" in last_error()
    assert size.value == 0


def test_long_sentences_are_cut_and_not_overrun(bench: Bench) -> None:
    """The text has its place; a caller's string of any length does not break it."""
    name = b"x" * 100_000
    address = ctypes.c_void_p()
    result = ze.zeDriverGetExtensionFunctionAddress(bench.driver, name, ctypes.byref(address))
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert 10 < len(last_error()) < 5000
