"""The workbench as a fixture."""

import gc
from collections.abc import Iterator

import pytest

from groundstate import ze
from tests.driver.support import Bench


@pytest.fixture
def bench(driver: int, device: int) -> Iterator[Bench]:
    bench = Bench(driver, device)
    yield bench
    bench.close()


@pytest.fixture(scope="session", autouse=True)
def warm_up(driver: int, device: int) -> None:
    """Makes what stays from its first use on: the counters' memory file, the default context."""
    bench = Bench(driver, device)
    bench.immediate(in_order=True)
    bench.close()
    assert ze.zeDriverGetDefaultContext(driver)
    gc.collect()
    gc.freeze()  # what exists now stays: the collections around each test need not look at it
