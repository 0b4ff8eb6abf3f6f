"""Metric groups by name, and a bench that activates them."""

from collections.abc import Iterator

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
