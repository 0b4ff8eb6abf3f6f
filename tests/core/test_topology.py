"""Several devices, their parts, peers and places in the fabric, through the objects."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import groundstate as gs


def run(program: str) -> None:
    """Runs a program that sees two devices of two sub-devices, with 512 MiB each."""
    settings = {"GROUNDSTATE_TOPOLOGY": "2x2", "GROUNDSTATE_MEMORY": "1G"}
    prepare = (
        "import pytest, groundstate as gs\n"
        "driver = gs.drivers()[0]\n"
        "first, second = driver.devices\n"
        "everywhere = [each for device in (first, second) for each in (device, "
        "*device.sub_devices)]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", prepare + textwrap.dedent(program) + "\nprint('done')"],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "done\n", done.stderr


def test_peers_are_all_who_are_not_related() -> None:
    run("""
        assert first.peers == (second, *second.sub_devices)
        sub, sibling = first.sub_devices
        assert sub.peers == (sibling, second, *second.sub_devices)
        for device in everywhere:
            for peer in (*device.peers, device):
                assert device.can_access(peer)
                flags = device.peer_properties(peer).flags
                assert flags == gs.PeerFlag.ACCESS | gs.PeerFlag.ATOMICS
        speed = sub.peer_speed(second)
        assert speed == sub.peer_speed(second)
        assert speed.bandwidth_unit == gs.BandwidthUnit.BYTES_PER_NANOSEC
        assert speed.latency_unit == gs.LatencyUnit.NANOSEC
        assert speed.logical_bandwidth >= 1 and speed.physical_latency >= 1
    """)


def test_the_fabric_is_a_graph_of_objects() -> None:
    run("""
        assert [vertex.device for vertex in driver.fabric] == [first, second]
        assert [vertex.device for vertex in driver.fabric[1].sub_vertices] == [*second.sub_devices]
        for device in everywhere:
            vertex = device.fabric_vertex
            assert vertex.device is device
            assert vertex.properties.uuid == device.uuid
            assert str(vertex.properties.address) == device.pci_address
            assert vertex.properties.remote is False
            kind = "SUBDEVICE" if device.is_sub_device else "DEVICE"
            assert vertex.properties.type.name == kind
            assert vertex.edges_to(vertex) == ()
        assert first.fabric_vertex.edges_to(first.sub_devices[0].fabric_vertex) == ()
        (edge,) = first.fabric_vertex.edges_to(second.fabric_vertex)
        assert set(edge.vertices) == set(driver.fabric)
        assert edge.properties.model == "system memory"
        assert edge.properties.duplexity == gs.FabricDuplexity.HALF_DUPLEX
        assert "system memory" in repr(edge) and first.name in repr(driver.fabric[0])
    """)


def test_what_is_resident_counts() -> None:
    run("""
        M = 1 << 20
        sub = first.sub_devices[0]
        with gs.Context(driver) as context:
            shared = context.alloc_shared(300 * M, device=first)
            context.make_resident(shared[: 100 * M], sub)
            assert sub.usable_memory_bytes() == 156 * M
            with pytest.raises(gs.errors.OutOfDeviceMemory, match="GROUNDSTATE_MEMORY"):
                context.make_resident(shared, sub)
            context.make_resident(shared, second)
            assert second.usable_memory_bytes() == 212 * M
            context.evict(shared, sub)
            assert sub.usable_memory_bytes() == 256 * M
            image = gs.Image(context, (64, 64), "rgba8unorm", device=first)
            context.make_resident(image, second)
            context.evict(image, second)
            with pytest.raises(ValueError, match="is an address"):
                context.make_resident(shared.address, second)
            image.close()
        shared.close()
        assert [each.usable_memory_bytes() // M for each in everywhere] == [512, 256, 256] * 2
    """)


def test_one_device_has_no_peers_and_no_edges(gpu: gs.Device) -> None:
    assert gpu.peers == ()
    assert gpu.sub_devices == ()
    assert gpu.driver.fabric == (gpu.fabric_vertex,)
    assert hash(gpu.driver.fabric[0]) == hash(gpu.fabric_vertex)
    assert gpu.peer_speed(gpu).logical_bandwidth >= 1
