"""What the figures were measured on, without saying whose machine it is."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.programs import compiler


@dataclass(frozen=True)
class Machine:
    """The facts on which the figures depend."""

    cpu: str
    cores: int
    clock_mhz: int
    memory_gib: int
    kernel: str
    libc: str
    python: str
    compiler: str

    @property
    def name(self) -> str:
        """A file name such as `amd-epyc-2-cores`."""
        words = re.findall(r"[a-z0-9]+", re.sub(r"\(.*?\)|@.*", "", self.cpu.lower()))
        return "-".join([*words, str(self.cores), "cores"])

    def sentence(self) -> str:
        """One line for the head of a report."""
        return (
            f"{self.cpu}, {self.cores} cores at {self.clock_mhz} MHz, {self.memory_gib} GiB, "
            f"Linux {self.kernel}, {self.libc}, Python {self.python}, {self.compiler}"
        )


def measure() -> Machine:
    """The machine this process runs on."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    version = subprocess.run([compiler(), "--version"], capture_output=True, text=True).stdout
    return Machine(
        cpu=_first(r"model name\s*: (.+)", text) or platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        clock_mhz=round(_highest_mhz() or float(_first(r"cpu MHz\s*: ([\d.]+)", text) or 0)),
        memory_gib=round(memory / 2**30),
        kernel=".".join(platform.release().split(".")[:2]),
        libc=" ".join(platform.libc_ver()),
        python=platform.python_version(),
        compiler=version.splitlines()[0] if version else "unknown compiler",
    )


def busy_cores(seconds: float = 0.5) -> float:
    """How many cores other programs keep busy, watched for a moment."""

    def busy_and_all() -> tuple[int, int]:
        ticks = [int(text) for text in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks)

    before, all_before = busy_and_all()
    time.sleep(seconds)
    after, all_after = busy_and_all()
    share = (after - before) / max(1, all_after - all_before)
    return share * (os.cpu_count() or 1)


def _first(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text)
    return found.group(1).strip() if found else None


def _highest_mhz() -> float | None:
    path = Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    return int(path.read_text(encoding="utf-8")) / 1000 if path.exists() else None
