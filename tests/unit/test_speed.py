"""Speeds and fabric edges: what is made of the numbers that the native half measures."""

import ctypes
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from groundstate import ze
from groundstate.driver import speed
from groundstate.driver.platform import Platform
from tests.unit.discovery import call, fake, listed, query, start, structs
from tests.unit.test_cpu import Tree, write_cache


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    """Two devices of two sub-devices each, on a machine of eight CPUs."""
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "2x2")
    return start(Tree(tmp_path).root)


def peer_speed(device: int, peer: int) -> Any:
    chained = ze.ze_device_p2p_bandwidth_exp_properties_t()
    name = "zeDeviceGetP2PProperties"
    query(name, ze.ze_device_p2p_properties_t, device, peer, chained=[chained])
    return chained


def test_nothing_is_measured_before_somebody_asks(built: Platform) -> None:
    first, second = (device.handle for device in built.devices)
    query("zeDeviceGetP2PProperties", ze.ze_device_p2p_properties_t, first, second)
    structs("zeDeviceGetMemoryProperties", ze.ze_device_memory_properties_t, first)
    assert fake(built).measured == []


def test_speeds_are_measured_once_and_rounded(built: Platform) -> None:
    sub, other = (device.subdevices[0].handle for device in built.devices)
    for _ in range(2):
        found = peer_speed(sub, other)
        assert found.logicalBandwidth == found.physicalBandwidth == 10
        assert found.bandwidthUnit == ze.ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC
        assert found.logicalLatency == found.physicalLatency == 93
        assert found.latencyUnit == ze.ZE_LATENCY_UNIT_NANOSEC
    assert [measured[:2] for measured in fake(built).measured] == [(sub, other)]


def test_memory_and_queues_tell_the_same_speeds(built: Platform) -> None:
    device = built.devices[0].subdevices[0].handle
    count = ctypes.c_uint32(1)
    memory, module = ze.ze_device_memory_properties_t(), ze.ze_device_memory_ext_properties_t()
    memory.pNext = ctypes.addressof(module)
    call("zeDeviceGetMemoryProperties", device, count, memory)
    assert (module.readBandwidth, module.writeBandwidth) == (11, 1)  # not 0, which means unknown
    assert module.bandwidthUnit == ze.ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC
    group, copies = (
        ze.ze_command_queue_group_properties_t(),
        ze.ze_copy_bandwidth_exp_properties_t(),
    )
    group.pNext = ctypes.addressof(copies)
    call("zeDeviceGetCommandQueueGroupProperties", device, count, group)
    assert copies.copyBandwidth == 10
    assert copies.copyBandwidthUnit == ze.ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC
    assert len(fake(built).measured) == 1


def test_a_device_is_no_slower_than_its_parts(built: Platform) -> None:
    first, second = built.devices
    fake(built).speeds[first.handle] = (5_000_000_000, 5, 5, 200)
    found = peer_speed(first.handle, second.handle)
    assert (found.logicalBandwidth, found.logicalLatency) == (10, 93)


def test_what_cannot_be_measured_is_unknown(built: Platform) -> None:
    sub, other = (device.subdevices[0].handle for device in built.devices)
    fake(built).speeds[sub] = (0, 0, 0, 0)
    found = peer_speed(sub, other)
    assert (found.logicalBandwidth, found.physicalLatency) == (0, 0)
    assert found.bandwidthUnit == ze.ZE_BANDWIDTH_UNIT_UNKNOWN
    assert found.latencyUnit == ze.ZE_LATENCY_UNIT_UNKNOWN


@pytest.mark.parametrize(("cache", "megabytes"), [("8M", 32), ("48000K", 93), ("1G", 512)])
def test_blocks_are_larger_than_the_caches(tmp_path: Path, cache: str, megabytes: int) -> None:
    tree = Tree(tmp_path)
    line: dict[str, object] = {"coherency_line_size": 64, "shared_cpu_list": "0"}
    write_cache(tree, 0, level=3, type="Unified", size=cache, **line)
    (device,) = start(tree.root).devices
    assert speed.block_bytes(device) == megabytes << 20


def test_unrelated_devices_have_one_fabric_edge(built: Platform) -> None:
    everywhere = list(built.by_handle.values())
    uuids = set()
    for one, other in combinations(everywhere, 2):
        edges = listed("zeFabricEdgeGetExp", one.vertex, other.vertex)
        assert edges == listed("zeFabricEdgeGetExp", other.vertex, one.vertex)
        if other.parent is one:
            assert edges == []
            continue
        (edge,) = edges
        ends = ctypes.c_void_p(), ctypes.c_void_p()
        call("zeFabricEdgeGetVerticesExp", edge, *ends)
        assert {end.value for end in ends} == {one.vertex, other.vertex}
        properties = query("zeFabricEdgeGetPropertiesExp", ze.ze_fabric_edge_exp_properties_t, edge)
        assert properties.model == b"system memory"
        assert (properties.bandwidth, properties.latency) == (10, 93)
        assert properties.duplexity == ze.ZE_FABRIC_EDGE_EXP_DUPLEXITY_HALF_DUPLEX
        uuids.add(bytes(properties.uuid.id))
    assert len(uuids) == 15 - 4
    for device in everywhere:
        assert listed("zeFabricEdgeGetExp", device.vertex, device.vertex) == []
