"""The workbench as a fixture."""

from collections.abc import Iterator

import pytest

from tests.driver.support import Bench


@pytest.fixture
def bench(driver: int, device: int) -> Iterator[Bench]:
    bench = Bench(driver, device)
    yield bench
    bench.close()


@pytest.fixture(scope="session", autouse=True)
def warm_counters(driver: int, device: int) -> None:
    """Makes the memory file of counters, which stays open from its first use on."""
    bench = Bench(driver, device)
    bench.immediate(in_order=True)
    bench.close()
