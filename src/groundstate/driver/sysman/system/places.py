"""Where the CPUs of a device are: in which packages, and on which sub-devices.

Sensors belong to packages, and programs ask about devices. A part of a package is reported as that
of the only sub-device with CPUs in the package; if several share it, as that of the whole device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundstate.driver.sysman.system.files import Files


@dataclass(frozen=True)
class Place:
    """Some CPUs of a device that are in one package."""

    package: int
    cpus: tuple[int, ...]
    subdevice: int | None = None


class Places:
    """The packages of a device. `subdevices` are the CPUs of each of its sub-devices."""

    def __init__(
        self, files: Files, cpus: Sequence[int], subdevices: Sequence[Sequence[int]] = ()
    ) -> None:
        self._files = files
        self._package_of = {cpu: files.package_of(cpu) for cpu in cpus}
        self._subdevices = [tuple(each) for each in subdevices]
        self.packages = tuple(
            Place(package, self._cpus_in(cpus, package), self._only_subdevice(package))
            for package in sorted(set(self._package_of.values()))
        )

    def _cpus_in(self, cpus: Sequence[int], package: int) -> tuple[int, ...]:
        return tuple(sorted(cpu for cpu in cpus if self._package_of.get(cpu) == package))

    def _only_subdevice(self, package: int) -> int | None:
        owners = [
            index for index, cpus in enumerate(self._subdevices) if self._cpus_in(cpus, package)
        ]
        return owners[0] if len(owners) == 1 else None

    def package(self, number: int) -> Place | None:
        """The package of that number, if the device has CPUs in it."""
        return next((each for each in self.packages if each.package == number), None)

    def clock_places(self) -> tuple[Place, ...]:
        """The CPUs whose clocks are set together: those of each sub-device, in each package."""
        if not self._subdevices:
            return self.packages
        return tuple(
            Place(package.package, both, index)
            for index, cpus in enumerate(self._subdevices)
            for package in self.packages
            if (both := self._cpus_in(cpus, package.package))
        )
