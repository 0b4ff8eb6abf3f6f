"""What accelerator cards have besides: sleep, balance, lights, tests of themselves, fabric ports.

The CPU has none of these, so the tuples of our own device are empty; drivers of cards fill them.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from groundstate import zes
from groundstate.core.sysman.enums import (
    DiagnosticResult,
    EngineFlag,
    FabricFailure,
    FabricPortStatus,
    FabricQualityIssue,
    StandbyMode,
)
from groundstate.core.sysman.part import Part, PartProperties, records
from groundstate.core.sysman.records import Record

# --- Sleep and balance ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StandbyProperties(PartProperties):
    """What may go to sleep; the API knows only one type of it, the whole."""

    STRUCT = "zes_standby_properties_t"

    type: int


class StandbyDomain(Part[StandbyProperties]):
    """A part of a device that may go to sleep when it has nothing to do."""

    ENUMERATE = "zesDeviceEnumStandbyDomains"
    DESCRIBE = "zesStandbyGetProperties"
    FACTS = StandbyProperties

    @property
    def mode(self) -> StandbyMode | None:
        """Whether it may go to sleep; assign a mode to change it."""
        mode = self._number(ctypes.c_uint32, "zesStandbyGetMode")
        return None if mode is None else StandbyMode(mode)

    @mode.setter
    def mode(self, wanted: StandbyMode) -> None:
        self._set("zesStandbySetMode", wanted)


@dataclass(frozen=True, slots=True)
class PerformanceProperties(PartProperties):
    """Which engines are balanced."""

    STRUCT = "zes_perf_properties_t"

    engines: EngineFlag


class PerformanceDomain(Part[PerformanceProperties]):
    """Engines whose work can be favoured over that of memory, or the other way round."""

    ENUMERATE = "zesDeviceEnumPerformanceFactorDomains"
    DESCRIBE = "zesPerformanceFactorGetProperties"
    FACTS = PerformanceProperties

    @property
    def percent(self) -> float | None:
        """From 0, for work that waits for memory, to 100, for work that computes."""
        percent: float | None = self._number(ctypes.c_double, "zesPerformanceFactorGetConfig")
        return percent

    @percent.setter
    def percent(self, wanted: float) -> None:
        self._set("zesPerformanceFactorSetConfig", wanted)


# --- Lights ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LedProperties(PartProperties):
    """What a light can do."""

    STRUCT = "zes_led_properties_t"

    can_control: bool
    has_color: Annotated[bool, "haveRGB"]


@dataclass(frozen=True, slots=True)
class Color(Record):
    """A colour, each part of it from 0 to 1; None if nobody knows."""

    STRUCT = "zes_led_color_t"

    red: float | None
    green: float | None
    blue: float | None


@dataclass(frozen=True, slots=True)
class LedState(Record):
    """Whether a light is on, and its colour."""

    STRUCT = "zes_led_state_t"

    is_on: bool
    color: Color


class Led(Part[LedProperties]):
    """A light of a device."""

    ENUMERATE = "zesDeviceEnumLeds"
    DESCRIBE = "zesLedGetProperties"
    FACTS = LedProperties

    @property
    def state(self) -> LedState | None:
        """Whether it is on, and its colour."""
        return self._record(LedState, "zesLedGetState")

    def switch(self, on: bool) -> None:
        """Switches it on or off."""
        self._set("zesLedSetState", on)

    def set_color(self, red: float, green: float, blue: float) -> None:
        """Gives it a colour."""
        wanted = zes.zes_led_color_t(red=red, green=green, blue=blue)
        self._set("zesLedSetColor", ctypes.byref(wanted))


# --- Tests of itself ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DiagnosticProperties(PartProperties):
    """What a test suite is called."""

    STRUCT = "zes_diag_properties_t"

    name: str
    has_tests: Annotated[bool, "haveTests"]


@dataclass(frozen=True, slots=True)
class DiagnosticTest(Record):
    """A test of a suite."""

    STRUCT = "zes_diag_test_t"

    index: int
    name: str


class DiagnosticSuite(Part[DiagnosticProperties]):
    """Tests with which a device finds out whether it works."""

    ENUMERATE = "zesDeviceEnumDiagnosticTestSuites"
    DESCRIBE = "zesDiagnosticsGetProperties"
    FACTS = DiagnosticProperties

    def _describe(self) -> str:
        return self.properties.name

    @cached_property
    def tests(self) -> tuple[DiagnosticTest, ...]:
        """The tests that can be run on their own."""
        if not self.properties.has_tests:
            return ()
        return records(DiagnosticTest, self.api, "zesDiagnosticsGetTests", self.handle) or ()

    def run(self, first: int | None = None, last: int | None = None) -> DiagnosticResult:
        """Runs the tests from one to another, or all of them; the device may be reset by that."""
        begin = zes.ZES_DIAG_FIRST_TEST_INDEX if first is None else first
        end = zes.ZES_DIAG_LAST_TEST_INDEX if last is None else last
        result = ctypes.c_uint32()
        self._set("zesDiagnosticsRunTests", begin, end, ctypes.byref(result))
        return DiagnosticResult(result.value)


# --- Fabric ports ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FabricPortId(Record):
    """The place of a port in the fabric."""

    STRUCT = "zes_fabric_port_id_t"

    fabric: Annotated[int, "fabricId"]
    attachment: Annotated[int, "attachId"]
    port: Annotated[int, "portNumber"]


@dataclass(frozen=True, slots=True)
class FabricPortSpeed(Record):
    """What a port can carry, or carries."""

    STRUCT = "zes_fabric_port_speed_t"

    bits_per_second: Annotated[int | None, "bitRate"]
    lanes: Annotated[int | None, "width"]


@dataclass(frozen=True, slots=True)
class FabricPortProperties(PartProperties):
    """What a port is."""

    STRUCT = "zes_fabric_port_properties_t"

    model: str
    port_id: FabricPortId
    maximum_receiving: Annotated[FabricPortSpeed, "maxRxSpeed"]
    maximum_sending: Annotated[FabricPortSpeed, "maxTxSpeed"]


@dataclass(frozen=True, slots=True)
class FabricPortState(Record):
    """How well a port works, and what is at its other end."""

    STRUCT = "zes_fabric_port_state_t"

    status: FabricPortStatus
    quality_issues: FabricQualityIssue
    failures: Annotated[FabricFailure, "failureReasons"]
    remote: Annotated[FabricPortId, "remotePortId"]
    receiving: Annotated[FabricPortSpeed, "rxSpeed"]
    sending: Annotated[FabricPortSpeed, "txSpeed"]


@dataclass(frozen=True, slots=True)
class FabricPortTraffic(Record):
    """What went through a port so far, and when that was read."""

    STRUCT = "zes_fabric_port_throughput_t"

    timestamp_us: Annotated[int, "timestamp"]
    received_bytes: Annotated[int, "rxCounter"]
    sent_bytes: Annotated[int, "txCounter"]


@dataclass(frozen=True, slots=True)
class FabricPortErrors(Record):
    """What went wrong at a port so far."""

    STRUCT = "zes_fabric_port_error_counters_t"

    link_failures: Annotated[int, "linkFailureCount"]
    firmware_communication_errors: Annotated[int, "fwCommErrorCount"]
    firmware_errors: Annotated[int, "fwErrorCount"]
    link_degradations: Annotated[int, "linkDegradeCount"]


@dataclass(frozen=True, slots=True)
class FabricPortConfig(Record):
    """Whether a port is used, and whether its light blinks so that somebody finds it."""

    STRUCT = "zes_fabric_port_config_t"

    enabled: bool
    beaconing: bool


class FabricPort(Part[FabricPortProperties]):
    """A port through which a device reaches others."""

    ENUMERATE = "zesDeviceEnumFabricPorts"
    DESCRIBE = "zesFabricPortGetProperties"
    FACTS = FabricPortProperties

    def _describe(self) -> str:
        return self.properties.model

    @property
    def state(self) -> FabricPortState | None:
        """How well it works now."""
        return self._record(FabricPortState, "zesFabricPortGetState")

    @property
    def traffic(self) -> FabricPortTraffic | None:
        """What went through it so far."""
        return self._record(FabricPortTraffic, "zesFabricPortGetThroughput")

    @property
    def errors(self) -> FabricPortErrors | None:
        """What went wrong so far."""
        return self._record(FabricPortErrors, "zesFabricPortGetFabricErrorCounters")

    @property
    def config(self) -> FabricPortConfig | None:
        """Whether it is used; assign a `FabricPortConfig` to change that."""
        return self._record(FabricPortConfig, "zesFabricPortGetConfig")

    @config.setter
    def config(self, wanted: FabricPortConfig) -> None:
        config = zes.zes_fabric_port_config_t(enabled=wanted.enabled, beaconing=wanted.beaconing)
        self._set("zesFabricPortSetConfig", ctypes.byref(config))
