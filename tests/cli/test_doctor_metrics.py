"""What the doctor says of metrics of the processor."""

from pathlib import Path

import pytest

import groundstate as gs
from groundstate.doctor import metrics
from groundstate.doctor.finding import State
from groundstate.driver.metrics.table import PROCESSOR_EVENTS


def test_all_metrics_are_fine() -> None:
    (found,) = metrics.findings(
        "Device", ["CpuCycles", "CacheMisses", "DataTlbMisses", "PageFaults"]
    )
    assert found.state is State.OK


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
    (found,) = metrics.findings("Device", ["PageFaults"])
    assert found.state is State.NOTE
    assert "CpuCycles" in found.text
    assert "there are PageFaults" in found.text
    assert advice in found.fix


def test_names_are_those_that_the_driver_lists() -> None:
    names = metrics.names_of(gs.devices()[0])
    assert set(names) <= {each for each, _, _ in PROCESSOR_EVENTS}
