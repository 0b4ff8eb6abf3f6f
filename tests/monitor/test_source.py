"""Readings of machines: of this one, and of recorded ones that have more or less to tell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from groundstate import core
from groundstate.core.sysman import SysmanDevice
from groundstate.monitor.exporter import registry
from groundstate.monitor.gauges import gauges
from groundstate.monitor.source import Source
from tests.driver.sysman.nvidia import RecordedGpu

MACHINES = Path(__file__).parents[1] / "machines"


def groundstate(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "groundstate", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def read_json(**variables: str) -> dict[str, Any]:
    done = groundstate("top", "--json", "--interval", "0.05", **variables)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_a_reading_has_what_the_objects_say() -> None:
    devices = core.sysman_devices()
    reading = Source(devices)()
    assert [each.uuid for each in reading.devices] == [str(each.uuid) for each in devices]
    for shown, device in zip(reading.devices, devices, strict=True):
        assert len(shown.engines) == len(device.engines)
        assert [each.size_bytes for each in shown.memories] == [
            each.size_bytes for each in device.memory
        ]
        assert {each.utilisation for each in shown.engines} == {None}


def test_names_are_different_so_that_series_are() -> None:
    for device in Source()().devices:
        for parts in (device.engines, device.memories, device.clocks, device.temperatures):
            names = [(each.subdevice, each.name) for each in parts]
            assert len(set(names)) == len(names)


WORKER = """\
import sys
import groundstate as gs
with gs.Context(gs.devices()[0]) as context:
    memory = context.alloc_device(32 << 20)
    commands = gs.CommandList.immediate(context)
    print("ready", flush=True)
    while True:
        commands.fill(memory, b"1")
        commands.synchronize()
"""


def test_work_of_another_process_is_seen() -> None:
    read = Source([core.devices()[0].sysman])
    with subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE) as worker:
        try:
            assert worker.stdout is not None
            assert worker.stdout.readline() == b"ready\n"
            before = read().devices[0]
            time.sleep(0.2)
            after = read().devices[0]
        finally:
            worker.kill()
    found = {each.pid: each for each in after.processes or ()}
    assert os.getpid() not in found
    process = found[worker.pid]
    assert "alloc_device" in process.command
    assert process.memory_bytes is not None
    assert process.memory_bytes >= 32 << 20
    assert process.utilisation is not None
    assert 0 < process.utilisation <= 1
    engines = before.engine("all"), after.engine("all")
    assert engines[0] is not None
    assert engines[1] is not None
    assert engines[1].busy_seconds > engines[0].busy_seconds  # type: ignore[operator]
    # Other processes may use the device, too; the two are not read at quite the same moment.
    assert engines[1].utilisation is not None
    assert engines[1].utilisation >= process.utilisation / 2


def test_a_divided_machine_has_parts() -> None:
    facts = read_json(GROUNDSTATE_TOPOLOGY="2x2")
    assert [each["subdevices"] for each in facts["devices"]] == [2, 2]
    for device in facts["devices"]:
        assert [each["subdevice"] for each in device["memories"]] == [0, 1]
        parts = {each["subdevice"] for each in device["engines"]}
        assert parts == {None, 0, 1}


@pytest.mark.parametrize("name", ["laptop", "server", "vm"])
def test_recorded_machines(name: str) -> None:
    root = MACHINES / name
    (device,) = read_json(GROUNDSTATE_SYSFS_ROOT=str(root))["devices"]
    supplies = sorted(root.glob("sys/class/powercap/*/energy_uj"))
    assert bool(device["powers"]) == bool(supplies)
    if supplies:
        joules = [each["energy_joules"] for each in device["powers"]]
        assert int(supplies[0].read_text()) / 1e6 in joules
    recorded = {int(each.read_text()) / 1000 for each in root.glob("sys/class/hwmon/*/temp*_input")}
    assert {each["celsius"] for each in device["temperatures"]} <= recorded
    assert bool(device["temperatures"]) == (name != "vm")


def test_a_gpu_beside_the_cpu(tmp_path: Path) -> None:
    own = core.sysman_devices()[0]
    gpu = RecordedGpu(tmp_path)
    try:
        read = Source([own, SysmanDevice(own.api, own.driver_handle, gpu.handle)])
        device = read().devices[1]
        exported = generate_latest(registry(read)).decode()
    finally:
        gpu.close()
    shown = {each.name: each.text for each in gauges(device)}
    assert (device.number, device.name) == (1, "NVIDIA H200")
    assert (shown["memory"], shown["heat"]) == ("0.6 / 140 GiB", "33 °C")
    assert {"compute", "copy", "decode"} < set(shown)
    power = device.power()
    assert power is not None
    assert power.limit_watts == 700
    assert 'groundstate_energy_joules_total{device="1",domain="card"' in exported
