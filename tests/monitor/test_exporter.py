"""The exporter, read by Prometheus' own tools and server."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from groundstate.monitor.exporter import FAMILIES, PROCESS_FAMILIES, registry
from groundstate.monitor.readings import Process, Reading
from tests.monitor import samples

DOCS = Path(__file__).parents[2] / "docs" / "files"


def program(name: str) -> str:
    """The path of one of the programs in Debian's package `prometheus`."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def exported(reading: Reading, *, processes: bool = False) -> str:
    return generate_latest(registry(lambda: reading, processes=processes)).decode()


def values(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The samples by their names."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def test_every_family_is_exported_in_base_units() -> None:
    found = values(exported(with_dask(samples.server(1, workers=2)), processes=True))
    for family in FAMILIES + PROCESS_FAMILIES:
        name = family.name + ("_total" if family.counter else "")
        assert found[name], name
    device = samples.server(1, workers=2).devices[0]
    (labels, hertz), *_ = found["groundstate_clock_hertz"]
    assert labels == {"device": "0", "uuid": device.uuid, "subdevice": "", "domain": "cpu"}
    assert hertz == pytest.approx((device.clocks[0].actual_mhz or 0) * 1e6)
    busy = {
        labels["engine"]: value for labels, value in found["groundstate_engine_busy_seconds_total"]
    }
    assert busy["compute"] == 121.5
    assert busy["compute-1"] == 10.0
    assert ({"device": "0", "uuid": device.uuid}, 6.0) in found["groundstate_processes"]


def with_dask(reading: Reading) -> Reading:
    """A machine with a worker of ours and a plain one, as they call themselves."""
    workers = (
        Process(7001, "dask worker box-0.1 [tcp://10.0.0.2:4001]", 1 << 20, 0, 1.5, 0.1),
        Process(7002, "dask worker [tls://[::1]:4002]", None, 0, 2.5, 0.1),
    )
    devices = (
        replace(each, processes=(each.processes or ()) + workers) for each in reading.devices
    )
    return replace(reading, devices=tuple(devices))


def test_workers_of_dask_are_labelled() -> None:
    reading = with_dask(samples.server())
    found = values(exported(reading))
    device = {"device": "0", "uuid": reading.devices[0].uuid}
    ours = {"worker": "box-0.1", "address": "tcp://10.0.0.2:4001"}
    plain = {"worker": "tls://[::1]:4002", "address": "tls://[::1]:4002"}
    assert ({**device, **ours}, 1 << 20) in found["groundstate_worker_memory_bytes"]
    assert ({**device, **plain}, 2.5) in found["groundstate_worker_busy_seconds_total"]
    assert all(
        labels["worker"] == "box-0.1" for labels, _ in found["groundstate_worker_memory_bytes"]
    )
    assert "train.py" not in exported(reading)


def test_what_is_unknown_is_left_out() -> None:
    found = values(exported(samples.bare()))
    assert not {"groundstate_clock_hertz", "groundstate_temperature_celsius"} & set(found)
    assert "groundstate_energy_joules_total" not in found
    assert found["groundstate_memory_used_bytes"][0][1] == 0


def test_processes_are_exported_only_when_asked() -> None:
    assert "train.py" not in exported(samples.server())
    assert 'command="/usr/bin/python3 train.py --batch 64"' in exported(
        samples.server(), processes=True
    )


def test_a_hostile_name_stays_a_label() -> None:
    hostile = 'a"} 1\n# TYPE evil gauge\nevil{x="\\ \x1b[2J\u202e\ud800'
    reading = samples.server()
    process = Process(7, hostile, memory_bytes=1, busy_seconds=1.0)
    device = replace(reading.devices[0], name=hostile, processes=(process,))
    text = exported(replace(reading, devices=(device,)), processes=True)
    assert text.replace("\n", "").isprintable()
    found = values(text)
    assert "evil" not in found
    (labels, _), *_ = found["groundstate_process_memory_bytes"]
    assert labels["command"].startswith('a"} 1')
    assert text.count("\n") == exported(
        replace(reading, devices=(replace(device, name="plain", processes=(process,)),)),
        processes=True,
    ).count("\n")


def test_each_scrape_takes_one_reading() -> None:
    taken = []

    def read() -> Reading:
        taken.append(1)
        return samples.server()

    found = registry(read)
    assert taken == []
    generate_latest(found)
    generate_latest(found)
    assert len(taken) == 2


@pytest.mark.parametrize(
    "reading", [samples.server(1), samples.bare(), samples.divided(), samples.many(3)]
)
def test_promtool_finds_nothing_to_say(reading: Reading) -> None:
    text = exported(reading, processes=True)
    command = [program("promtool"), "check", "metrics"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    series = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(set(series)) == len(series)


def test_the_scrape_configuration_is_one() -> None:
    command = [program("promtool"), "check", "config", str(DOCS / "prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@contextmanager
def exporter(*options: str) -> Iterator[str]:
    """The command, serving at a free port; its address."""
    command = [sys.executable, "-m", "groundstate", "metrics", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[str]:
    """A server that scrapes the target; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    text = (DOCS / "prometheus.yml").read_text()
    config = folder / "prometheus.yml"
    config.write_text(text.replace("15s", "200ms").replace("127.0.0.1:9464", target))
    command = [
        program("prometheus"),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=error",
    ]
    with subprocess.Popen(command) as process:
        try:
            yield f"http://{address}"
        finally:
            process.terminate()


def ask(server: str, query: str) -> list[dict[str, Any]]:
    """What the server answers to a query; it is asked again until there is something."""
    url = f"{server}/api/v1/query?query={urllib.parse.quote(query)}"
    for _ in range(200):
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        except urllib.error.URLError:
            found = []
        if found:
            return found
        time.sleep(0.1)
    pytest.fail(f"Prometheus has no answer to {query}")


def test_prometheus_scrapes_and_dashboard_queries(tmp_path: Path) -> None:
    program("prometheus")
    with exporter("--processes") as url:
        target = urllib.parse.urlsplit(url).netloc
        with prometheus(tmp_path, target) as server:
            assert ask(server, 'up{job="groundstate"} == 1')
            (size,) = ask(server, 'sum by (device) (groundstate_memory_size_bytes{device="0"})')
            assert float(size["value"][1]) > 0
            (busy,) = ask(server, 'rate(groundstate_engine_busy_seconds_total{engine="all"}[1m])')
            assert 0 <= float(busy["value"][1]) <= 1
            for query in dashboard_queries():
                url = f"{server}/api/v1/query?query={urllib.parse.quote(query)}"
                with urllib.request.urlopen(url, timeout=10) as answer:
                    assert json.load(answer)["status"] == "success", query


def dashboard_queries() -> list[str]:
    """The queries of the dashboard, with its variables filled in."""
    board = json.loads((DOCS / "grafana-dashboard.json").read_text())
    found = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    return [
        each.replace("$__rate_interval", "1m").replace("$device", ".*").replace("$instance", ".*")
        for each in found
    ]


def test_dashboard_asks_for_existing_families() -> None:
    names = {each.name + ("_total" if each.counter else "") for each in FAMILIES + PROCESS_FAMILIES}
    names.add("groundstate_device_info")
    queries = dashboard_queries()
    assert len(queries) >= 8
    for query in queries:
        words = "".join(each if each.isalnum() or each == "_" else " " for each in query).split()
        used = {word for word in words if word.startswith("groundstate_")}
        assert used
        assert used <= names, query
