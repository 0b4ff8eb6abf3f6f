"""Drivers and devices: one object for each handle, ours and the system's side by side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import groundstate as gs
from groundstate import _raw, standin
from groundstate.core import driver as driver_module
from groundstate.core import libraries

TREE = """
import json, groundstate as gs
def shape(device):
    assert all(part.root_device is device and part.is_sub_device for part in device.sub_devices)
    return [shape(part) for part in device.sub_devices]
print(json.dumps([shape(device) for device in gs.devices()]))
"""


@pytest.fixture
def fresh_drivers() -> Iterator[None]:
    """Drivers are looked for anew, and again after the test."""
    caches = (driver_module._own_drivers, driver_module._system_drivers, libraries.system)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def test_our_driver_comes_first() -> None:
    driver = gs.drivers()[0]
    assert driver.is_own
    assert Path(driver.library_path).samefile(standin.library())
    assert driver.api_version >= (1, 17)
    assert "ZE_extension_driver_ddi_handles" in driver.extensions
    assert gs.IpcFlag.MEMORY in driver.ipc
    assert driver.version > 0


def test_one_object_per_driver_and_device() -> None:
    assert gs.drivers()[0] is gs.drivers()[0]
    assert gs.devices()[0] is gs.drivers()[0].devices[0]
    assert gs.devices()[0].driver is gs.drivers()[0]


def test_a_root_device_has_no_root() -> None:
    device = gs.devices()[0]
    assert device.root_device is None
    assert not device.is_sub_device


def test_sub_devices_know_their_root() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TREE],
        env={**os.environ, "GROUNDSTATE_TOPOLOGY": "2x3"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[[], [], []], [[], [], []]]


SHOWN = """
import groundstate as gs
devices = [each for device in gs.devices() for each in (device, *device.sub_devices)]
context = gs.Context(gs.drivers()[0])
for device in devices:
    print(repr(device).partition(" ")[2].partition(" ")[2])
print(len({repr(gs.CommandQueue(context, each)).partition("group")[2] for each in devices}))
print(len({repr(gs.CommandList(context, each)).partition("open")[2] for each in devices}))
print(repr(context).partition("of ")[2])
"""


def test_devices_are_told_apart_by_what_they_show() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOWN],
        env={**os.environ, "GROUNDSTATE_TOPOLOGY": "2x2"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    *devices, queues, lists, context = done.stdout.splitlines()
    assert [each.split()[0] for each in devices] == ["0", "0.0", "0.1", "1", "1.0", "1.1"]
    uuids = {each.rpartition("uuid ")[2] for each in devices}
    assert len(uuids) == 6
    assert [", sub-device," in each for each in devices] == [False, True, True] * 2
    assert all("(GPU" in each for each in devices)
    assert (queues, lists, context) == ("6", "6", "devices 0, 1>")


def test_drivers_of_the_system_follow_ours(
    monkeypatch: pytest.MonkeyPatch, fresh_drivers: None
) -> None:
    """Our library plays the system's loader here, behind a driver that looks like another one."""
    monkeypatch.setattr(libraries, "system", lambda: _raw.Library(str(standin.library())))
    assert len(gs.drivers()) == 1, "our own driver behind the loader is not listed twice"
    driver_module._system_drivers.cache_clear()
    monkeypatch.setattr(driver_module, "_own_drivers", lambda: ())
    (foreign,) = gs.drivers()
    assert not foreign.is_own
    assert foreign.api.library is not libraries.own()
    with gs.Context(foreign) as context:
        memory = context.alloc_host(8)
        assert memory.api is foreign.api
        memory.close()
    assert gs.drivers(include_system=False) == ()


def test_loader_or_stand_in_is_no_second_driver(fresh_drivers: None) -> None:
    code = "import groundstate as gs; print(len(gs.drivers()))"
    for real_loader in (False, True):
        changes = standin.environment(os.environ, real_loader=real_loader)
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **changes},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout.strip() == "1", done.stderr


def test_machine_without_loader_has_own_driver(
    monkeypatch: pytest.MonkeyPatch, fresh_drivers: None
) -> None:
    monkeypatch.setattr(libraries, "SYSTEM_LOADER", "libze_loader_that_is_nowhere.so.1")
    assert libraries.system() is None
    assert [driver.is_own for driver in gs.drivers()] == [True]


def test_a_device_reads_its_clock_and_the_hosts(gpu: gs.Device) -> None:
    host, device = gpu.global_timestamps()
    later_host, later_device = gpu.global_timestamps()
    assert later_host >= host
    assert later_device >= device


def test_a_device_can_use_its_own_memory(gpu: gs.Device) -> None:
    assert gpu.can_access(gpu)
    gpu.check_status()
    assert gs.PeerFlag.ACCESS in gpu.peer_properties(gpu).flags


def test_the_pci_address_has_the_usual_form(gpu: gs.Device) -> None:
    address = gpu.pci_address
    assert address is None or len(address.split(":")) == 3
