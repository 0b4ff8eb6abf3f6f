"""`groundstate dask-worker`: workers of another host, and what it says when there are none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from distributed import Client, wait

from groundstate.cli.main import main
from groundstate.dask import LocalDeviceCluster
from tests.dask import tasks
from tests.dask.test_cluster import by_name

COMMAND = [sys.executable, "-m", "groundstate", "dask-worker"]


def test_workers_of_another_host_join_and_get_memory_as_bytes(
    cluster: LocalDeviceCluster, client: Client
) -> None:
    """The other host is a process on this one that takes and gives no handles, as if far away."""
    arguments = ["--name", "far", "--topology", "2", "--devices", "1", "--memory", "1G"]
    host = subprocess.Popen(
        [*COMMAND, cluster.scheduler_address, *arguments],
        env={**os.environ, "DASK_GROUNDSTATE__IPC": "False"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert host.stdout is not None
        line = host.stdout.readline()
        assert line.startswith("far-1 at tcp://127.0.0.1:")
        address = line.split()[-1]
        (facts,) = client.run(tasks.facts, workers=[address]).values()
        assert (facts["mask"], facts["memory_bytes"]) == ("1", 512 << 20)

        here = client.submit(tasks.filled, 2 << 20, 3, workers="0.1", pure=False)
        there = client.submit(tasks.filled, 2 << 20, 1, workers="far-1", pure=False)
        wait([here, there])
        (near,) = client.run(os.getpid, workers=[by_name(client)["0.1"]]).values()
        pids = (near, facts["pid"])
        before = [tasks.shared_files(pid) for pid in pids]
        assert client.submit(tasks.total, here, workers="far-1", pure=False).result() == 6 << 20
        assert client.submit(tasks.total, there, workers="1.3", pure=False).result() == 2 << 20
        assert [tasks.shared_files(pid) for pid in pids] == before
    finally:
        host.send_signal(signal.SIGINT)
        assert host.wait(timeout=60) == 0
    assert len(client.scheduler_info(n_workers=-1)["workers"]) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--devices", "one"], "'one' is not a device such as 0"),
        (["--local-directory", "/proc/none"], "/proc/none: no such file"),
    ],
)
def test_wrong_arguments_are_explained(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dask-worker", "tcp://127.0.0.1:1", *arguments]) == 1
    said = capsys.readouterr().err
    assert said.startswith("groundstate dask-worker: no workers for tcp://127.0.0.1:1: ")
    assert sentence in said


def test_memory_limit_is_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["dask-worker", "tcp://127.0.0.1:1", "--memory-limit", "much"])
    assert ended.value.code == 2
    assert "'much' is not a size such as 512M or 8G" in capsys.readouterr().err


def test_a_scheduler_that_does_not_answer_is_named() -> None:
    done = subprocess.run(
        [*COMMAND, "tcp://127.0.0.1:1", "--devices", "0"],
        env={**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "200ms"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    last = done.stderr.strip().rpartition("\n")[2]
    assert last.startswith("groundstate dask-worker: no workers for tcp://127.0.0.1:1: ")


def test_missing_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("groundstate.dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["dask-worker", "tcp://127.0.0.1:1"]) == 1
    assert "pip install 'groundstate[dask]'" in capsys.readouterr().err
