"""All that the machine tells about the CPUs of one device, found when first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from groundstate.driver.sysman.parts import (
    ErrorCounters,
    Fan,
    Firmware,
    FrequencyDomain,
    PowerDomain,
    PowerSupply,
    Scheduler,
    TemperatureSensor,
)
from groundstate.driver.sysman.system import (
    clocks,
    energy,
    faults,
    firmwares,
    heat,
    slices,
    supplies,
)
from groundstate.driver.sysman.system.files import Files
from groundstate.driver.sysman.system.places import Places


class System:
    """The sensors and controls of some CPUs. `subdevices` are the CPUs of each sub-device.

    Each list is made once, so that its objects stay the same. They belong to the packages that the
    CPUs are in: two devices on one package both report its sensors.
    """

    def __init__(
        self, root: str, cpus: Sequence[int], subdevices: Sequence[Sequence[int]] = ()
    ) -> None:
        self.files = Files(root)
        self._cpus = cpus
        self._subdevices = subdevices

    @cached_property
    def places(self) -> Places:
        return Places(self.files, self._cpus, self._subdevices)

    @cached_property
    def frequencies(self) -> Sequence[FrequencyDomain]:
        return clocks.clocks(self.files, self.places)

    @cached_property
    def temperatures(self) -> Sequence[TemperatureSensor]:
        return heat.thermometers(self.files, self.places)

    @cached_property
    def powers(self) -> Sequence[PowerDomain]:
        return energy.powers(self.files, self.places)

    @cached_property
    def fans(self) -> Sequence[Fan]:
        return supplies.fans(self.files)

    @cached_property
    def supplies(self) -> Sequence[PowerSupply]:
        return supplies.supplies(self.files)

    @cached_property
    def errors(self) -> Sequence[ErrorCounters]:
        return faults.errors(self.files, self.places)

    @cached_property
    def schedulers(self) -> Sequence[Scheduler]:
        return slices.schedulers(self.files)

    @cached_property
    def firmwares(self) -> Sequence[Firmware]:
        return firmwares.firmwares(self.files, self.places)

    def ecc_is_enabled(self) -> bool | None:
        return faults.ecc_is_enabled(self.files)
