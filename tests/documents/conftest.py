"""What the tests of documents share: environments, and what pages take for granted."""

from __future__ import annotations

import shutil
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


PACKAGES = {
    "libze-dev": Path("/usr/include/level_zero/ze_api.h").exists(),
    "g++": shutil.which("g++") is not None,
    "jq": shutil.which("jq") is not None,
    "prometheus": shutil.which("promtool") is not None,
}
"""The packages of Debian that pages tell people to install, or take for granted."""


@pytest.fixture(scope="session", autouse=True)
def _packages() -> None:
    missing = [name for name, is_there in PACKAGES.items() if not is_there]
    if missing:
        pytest.skip(f"apt-get install {' '.join(missing)}")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The reader's own programs and recordings."""
    folder: Path = tmp_path_factory.mktemp("world")
    return World(folder)
