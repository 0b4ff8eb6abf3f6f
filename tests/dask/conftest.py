"""A cluster of two workers that all tests share: starting one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import dask
import pytest
from distributed import Client

from groundstate.dask import LocalDeviceCluster

CONFIG = {
    # Dask writes to disk what a worker has beyond this part of its limit.
    "distributed.worker.memory.target": 0.05,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}


@pytest.fixture(scope="package")
def cluster() -> Iterator[LocalDeviceCluster]:
    with pytest.MonkeyPatch.context() as patch, dask.config.set(CONFIG):
        patch.setenv("GROUNDSTATE_THREADS", "16")
        options = {"memory_limit": "1GiB", "dashboard_address": None}
        with LocalDeviceCluster(devices="0.1,1.3", topology="2x4", memory="4G", **options) as made:
            yield made


@pytest.fixture
def client(cluster: LocalDeviceCluster) -> Iterator[Client]:
    with Client(cluster) as made:
        made.wait_for_workers(2, timeout=120)
        yield made
