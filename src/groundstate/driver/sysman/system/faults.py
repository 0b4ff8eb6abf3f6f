"""Errors of the memory that the kernel counts (EDAC), and whether the memory corrects them."""

from __future__ import annotations

import re

from groundstate import zes
from groundstate.driver.api import Unsupported
from groundstate.driver.sysman.parts import ErrorCounters
from groundstate.driver.sysman.system.files import Files, Gauge
from groundstate.driver.sysman.system.places import Places

_CONTROLLERS = "sys/devices/system/edac/mc"


class MemoryErrors(ErrorCounters):
    """The corrected, or the uncorrected, errors of some memory controllers."""

    def __init__(self, files: Files, type: int, folders: list[str], subdevice: int | None) -> None:
        super().__init__(type=type, subdevice=subdevice)
        own, other = "ce_count", "ue_count"
        if type == zes.ZES_RAS_ERROR_TYPE_UNCORRECTABLE:
            own, other = other, own
        self._files = files
        self._folders = folders
        self._own = [Gauge(files.path(f"{folder}/{own}")) for folder in folders]
        self._other = [Gauge(files.path(f"{folder}/{other}")) for folder in folders]

    def counts(self) -> dict[int, int]:
        errors = sum(gauge.number() for gauge in self._own)
        return {int(zes.ZES_RAS_ERROR_CATEGORY_EXP_MEMORY_ERRORS): errors}

    def clear(self) -> None:
        """The kernel clears both types at once: not if that would lose some of the other."""
        lost = sum(gauge.number() for gauge in self._other)
        if lost:
            raise Unsupported(
                f"corrected and uncorrected errors are only cleared together, and there are {lost} "
                "of the other type"
            )
        self._files.write_all([(f"{folder}/reset_counters", "1") for folder in self._folders])


def errors(files: Files, places: Places) -> list[ErrorCounters]:
    """Two for each package with memory controllers, or for the device if nobody tells where."""
    folders = [f"{_CONTROLLERS}/{name}" for name in files.names(_CONTROLLERS, r"mc\d+")]
    by_package: dict[int | None, list[str]] = {}
    for folder in folders:
        if files.exists(f"{folder}/ce_count") and files.exists(f"{folder}/ue_count"):
            by_package.setdefault(_package(files, folder), []).append(folder)
    found: list[ErrorCounters] = []
    for package, controllers in by_package.items():
        place = None if package is None else places.package(package)
        if package is not None and place is None:
            continue  # memory of a package in which this device has no CPUs
        subdevice = None if place is None else place.subdevice
        for kind in (zes.ZES_RAS_ERROR_TYPE_CORRECTABLE, zes.ZES_RAS_ERROR_TYPE_UNCORRECTABLE):
            found.append(MemoryErrors(files, kind, controllers, subdevice))
    return found


def _package(files: Files, folder: str) -> int | None:
    """Drivers that know the socket of a controller have it in its name."""
    name = files.text(f"{folder}/mc_name") or ""
    match = re.search(r"(?:Socket|SrcID|CPU)#?(\d+)", name)
    return int(match[1]) if match else None


def ecc_is_enabled(files: Files) -> bool | None:
    """Whether the memory modules correct errors; None if the kernel watches no controller."""
    modes = [
        files.text(f"{_CONTROLLERS}/{controller}/{module}/dimm_edac_mode")
        for controller in files.names(_CONTROLLERS, r"mc\d+")
        for module in files.names(f"{_CONTROLLERS}/{controller}", r"(dimm|rank)\d+")
    ]
    known = [mode for mode in modes if mode and mode != "Unknown"]
    return any(mode != "None" for mode in known) if known else None
