"""What zeDriverGetLastErrorDescription says, and to whom."""

import ctypes
import threading

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import Bench


def test_the_description_stays_until_the_next_error(bench: Bench) -> None:
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
