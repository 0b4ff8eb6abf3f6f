"""What the tests of the object layer share, and the count of what each of them leaves behind."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

import groundstate as gs
from groundstate.core import handle
from tests.conftest import what_there_is

PATIENCE_SECONDS = 20


@pytest.fixture(scope="session")
def warm_core(warm_driver: None) -> None:
    """Makes what is made only once: objects of drivers and parts, the memory of counters."""
    with gs.Context(gs.devices()[0]) as context:
        gs.Event.counter_based(context).close()
    with suppress(gs.UnsupportedFeature, gs.DependencyUnavailable):
        gs.devices()[0].sysman.snapshot()
    gs.default_context().default_list()


@pytest.fixture(autouse=True)
def _nothing_is_left(warm_core: None) -> Iterator[None]:
    """After each test there are as many objects and open files as before it."""
    before = what_there_is()
    yield
    gc.collect()
    settle()
    assert what_there_is() == before


def settle() -> None:
    """Waits until the device has finished with everything that was closed."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while handle.settle() and time.monotonic() < deadline:
        time.sleep(0.001)


@pytest.fixture
def gpu() -> gs.Device:
    """The first device."""
    return gs.devices()[0]


@pytest.fixture
def ctx(gpu: gs.Device) -> Iterator[gs.Context]:
    """A context for the first device."""
    with gs.Context(gpu) as context:
        yield context


@pytest.fixture
def commands(ctx: gs.Context) -> Iterator[gs.CommandList]:
    """An immediate list that runs its commands in order."""
    with gs.CommandList.immediate(ctx, in_order=True) as made:
        yield made
