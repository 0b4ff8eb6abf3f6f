"""The devices on which the tests of clients run: ours in its guises, and the peer."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers import alone
from groundstate import standin


@dataclass(frozen=True)
class ClientDevice:
    """A device that a SYCL runtime finds, and what has to be set for that."""

    name: str
    title: str
    settings: dict[str, str] = field(default_factory=dict)
    ours: bool = True

    def environment(self, client: Path) -> dict[str, str]:
        """The variables for a process of the client's Python, which lives in this folder."""
        environment = {**os.environ, **self.settings}
        environment.pop("PYTHONPATH", None)
        if self.ours:
            return {**environment, **standin.environment(environment)}
        return {**environment, **alone(client / "lib" / "libintelocl.so")}


def level_zero(adapter: int) -> dict[str, str]:
    """The variables by which a SYCL runtime takes our device, through one of its two adapters."""
    return {
        "ONEAPI_DEVICE_SELECTOR": "level_zero:gpu",
        "UR_LOADER_USE_LEVEL_ZERO_V2": str(adapter),
    }


PEER = ClientDevice(
    "opencl", "Intel's CPU OpenCL", {"ONEAPI_DEVICE_SELECTOR": "opencl:cpu"}, ours=False
)
DEVICES = {
    device.name: device
    for device in (
        ClientDevice("older", "Groundstate, older adapter", level_zero(0)),
        ClientDevice("newer", "Groundstate, newer adapter", level_zero(1)),
        ClientDevice("cpu", "Groundstate as a CPU", {**level_zero(1), **standin.AS_CPU}),
        PEER,
    )
}
