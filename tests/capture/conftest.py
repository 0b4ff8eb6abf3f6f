"""Recordings that several files of tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.programs import Recordings, all_made
from tests.capture.views.viewed_program import record_program


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Path:
    """The stream of a program with kernels, a list that runs twice, and an image."""
    return record_program(tmp_path_factory.mktemp("recorded") / "out")


@pytest.fixture(scope="module")
def recordings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, library: Path
) -> Recordings:
    """The recordings of the programs that a file of tests has in its list `RECORDED`."""
    return all_made(request.module.RECORDED, tmp_path_factory.mktemp("recordings"))
