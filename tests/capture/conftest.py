"""Recordings that several files of tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from .viewed_program import record_program


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Path:
    """The stream of a program with kernels, a list that runs twice, and an image."""
    return record_program(tmp_path_factory.mktemp("recorded") / "out")
