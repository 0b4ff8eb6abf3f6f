"""The processes that use a GPU, their memory, and how long it worked for each of them."""

from __future__ import annotations

import threading

from groundstate import zes
from groundstate.driver.api import Unsupported
from groundstate.driver.sysman.kinds.nvidia.library import Gpu, NothingToldError
from groundstate.driver.sysman.parts import Process

QUESTIONS = (
    ("ComputeRunningProcesses", zes.ZES_ENGINE_TYPE_FLAG_COMPUTE),
    ("GraphicsRunningProcesses", zes.ZES_ENGINE_TYPE_FLAG_RENDER),
)


class Processes:
    """The processes of one GPU.

    NVML tells for which share of the time since an earlier question a process was at work. These
    times are added up, from the first question on.
    """

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._lock = threading.Lock()
        self._last = 0  # when the last samples were taken, in microseconds since 1970
        self._busy_percent_us: dict[int, int] = {}

    def read(self) -> list[Process]:
        found: dict[int, Process] = {}
        for question, engines in QUESTIONS:
            for each in self._gpu.maybe(question) or []:
                process = found.setdefault(each.pid, Process(each.pid, 0, 0, 0))
                process.memory_bytes = max(process.memory_bytes, each.usedGpuMemory or 0)
                process.engines |= engines
        with self._lock:
            if self._add_samples():
                for pid, process in found.items():
                    process.busy_us = self._busy_percent_us.get(pid, 0) // 100
            for pid in self._busy_percent_us.keys() - found.keys():
                del self._busy_percent_us[pid]  # another process may get its number
        return list(found.values())

    def _add_samples(self) -> bool:
        """Adds what is new. False if the GPU does not tell, or not this user."""
        try:
            samples = self._gpu.ask("ProcessUtilization", self._last)
        except NothingToldError:
            return True
        except (Unsupported, PermissionError):
            return False
        newest = max((sample.timeStamp for sample in samples), default=self._last)
        if self._last:
            for sample in samples:
                duration = max(0, sample.timeStamp - self._last)
                busy = min(sample.smUtil, 100) * duration
                before = self._busy_percent_us.get(sample.pid, 0)
                self._busy_percent_us[sample.pid] = before + busy
        self._last = max(self._last, newest)
        return True
