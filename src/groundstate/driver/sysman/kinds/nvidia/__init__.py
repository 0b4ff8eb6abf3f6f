"""NVIDIA's GPUs, as the management library of their driver (NVML) tells of them.

Those that programs can compute on through this driver, by the CUDA driver, have the same handles
here. What NVML does not answer for a GPU is not listed; docs/howto/nvidia.md has the source of each
number. Neither NVML nor the package `nvidia-ml-py`, through which it is asked, is loaded on a
machine without NVIDIA's kernel driver.
"""

from __future__ import annotations

import importlib
from typing import Any

from groundstate import knobs
from groundstate.driver.api import Failure, Unsupported
from groundstate.driver.devices.nvidia import has_driver
from groundstate.driver.sysman.parts import Watched


def gpus(root: str) -> list[Watched]:
    """The GPUs of the machine whose files are below `root`, in the library's order."""
    library = _load(root)
    if library is None:
        return []
    device = importlib.import_module(f"{__name__}.device")
    found = []
    for index in range(library.nvmlDeviceGetCount()):
        try:
            found.append(device.open_gpu(library, index, root))
        except (library.NVMLError, Failure, Unsupported, PermissionError):
            continue  # it fell off the bus, or belongs to somebody else
    return found


def _load(root: str) -> Any | None:
    """The library, ready to be asked; None if the machine has no NVIDIA GPU, or it is not used."""
    if knobs.NVIDIA.get() == "0" or not has_driver(root):
        return None
    try:
        library = importlib.import_module("pynvml")
        library.nvmlInit()
    except ImportError:
        return None
    except library.NVMLError:
        return None  # the driver is being replaced, or the library is not its own
    return library
