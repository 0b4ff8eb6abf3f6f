"""What a process that has OpenXLA's plugin loaded sees of our device: that of a GPU."""

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCE = """
#include <sys/mman.h>
int is_mapped(void *start) { return msync(start, 1, MS_ASYNC); }
"""
PROGRAM = """
import ctypes, json, mmap, sys
from groundstate import ze

library = ctypes.CDLL(sys.argv[1], use_errno=True)
library.is_mapped.argtypes = (ctypes.c_void_p,)
by, page = ctypes.byref, mmap.PAGESIZE

def made(call, *arguments):
    result = ctypes.c_void_p()
    assert call(*arguments, by(result)) == 0
    return result

def answer(place):
    ctypes.set_errno(0)
    return library.is_mapped(place), ctypes.get_errno()

assert ze.zeInit(0) == 0
driver, device = ctypes.c_void_p(), ctypes.c_void_p()
ze.zeDriverGet(by(ctypes.c_uint32(1)), by(driver))
ze.zeDeviceGet(driver, by(ctypes.c_uint32(1)), by(device))
found = ze.ze_device_properties_t()
ze.zeDeviceGetProperties(device, by(found))
context = made(ze.zeContextCreate, driver, by(ze.ze_context_desc_t()))
on_host, on_device = ze.ze_host_mem_alloc_desc_t(), ze.ze_device_mem_alloc_desc_t()
host = made(ze.zeMemAllocHost, context, by(on_host), 4 * page, page)
local = made(ze.zeMemAllocDevice, context, by(on_device), 4 * page, page, device)
shared = made(ze.zeMemAllocShared, context, by(on_device), by(on_host), 4 * page, page, device)
print(json.dumps({
    "threads": found.numThreadsPerEU,
    "host": answer(host.value),
    "shared": answer(shared.value),
    "device": answer(local.value),
    "inside": answer(local.value + page),
}))
"""


def seen_by(library: str, binding: str, folder: Path) -> Any:
    """What a process sees that has a library of such a name, which asks what the plugin asks."""
    source, made = folder / "plugin.c", folder / library
    source.write_text(SOURCE)
    flags = ["-shared", "-fPIC", f"-Wl,-z,{binding},-z,relro"]
    subprocess.run(["cc", *flags, str(source), "-o", str(made)], check=True)
    command = [sys.executable, "-c", PROGRAM, str(made)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def test_plugin_takes_memory_of_the_device_for_that_of_a_gpu(tmp_path: Path) -> None:
    assert seen_by("xla_oneapi_plugin.so", "lazy", tmp_path) == {
        "threads": 32,
        "host": [0, 0],
        "shared": [0, 0],
        "device": [-1, errno.ENOMEM],
        "inside": [-1, errno.ENOMEM],
    }


@pytest.mark.parametrize(
    ("name", "binding", "threads"),
    [("other_plugin.so", "lazy", 1), ("xla_oneapi_plugin.so", "now", 32)],
    ids=["another library", "calls that cannot be changed"],
)
def test_other_calls_stay_as_they_are(
    name: str, binding: str, threads: int, tmp_path: Path
) -> None:
    found = seen_by(name, binding, tmp_path)
    assert found.pop("threads") == threads
    assert list(found.values()) == [[0, 0]] * 4
