"""Fans, and what the machine gets its power from."""

from __future__ import annotations

from groundstate import zes
from groundstate.driver.sysman.parts import Fan, PowerSupply
from groundstate.driver.sysman.system.files import Files, Gauge
from groundstate.driver.sysman.system.heat import Hwmon

_SUPPLIES = "sys/class/power_supply"
_OTHER_DEVICES = ("amdgpu", "nouveau", "radeon", "i915", "xe", "nvme", "drivetemp")
"""Chips with fans that cool something else."""

_FULL_DUTY = 255


class MachineFan(Fan):
    """A fan of the machine; which of the packages it cools, nobody tells."""

    def __init__(self, files: Files, folder: str, number: str) -> None:
        super().__init__(maximum_rpm=files.number(f"{folder}/fan{number}_max"))
        self._speed = Gauge(files.path(f"{folder}/fan{number}_input"))
        self._duty = files.gauge(f"{folder}/pwm{number}")

    def rpm(self) -> int | None:
        return self._speed.number()

    def percent(self) -> int | None:
        if self._duty is None:
            return None
        return round(self._duty.number() * 100 / _FULL_DUTY)


def fans(files: Files) -> list[Fan]:
    """The fans that hwmon knows, other than those of cards and disks."""
    found: list[Fan] = []
    for chip, folders in Hwmon(files).folders.items():
        if chip in _OTHER_DEVICES:
            continue
        for folder in folders:
            for name in files.names(folder, r"fan\d+_input"):
                number = name.removeprefix("fan").removesuffix("_input")
                found.append(MachineFan(files, folder, number))
    return found


class Supply(PowerSupply):
    """A battery, or the socket that an adapter is plugged into."""

    def __init__(self, files: Files, folder: str) -> None:
        limit = files.number(f"{folder}/input_current_limit") or files.number(
            f"{folder}/current_max"
        )
        super().__init__(limit_milliamperes=limit // 1000 if limit else None)
        self._lowest_uv = files.number(f"{folder}/voltage_min_design")
        self._voltage = files.gauge(f"{folder}/voltage_now")
        self._current = files.gauge(f"{folder}/current_now")
        self._power = files.gauge(f"{folder}/power_now")
        self._heat = files.gauge(f"{folder}/temp")

    def voltage_status(self) -> int:
        """What is known is the voltage below which a battery should not come."""
        if self._voltage is None or not self._lowest_uv:
            return int(zes.ZES_PSU_VOLTAGE_STATUS_UNKNOWN)
        if self._voltage.number() < self._lowest_uv:
            return int(zes.ZES_PSU_VOLTAGE_STATUS_UNDER)
        return int(zes.ZES_PSU_VOLTAGE_STATUS_NORMAL)

    def celsius(self) -> int | None:
        return None if self._heat is None else round(self._heat.number() / 10)

    def milliamperes(self) -> int | None:
        """Some batteries tell the current, others the power; some drivers give both a sign."""
        if self._current is not None:
            return abs(self._current.number()) // 1000
        if self._power is None or self._voltage is None:
            return None
        microvolts = self._voltage.number()
        return abs(self._power.number()) * 1000 // microvolts if microvolts > 0 else None


def supplies(files: Files) -> list[PowerSupply]:
    """The batteries and adapters of the machine, not those of its mouse."""
    found: list[PowerSupply] = []
    for name in files.names(_SUPPLIES):
        folder = f"{_SUPPLIES}/{name}"
        kind = files.text(f"{folder}/type")
        if kind in ("Mains", "Battery", "USB") and files.text(f"{folder}/scope") != "Device":
            found.append(Supply(files, folder))
    return found
