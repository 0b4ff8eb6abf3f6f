"""Fans, whose speed is left to the machine."""

from __future__ import annotations

import ctypes

from groundstate import zes
from groundstate.driver.api import Unsupported, handler
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.handles import enumerate_parts, part_of
from groundstate.driver.sysman.parts import Fan
from groundstate.driver.sysman.structs import known_int32, write_place


@handler
def zesDeviceEnumFans(hDevice: int, pCount: int, phFan: int) -> None:
    enumerate_parts(pCount, phFan, kinds.watched(hDevice).fans(), "zes_fan_handle_t")


@handler
def zesFanGetProperties(hFan: int, pProperties: int) -> None:
    """The speed is left to the machine: what nobody controls cannot be set to a wrong speed."""
    fan = part_of(hFan, Fan)
    properties = zes.zes_fan_properties_t.from_address(pProperties)
    write_place(properties, fan)
    properties.canControl = fan.can_control
    properties.supportedModes = 1 << zes.ZES_FAN_SPEED_MODE_DEFAULT
    properties.supportedUnits = sum(1 << unit for unit in _UNITS if _read(fan, unit) is not None)
    properties.maxRPM = known_int32(fan.maximum_rpm)
    properties.maxPoints = -1


_UNITS = (zes.ZES_FAN_SPEED_UNITS_RPM, zes.ZES_FAN_SPEED_UNITS_PERCENT)


def _read(fan: Fan, units: int) -> int | None:
    return fan.rpm() if units == zes.ZES_FAN_SPEED_UNITS_RPM else fan.percent()


@handler
def zesFanGetConfig(hFan: int, pConfig: int) -> None:
    part_of(hFan, Fan)
    config = zes.zes_fan_config_t.from_address(pConfig)
    config.mode = zes.ZES_FAN_SPEED_MODE_DEFAULT
    config.speedFixed.speed = -1
    config.speedFixed.units = zes.ZES_FAN_SPEED_UNITS_RPM
    config.speedTable.numPoints = -1


@handler
def zesFanGetState(hFan: int, units: int, pSpeed: int) -> None:
    speed = _read(part_of(hFan, Fan), units)
    if speed is None:
        raise Unsupported("this fan does not tell its speed in these units: ask for others")
    ctypes.c_int32.from_address(pSpeed).value = speed
