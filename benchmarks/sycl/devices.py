"""The SYCL devices that dpnp is measured on: ours, and that of Intel's OpenCL runtime for CPUs."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import programs
from benchmarks.figures import OURS
from benchmarks.kernels.team import Member, Team
from benchmarks.peers import INTEL, Missing, alone
from benchmarks.programs import ROOT, MeasuringError
from groundstate import standin

WORKER = "benchmarks.sycl.worker"
PACKAGES = "dpctl==0.22.* dpnp==0.20.* intel-opencl-rt"


@dataclass(frozen=True)
class SyclDevice:
    """A device as SYCL programs find it: by variables."""

    name: str
    backend: str
    env: Mapping[str, str]

    def member(self) -> Member:
        """A process that measures dpnp on it."""
        return Member(self.name, self.backend, self.env, WORKER, str(python()))


class SyclTeam(Team):
    """Devices that dpnp runs on, which take turns."""

    def prepare(self, name: str) -> dict[str, str]:
        """All run a case once; what is wrong with whose, by name of the device."""
        return self.mistakes({each.name: each.ask("prepare", name=name) for each in self.members})


def python() -> Path:
    """The Python of an environment that has dpnp, which may be named by a variable."""
    path = Path(os.environ.get("SYCL_PYTHON") or ROOT / ".venv" / "clients" / "bin" / "python")
    if not path.exists():
        raise MeasuringError(
            f"{path} is missing. Make it with 'make .venv/clients/.installed', or name the Python "
            f"of an environment that has {PACKAGES} by SYCL_PYTHON."
        )
    return path


def ours() -> SyclDevice:
    """Our device, as `groundstate run` shows it."""
    try:
        env = standin.environment(os.environ)
    except standin.LibraryMissing as missing:
        raise MeasuringError(str(missing)) from None
    return SyclDevice(OURS, "level_zero", env)


def intel() -> SyclDevice | Missing:
    """The CPU of Intel's OpenCL runtime, with a cache on disk, which it does not have by itself."""
    if platform.machine() != "x86_64":
        return Missing(INTEL, "it exists for x86-64 only")
    driver = python().parents[1] / "lib" / "libintelocl.so"
    if not driver.exists():
        return Missing(INTEL, f"{python()} -m pip install intel-opencl-rt")
    env = {
        **alone(driver),
        "ONEAPI_DEVICE_SELECTOR": "opencl:cpu",
        "SYCL_CACHE_PERSISTENT": "1",
        "SYCL_CACHE_DIR": str(programs.BUILT / "sycl-cache"),
    }
    return SyclDevice(INTEL, "opencl", env)


def peers(wanted: bool) -> list[SyclDevice | Missing]:
    """What ours is compared with."""
    return [intel()] if wanted else []


def ours_as_cpu() -> SyclDevice:
    """The same device under another name for its kind."""
    device = ours()
    return SyclDevice(device.name, device.backend, {**device.env, **standin.AS_CPU})


def team(first: SyclDevice, with_peers: bool) -> SyclTeam:
    """A device of ours and the peer, if this machine has it."""
    found = peers(with_peers)
    devices = [first, *(peer for peer in found if isinstance(peer, SyclDevice))]
    missing = [peer for peer in found if isinstance(peer, Missing)]
    return SyclTeam([device.member() for device in devices], missing)
