"""The driver inside a Python program: what the program's own objects may expect of it."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundstate import ze
from tests.conftest import check
from tests.driver.support import Bench

DRIVER = str(Path(ze.__file__).parent / "driver")


@pytest.fixture
def collections() -> Iterator[list[bool]]:
    """For each run of the garbage collector, whether it was inside of the driver. It runs often."""
    seen: list[bool] = []

    def note(phase: str, info: dict[str, int]) -> None:
        frame, inside = sys._getframe(), False
        while frame.f_back is not None:
            frame = frame.f_back
            inside |= frame.f_code.co_filename.startswith(DRIVER)
        seen.append(inside)

    before = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(1, 1 << 30, 1 << 30)
    yield seen
    gc.set_threshold(*before)
    gc.callbacks.remove(note)


def test_garbage_collection_stays_out_of_driver(bench: Bench, collections: list[bool]) -> None:
    for _ in range(20):
        properties = ze.ze_device_properties_t()
        check(ze.zeDeviceGetProperties(bench.device, ctypes.byref(properties)))
    assert len(collections) > 20
    assert not any(collections)
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off(bench: Bench) -> None:
    gc.disable()
    try:
        properties = ze.ze_device_properties_t()
        check(ze.zeDeviceGetProperties(bench.device, ctypes.byref(properties)))
        assert not gc.isenabled()
    finally:
        gc.enable()
