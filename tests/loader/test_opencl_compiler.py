"""The OpenCL driver that only compiles: what a library does with it whose kernels are texts."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import groundstate as gs
from groundstate import standin
from tests.loader.conftest import ROOT, TIMEOUT

SYCL = ROOT / ".venv" / "sycl"
GPU, ALL = 4, 0xFFFFFFFF
NOT_FOUND, BUILD_FAILURE, INVALID_VALUE, INVALID_DEVICE = -1, -11, -30, -33
INVALID_CONTEXT, INVALID_PROGRAM, NOT_EXECUTABLE, INVALID_OPERATION = -34, -44, -45, -59
VENDOR_ID, CLOCK, AVAILABLE, NAME = 0x1001, 0x100C, 0x1027, 0x102B
BINARY_SIZES, BINARIES = 0x1165, 0x1166
BUILD_STATUS, BUILD_LOG = 0x1181, 0x1183

SOURCE = b"""
kernel void twice(global float *x) { x[get_global_id(0)] *= FACTOR; }
"""

THROUGH_A_LOADER = """
import ctypes, sys

loader = ctypes.CDLL(sys.argv[1])
platforms, count = (ctypes.c_void_p * 8)(), ctypes.c_uint()
assert loader.clGetPlatformIDs(8, platforms, ctypes.byref(count)) == 0
for platform in platforms[: count.value]:
    name, found = ctypes.create_string_buffer(200), []
    handle = ctypes.c_void_p(platform)
    assert loader.clGetPlatformInfo(handle, 0x0902, ctypes.c_size_t(200), name, None) == 0
    for kind in (4, 0xFFFFFFFF):
        devices = ctypes.c_uint()
        loader.clGetDeviceIDs(handle, ctypes.c_uint64(kind), 0, None, ctypes.byref(devices))
        found.append(devices.value)
    print(name.value.decode(), *found, sep=";")
