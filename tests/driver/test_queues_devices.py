"""Several devices in one process: what contexts allow, and how devices work side by side."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

PREPARE = """
import ctypes, sys
sys.path[:0] = {path!r}
from groundstate import ze
from tests.conftest import check, first_driver, last_error
from tests.driver.support import *

def devices_of(function, subject):
    count = ctypes.c_uint32()
    check(function(subject, ctypes.byref(count), None))
    array = (ctypes.c_void_p * count.value)()
    check(function(subject, ctypes.byref(count), array))
    return list(array)

check(ze.zeInit(0))
driver = first_driver()
first, second = devices_of(ze.zeDeviceGet, driver)
subs = devices_of(ze.zeDeviceGetSubDevices, first)
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT

def context_of(*devices):
    context = ctypes.c_void_p()
    check(ze.zeContextCreateEx(driver, ctypes.byref(ze.ze_context_desc_t()), len(devices),
                               handles(*devices), ctypes.byref(context)))
    return context.value

def allocate(context, device, size=4096):
    pointer = ctypes.c_void_p()
    result = ze.zeMemAllocDevice(context, ctypes.byref(ze.ze_device_mem_alloc_desc_t()), size, 0,
                                 device, ctypes.byref(pointer))
    return result, pointer.value
"""


def run(program: str, **variables: str) -> None:
    """Runs a program that sees two devices with two sub-devices each, of 512 MiB in all each."""
    root = Path(__file__).parents[2]
    prepare = PREPARE.format(path=[str(root), str(root / "src")])
    kept = {name: text for name, text in os.environ.items() if not name.startswith("ZE_")}
    settings = {"GROUNDSTATE_TOPOLOGY": "2x2", "GROUNDSTATE_MEMORY": "1G"}
    child = subprocess.run(
        [sys.executable, "-c", prepare + textwrap.dedent(program) + "\nprint('done')"],
        env=kept | settings | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert child.stdout == "done\n", child.stderr


def test_a_context_is_for_the_devices_it_was_made_with() -> None:
    run("""
        context = context_of(first)
        made = ctypes.c_void_p()
        queue, pool = ze.ze_command_queue_desc_t(), ze.ze_event_pool_desc_t(count=1)
        calls = {
            "zeMemAllocDevice": lambda: allocate(context, second)[0],
            "zeCommandQueueCreate": lambda: ze.zeCommandQueueCreate(
                context, second, ctypes.byref(queue), ctypes.byref(made)),
            "zeCommandListCreate": lambda: ze.zeCommandListCreate(
                context, second, ctypes.byref(ze.ze_command_list_desc_t()), ctypes.byref(made)),
            "zeCommandListCreateImmediate": lambda: ze.zeCommandListCreateImmediate(
                context, second, ctypes.byref(queue), ctypes.byref(made)),
            "zeEventPoolCreate": lambda: ze.zeEventPoolCreate(
                context, ctypes.byref(pool), 1, handles(second), ctypes.byref(made)),
            "zeContextSystemBarrier": lambda: ze.zeContextSystemBarrier(context, second),
        }
        for name, call in calls.items():
            assert call() == INVALID, name
            assert name in last_error(), name
            assert made.value is None
        for device in (first, *subs):
            result, pointer = allocate(context, device)
            check(result)
            check(ze.zeMemFree(context, pointer))
        check(ze.zeContextGetStatus(context))
        check(ze.zeContextDestroy(context))
    """)


def test_a_context_of_a_sub_device_is_not_for_its_root() -> None:
    run("""
        context = context_of(subs[1])
        assert allocate(context, first)[0] == INVALID
        assert allocate(context, subs[0])[0] == INVALID
        result, pointer = allocate(context, subs[1])
        check(result)
        check(ze.zeMemFree(context, pointer))
        check(ze.zeContextDestroy(context))
    """)


def test_devices_and_sub_devices_run_side_by_side() -> None:
    """Each has its own queue; one that is blocked holds up no other."""
    run("""
        benches = [Bench(driver, device) for device in (first, second, *subs)]
        go = benches[0].event()
        blocked = benches[0].immediate()
        barrier(blocked, waits=[go])
        for bench in benches[1:]:
            source, target = bench.random_bytes(3 << 20), bench.bytes(3 << 20, fill=0)
            commands = bench.immediate()
            copy(commands, address(target), address(source), 3 << 20)
            finish(commands)
            assert (source == target).all()
        assert ze.zeCommandListHostSynchronize(blocked, 0) == ze.ZE_RESULT_NOT_READY
        check(ze.zeEventHostSignal(go))
        finish(blocked)
        for bench in benches:
            bench.close()
    """)


def test_memory_of_one_device_is_copied_to_another() -> None:
    run("""
        bench, other = Bench(driver, first), Bench(driver, second)
        source, target = bench.random_bytes(100000), bench.bytes(100000)
        middle = other.local(100000)
        done = bench.event()
        to, back = bench.immediate(), other.immediate()
        copy(to, middle, address(source), 100000, signal=done)
        copy(back, address(target), middle, 100000, waits=[done])
        finish(back)
        assert (source == target).all()
        bench.close(), other.close()
    """)


def test_synchronising_with_a_device_includes_its_sub_devices() -> None:
    run("""
        bench, other = Bench(driver, subs[0]), Bench(driver, second)
        go, never = bench.event(), other.event()
        memory = bench.bytes(1, fill=0)
        commands, stuck = bench.immediate(), other.immediate()
        fill(commands, address(memory), b"\\1", 1, waits=[go])
        barrier(stuck, waits=[never])
        with in_another_thread(lambda: check(ze.zeEventHostSignal(go))):
            check(ze.zeDeviceSynchronize(first))
        assert memory[0] == 1
        bench.close(), other.close()
    """)


def test_sub_devices_share_the_memory_of_their_root() -> None:
    """Each has its part; the root has no more than both together."""
    run("""
        context = context_of(first)
        properties = ze.ze_device_properties_t()
        check(ze.zeDeviceGetProperties(first, ctypes.byref(properties)))
        whole = properties.maxMemAllocSize
        out = ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
        result, large = allocate(context, first, whole * 3 // 4)
        check(result)
        assert allocate(context, subs[0], whole * 3 // 8)[0] == out
        check(ze.zeMemFree(context, large))
        parts = [allocate(context, sub, whole * 3 // 8) for sub in subs]
        assert [result for result, _ in parts] == [0, 0]
        assert allocate(context, first, whole // 2)[0] == out
        for _, pointer in parts:
            check(ze.zeMemFree(context, pointer))
        check(ze.zeContextDestroy(context))
    """)


def test_shared_memory_counts_for_the_device_when_the_variable_says_so() -> None:
    program = """
        bench = Bench(driver, first)
        properties = ze.ze_device_properties_t()
        check(ze.zeDeviceGetProperties(first, ctypes.byref(properties)))
        bench.shared(properties.maxMemAllocSize // 2)
        result, pointer = allocate(bench.context, first, properties.maxMemAllocSize * 3 // 4)
        assert (result == ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY) == {forced}, result
        if pointer:
            check(ze.zeMemFree(bench.context, pointer))
        bench.close()
    """
    run(program.format(forced=False))
    run(program.format(forced=True), ZE_SHARED_FORCE_DEVICE_ALLOC="1")
