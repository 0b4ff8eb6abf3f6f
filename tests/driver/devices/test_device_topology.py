"""Devices and sub-devices as the variables of the guide make them, each in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

OUTLINE = """
import ctypes, json
from groundstate import ze

def handles(function, subject):
    count = ctypes.c_uint32()
    assert function(subject, ctypes.byref(count), None) == 0
    array = (ctypes.c_void_p * max(1, count.value))()
    assert function(subject, ctypes.byref(count), array) == 0
    return array[: count.value]

def describe(device):
    properties = ze.ze_device_properties_t()
    assert ze.zeDeviceGetProperties(device, ctypes.byref(properties)) == 0
    root = ctypes.c_void_p()
    assert ze.zeDeviceGetRootDevice(device, ctypes.byref(root)) == 0
    return {
        "uuid": bytes(properties.uuid.id).hex(),
        "root": root.value,
        "handle": device,
        "number": properties.subdeviceId,
        "is_sub": bool(properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE),
        "type": properties.type,
        "memory": properties.maxMemAllocSize,
        "workers": properties.numEUsPerSubslice,
        "subs": [describe(sub) for sub in handles(ze.zeDeviceGetSubDevices, device)],
    }

assert ze.zeInit(0) == 0
(driver,) = handles(lambda _, count, array: ze.zeDriverGet(count, array), None)
print(json.dumps([describe(device) for device in handles(ze.zeDeviceGet, driver)]))
"""


def outline(**variables: str) -> Any:
    """What a process with these variables sees."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("ZE_")}
    done = subprocess.run(
        [sys.executable, "-c", OUTLINE],
        env=kept | {"GROUNDSTATE_TOPOLOGY": "2x4", "GROUNDSTATE_MEMORY": "8G"} | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def everything(library: Path) -> Any:
    """Two devices of four sub-devices, without a mask."""
    return outline()


def test_two_devices_of_four_sub_devices(everything: Any) -> None:
    assert [len(device["subs"]) for device in everything] == [4, 4]
    for device in everything:
        assert device["root"] is None
        assert not device["is_sub"]
        assert device["memory"] == 4 << 30
        for number, sub in enumerate(device["subs"]):
            assert sub["root"] == device["handle"]
            assert sub["is_sub"]
            assert sub["number"] == number
            assert sub["memory"] == 1 << 30
            assert sub["workers"] >= 1
            assert sub["subs"] == []


MASKS = {
    "0, 1": [(0, [0, 1, 2, 3]), (1, [0, 1, 2, 3])],
    "0": [(0, [0, 1, 2, 3])],
    "1": [(1, [0, 1, 2, 3])],
    "1.1, 1.2": [(1, [1, 2])],
    "0.2, 1.3, 1.0, 0.3": [(0, [2, 3]), (1, [0, 3])],
}


@pytest.mark.parametrize("mask", MASKS)
def test_affinity_masks_of_the_guide(everything: Any, mask: str) -> None:
    seen = outline(ZE_AFFINITY_MASK=mask)
    expected = [
        (everything[device]["uuid"], [everything[device]["subs"][sub]["uuid"] for sub in subs])
        for device, subs in MASKS[mask]
    ]
    assert [(d["uuid"], [sub["uuid"] for sub in d["subs"]]) for d in seen] == expected
    for device in seen:
        assert [sub["number"] for sub in device["subs"]] == list(range(len(device["subs"])))
        assert device["memory"] == sum(sub["memory"] for sub in device["subs"])


def test_one_sub_device_is_a_device(everything: Any) -> None:
    (device,) = outline(ZE_AFFINITY_MASK="0.0")
    assert device["uuid"] == everything[0]["subs"][0]["uuid"]
    assert device["root"] is None
    assert device["subs"] == []
    assert not device["is_sub"]
    assert device["memory"] == 1 << 30


def test_a_mask_of_nonsense_is_ignored(everything: Any) -> None:
    assert len(outline(ZE_AFFINITY_MASK="none, of, this")) == 2
    assert outline(ZE_AFFINITY_MASK="12") == []


def test_flat_hierarchy(everything: Any) -> None:
    seen = outline(ZE_FLAT_DEVICE_HIERARCHY="FLAT")
    assert [d["uuid"] for d in seen] == [s["uuid"] for d in everything for s in d["subs"]]
    assert all(device["root"] is None and not device["subs"] for device in seen)
    assert not any(device["is_sub"] for device in seen)


def test_combined_hierarchy(everything: Any) -> None:
    seen = outline(ZE_FLAT_DEVICE_HIERARCHY="COMBINED")
    assert [d["uuid"] for d in seen] == [s["uuid"] for d in everything for s in d["subs"]]
    assert len({device["root"] for device in seen}) == 2
    assert all(device["root"] is not None and device["is_sub"] for device in seen)


def test_a_mask_counts_flat_devices(everything: Any) -> None:
    seen = outline(ZE_FLAT_DEVICE_HIERARCHY="FLAT", ZE_AFFINITY_MASK="5,2")
    expected = [everything[0]["subs"][2]["uuid"], everything[1]["subs"][1]["uuid"]]
    assert [device["uuid"] for device in seen] == expected


def test_pci_order_equals_device_order(everything: Any) -> None:
    seen = outline(ZE_ENABLE_PCI_ID_DEVICE_ORDER="1")
    assert [device["uuid"] for device in seen] == [device["uuid"] for device in everything]


def test_type_threads_and_memory_can_be_chosen(library: Path) -> None:
    (device,) = outline(
        GROUNDSTATE_TOPOLOGY="1",
        GROUNDSTATE_DEVICE_TYPE="cpu",
        GROUNDSTATE_THREADS="5",
        GROUNDSTATE_MEMORY="512M",
    )
    assert device["type"] == 2
    assert device["workers"] == 5
    assert device["memory"] == 512 << 20
