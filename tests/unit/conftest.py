"""What every unit test starts from: an environment without knobs."""

import pytest

from groundstate import knobs


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knobs, "_complained", set())
    for knob in knobs.KNOBS:
        monkeypatch.delenv(knob.name, raising=False)
