"""The thermometers of the CPUs, the memory modules and the board, from hwmon and thermal zones.

A package has one sensor for all of it and, on most CPUs, some of its cores or chiplets. What else
is in the machine (disks, network and graphics cards) has thermometers that are not of this device.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from groundstate import zes
from groundstate.driver.sysman.parts import TemperatureSensor
from groundstate.driver.sysman.system.files import Files, Gauge, readings
from groundstate.driver.sysman.system.places import Place, Places

_HWMON = "sys/class/hwmon"
_ZONES = "sys/class/thermal"
_INTEL = "coretemp"
_AMD = frozenset({"k10temp", "zenpower"})
_MEMORY_MODULES = frozenset({"jc42", "spd5118", "ee1004"})
_BOARD = "acpitz"
_CPU_ZONE = re.compile(r"x86_pkg_temp|(cpu|soc)[-_]?thermal.*|cpu\d*-thermal")


class Thermometer(TemperatureSensor):
    """The highest of some sensors of the machine."""

    def __init__(
        self,
        type: int,
        gauges: Sequence[Gauge],
        place: Place | None = None,
        *,
        maximum: int | None = None,
        critical: int | None = None,
    ) -> None:
        super().__init__(
            type=type,
            maximum_celsius=_celsius(maximum if maximum is not None else critical),
            critical_celsius=_celsius(critical),
            subdevice=None if place is None else place.subdevice,
        )
        self._gauges = gauges

    def celsius(self) -> float:
        return max(readings(self._gauges)) / 1000


def _celsius(thousandths: int | None) -> float | None:
    return None if thousandths is None else thousandths / 1000


@dataclass
class Sensors:
    """The sensors of one package."""

    whole: list[Gauge] = field(default_factory=list)
    cores: list[Gauge] = field(default_factory=list)
    maximum: int | None = None
    critical: int | None = None

    def thermometers(self, place: Place) -> list[Thermometer]:
        limits = {"maximum": self.maximum, "critical": self.critical}
        found = []
        if self.whole or self.cores:
            every = self.whole or self.cores
            found.append(Thermometer(zes.ZES_TEMP_SENSORS_GLOBAL, every, place, **limits))
        if self.cores:
            found.append(Thermometer(zes.ZES_TEMP_SENSORS_GPU, self.cores, place, **limits))
        return found


class Hwmon:
    """The chips that the kernel reads sensors of, by name."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.folders: dict[str, list[str]] = {}
        for name in files.names(_HWMON, r"hwmon\d+"):
            folder = f"{_HWMON}/{name}"
            if chip := files.text(f"{folder}/name"):
                self.folders.setdefault(chip, []).append(folder)

    def inputs(self, folder: str) -> list[str]:
        """The temperatures of a chip: the paths of their files without "_input"."""
        names = self._files.names(folder, r"temp\d+_input")
        return [f"{folder}/{name.removesuffix('_input')}" for name in names]


def thermometers(files: Files, places: Places) -> list[TemperatureSensor]:
    """Those of each package, then those that all packages share."""
    hwmon = Hwmon(files)
    packages = _intel(files, hwmon) or _amd(files, hwmon, places) or _zones(files, places)
    found: list[TemperatureSensor] = []
    for number, sensors in sorted(packages.items()):
        if place := places.package(number):
            found += sensors.thermometers(place)
    found += _shared(files, hwmon)
    return found


def _intel(files: Files, hwmon: Hwmon) -> dict[int, Sensors]:
    """A chip for each package, whose labels tell the package's number and the cores."""
    packages: dict[int, Sensors] = {}
    for order, folder in enumerate(hwmon.folders.get(_INTEL, ())):
        sensors, number = Sensors(), order
        for base in hwmon.inputs(folder):
            label = files.text(f"{base}_label") or ""
            gauge = Gauge(files.path(f"{base}_input"))
            if match := re.fullmatch(r"(?:Package|Physical) id (\d+)", label):
                number = int(match[1])
                sensors.whole.append(gauge)
            else:
                sensors.cores.append(gauge)
            sensors.maximum = sensors.maximum or files.number(f"{base}_max")
            sensors.critical = sensors.critical or files.number(f"{base}_crit")
        packages[number] = sensors
    return packages


def _amd(files: Files, hwmon: Hwmon, places: Places) -> dict[int, Sensors]:
    """A chip for each package, in their order. Tdie is Tctl without the offset for the fans."""
    folders = [folder for chip in sorted(_AMD) for folder in hwmon.folders.get(chip, ())]
    numbers = [place.package for place in places.packages]
    packages: dict[int, Sensors] = {}
    for number, folder in enumerate(folders):
        sensors = packages.setdefault(number if number in numbers else numbers[0], Sensors())
        labels = {files.text(f"{base}_label") or "": base for base in hwmon.inputs(folder)}
        whole = labels.get("Tdie") or labels.get("Tctl") or labels.get("")
        if whole:
            sensors.whole.append(Gauge(files.path(f"{whole}_input")))
            sensors.maximum = files.number(f"{whole}_max")
            sensors.critical = files.number(f"{whole}_crit")
        sensors.cores += [
            Gauge(files.path(f"{base}_input"))
            for label, base in labels.items()
            if label.startswith("Tccd")
        ]
    return packages


def _zones(files: Files, places: Places) -> dict[int, Sensors]:
    """The thermal zones of CPUs, where there is no chip that hwmon knows."""
    packages: dict[int, Sensors] = {}
    first = places.packages[0].package if places.packages else 0
    x86 = 0
    for name in files.names(_ZONES, r"thermal_zone\d+"):
        zone = f"{_ZONES}/{name}"
        kind = files.text(f"{zone}/type") or ""
        if not _CPU_ZONE.fullmatch(kind) or not files.exists(f"{zone}/temp"):
            continue
        sensors = packages.setdefault(first + x86, Sensors())
        sensors.whole.append(Gauge(files.path(f"{zone}/temp")))
        sensors.critical = sensors.critical or _critical_trip(files, zone)
        x86 += kind == "x86_pkg_temp"
    return packages


def _critical_trip(files: Files, zone: str) -> int | None:
    for name in files.names(zone, r"trip_point_\d+_type"):
        if files.text(f"{zone}/{name}") == "critical":
            return files.number(f"{zone}/{name.removesuffix('type')}temp")
    return None


def _shared(files: Files, hwmon: Hwmon) -> list[Thermometer]:
    """The memory modules' and the board's, of which nobody knows the package."""
    found = []
    modules = [
        base
        for chip in sorted(_MEMORY_MODULES)
        for folder in hwmon.folders.get(chip, ())
        for base in hwmon.inputs(folder)
    ]
    board = [base for folder in hwmon.folders.get(_BOARD, ()) for base in hwmon.inputs(folder)]
    for kind, bases in (
        (zes.ZES_TEMP_SENSORS_MEMORY, modules),
        (zes.ZES_TEMP_SENSORS_GPU_BOARD, board),
    ):
        if bases:
            gauges = [Gauge(files.path(f"{base}_input")) for base in bases]
            maximum = files.number(f"{bases[0]}_max")
            critical = files.number(f"{bases[0]}_crit")
            found.append(Thermometer(kind, gauges, maximum=maximum, critical=critical))
    return found
