"""When NVIDIA's GPUs are looked for: each program runs in a process of its own."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.imports import IMPORT_PATH

ROOT = Path(__file__).parents[3]

PREPARE = f"""
import ctypes, sys
sys.path[:0] = {IMPORT_PATH!r}
from groundstate import ze, zes
from tests.machines.nvml.fake import Fake, NVMLError

def devices():
    count, driver = ctypes.c_uint32(1), ctypes.c_void_p()
    assert zes.zesInit(0) == 0
    assert zes.zesDriverGet(ctypes.byref(count), ctypes.byref(driver)) == 0
    count, found = ctypes.c_uint32(16), (ctypes.c_void_p * 16)()
    assert zes.zesDeviceGet(driver, ctypes.byref(count), found) == 0
    return found[: count.value]

def name(device):
    properties = zes.zes_device_properties_t()
    assert zes.zesDeviceGetProperties(device, ctypes.byref(properties)) == 0
    return bytes(properties.modelName).split(b"\\0")[0]
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A recorded machine with NVIDIA's kernel driver."""
    root = tmp_path / "machine"
    shutil.copytree(ROOT / "tests/machines/server", root)
    sign = root / "proc/driver/nvidia/version"
    sign.parent.mkdir(parents=True)
    sign.write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04\n")
    return root


def run(program: str, root: Path, **variables: str) -> None:
    wanted = {"GROUNDSTATE_SYSFS_ROOT": str(root), "GROUNDSTATE_NVIDIA": "1"}
    settings = os.environ | wanted | variables
    code = PREPARE + textwrap.dedent(program)
    subprocess.run([sys.executable, "-c", code], env=settings, check=True, timeout=60)


def test_gpu_is_found_at_first_device_query(machine: Path) -> None:
    run(
        """
        sys.modules["pynvml"] = library = Fake()
        assert ze.zeInit(0) == 0 and zes.zesInit(0) == 0
        assert library.asked == []
        *_, gpu = found = devices()
        assert len(found) == 2
        assert name(gpu) == b"NVIDIA H200"
        assert devices() == found
        """,
        machine,
    )


def test_a_gpu_that_fell_off_its_bus_is_left_out(machine: Path) -> None:
    run(
        """
        sys.modules["pynvml"] = library = Fake()
        library.answers["nvmlDeviceGetName"][""] = {"error": 15}
        assert len(devices()) == 1
        """,
        machine,
    )


def test_without_the_package_there_are_no_gpus(machine: Path) -> None:
    run(
        """
        sys.modules["pynvml"] = None
        assert len(devices()) == 1
        """,
        machine,
    )


def test_without_nvml_there_are_no_gpus(machine: Path) -> None:
    run(
        """
        class Missing(Fake):
            def nvmlInit(self):
                raise NVMLError(12)
        sys.modules["pynvml"] = Missing()
        assert len(devices()) == 1
        """,
        machine,
    )


NEVER_ASKED = """
    class Untouched:
        def __getattr__(self, name):
            raise AssertionError(f"{name} was asked for")
    sys.modules["pynvml"] = Untouched()
    assert len(devices()) == 1
    assert not any("nvidia.device" in module for module in sys.modules)
"""


def test_without_kernel_driver_nothing_is_loaded() -> None:
    run(NEVER_ASKED, ROOT / "tests/machines/server")


def test_a_knob_leaves_the_gpus_out(machine: Path) -> None:
    run(NEVER_ASKED, machine, GROUNDSTATE_NVIDIA="0")
