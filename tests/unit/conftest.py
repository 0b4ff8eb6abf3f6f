"""What every unit test starts from: an environment without knobs, and a driver of its own."""

import pytest

from groundstate import knobs
from groundstate.driver import platform
from groundstate.knobs import kinds


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "complained", set())
    for knob in knobs.KNOBS:
        monkeypatch.delenv(knob.name, raising=False)


@pytest.fixture(autouse=True)
def _own_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test installs is gone after it: a driver that runs in this process has its own."""
    monkeypatch.setattr(platform, "_current", list(platform._current))
