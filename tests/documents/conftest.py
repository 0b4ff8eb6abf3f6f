"""What the tests of documents share: environments, and what pages take for granted."""

from __future__ import annotations

from pathlib import Path

import pytest

from .installs import Installs
from .seeds import texts
from .world import World

# Documents that are not here have no tests; a test that is skipped would be a failure in CI.
collect_ignore_glob = [] if texts.folder() else ["test_seed_*.py"]


@pytest.fixture(scope="session")
def installs(tmp_path_factory: pytest.TempPathFactory) -> Installs:
    """The environments, which all processes of a test run share."""
    base = tmp_path_factory.getbasetemp()
    return Installs((base.parent if base.name.startswith("popen-") else base) / "environments")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The reader's own programs and recordings."""
    folder: Path = tmp_path_factory.mktemp("world")
    return World(folder)
