"""Programs that see two devices with two sub-devices each, every one in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.imports import IMPORT_PATH

ROOT = Path(__file__).parents[3]

PREPARE = """
import ctypes, os, sys
sys.path[:0] = {path!r}
from groundstate import ze
from tests.conftest import check, first_driver, last_error
from tests.driver.support import *

def listed(function, *subject):
    count = ctypes.c_uint32()
    check(function(*subject, ctypes.byref(count), None))
    array = (ctypes.c_void_p * max(1, count.value))()
    check(function(*subject, ctypes.byref(count), array))
    return list(array)[: count.value]

check(ze.zeInit(0))
driver = first_driver()
devices = listed(ze.zeDeviceGet, driver)
first, second = (devices + devices)[:2]
subs = listed(ze.zeDeviceGetSubDevices, first)
everywhere = [each for device in devices
              for each in (device, *listed(ze.zeDeviceGetSubDevices, device))]
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
OUT = ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY

def context_of(*devices):
    context = ctypes.c_void_p()
    check(ze.zeContextCreateEx(driver, ctypes.byref(ze.ze_context_desc_t()), len(devices),
                               handles(*devices), ctypes.byref(context)))
    return context.value

def allocate(context, device, size=4096, chained=None):
    pointer = ctypes.c_void_p()
    description = ze.ze_device_mem_alloc_desc_t(
        pNext=ctypes.addressof(chained) if chained else None)
    result = ze.zeMemAllocDevice(context, ctypes.byref(description), size, 0,
                                 device, ctypes.byref(pointer))
    return result, pointer.value

def allocate_shared(context, device, size=4096, chained=None):
    pointer = ctypes.c_void_p()
    description = ze.ze_device_mem_alloc_desc_t(
        pNext=ctypes.addressof(chained) if chained else None)
    result = ze.zeMemAllocShared(
        context, ctypes.byref(description), ctypes.byref(ze.ze_host_mem_alloc_desc_t()), size, 0,
        device, ctypes.byref(pointer))
    return result, pointer.value

def asked(function, structure, *arguments, chained=None):
    properties = structure(pNext=ctypes.addressof(chained) if chained else None)
    check(function(*arguments, ctypes.byref(properties)))
    return properties

def left(device):
    # Bytes of the device's memory that are not in use.
    usable = ze.ze_device_usablemem_size_ext_properties_t()
    asked(ze.zeDeviceGetProperties, ze.ze_device_properties_t, device, chained=usable)
    return usable.currUsableMemSize
"""


def run(program: str, **variables: str) -> str:
    """Runs a program that ends well; the devices have 512 MiB each. Returns what it printed."""
    prepare = PREPARE.format(path=IMPORT_PATH)
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
    assert child.stdout.endswith("done\n"), child.stdout + child.stderr
    return child.stdout.removesuffix("done\n")
