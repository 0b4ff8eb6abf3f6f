"""GPUs among the devices of a platform: their order, their names and their addresses."""

from __future__ import annotations

import ctypes

import pytest

from groundstate import ze
from groundstate.driver import platform
from groundstate.driver.devices import nvidia
from groundstate.driver.devices.cpu import Machine
from groundstate.driver.devices.nvidia.gpu import Attribute, Gpu
from tests.unit.discovery import FakeNative, call, listed, query, start

ANSWERS = {
    Attribute.MAX_THREADS_PER_BLOCK: 1024,
    Attribute.MULTIPROCESSOR_COUNT: 132,
    Attribute.WARP_SIZE: 32,
    Attribute.PCI_BUS_ID: 6,
    Attribute.COMPUTE_CAPABILITY_MAJOR: 9,
    Attribute.GLOBAL_MEMORY_BUS_WIDTH: 6144,
    Attribute.MEMORY_CLOCK_RATE: 3_201_000,
}


class KnownGpu(Gpu):
    """A GPU that answers without a CUDA driver."""

    def ask(self, attribute: Attribute) -> int:
        return ANSWERS.get(attribute, 0)


GPUS = tuple(KnownGpu(n, f"GPU {n}", bytes([n] * 16), 1 << 30) for n in range(2))


def build(monkeypatch: pytest.MonkeyPatch, **knobs: str) -> platform.Platform:
    for name, value in knobs.items():
        monkeypatch.setenv(name, value)
    start()  # imports the handlers
    built = platform.Platform(FakeNative(), Machine("/"), GPUS)
    platform.install(built)
    return built


def names(built: platform.Platform) -> list[str]:
    return ["CPU" if device.gpu is None else device.gpu.name for device in built.devices]


@pytest.mark.parametrize(
    ("knob", "expected"),
    [
        ("1", ["CPU", "GPU 0", "GPU 1"]),
        ("first", ["GPU 0", "GPU 1", "CPU"]),
        ("only", ["GPU 0", "GPU 1"]),
    ],
)
def test_knob_orders_gpus(monkeypatch: pytest.MonkeyPatch, knob: str, expected: list[str]) -> None:
    assert names(build(monkeypatch, GROUNDSTATE_NVIDIA=knob)) == expected


def test_mask_selects_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    built = build(monkeypatch, GROUNDSTATE_NVIDIA="1", ZE_AFFINITY_MASK="2")
    assert names(built) == ["GPU 1"]
    assert listed("zeDeviceGet", built.driver) == [built.devices[0].handle]


def test_pci_order_puts_real_addresses_first(monkeypatch: pytest.MonkeyPatch) -> None:
    built = build(monkeypatch, GROUNDSTATE_NVIDIA="1", ZE_ENABLE_PCI_ID_DEVICE_ORDER="1")
    assert names(built) == ["GPU 0", "GPU 1", "CPU"]


def test_gpu_is_no_whole_device_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    built = build(monkeypatch, GROUNDSTATE_NVIDIA="1")
    assert [device.gpu for device in built.whole_devices()] == [None]
    assert [device.gpu for device in built.gpus()] == list(GPUS)


def test_properties_come_from_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = build(monkeypatch, GROUNDSTATE_NVIDIA="only").devices[0].handle
    found = query("zeDeviceGetProperties", ze.ze_device_properties_t, gpu)
    assert found.vendorId == 0x10DE
    assert bytes(found.uuid.id) == GPUS[0].uuid
    assert found.numSubslicesPerSlice == 132
    memory = ze.ze_device_memory_ext_properties_t()
    count = ctypes.c_uint32(1)
    whole = ze.ze_device_memory_properties_t(pNext=ctypes.addressof(memory))
    call("zeDeviceGetMemoryProperties", gpu, count, whole)
    assert memory.type == ze.ZE_DEVICE_MEMORY_EXT_TYPE_HBM
    assert memory.readBandwidth == round(2 * 3.201 * 6144 / 8)


def test_other_machines_gpus_are_not_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("GROUNDSTATE_NVIDIA", "1")
    root = tmp_path_factory.mktemp("machine")
    sign = root / nvidia.SIGNS[0]
    sign.parent.mkdir(parents=True)
    sign.touch()
    assert nvidia.has_driver(str(root))
    assert nvidia.find(str(root)) == ()
