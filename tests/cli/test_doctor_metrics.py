"""What the doctor says of metrics of the processor."""

import os
from pathlib import Path

import pytest

import groundstate as gs
from groundstate.doctor import metrics
from groundstate.doctor.finding import State
from groundstate.driver.metrics.table import PROCESSOR_EVENTS


def test_all_metrics_are_fine() -> None:
    package = ["PackageEnergy", "MemoryBytesRead"]
    found = metrics.findings("Device", metrics.OF_PROCESSOR, package)
    assert [each.state for each in found] == [State.OK, State.OK]


@pytest.mark.parametrize(
    ("level", "advice"),
    [("4\n", "sysctl kernel.perf_event_paranoid=2"), ("2\n", "PMU"), ("", "hides")],
)
def test_missing_metrics_name_the_setting(
    level: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = tmp_path / "perf_event_paranoid"
    setting.write_text(level)
    monkeypatch.setattr(metrics, "SETTING", setting)
    found, _ = metrics.findings("Device", ["PageFaults"], [])
    assert found.state is State.NOTE
    assert "CpuCycles" in found.text
    assert "there are PageFaults" in found.text
    assert advice in found.fix


@pytest.mark.parametrize(
    ("level", "user", "advice"),
    [(2, 1000, "perf_event_paranoid=0"), (0, 1000, "known"), (2, 0, "known")],
)
def test_missing_metrics_of_packages_name_the_setting(
    level: int, user: int, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, zone = tmp_path / "perf_event_paranoid", tmp_path / "intel-rapl:0"
    setting.write_text(f"{level}\n")
    monkeypatch.setattr(metrics, "SETTING", setting)
    monkeypatch.setattr(metrics, "POWERCAP", tmp_path)
    monkeypatch.setattr(metrics, "PMUS", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    _, found = metrics.findings("Device", metrics.OF_PROCESSOR, [])
    assert "no counters" in found.fix
    zone.mkdir()
    (zone / "energy_uj").write_text("1\n")
    _, found = metrics.findings("Device", metrics.OF_PROCESSOR, [])
    assert found.state is State.NOTE
    assert "PackageEnergy, MemoryBytesRead" in found.text
    assert advice in found.fix


def test_names_are_those_that_the_driver_lists() -> None:
    names = metrics.names_of(gs.devices()[0], metrics.PROCESSOR)
    assert set(names) <= {each for each, _, _ in PROCESSOR_EVENTS}
