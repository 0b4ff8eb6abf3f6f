"""Python programs that reach the driver through libraries of others, as SYCL's bindings do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate import standin
from groundstate.compiler.opencl.frontend import compile_opencl
from tests.loader.conftest import TIMEOUT, Build

HOLDS_THE_LOCK = """
import ctypes, sys

driver_path, helper_path, spirv_path = sys.argv[1:]
ze = ctypes.PyDLL(driver_path)  # calls through it, and through the helper, keep Python's lock
helper = ctypes.PyDLL(helper_path)


class ModuleDesc(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_uint32), ("next", ctypes.c_void_p), ("format", ctypes.c_uint32),
                ("size", ctypes.c_size_t), ("input", ctypes.c_char_p), ("flags", ctypes.c_char_p),
                ("constants", ctypes.c_void_p)]


class KernelDesc(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_uint32), ("next", ctypes.c_void_p), ("flags", ctypes.c_uint32),
                ("name", ctypes.c_char_p)]


class ContextDesc(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_uint32), ("next", ctypes.c_void_p), ("flags", ctypes.c_uint32)]


def call(name, *arguments):
    words = [getattr(each, "value", each) if not isinstance(each, ctypes.Structure) else each
             for each in arguments]
    given = (ctypes.c_void_p * 5)()
    for index, each in enumerate(words):
        given[index] = ctypes.addressof(each) if isinstance(each, ctypes.Structure) else each
    result = helper.call_elsewhere(getattr(ze, name), given)
    assert result == 0, (name, hex(result))


def out():
    return ctypes.c_void_p()


def to(place):
    return ctypes.addressof(place)


count = ctypes.c_uint32(1)
driver, device, context, module, kernel = out(), out(), out(), out(), out()
call("zeInit", 0)
call("zeDriverGet", to(count), to(driver))
call("zeDeviceGet", driver, to(count), to(device))
call("zeContextCreate", driver, ContextDesc(0xD), to(context))
spirv = open(spirv_path, "rb").read()
call("zeModuleCreate", context, device, ModuleDesc(0x1B, None, 0, len(spirv), spirv), to(module), 0)
call("zeKernelCreate", module, KernelDesc(0x1D, None, 0, b"twice"), to(kernel))
name_size = ctypes.c_size_t(0)
call("zeKernelGetName", kernel, to(name_size), None)
print(name_size.value, "groundstate" in sys.modules)
"""

SOURCE = "kernel void twice(global float *x) { size_t i = get_global_id(0); x[i] = sin(x[i]) * 2; }"


@pytest.fixture(scope="module")
def spirv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spirv") / "twice.spv"
    path.write_bytes(compile_opencl(SOURCE))
    return path


def test_thread_may_wait_for_driver_holding_gil(
    build: Build, library: Path, plain_venv: Path, spirv: Path
) -> None:
    """Without the package in the program, the driver has an interpreter of its own."""
    helper = build("elsewhere", "-shared", "-fPIC", output="elsewhere.so")
    done = subprocess.run(
        [str(plain_venv), "-I", "-c", HOLDS_THE_LOCK, str(library), str(helper), str(spirv)],
        env={"GROUNDSTATE_CACHE": "0"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(len("twice") + 1), "False"]


def test_bindings_share_program_interpreter(library: Path) -> None:
    program = (
        "import groundstate.ze as ze, sys\n"
        "assert ze.zeInit(0) == 0\n"
        "print('groundstate.driver.entry' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.stdout == "True\n", done.stderr


SYSTEM_PYTHON = Path("/usr/bin/python3")
COUNT_DEVICES = """
import ctypes, sys

ze = ctypes.CDLL(sys.argv[1])
assert ze.zeInit(0) == 0
count, driver = ctypes.c_uint32(1), ctypes.c_void_p()
assert ze.zeDriverGet(ctypes.byref(count), ctypes.byref(driver)) == 0
assert ze.zeDeviceGet(driver, ctypes.byref(count), None) == 0
print(count.value)
"""


@pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="the system has no Python")
def test_python_of_the_system_sees_the_variables(library: Path) -> None:
    """Debian's is an executable with an address of its own: `environ` lies in it."""
    done = subprocess.run(
        [SYSTEM_PYTHON, "-c", COUNT_DEVICES, str(library)],
        env={**os.environ, "GROUNDSTATE_TOPOLOGY": "3x1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("3\n", "")


ASKS_LATER = """
import ctypes, sys
loader = ctypes.CDLL("libze_loader.so.1")
count, driver, device = ctypes.c_uint32(1), ctypes.c_void_p(), ctypes.c_void_p()
print(loader.zeInit(0), loader.zeDriverGet(ctypes.byref(count), ctypes.byref(driver)))
print(loader.zeDeviceGet(driver, ctypes.byref(count), ctypes.byref(device)), sys.argv[1:])
"""


def test_driver_asked_before_python_starts_leaves_it_alone(build: Build) -> None:
    """As preloaded profilers do: the program's interpreter is not the driver's to start."""
    profiler = build("early", "-shared", "-fPIC", "-ldl", output="early.so")
    done = subprocess.run(
        [sys.executable, "-c", ASKS_LATER, "word"],
        env={"LD_LIBRARY_PATH": str(standin.folder()), "LD_PRELOAD": str(profiler)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "early zeInit 0x0\n0 0\n0 ['word']\n"
