"""Where compiled kernels are kept."""

from __future__ import annotations

import pytest

from groundstate import knobs


def test_user_without_a_home_has_no_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "GROUNDSTATE_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)  # not in the list of users
    assert knobs.cache_folder() is None
    monkeypatch.setenv("GROUNDSTATE_CACHE", "/var/kernels")
    assert knobs.cache_folder() == "/var/kernels"
