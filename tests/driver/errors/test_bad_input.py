"""Each error condition that the registry knows, against the real driver."""

import ctypes
import subprocess
import sys
from collections.abc import Iterator

import pytest

from groundstate import standin, ze
from registry.checks import CheckKind, checks_of
from registry.model import Function
from tests.conftest import check, last_error
from tests.driver.calls import REGISTRY, Call, Calls, functions, hardware_functions
from tests.driver.modules.spoiling import spoilt
from tests.driver.support import Bench
from tests.imports import IMPORT_PATH

RESULTS = dict(REGISTRY.enums["ze_result_t"].values)
FUNCTIONS = functions()
DRIVER_LIBRARY = ctypes.CDLL(str(standin.library()))
DRIVER_LIBRARY.gs_live_objects.restype = ctypes.c_uint64
FINE = (
    ze.ZE_RESULT_SUCCESS,
    ze.ZE_RESULT_NOT_READY,
    ze.ZE_RESULT_QUERY_TRUE,
    ze.ZE_RESULT_QUERY_FALSE,
)


@pytest.fixture
def calls(bench: Bench) -> Iterator[Calls]:
    calls = Calls(bench)
    yield calls
    check(ze.zeCommandListHostSynchronize(calls.immediate, 2**64 - 1))


def live_objects() -> int:
    return int(DRIVER_LIBRARY.gs_live_objects(0))


CREATED = {
    "phContext": ze.zeContextDestroy,
    "phCommandQueue": ze.zeCommandQueueDestroy,
    "phCommandList": ze.zeCommandListDestroy,
    "phClonedCommandList": ze.zeCommandListDestroy,
    "phEventPool": ze.zeEventPoolDestroy,
    "phEvent": ze.zeEventDestroy,
    "phFence": ze.zeFenceDestroy,
    "phImage": ze.zeImageDestroy,
    "phImageView": ze.zeImageDestroy,
    "phSampler": ze.zeSamplerDestroy,
    "phGraph": ze.zeGraphDestroyExt,
    "phExecutableGraph": ze.zeExecutableGraphDestroyExt,
    "phSemaphore": ze.zeDeviceReleaseExternalSemaphoreExt,
}


def undo(call: Call, calls: Calls) -> None:
    """Takes back what a call that succeeded has made."""
    context = calls.bench.context
    name, arguments = call.function.name, call.arguments
    if name.endswith("OpenIpcHandle"):
        undo_open(call, context)
    elif (
        "Create" in name or "Instantiate" in name or "ImportExternal" in name
    ) and name != "zePhysicalMemCreate":
        made = next(parameter for parameter in arguments if parameter in CREATED)
        check(CREATED[made](arguments[made][0]))
    elif name == "zePhysicalMemCreate":
        check(ze.zePhysicalMemDestroy(context, arguments["phPhysicalMemory"][0]))
    elif name.startswith("zeMemAlloc"):
        check(ze.zeMemFree(context, arguments["pptr"][0]))
    elif name == "zeVirtualMemReserve":
        check(ze.zeVirtualMemFree(context, arguments["pptr"][0], arguments["size"]))
    elif name == "zeVirtualMemMap":
        check(ze.zeVirtualMemUnmap(context, arguments["ptr"], arguments["size"]))
    elif name == "zeVirtualMemFree":
        calls.bench.forget(arguments["ptr"])


def undo_open(call: Call, context: int) -> None:
    name, arguments = call.function.name, call.arguments
    if name == "zeMemOpenIpcHandle":
        check(ze.zeMemCloseIpcHandle(context, arguments["pptr"][0]))
    elif name == "zeEventPoolOpenIpcHandle":
        check(ze.zeEventPoolCloseIpcHandle(arguments["phEventPool"][0]))
    else:
        check(ze.zeEventCounterBasedCloseIpcHandle(arguments["phEvent"][0]))


SEVERAL_STEPS = {
    # valid only after another call: tested in the files of their nouns
    "zeMemCloseIpcHandle",
    "zeMemGetIpcHandleFromFileDescriptorExp",
    "zeMemGetFileDescriptorFromIpcHandleExp",
    "zeEventPoolCloseIpcHandle",
    "zeEventCounterBasedCloseIpcHandle",
    "zeCommandListBeginGraphCaptureExt",
    "zeCommandListBeginCaptureIntoGraphExt",
    "zeCommandListEndGraphCaptureExt",
    "zeCommandListGetGraphExt",
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.name))
def test_a_valid_call_is_accepted(calls: Calls, function: Function) -> None:
    """Without this, the refusals below would prove nothing."""
    if function.name in SEVERAL_STEPS:
        return
    call = calls.of(function, fresh=True)
    result = call.run()
    if function.failure:
        assert result != 0
        return
    assert result in FINE, f"{ze.ze_result_t(result).name}: {last_error()}"
    if result == ze.ZE_RESULT_SUCCESS:
        undo(call, calls)


@pytest.mark.parametrize("function", hardware_functions(), ids=lambda each: str(each.name))
def test_call_for_other_hardware_is_unsupported(calls: Calls, function: Function) -> None:
    assert calls.of(function).run() == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
    assert function.name in last_error()


@pytest.mark.parametrize(
    "function", [*FUNCTIONS, *hardware_functions()], ids=lambda function: str(function.name)
)
def test_each_spoilt_argument_is_refused(calls: Calls, function: Function) -> None:
    for each in checks_of(function):
        if each.kind is CheckKind.INITIALISED:
            continue
        for how, call in spoilt(each, function, calls):
            before = live_objects()
            result = call.run()
            if function.failure:
                assert result == 0, how
            else:
                named = ze.ze_result_t(result).name
                assert named == each.result, f"{how}: {last_error()}"
            assert function.name in last_error(), how
            assert live_objects() == before, how


def test_nothing_is_live_before_initialisation() -> None:
    """A program that never calls zeInit may call everything else, with nothing or with garbage."""
    program = f"""
import ctypes, sys
sys.path[:0] = {IMPORT_PATH!r}
from groundstate import ze
from tests.driver.calls import REGISTRY, functions
memory = ctypes.create_string_buffer(65536)
for function in functions():
    if function.name in ("zeInit", "zeInitDrivers"):
        continue
    for filling in (0, 1, 2**64 - 8, ctypes.addressof(memory)):
        arguments = []
        for parameter in function.parameters:
            is_handle = REGISTRY.kind_of(parameter.type.base) and parameter.type.depth == 0
            if is_handle:
                arguments.append(filling)
            elif parameter.type.is_pointer or parameter.type.base in REGISTRY.callbacks:
                arguments.append(ctypes.addressof(memory) if filling else None)
            elif REGISTRY.struct_of(parameter.type.base):
                arguments.append(getattr(ze, parameter.type.base)())
            else:
                arguments.append(0)
        result = getattr(ze, function.name)(*arguments)
        if function.failure:
            assert not result, function.name
        else:
            assert ze.ze_result_t(result).name in (
                "ZE_RESULT_ERROR_UNINITIALIZED", "ZE_RESULT_ERROR_INVALID_NULL_HANDLE",
                "ZE_RESULT_ERROR_INVALID_NULL_POINTER"), (function.name, hex(result))
print("alive")
"""
    child = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert child.stdout == "alive\n", child.stderr
