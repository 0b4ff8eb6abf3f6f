"""Metric groups by name, and a bench that activates them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.driver.metrics.support import Metrics


@pytest.fixture(scope="session")
def groups_of_device(device: int) -> dict[tuple[str, int], int]:
    """The handles of groups by name and sampling type. They and their metrics stay."""
    return Metrics.find(device)


@pytest.fixture
def metrics(
    driver: int, device: int, groups_of_device: dict[tuple[str, int], int]
) -> Iterator[Metrics]:
    bench = Metrics(driver, device, groups_of_device)
    yield bench
    bench.close()


@pytest.fixture(scope="session")
def counters(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library that lets the system count everything."""
    library = tmp_path_factory.mktemp("counters") / "counters.so"
    source = Path(__file__).with_name("counters.c")
    flags = ["-D_GNU_SOURCE", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, source, "-o", library, "-ldl"], check=True)
    return str(library)
