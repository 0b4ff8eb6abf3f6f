"""A cluster of two workers, each with a sub-device of its own on a machine of two times four."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from distributed import Client, wait
from prometheus_client.parser import text_string_to_metric_families

from groundstate.dask import LocalDeviceCluster
from tests.dask import tasks
from tests.patience import FACTOR

MIB = 1 << 20


def by_name(client: Client) -> dict[str, str]:
    """The addresses of the workers by their names."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {facts["name"]: address for address, facts in workers.items()}


def eventually(is_so: Callable[[], bool]) -> bool:
    """Whether something becomes true in the time that a slow machine needs."""
    end = time.monotonic() + 20 * FACTOR
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def device_memory(client: Client, *others: str) -> dict[tuple[str, str], float]:
    """What the workers have of device memory, by name and address, as `groundstate metrics` says.

    Of workers that the scheduler has, and of others by their address: the machine may have more.
    """
    topology = {"GROUNDSTATE_TOPOLOGY": "2x4", "GROUNDSTATE_MEMORY": "4G"}
    done = subprocess.run(
        [sys.executable, "-m", "groundstate", "metrics", "--once"],
        env={**os.environ, **topology, "GROUNDSTATE_THREADS": "16"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    ours = {*by_name(client).values(), *others}
    return {
        (sample.labels["worker"], sample.labels["address"]): sample.value
        for family in text_string_to_metric_families(done.stdout)
        for sample in family.samples
        if sample.name == "groundstate_worker_memory_bytes" and sample.labels["address"] in ours
    }


def test_each_worker_has_its_part_of_the_machine(client: Client) -> None:
    seen = {facts["mask"]: facts for facts in client.run(tasks.facts).values()}
    assert set(seen) == set(by_name(client)) == {"0.1", "1.3"}
    assert {facts["memory_bytes"] for facts in seen.values()} == {512 * MIB}
    assert {facts["cores"] for facts in seen.values()} == {2}
    assert {facts["sub_devices"] for facts in seen.values()} == {0}
    assert len({facts["uuid"] for facts in seen.values()}) == 2


def test_the_cluster_has_no_more_workers_than_devices(cluster: LocalDeviceCluster) -> None:
    with pytest.raises(ValueError, match="each of the 2 devices"):
        cluster.new_worker_spec()
    with pytest.raises(ValueError, match="3 workers need a device each, and there are 2 here"):
        LocalDeviceCluster(topology="2", n_workers=3)


def test_device_memory_travels_between_workers_by_handle(client: Client) -> None:
    workers = by_name(client)
    (pid,) = client.run(os.getpid, workers=[workers["0.1"]]).values()
    for size, shared in ((1000, 0), (2 * MIB, 1)):
        memory = client.submit(tasks.filled, size, 3, workers="0.1", pure=False)
        wait(memory)
        before = tasks.shared_files(pid)
        there = client.submit(tasks.total, memory, workers="1.3", pure=False)
        assert there.result() == 3 * size
        assert tasks.shared_files(pid) == before + shared


def test_memory_comes_from_the_client_and_goes_to_it(client: Client) -> None:
    memory = tasks.filled(2 * MIB, 2)
    assert client.submit(tasks.total, memory).result() == 4 * MIB
    (scattered,) = client.scatter([memory])
    assert client.submit(tasks.total, scattered).result() == 4 * MIB
    assert tasks.total(client.submit(tasks.filled, 2 * MIB, 1).result()) == 2 * MIB


def test_what_exceeds_the_target_lies_on_disk_and_comes_back(client: Client) -> None:
    made = [
        client.submit(tasks.filled, 20 * MIB, value, workers="0.1", pure=False)
        for value in range(1, 6)
    ]
    wait(made)
    address = by_name(client)["0.1"]
    spilled = client.run(lambda dask_worker: len(dask_worker.data.slow), workers=[address])
    assert spilled[address] >= 2
    held = device_memory(client)["0.1", address]
    assert held <= 60 * MIB, "the device has let go of what lies on disk"
    sums = client.gather(client.map(tasks.total, made, workers="0.1", pure=False))
    assert sums == [20 * MIB * value for value in range(1, 6)]


def test_a_killed_worker_loses_no_task_and_no_memory(client: Client) -> None:
    held = client.map(tasks.filled, [8 * MIB] * 4, range(1, 5), pure=False)
    wait(held)
    workers = by_name(client)
    before = device_memory(client)
    assert set(before) == set(workers.items())
    assert sum(before.values()) >= 32 * MIB

    chains = []
    for first in range(8):
        link = client.submit(tasks.step, first, pure=False)
        for number in range(4):
            link = client.submit(tasks.step, number, link, pure=False)
        chains.append(link)
    wait(chains[0])
    (pid,) = client.run(os.getpid, workers=[workers["1.3"]]).values()
    os.kill(pid, signal.SIGKILL)

    sums = client.gather(client.map(tasks.total, chains + held, pure=False))
    assert sums[:8] == [(first + 6) << 16 for first in range(8)]
    assert sums[8:] == [8 * MIB * value for value in range(1, 5)]
    assert eventually(lambda: len(by_name(client)) == 2), "the nanny starts another worker"
    assert by_name(client)["1.3"] != workers["1.3"]
    assert ("1.3", workers["1.3"]) not in device_memory(client, workers["1.3"])
    del held, chains, link
    assert eventually(lambda: not any(device_memory(client).values()))
