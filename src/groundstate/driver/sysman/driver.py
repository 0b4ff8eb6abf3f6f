"""System management of drivers: initialisation, and which drivers and devices there are."""

from __future__ import annotations

from groundstate.driver import platform
from groundstate.driver.api import answer_list, handler
from groundstate.driver.sysman import kinds


@handler
def zesInit(flags: int) -> None:
    """Everything that there is to do was done when the driver started."""


@handler
def zesDriverGet(pCount: int, phDrivers: int) -> None:
    answer_list(pCount, phDrivers, [platform.current().driver])


@handler
def zesDeviceGet(hDriver: int, pCount: int, phDevices: int) -> None:
    answer_list(pCount, phDevices, list(kinds.devices()))
