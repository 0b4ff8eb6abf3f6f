"""The CPU device: its own counters, and what the machine tells."""

from __future__ import annotations

from groundstate.driver.platform import Device
from groundstate.driver.sysman.parts import Watched


class Cpu(Watched):
    """What can be watched of a device whose workers are CPUs."""

    def __init__(self, device: Device) -> None:
        self.device = device
