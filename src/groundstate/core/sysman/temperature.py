"""Thermometers, and at which temperatures a program wants to be told."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Annotated

from groundstate import zes
from groundstate.core.sysman.enums import SensorType
from groundstate.core.sysman.part import Look, Part, PartProperties
from groundstate.core.sysman.records import Record


@dataclass(frozen=True, slots=True)
class TemperatureProperties(PartProperties):
    """What a thermometer measures, and about which temperatures it can tell."""

    STRUCT = "zes_temp_properties_t"

    type: SensorType
    maximum_celsius: Annotated[float | None, "maxTemperature"]
    has_critical_event: Annotated[bool, "isCriticalTempSupported"]
    has_threshold1_event: Annotated[bool, "isThreshold1Supported"]
    has_threshold2_event: Annotated[bool, "isThreshold2Supported"]


@dataclass(frozen=True, slots=True)
class Threshold(Record):
    """A temperature at which a program wants to be told; neither way for one that is not set."""

    STRUCT = "zes_temp_threshold_t"

    celsius: Annotated[float, "threshold"]
    rising: Annotated[bool, "enableLowToHigh"] = True
    falling: Annotated[bool, "enableHighToLow"] = False


UNSET = Threshold(0.0, rising=False)


@dataclass(frozen=True, slots=True)
class TemperatureConfig(Record):
    """About which temperatures a program wants to be told."""

    STRUCT = "zes_temp_config_t"

    critical: Annotated[bool, "enableCritical"] = False
    threshold1: Threshold = UNSET
    threshold2: Threshold = UNSET


@dataclass(frozen=True, slots=True)
class TemperatureReading(Record):
    """A thermometer in a snapshot."""

    type: SensorType
    subdevice: int | None
    celsius: float | None
    maximum_celsius: float | None


class TemperatureSensor(Part[TemperatureProperties]):
    """A thermometer of a device."""

    ENUMERATE = "zesDeviceEnumTemperatureSensors"
    DESCRIBE = "zesTemperatureGetProperties"
    FACTS = TemperatureProperties

    def _describe(self) -> str:
        return self.properties.type.name

    @property
    def celsius(self) -> float | None:
        """What it shows now."""
        shown: float | None = self._number(ctypes.c_double, "zesTemperatureGetState")
        return shown

    @property
    def config(self) -> TemperatureConfig | None:
        """At which temperatures there is an event; assign a `TemperatureConfig` to change it."""
        return self._record(TemperatureConfig, "zesTemperatureGetConfig")

    @config.setter
    def config(self, wanted: TemperatureConfig) -> None:
        config = zes.zes_temp_config_t(enableCritical=wanted.critical)
        for field, threshold in (
            (config.threshold1, wanted.threshold1),
            (config.threshold2, wanted.threshold2),
        ):
            field.enableLowToHigh = threshold.rising
            field.enableHighToLow = threshold.falling
            field.threshold = threshold.celsius
        self._set("zesTemperatureSetConfig", ctypes.byref(config))

    def reading(self, look: Look) -> TemperatureReading:
        """All of it, for a snapshot."""
        shown = look.at(f"temperature[{self.index}].celsius", lambda: self.celsius)
        facts = self.properties
        return TemperatureReading(facts.type, facts.subdevice, shown, facts.maximum_celsius)
