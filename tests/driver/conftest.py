"""The workbench as a fixture, and one with kernels that a fake compiler makes."""

import gc
import sys
from collections.abc import Iterator

import pytest

from groundstate import ze
from tests.driver import fake_compiler
from tests.driver.kernels import KernelBench
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


@pytest.fixture(scope="session")
def fake_kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compiles the kernels of the fake compiler."""
    fake_compiler.LIBRARY.build(tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def kernels(
    driver: int, device: int, fake_kernels: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KernelBench]:
    """A workbench on which zeModuleCreate reaches the fake compiler."""
    monkeypatch.setitem(sys.modules, "groundstate.compiler.program", fake_compiler)
    bench = KernelBench(driver, device)
    yield bench
    bench.close()
