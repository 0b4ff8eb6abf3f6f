"""Thermometers, and at which temperatures a program wants to be told."""

from __future__ import annotations

import ctypes
import math

from groundstate import zes
from groundstate.driver.api import Unsupported, handler
from groundstate.driver.sysman import kinds, thresholds
from groundstate.driver.sysman.handles import enumerate_parts, part_of
from groundstate.driver.sysman.parts import TemperatureSensor
from groundstate.driver.sysman.structs import known, write_place
from groundstate.driver.sysman.thresholds import Crossing, TemperatureConditions


@handler
def zesDeviceEnumTemperatureSensors(hDevice: int, pCount: int, phTemperature: int) -> None:
    sensors = kinds.watched(hDevice).temperatures()
    enumerate_parts(pCount, phTemperature, sensors, "zes_temp_handle_t")


@handler
def zesTemperatureGetProperties(hTemperature: int, pProperties: int) -> None:
    sensor = part_of(hTemperature, TemperatureSensor)
    properties = zes.zes_temp_properties_t.from_address(pProperties)
    write_place(properties, sensor)
    properties.type = sensor.type
    properties.maxTemperature = known(sensor.maximum_celsius)
    properties.isCriticalTempSupported = sensor.critical_celsius is not None
    properties.isThreshold1Supported = True
    properties.isThreshold2Supported = True


@handler
def zesTemperatureGetState(hTemperature: int, pTemperature: int) -> None:
    celsius = part_of(hTemperature, TemperatureSensor).celsius()
    ctypes.c_double.from_address(pTemperature).value = celsius


@handler
def zesTemperatureGetConfig(hTemperature: int, pConfig: int) -> None:
    conditions = thresholds.of_temperature(part_of(hTemperature, TemperatureSensor))
    config = zes.zes_temp_config_t.from_address(pConfig)
    config.enableCritical = conditions.critical
    for field, crossing in (
        (config.threshold1, conditions.first),
        (config.threshold2, conditions.second),
    ):
        field.enableLowToHigh = crossing.rising
        field.enableHighToLow = crossing.falling
        field.threshold = crossing.celsius


@handler
def zesTemperatureSetConfig(hTemperature: int, pConfig: int) -> None:
    sensor = part_of(hTemperature, TemperatureSensor)
    config = zes.zes_temp_config_t.from_address(pConfig)
    if config.enableCritical and sensor.critical_celsius is None:
        raise Unsupported("the critical temperature of this sensor is not known")
    conditions = TemperatureConditions(
        bool(config.enableCritical),
        _crossing(sensor, config.threshold1),
        _crossing(sensor, config.threshold2),
    )
    thresholds.set_temperature(sensor, conditions)


def _crossing(sensor: TemperatureSensor, field: zes.zes_temp_threshold_t) -> Crossing:
    """A threshold as it was given; one that is not enabled may have any temperature."""
    crossing = Crossing(field.threshold, bool(field.enableLowToHigh), bool(field.enableHighToLow))
    if not crossing.rising and not crossing.falling:
        return Crossing(crossing.celsius if math.isfinite(crossing.celsius) else 0.0)
    if not math.isfinite(crossing.celsius):
        raise ValueError(f"{crossing.celsius} is no temperature")
    highest = sensor.critical_celsius
    if highest is not None and crossing.celsius > highest:
        raise ValueError(
            f"a threshold of {crossing.celsius} degrees is above the critical {highest}"
        )
    return crossing