"""


class Slot(IntEnum):
    """Places of functions in the table of the ICD extension."""

    GET_DEVICES = 2
    GET_DEVICE_INFO = 3
    CREATE_CONTEXT = 4
    RETAIN_CONTEXT = 6
    RELEASE_CONTEXT = 7
    CREATE_QUEUE = 9
    CREATE_BUFFER = 14
    CREATE_PROGRAM = 26
    RETAIN_PROGRAM = 28
    RELEASE_PROGRAM = 29
    BUILD_PROGRAM = 30
    GET_PROGRAM_INFO = 32
    GET_BUILD_INFO = 33
    FINISH = 47
    FIND_FUNCTION = 107
    CREATE_FROM_GL_TEXTURE = 108
    CREATE_QUEUE_WITH_PROPERTIES = 123
    CREATE_PROGRAM_WITH_IL = 138


class OpenCL:
    """The functions behind a platform, called by their places in the table of the ICD extension."""

    def __init__(self) -> None:
        library = ctypes.CDLL(str(standin.library().with_name(standin.OPENCL_NAME)))
        platform, count = ctypes.c_void_p(), ctypes.c_uint()
        get = library.clGetExtensionFunctionAddress
        get.restype = ctypes.c_void_p
        address = get(b"clIcdGetPlatformIDsKHR")
        platforms = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)
        assert platforms(address)(1, ctypes.addressof(platform), ctypes.addressof(count)) == 0
        assert count.value == 1
        self.platform = platform
        self.table = ctypes.cast(platform, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]

    def function(self, slot: Slot, result: Any = ctypes.c_int) -> Callable[..., Any]:
        """Arguments are to be given as values of ctypes."""
        return ctypes.CFUNCTYPE(result)(self.table[slot])

    def device(self) -> ctypes.c_void_p:
        device = ctypes.c_void_p()
        one = ctypes.c_uint(1)
        kind = ctypes.c_uint64(GPU)
        assert (
            self.function(Slot.GET_DEVICES)(self.platform, kind, one, ctypes.byref(device), None)
            == 0
        )
        return device

    def created(self, slot: Slot, *arguments: Any) -> tuple[ctypes.c_void_p, int]:
        """What a function made, and the status that it says through its last argument."""
        status = ctypes.c_int(7)
        made = self.function(slot, ctypes.c_void_p)(*arguments, ctypes.byref(status))
        return ctypes.c_void_p(made), status.value

    def context(self) -> ctypes.c_void_p:
        device = self.device()
        made, status = self.created(
            Slot.CREATE_CONTEXT, None, ctypes.c_uint(1), ctypes.byref(device), None, None
        )
        assert status == 0
        return made

    def program(self, context: ctypes.c_void_p, source: bytes) -> ctypes.c_void_p:
        texts = (ctypes.c_char_p * 2)(source[:20], source[20:])
        lengths = (ctypes.c_size_t * 2)(20, 0)
        made, status = self.created(Slot.CREATE_PROGRAM, context, ctypes.c_uint(2), texts, lengths)
        assert status == 0
        return made

    def info(self, slot: Slot, *arguments: Any) -> bytes:
        """What a clGet...Info answers."""
        size = ctypes.c_size_t()
        ask = self.function(slot)
        assert ask(*arguments, ctypes.c_size_t(0), None, ctypes.byref(size)) == 0
        room = ctypes.create_string_buffer(size.value)
        assert ask(*arguments, size, room, None) == 0
        return room.raw

    def build(self, program: ctypes.c_void_p, options: bytes) -> int:
        return int(
            self.function(Slot.BUILD_PROGRAM)(program, ctypes.c_uint(0), None, options, None, None)
        )


@pytest.fixture(scope="module")
def opencl() -> OpenCL:
    return OpenCL()


def number(content: bytes) -> int:
    return int.from_bytes(content, "little", signed=True)


def test_opencl_gpu_matches_level_zero_device(opencl: OpenCL) -> None:
    device, ours = opencl.device(), gs.devices()[0]

    def asked(what: int) -> bytes:
        return opencl.info(Slot.GET_DEVICE_INFO, device, ctypes.c_uint(what))

    assert number(asked(VENDOR_ID)) == ours.properties.vendor_id
    assert number(asked(CLOCK)) == ours.properties.core_clock_mhz
    assert asked(NAME).rstrip(b"\0").decode() == ours.name
    assert number(asked(AVAILABLE)) == 0


@pytest.mark.parametrize("kind", [1, 2, 8, ALL])
def test_who_asks_for_anything_else_finds_nothing(opencl: OpenCL, kind: int) -> None:
    count = ctypes.c_uint(7)
    kinds = ctypes.c_uint64(kind)
    get = opencl.function(Slot.GET_DEVICES)
    assert get(opencl.platform, kinds, ctypes.c_uint(0), None, ctypes.byref(count)) == NOT_FOUND
    assert count.value == 0


def test_opencl_build_runs_on_level_zero_device(opencl: OpenCL) -> None:
    context = opencl.context()
    program = opencl.program(context, SOURCE)
    assert opencl.build(program, b"-DFACTOR=3 -cl-std=CL1.2") == 0
    size = number(opencl.info(Slot.GET_PROGRAM_INFO, program, ctypes.c_uint(BINARY_SIZES)))
    binary = ctypes.create_string_buffer(size)
    place = ctypes.c_void_p(ctypes.addressof(binary))
    what, room = ctypes.c_uint(BINARIES), ctypes.c_size_t(8)
    assert (
        opencl.function(Slot.GET_PROGRAM_INFO)(program, what, room, ctypes.byref(place), None) == 0
    )
    assert opencl.function(Slot.RELEASE_CONTEXT)(context) == 0  # the program holds it
    assert opencl.function(Slot.RELEASE_PROGRAM)(program) == 0

    with gs.Context(gs.devices()[0]) as here, gs.Module(here, native=binary.raw) as module:
        numbers = here.alloc_shared(64, "float32")
        numbers.numpy()[:] = np.arange(64)
        with gs.CommandList.immediate(here) as commands:
            module["twice"](commands, 1, 64, numbers)
            commands.synchronize()
        assert numbers.tolist() == list(range(0, 192, 3))


def test_a_mistake_is_in_the_log(opencl: OpenCL) -> None:
    context = opencl.context()
    program = opencl.program(context, SOURCE)
    assert opencl.build(program, b"") == BUILD_FAILURE
    device = opencl.device()
    assert (
        number(opencl.info(Slot.GET_BUILD_INFO, program, device, ctypes.c_uint(BUILD_STATUS))) == -2
    )
    assert b"FACTOR" in opencl.info(Slot.GET_BUILD_INFO, program, device, ctypes.c_uint(BUILD_LOG))
    what, room = ctypes.c_uint(BINARIES), ctypes.c_size_t(8)
    place = ctypes.c_void_p()
    assert (
        opencl.function(Slot.GET_PROGRAM_INFO)(program, what, room, ctypes.byref(place), None)
        == NOT_EXECUTABLE
    )
    assert opencl.build(program, b"-D'FACTOR") == BUILD_FAILURE
    assert opencl.function(Slot.RELEASE_PROGRAM)(program) == 0
    assert opencl.function(Slot.RELEASE_CONTEXT)(context) == 0


def test_several_threads_build_and_query_programs(opencl: OpenCL) -> None:
    context, device = opencl.context(), opencl.device()
    program = opencl.program(context, SOURCE)

    def work(thread: int) -> tuple[int, int]:
        built = opencl.build(program, b"-DFACTOR=2" if thread % 2 else b"")
        status = opencl.info(Slot.GET_BUILD_INFO, program, device, ctypes.c_uint(BUILD_STATUS))
        return built, number(status)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(work, range(8)))
    assert [built for built, _ in answers] == [BUILD_FAILURE, 0] * 4
    assert {status for _, status in answers} <= {0, -2}
    assert opencl.function(Slot.RELEASE_PROGRAM)(program) == 0
    assert opencl.function(Slot.RELEASE_CONTEXT)(context) == 0


def test_function_lookup_finds_only_existing_ones(opencl: OpenCL) -> None:
    find = opencl.function(Slot.FIND_FUNCTION, ctypes.c_void_p)
    assert find(opencl.platform, b"clGetPlatformInfo")
    assert find(opencl.platform, b"clHostMemAllocINTEL") is None
    assert find(ctypes.c_void_p(), b"clGetPlatformInfo") is None


def test_what_it_does_not_do_is_refused(opencl: OpenCL) -> None:
    context, device = opencl.context(), opencl.device()
    size = ctypes.c_size_t(64)
    nothing = ctypes.c_void_p()
    refused = (nothing.value, INVALID_OPERATION)

    def answer(slot: Slot, *arguments: Any) -> tuple[int | None, int]:
        made, status = opencl.created(slot, *arguments)
        return made.value, status

    assert answer(Slot.CREATE_QUEUE, context, device, ctypes.c_uint64(0)) == refused
    assert answer(Slot.CREATE_QUEUE_WITH_PROPERTIES, context, device, None) == refused
    assert answer(Slot.CREATE_BUFFER, context, ctypes.c_uint64(0), size, None) == refused
    assert answer(Slot.CREATE_PROGRAM_WITH_IL, context, b"....", size) == refused
    texture = [ctypes.c_uint64(0), ctypes.c_uint(0), ctypes.c_int(0), ctypes.c_uint(1)]
    assert answer(Slot.CREATE_FROM_GL_TEXTURE, context, *texture) == refused
    assert opencl.function(Slot.FINISH)(nothing) == INVALID_OPERATION
    assert opencl.function(Slot.RELEASE_CONTEXT)(context) == 0


def test_null_and_foreign_objects_are_refused(opencl: OpenCL) -> None:
    nothing = ctypes.c_void_p()
    foreign = ctypes.byref(ctypes.c_void_p(64))
    texts = (ctypes.c_char_p * 1)(None)
    assert (
        opencl.created(Slot.CREATE_CONTEXT, None, ctypes.c_uint(1), foreign, None, None)[1]
        == INVALID_DEVICE
    )
    assert (
        opencl.created(Slot.CREATE_PROGRAM, nothing, ctypes.c_uint(1), texts, None)[1]
        == INVALID_CONTEXT
    )
    context = opencl.context()
    assert (
        opencl.created(Slot.CREATE_PROGRAM, context, ctypes.c_uint(1), texts, None)[1]
        == INVALID_VALUE
    )
    assert opencl.build(nothing, b"") == INVALID_PROGRAM
    for slot in (Slot.RETAIN_CONTEXT, Slot.RELEASE_CONTEXT):
        assert opencl.function(slot)(nothing) == INVALID_CONTEXT
    for slot in (Slot.RETAIN_PROGRAM, Slot.RELEASE_PROGRAM):
        assert opencl.function(slot)(nothing) == INVALID_PROGRAM
    assert opencl.function(Slot.RELEASE_CONTEXT)(context) == 0


def test_a_real_loader_finds_it(tmp_path: Path) -> None:
    loader = SYCL / "lib" / "libOpenCL.so.1"
    if not loader.exists():
        pytest.skip("there is no OpenCL loader of a SYCL runtime: make .venv/sycl/.installed")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(loader.parent)}
    environment |= standin.environment(environment) | {"OCL_ICD_VENDORS": str(tmp_path)}
    done = subprocess.run(
        [SYCL / "bin" / "python", "-c", THROUGH_A_LOADER, loader],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Groundstate compiler;1;0"]
