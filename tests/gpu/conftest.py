"""Tests on a real NVIDIA GPU: `make test-gpu`. Elsewhere they are not collected."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import groundstate as gs

WANTED = os.environ.get("GROUNDSTATE_TEST_GPU", "") not in ("", "0")
collect_ignore_glob = [] if WANTED else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the test that makes the GPU fault behind all others: the CUDA driver may refuse the GPU
    to this process from then on."""
    items.sort(key=lambda item: item.path.name == "test_gpu_lost.py")


@pytest.fixture(scope="session")
def gpu() -> gs.Device:
    """The first NVIDIA GPU. A machine without one fails these tests, it does not skip them."""
    found = [device for device in gs.devices() if device.properties.vendor_id == 0x10DE]
    assert found, "no NVIDIA GPU is listed: is libcuda.so.1 there, and GROUNDSTATE_NVIDIA not 0?"
    return found[0]


@pytest.fixture(scope="session")
def cpu() -> gs.Device:
    """The first device, before all GPUs."""
    return gs.devices()[0]


@pytest.fixture
def ctx(gpu: gs.Device) -> Iterator[gs.Context]:
    """A context for the GPU alone."""
    with gs.Context(gpu) as context:
        yield context


@pytest.fixture
def mixed() -> Iterator[gs.Context]:
    """A context for all devices."""
    with gs.Context(gs.drivers()[0]) as context:
        yield context


@pytest.fixture
def commands(ctx: gs.Context) -> Iterator[gs.CommandList]:
    with gs.CommandList.immediate(ctx, in_order=True) as made:
        yield made
