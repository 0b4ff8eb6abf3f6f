"""The division of a machine into devices and sub-devices."""

import pytest

from groundstate.driver import topology


@pytest.mark.parametrize(
    ("text", "counts"),
    [("1", (1, 0)), ("2", (2, 0)), ("2x4", (2, 4)), (" 2 X 4 ", (2, 4)), ("3x1", (3, 1))],
)
def test_parse(text: str, counts: tuple[int, int]) -> None:
    assert topology.parse(text) == counts


@pytest.mark.parametrize(
    "text", ["", "x", "2x", "x4", "0", "0x4", "-1", "2x-1", "2x4x2", "65", "a"]
)
def test_parse_refuses_what_is_no_topology(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        topology.parse(text)


def test_a_bad_topology_is_one_device(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GROUNDSTATE_TOPOLOGY", "lots")
    assert topology.configured() == (1, 0)
    assert "such as 2x4" in capsys.readouterr().err


def test_one_device_has_everything() -> None:
    (device,) = topology.divide(1, 0, workers=6, memory_bytes=1000)
    assert device.path == (0,)
    assert device.workers == (0, 1, 2, 3, 4, 5)
    assert device.memory_bytes == 1000
    assert device.parts == ()
    assert device.leaves() == [device]


def test_topology_2x4_divides_workers_and_memory() -> None:
    first, second = topology.divide(2, 4, workers=16, memory_bytes=8 << 30)
    assert [part.path for part in second.parts] == [(1, 0), (1, 1), (1, 2), (1, 3)]
    assert [part.workers for part in first.parts] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert [part.workers for part in second.parts] == [(8, 9), (10, 11), (12, 13), (14, 15)]
    assert first.workers == tuple(range(8))
    assert {part.memory_bytes for part in first.parts} == {1 << 30}
    assert first.memory_bytes == second.memory_bytes == 4 << 30


def test_uneven_workers_are_all_used() -> None:
    devices = topology.divide(3, 0, workers=8, memory_bytes=300)
    assert [device.workers for device in devices] == [(0, 1), (2, 3, 4), (5, 6, 7)]


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_leaves_share_too_few_workers(workers: int) -> None:
    devices = topology.divide(2, 4, workers=workers, memory_bytes=800)
    leaves = [leaf for device in devices for leaf in device.leaves()]
    assert len(leaves) == 8
    assert all(len(leaf.workers) == 1 for leaf in leaves)
    assert {worker for leaf in leaves for worker in leaf.workers} == set(range(workers))


def test_a_device_counts_a_shared_worker_once() -> None:
    (device,) = topology.divide(1, 4, workers=2, memory_bytes=400)
    assert [part.workers for part in device.parts] == [(0,), (0,), (1,), (1,)]
    assert device.workers == (0, 1)


@pytest.mark.parametrize("subdevices", [1, 2, 5])
@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("workers", [1, 4, 30])
def test_a_device_has_exactly_what_its_parts_have(
    devices: int, subdevices: int, workers: int
) -> None:
    for device in topology.divide(devices, subdevices, workers, memory_bytes=1 << 20):
        assert len(device.parts) == subdevices
        assert device.memory_bytes == sum(part.memory_bytes for part in device.parts)
        assert set(device.workers) == {w for part in device.parts for w in part.workers}


def test_keeping_some_sub_devices() -> None:
    (device,) = topology.divide(1, 4, workers=8, memory_bytes=400)
    kept = device.keeping([device.parts[1], device.parts[3]])
    assert kept.path == device.path
    assert kept.workers == (2, 3, 6, 7)
    assert kept.memory_bytes == 200
    assert [part.path for part in kept.parts] == [(0, 1), (0, 3)]
