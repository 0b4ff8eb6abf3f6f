"""The CPU device: what the driver counts of it, and what the machine tells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from groundstate.driver.platform import Device
from groundstate.driver.sysman.kinds.counted import Counted
from groundstate.driver.sysman.parts import (
    Description,
    ErrorCounters,
    Fan,
    Firmware,
    FrequencyDomain,
    Pci,
    PowerDomain,
    PowerSupply,
    Scheduler,
    TemperatureSensor,
)
from groundstate.driver.sysman.system import firmwares
from groundstate.driver.sysman.system.machine import System


class Cpu(Counted):
    """What can be watched of a device whose workers are CPUs."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        parts = [subdevice.cpus for subdevice in device.subdevices]
        self.system = System(device.machine.root, device.cpus, parts)

    @cached_property
    def description(self) -> Description:  # type: ignore[override]
        machine = self.device.machine
        return firmwares.description(self.system.files, machine.model_name, machine.vendor)

    def frequencies(self) -> Sequence[FrequencyDomain]:
        return self.system.frequencies

    def temperatures(self) -> Sequence[TemperatureSensor]:
        return self.system.temperatures

    def powers(self) -> Sequence[PowerDomain]:
        return self.system.powers

    def fans(self) -> Sequence[Fan]:
        return self.system.fans

    def supplies(self) -> Sequence[PowerSupply]:
        return self.system.supplies

    def errors(self) -> Sequence[ErrorCounters]:
        return self.system.errors

    def schedulers(self) -> Sequence[Scheduler]:
        return self.system.schedulers

    def firmwares(self) -> Sequence[Firmware]:
        return self.system.firmwares

    @cached_property
    def _pci(self) -> Pci:
        return Pci(self.device.pci_address)

    def pci(self) -> Pci:
        """A CPU sits on no PCI bus: the address only tells devices apart."""
        return self._pci

    def ecc_is_enabled(self) -> bool | None:
        return self.system.ecc_is_enabled()
