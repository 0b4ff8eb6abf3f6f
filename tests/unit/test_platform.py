"""Drivers and devices as the knobs ask for them, on a recorded machine and a fake library."""

import ctypes
import mmap
from pathlib import Path
from typing import Any

import pytest

from groundstate import ze
from groundstate.driver.platform import Platform
from tests.unit.discovery import call, fake, listed, query, start
from tests.unit.test_cpu import MACHINES, Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def outline(built: Platform) -> list[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """What zeDeviceGet and zeDeviceGetSubDevices report, by place in the machine."""
    paths = {handle: device.part.path for handle, device in built.by_handle.items()}
    return [
        (paths[device], [paths[sub] for sub in listed("zeDeviceGetSubDevices", device)])
        for device in listed("zeDeviceGet", built.driver)
    ]


def properties(device: int) -> Any:
    return query("zeDeviceGetProperties", ze.ze_device_properties_t, device)


def root_of(device: int) -> int | None:
    handle = ctypes.c_void_p()
    call("zeDeviceGetRootDevice", device, handle)
    return handle.value


def test_default_is_one_undivided_device(tree: Tree) -> None:
    built = start(tree.root)
    assert outline(built) == [((0,), [])]
    (device,) = built.devices
    assert fake(built).devices[device.handle] == (0, 8, 8 << 30)
    assert fake(built).places == {}


def test_threads_and_memory_are_divided(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x4")
    monkeypatch.setenv("GROUNDSTATE_MEMORY", "16G")
    built = start(tree.root)
    created = fake(built).devices
    first, second = built.devices
    assert created[first.handle] == (0, 4, 8 << 30)
    assert [created[sub.handle] for sub in second.subdevices] == [(second.handle, 1, 2 << 30)] * 4
    places = fake(built).places
    assert places[first.handle] == ([0, 1, 2, 3], [])
    assert [places[sub.handle] for sub in second.subdevices] == [
        ([cpu], []) for cpu in (4, 5, 6, 7)
    ]


@pytest.mark.parametrize(
    ("threads", "topology", "cpus"),
    [
        ("16", "2", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("3", "3", [[0, 1], [2, 3, 4], [5, 6, 7]]),
        ("1", "2", [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]]),
        ("2", "4", [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7], [4, 5, 6, 7]]),
    ],
)
def test_any_thread_count_divides_all_cpus(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, threads: str, topology: str, cpus: list[list[int]]
) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", topology)
    monkeypatch.setenv("GROUNDSTATE_THREADS", threads)
    built = start(tree.root)
    assert [fake(built).places[device.handle][0] for device in built.devices] == cpus


def test_memory_nodes_go_with_the_cpus(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write("sys/devices/system/node/online", "0,2\n")
    tree.write("sys/devices/system/node/node0/cpulist", "0-1,4-5\n")
    tree.write("sys/devices/system/node/node2/cpulist", "2-3,6-7\n")
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "1x2")
    built = start(tree.root)
    (device,) = built.devices
    places = fake(built).places
    assert places[device.handle] == ([0, 1, 4, 5, 2, 3, 6, 7], [])  # all nodes: no preference
    assert [places[sub.handle] for sub in device.subdevices] == [
        ([0, 1, 4, 5], [0]),
        ([2, 3, 6, 7], [2]),
    ]


def test_two_sockets_have_their_own_workers() -> None:
    built = start(MACHINES / "server")
    assert fake(built).workers == [(0, 4, (0, 1, 2, 3)), (4, 4, (4, 5, 6, 7))]
    assert fake(built).spread == (0, 1)


def test_workers_of_one_node_have_no_place(tree: Tree) -> None:
    built = start(tree.root)
    assert fake(built).workers == []
    assert fake(built).spread == ()


@pytest.mark.parametrize("threads", [3, 10])
def test_the_number_of_threads_can_be_chosen(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setenv("GROUNDSTATE_THREADS", str(threads))
    built = start(tree.root)
    (device,) = built.devices
    assert fake(built).devices[device.handle][1] == threads
    assert device.worker_count == threads


def test_a_quota_limits_the_workers(tree: Tree) -> None:
    tree.write("sys/fs/cgroup/cpu.max", "200000 100000")
    (device,) = start(tree.root).devices
    assert device.worker_count == 2
    assert device.queue_count == 4


GUIDE: dict[str | None, list[tuple[tuple[int, ...], list[int]]]] = {
    None: [((0,), [0, 1, 2, 3]), ((1,), [0, 1, 2, 3])],
    "0, 1": [((0,), [0, 1, 2, 3]), ((1,), [0, 1, 2, 3])],
    "0": [((0,), [0, 1, 2, 3])],
    "1": [((1,), [0, 1, 2, 3])],
    "0.0": [((0, 0), [])],
    "1.1, 1.2": [((1,), [1, 2])],
    "0.2, 1.3, 1.0, 0.3": [((0,), [2, 3]), ((1,), [0, 3])],
}


@pytest.mark.parametrize("mask", GUIDE, ids=str)
def test_the_guides_examples_of_affinity_masks(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, mask: str | None
) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x4")
    if mask is not None:
        monkeypatch.setenv("ZE_AFFINITY_MASK", mask)
    built = start(tree.root)
    expected = [(path, [(*path, sub) for sub in subs]) for path, subs in GUIDE[mask]]
    assert outline(built) == expected
    for device in built.devices:
        assert root_of(device.handle) is None
        assert not properties(device.handle).flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE
        for ordinal, sub in enumerate(device.subdevices):
            assert root_of(sub.handle) == device.handle
            assert properties(sub.handle).flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE
            assert properties(sub.handle).subdeviceId == ordinal


def test_a_mask_that_names_no_device_leaves_none(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZE_AFFINITY_MASK", "3")
    assert start(tree.root).devices == []


def test_flat_hierarchy_reports_only_sub_devices(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x2")
    monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", "FLAT")
    built = start(tree.root)
    assert outline(built) == [((0, 0), []), ((0, 1), []), ((1, 0), []), ((1, 1), [])]
    assert len(built.by_handle) == 4
    for device in built.devices:
        assert root_of(device.handle) is None
        assert not properties(device.handle).flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE


def test_combined_hierarchy_keeps_root_devices(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x2")
    monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", "COMBINED")
    built = start(tree.root)
    assert outline(built) == [((0, 0), []), ((0, 1), []), ((1, 0), []), ((1, 1), [])]
    roots = {root_of(device.handle) for device in built.devices}
    assert len(roots) == 2
    for root in roots:
        assert root is not None
        assert root_of(root) is None
        assert all(root_of(sub) == root for sub in listed("zeDeviceGetSubDevices", root))
    for device in built.devices:
        assert properties(device.handle).flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE


@pytest.mark.parametrize("hierarchy", ["FLAT", "COMBINED"])
def test_mask_counts_flat_hierarchy_devices(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, hierarchy: str
) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x4")
    monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", hierarchy)
    monkeypatch.setenv("ZE_AFFINITY_MASK", "6, 1, 4")
    assert outline(start(tree.root)) == [((0, 1), []), ((1, 0), []), ((1, 2), [])]


def test_hierarchy_leaves_undivided_devices_alone(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2")
    for hierarchy in ("COMPOSITE", "FLAT", "COMBINED"):
        monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", hierarchy)
        built = start(tree.root)
        assert outline(built) == [((0,), []), ((1,), [])]
        assert all(root_of(device.handle) is None for device in built.devices)


@pytest.mark.parametrize("order", ["0", "1"])
def test_devices_come_in_pci_address_order(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "4")
    monkeypatch.setenv("ZE_ENABLE_PCI_ID_DEVICE_ORDER", order)
    addresses = []
    for device in start(tree.root).devices:
        pci = query("zeDevicePciGetPropertiesExt", ze.ze_pci_ext_properties_t, device.handle)
        addresses.append((pci.address.domain, pci.address.bus, pci.address.device))
    assert addresses == sorted(set(addresses))
    assert len(addresses) == 4


def test_mask_leaves_device_identities_unchanged(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x2")
    everything = start(tree.root).devices
    identities = [device.uuid for device in everything]
    identities += [sub.uuid for device in everything for sub in device.subdevices]
    assert len(set(identities)) == 6
    monkeypatch.setenv("ZE_AFFINITY_MASK", "1.1")
    (alone,) = start(tree.root).devices
    assert alone.uuid == everything[1].subdevices[1].uuid
    assert alone.pci_address == everything[1].pci_address


def test_identities_differ_between_machines(tree: Tree) -> None:
    tree.write("etc/machine-id", "a")
    first = start(tree.root).devices[0].uuid
    tree.write("etc/machine-id", "b")
    second = start(tree.root).devices[0].uuid
    assert first != second
    assert len(first) == len(second) == 16


def test_type_and_ids_can_be_chosen(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    (device,) = start(tree.root).devices
    plain = properties(device.handle)
    assert (plain.type, plain.vendorId) == (ze.ZE_DEVICE_TYPE_GPU, 0x1022)
    assert plain.deviceId == 0xA00F11
    monkeypatch.setenv("GROUNDSTATE_DEVICE_TYPE", "cpu")
    monkeypatch.setenv("GROUNDSTATE_VENDOR_ID", "0x8086")
    monkeypatch.setenv("GROUNDSTATE_DEVICE_ID", "0xbd5")
    (device,) = start(tree.root).devices
    chosen = properties(device.handle)
    assert (chosen.type, chosen.vendorId) == (ze.ZE_DEVICE_TYPE_CPU, 0x8086)
    assert chosen.deviceId == 0xBD5


def test_version_of_the_hardware_can_be_chosen(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    assert start(tree.root).ip_version == 35 << 22
    monkeypatch.setenv("GROUNDSTATE_IP_VERSION", "0x3000000")
    assert start(tree.root).ip_version == 0x3000000


def test_ip_version_has_no_onemkl_native_kernels(tree: Tree) -> None:
    """It goes by the first of the three numbers; from 9 to 30 it wants to load kernels of a GPU."""
    known, with_native_kernels = {9, 11, 12, 20, 30, 35}, {9, 11, 12, 20, 30}
    assert start(tree.root).ip_version >> 22 in known - with_native_kernels


def test_ip_version_suits_the_loaded_program(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = start(tree.root)
    plugin = tree.root / "xla_oneapi_plugin.so"
    plugin.write_bytes(bytes(mmap.PAGESIZE))
    with plugin.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        assert platform.ip_version == 12 << 22 | 55 << 14
        monkeypatch.setenv("GROUNDSTATE_IP_VERSION", "0x3000000")
        assert platform.ip_version == 0x3000000
        monkeypatch.delenv("GROUNDSTATE_IP_VERSION")
    assert platform.ip_version == 35 << 22


def test_each_device_can_be_a_gpu_and_a_cpu(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x2")
    alone = start(tree.root).devices
    monkeypatch.setenv("GROUNDSTATE_DEVICE_TYPE", "both")
    devices = start(tree.root).devices
    gpu, cpu = ze.ZE_DEVICE_TYPE_GPU, ze.ZE_DEVICE_TYPE_CPU
    assert [properties(each.handle).type for each in devices] == [gpu, gpu, cpu, cpu]
    assert [properties(each.subdevices[1].handle).type for each in devices] == [gpu, gpu, cpu, cpu]
    assert [each.uuid for each in devices[:2]] == [each.uuid for each in alone]
    assert len({each.uuid for each in devices}) == len({each.pci_address for each in devices}) == 4
    for first, again in zip(devices[:2], devices[2:], strict=True):
        assert again.part.workers == first.part.workers
        assert again.part.memory_bytes == first.part.memory_bytes
        assert [each.part.workers for each in again.subdevices] == [
            each.part.workers for each in first.subdevices
        ]
