"""Recorded machines for the tests of system management: copies of the trees in tests/machines.

`Recorded` puts the tree in the place of this machine for the first device, in this process. What is
written to the copy is what the driver reads next, and the other way round. The copies are made once
for all tests, and put in order after each.
"""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groundstate import zes
from groundstate.driver import native, platform
from groundstate.driver.sysman import events, handles, kinds, power, scheduler, thresholds
from groundstate.driver.sysman.kinds.cpu import Cpu
from groundstate.driver.sysman.system.machine import System
from tests.conftest import check

TREES = Path(__file__).parents[2] / "machines"
CPUS = {"laptop": 8, "server": 8, "vm": 2}

ENUMERATIONS = {
    "frequencies": zes.zesDeviceEnumFrequencyDomains,
    "temperatures": zes.zesDeviceEnumTemperatureSensors,
    "powers": zes.zesDeviceEnumPowerDomains,
    "fans": zes.zesDeviceEnumFans,
    "supplies": zes.zesDeviceEnumPsus,
    "errors": zes.zesDeviceEnumRasErrorSets,
    "schedulers": zes.zesDeviceEnumSchedulers,
    "firmwares": zes.zesDeviceEnumFirmwares,
}


class Recorded:
    """A device on a copy of a recorded machine."""

    def __init__(
        self, device: int, name: str, folder: Path, subdevices: Sequence[Sequence[int]] = ()
    ) -> None:
        self.device = device
        self.name = name
        self.root = folder / name
        if not self.root.exists():
            shutil.copytree(TREES / name, self.root)
        self._before = set(handles._parts)
        self._watched = kinds.devices()[device]
        cpu = Cpu(platform.device(device))
        cpu.system = System(str(self.root), range(CPUS[name]), subdevices)
        kinds._watched[device] = cpu

    def close(self) -> None:
        """Puts the real machine back and ends the handles of the recorded one."""
        kinds._watched[self.device] = self._watched
        for handle in set(handles._parts) - self._before:
            native.object_end(handle)
            del handles._parts[handle]
        live = set(handles._parts)
        handles._handles = {key: each for key, each in handles._handles.items() if each in live}
        kept: dict[int, Any]
        for kept in (
            events._watches,
            thresholds._temperatures,
            thresholds._energies,
            thresholds._errors,
            scheduler._first_slices,
            power._usage,
        ):
            kept.clear()
        self._put_in_order()

    def _put_in_order(self) -> None:
        """Takes back what the test has written."""
        for file in self.root.rglob("*"):
            original = TREES / self.name / file.relative_to(self.root)
            if file.is_file() and not original.exists():
                file.unlink()
            elif file.is_file() and file.read_bytes() != original.read_bytes():
                file.write_bytes(original.read_bytes())

    def read(self, path: str) -> str:
        return (self.root / path).read_text().strip()

    def write(self, path: str, text: object) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def contents(self) -> dict[str, str]:
        """All files, to see that nothing was changed."""
        return {str(path): path.read_text() for path in self.root.rglob("*") if path.is_file()}

    def parts(self, kind: str) -> list[int]:
        """The handles of one of `ENUMERATIONS`."""
        count = ctypes.c_uint32()
        check(ENUMERATIONS[kind](self.device, ctypes.byref(count), None))
        found = (ctypes.c_void_p * count.value)()
        check(ENUMERATIONS[kind](self.device, ctypes.byref(count), found))
        return [handle or 0 for handle in found]


def asked(function: Any, structure: Any, *arguments: Any) -> Any:
    """What a function writes into a struct, which is its last argument."""
    answer = structure()
    check(function(*arguments, ctypes.byref(answer)))
    return answer


def value(function: Any, kind: Any, *arguments: Any) -> Any:
    """What a function writes to where its last argument points."""
    return asked(function, kind, *arguments).value
