"""The workbench as a fixture, and one with kernels that a fake compiler makes."""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from groundstate import ze, zes
from groundstate.driver.sysman import activity
from groundstate.driver.sysman.functions import NOUNS
from tests.conftest import check
from tests.driver import fake_compiler
from tests.driver.kernels import KernelBench
from tests.driver.support import Bench
from tests.driver.sysman.machines import Recorded


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
def sysman(driver: int, device: int) -> int:
    """The device as system management lists it. Its parts have got their handles, which stay."""
    check(zes.zesInit(0))
    count, handle = ctypes.c_uint32(1), ctypes.c_void_p()
    check(zes.zesDeviceGet(driver, ctypes.byref(count), ctypes.byref(handle)))
    assert handle.value is not None
    for name in NOUNS:
        if name.startswith("zesDeviceEnum"):
            count, parts = ctypes.c_uint32(4096), (ctypes.c_void_p * 4096)()
            getattr(zes, name)(handle, ctypes.byref(count), parts)
    return handle.value


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


@pytest.fixture
def alone(sysman: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other processes on this machine may use the driver, too: for a test they are not seen."""
    monkeypatch.setattr(activity, "SOCKETS", os.devnull)
    monkeypatch.setattr(activity, "_is_published", lambda name: False)
    activity.PROCESSES.all(at_once=True)
    yield
    monkeypatch.undo()
    activity.PROCESSES.all(at_once=True)


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the copies of the recorded machines are."""
    return tmp_path_factory.mktemp("machines")


@pytest.fixture
def recorded(sysman: int, machines: Path) -> Iterator[Callable[..., Recorded]]:
    """Puts the device on a copy of a recorded machine: `recorded("laptop")`."""
    made: list[Recorded] = []

    def make(name: str, subdevices: Sequence[Sequence[int]] = ()) -> Recorded:
        made.append(Recorded(sysman, name, machines, subdevices))
        return made[-1]

    yield make
    for machine in reversed(made):
        machine.close()
