"""What our own device has not got, with a library that plays the driver of a card."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

import groundstate as gs
from groundstate import _raw, ze, zes
from groundstate.core.api import Api
from groundstate.sysman import (
    DiagnosticResult,
    ErrorCategory,
    FabricPortConfig,
    FabricPortStatus,
    FanMode,
    FanUnit,
    SchedulerMode,
    StandbyMode,
    SysmanDevice,
)

DRIVER, DEVICE, PART = 0x10, 0x20, 0x30
UNSUPPORTED = int(ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
REFUSED = int(ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS)


class Card:
    """A library with one device that has one of everything."""

    path = "a card"

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        """What was set."""
        self.answers: dict[str, Callable[..., int]] = {}

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("ze"):
            raise AttributeError(name)
        if "Enum" in name:
            return list_one
        if name in self.answers:
            return self.answers[name]
        if "Set" in name or "Run" in name or "Clear" in name:
            return lambda *arguments: self.note(name, *arguments)
        if name == "zesFanGetConfig":  # as a library that is too old to have it
            raise _raw.MissingFunctionError(name)
        return lambda *arguments: UNSUPPORTED

    def note(self, name: str, *arguments: Any) -> int:
        self.calls.append((name, *map(seen, arguments[1:])))
        return 0

    def fills(self, function: str, struct_number: int = -1, **fields: Any) -> None:
        """Makes a function fill in fields of a struct that it is given."""

        def fill(*arguments: Any) -> int:
            struct = arguments[struct_number]._obj
            for field, value in fields.items():
                *path, last = field.split("__")
                target = struct
                for each in path:
                    target = getattr(target, each)
                setattr(target, last, value)
            return 0

        self.answers[function] = fill


def seen(argument: Any) -> Any:
    """An argument of a call, as the library sees it."""
    return getattr(argument, "_obj", argument)


def list_one(device: int, count: Any, array: Any) -> int:
    count._obj.value = 1
    if array is not None:
        array[0] = PART
    return 0


@pytest.fixture
def card() -> Card:
    return Card()


@pytest.fixture
def watched(card: Card) -> SysmanDevice:
    """The device of the card."""
    library: Any = card
    return SysmanDevice(PlainApi(library, DRIVER), DRIVER, DEVICE)


class PlainApi(Api):
    """The functions of the card, which has nothing to say about errors."""

    def last_error(self, function: str) -> str:
        return "only root may do that"


def test_what_a_card_does_not_support_is_none(card: Card, watched: SysmanDevice) -> None:
    card.fills("zesFanGetProperties", supportedUnits=3, maxRPM=-1)
    fan = watched.fans[0]
    assert (fan.rpm, fan.percent, fan.config, fan.properties.maximum_rpm) == (None,) * 4
    assert watched.state is None
    assert watched.pci is None
    assert watched.ecc.status is None
    assert not watched.ecc.is_available
    assert watched.processes == ()


def test_refused_read_raises_snapshot_notes_it(card: Card, watched: SysmanDevice) -> None:
    card.fills("zesDeviceGetProperties", core__name=b"card")
    for noun in ("Engine", "Memory", "Frequency", "Temperature", "Fan", "Psu", "Ras", "Scheduler"):
        card.fills(f"zes{noun}GetProperties")
    card.fills("zesFirmwareGetProperties")
    card.answers["zesPowerGetProperties"] = lambda *arguments: 0
    card.answers["zesPowerGetEnergyCounter"] = lambda *arguments: REFUSED
    with pytest.raises(gs.errors.InsufficientPermissions, match="only root"):
        _ = watched.power[0].energy
    snapshot = watched.snapshot()
    assert snapshot.power[0].energy_uj is None
    assert snapshot.refused == {"power[0].energy": "only root may do that"}
    assert snapshot.name == "card"
    assert snapshot.since(snapshot).watts is None


def test_standby_and_balance(card: Card, watched: SysmanDevice) -> None:
    card.fills("zesStandbyGetMode", value=1)
    card.fills("zesPerformanceFactorGetConfig", value=40.0)
    assert watched.standby[0].mode == StandbyMode.NEVER
    assert watched.performance[0].percent == 40.0
    watched.standby[0].mode = StandbyMode.DEFAULT
    watched.performance[0].percent = 60.0
    assert card.calls == [("zesStandbySetMode", 0), ("zesPerformanceFactorSetConfig", 60.0)]


def test_lights(card: Card, watched: SysmanDevice) -> None:
    card.fills("zesLedGetState", isOn=1, color__red=0.5, color__blue=-1.0)
    light = watched.leds[0]
    assert light.state is not None
    assert light.state.as_dict() == {
        "is_on": True,
        "color": {"red": 0.5, "green": 0.0, "blue": None},
    }
    light.switch(False)
    light.set_color(0.25, 0.5, 1.0)
    assert card.calls[0] == ("zesLedSetState", False)
    assert card.calls[1][1].blue == 1.0


def test_tests_of_the_device_itself(card: Card, watched: SysmanDevice) -> None:
    card.fills("zesDiagnosticsGetProperties", name=b"memory", haveTests=0)
    card.fills("zesDiagnosticsRunTests", value=3)
    suite = watched.diagnostics[0]
    assert suite.properties.name == "memory"
    assert suite.tests == ()
    assert suite.run() == DiagnosticResult.REBOOT_FOR_REPAIR


def test_fabric_ports(card: Card, watched: SysmanDevice) -> None:
    card.fills("zesFabricPortGetProperties", model=b"link", maxRxSpeed__width=-1)
    card.fills("zesFabricPortGetState", status=2, rxSpeed__bitRate=100)
    card.fills("zesFabricPortGetThroughput", timestamp=5, rxCounter=7, txCounter=9)
    port = watched.fabric_ports[0]
    assert port.properties.maximum_receiving.lanes is None
    assert port.state is not None
    assert port.state.status == FabricPortStatus.DEGRADED
    assert port.state.receiving.bits_per_second == 100
    assert port.traffic is not None
    assert (port.traffic.received_bytes, port.traffic.sent_bytes) == (7, 9)
    assert port.errors is None
    port.config = FabricPortConfig(enabled=True, beaconing=False)
    assert card.calls[0][1].enabled == 1


def test_fans_are_set(card: Card, watched: SysmanDevice) -> None:
    card.fills("zesFanGetProperties", canControl=1, supportedModes=7, supportedUnits=1)
    fan = watched.fans[0]
    assert fan.properties.modes == (FanMode.DEFAULT, FanMode.FIXED, FanMode.TABLE)
    assert fan.properties.units == (FanUnit.RPM,)
    fan.set_speed(1200, FanUnit.RPM)
    fan.set_table([(40, 30), (80, 100)])
    fan.set_default()
    fixed, table, default = card.calls
    assert (fixed[1].speed, fixed[1].units) == (1200, FanUnit.RPM)
    assert table[1].numPoints == 2
    assert (table[1].table[1].temperature, table[1].table[1].speed.speed) == (80, 100)
    assert default == ("zesFanSetDefaultMode",)
    with pytest.raises(ValueError, match="at most 32 points"):
        fan.set_table([(20, 20)] * 33)


def test_schedulers_are_set(card: Card, watched: SysmanDevice) -> None:
    card.fills("zesSchedulerGetProperties", supportedModes=0b110)
    card.fills("zesSchedulerSetExclusiveMode", value=1)
    scheduler = watched.schedulers[0]
    assert scheduler.properties.modes == (SchedulerMode.TIMESLICE, SchedulerMode.EXCLUSIVE)
    assert scheduler.set_exclusive() is True
    assert scheduler.set_timeslice(5000, 100) is False
    assert scheduler.set_timeout(None) is False
    timeslice, timeout = card.calls
    assert (timeslice[1].interval, timeslice[1].yieldTimeout) == (5000, 100)
    assert timeout[1].watchdogTimeout == zes.ZES_SCHED_WATCHDOG_DISABLE


def test_ras_counts_work_without_newer_counters(card: Card, watched: SysmanDevice) -> None:
    counted = (ctypes.c_uint64 * 7)(0, 0, 0, 0, 0, 4, 0)
    card.fills("zesRasGetState", category=counted)
    counts = watched.ras[0].counts
    assert counts is not None
    assert counts[ErrorCategory.CACHE_ERRORS] == 4
    assert len(counts) == 7
    watched.ras[0].clear(ErrorCategory.CACHE_ERRORS)
    assert card.calls == [("zesRasClearStateExp", ErrorCategory.CACHE_ERRORS)]


def test_pci_stats_have_only_supported_counters(card: Card, watched: SysmanDevice) -> None:
    card.fills("zesDevicePciGetProperties", haveReplayCounters=1, maxSpeed__gen=4)
    card.fills("zesDevicePciGetStats", timestamp=10, replayCounter=0, rxCounter=99)
    pci = watched.pci
    assert pci is not None
    assert pci.properties.maximum.generation == 4
    stats = pci.stats
    assert stats is not None
    assert (stats.replays, stats.packets, stats.received_bytes) == (0, None, None)
