"""A recorded NVIDIA GPU among the devices of system management, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from groundstate.driver import native
from groundstate.driver.sysman import events, handles, kinds, power, thresholds
from groundstate.driver.sysman.kinds.nvidia.device import Nvidia
from groundstate.driver.sysman.kinds.nvidia.library import Gpu
from tests.machines.nvml.fake import Fake

RESOURCES = "sys/bus/pci/devices/0000:00:06.0/resource"


class RecordedGpu:
    """A GPU that answers as the recorded one did. `answers` may be changed before it is asked."""

    def __init__(self, root: Path) -> None:
        self.library = Fake()
        self.root = root
        self.handle = native.object_new("zes_device_handle_t")
        self._before = set(handles._parts)
        self.open()

    def open(self) -> None:
        """Meets the GPU for the first time, as it is now."""
        kinds.devices()
        kinds._watched[self.handle] = Nvidia(Gpu(self.library, "handle 0"), str(self.root))

    def answer(self, function: str, answer: Any, arguments: str = "") -> None:
        """Changes what a function of the library answers from now on."""
        self.library.answers.setdefault(f"nvmlDeviceGet{function}", {})[arguments] = answer

    def fail(self, error: int) -> None:
        """From now on everything that is asked of the library ends with an error."""
        for known in self.library.answers.values():
            for arguments in known:
                known[arguments] = {"error": error}

    def close(self) -> None:
        """Takes the GPU away, and the handles of its parts."""
        events._watches.pop(id(kinds._watched.pop(self.handle)), None)
        for handle in set(handles._parts) - self._before:
            native.object_end(handle)
            del handles._parts[handle]
        live = set(handles._parts)
        handles._handles = {key: each for key, each in handles._handles.items() if each in live}
        native.object_end(self.handle)
        for kept in (thresholds._temperatures, thresholds._energies, thresholds._errors):
            kept.clear()
        power._usage.clear()
