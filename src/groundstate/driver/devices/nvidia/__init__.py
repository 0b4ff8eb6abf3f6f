"""NVIDIA's GPUs as devices: which there are.

The CUDA driver (`libcuda.so.1`) is opened when this driver starts, if the machine has NVIDIA's
kernel driver. Nothing else of NVIDIA's is needed. Everything else in this folder is imported when
there is a GPU.
"""

from __future__ import annotations

import importlib
import os

from groundstate import knobs

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundstate.driver.devices.nvidia.gpu import Gpu

LIBRARY = "libcuda.so.1"
SIGNS = ("proc/driver/nvidia/version", "dev/nvidiactl", "dev/dxg")
"""Files that are there with NVIDIA's kernel driver; the last is that of Linux under Windows."""


def find(root: str) -> Sequence[Gpu]:
    """The GPUs of this machine, in the order of the CUDA driver.

    Below another `root` lie the files of another machine, whose GPUs cannot be used here."""
    library = knobs.CUDA_LIBRARY.get()
    is_here = root == "/" and has_driver(root)
    if knobs.NVIDIA.get() == "0" or not (library or is_here):
        return ()
    found: Sequence[Gpu] = importlib.import_module(f"{__name__}.gpu").open_all(library or LIBRARY)
    return found


def has_driver(root: str) -> bool:
    """Whether the machine whose files are below `root` has NVIDIA's kernel driver."""
    return any(os.path.exists(os.path.join(root, each)) for each in SIGNS)
