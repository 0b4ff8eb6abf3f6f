"""ZE_AFFINITY_MASK: the guide's examples for two devices of four sub-devices, and bad masks."""

import pytest

from groundstate.driver import affinity, topology
from groundstate.driver.topology import Part

Path = tuple[int, ...]


@pytest.fixture
def devices() -> list[Part]:
    return topology.divide(2, 4, workers=16, memory_bytes=16 << 20)


def outline(parts: list[Part]) -> list[tuple[Path, list[Path]]]:
    """What is reported, by place in the machine: each device with its sub-devices."""
    return [(part.path, [each.path for each in part.parts]) for part in parts]


def all_of(device: int) -> list[Path]:
    return [(device, index) for index in range(4)]


def entries(mask: str) -> list[Path]:
    parsed = affinity.parse(mask)
    assert parsed is not None
    return parsed


def masked(devices: list[Part], mask: str) -> list[tuple[Path, list[Path]]]:
    return outline(affinity.select(devices, entries(mask)))


def test_mask_of_both_devices_reports_them_whole(devices: list[Part]) -> None:
    assert masked(devices, "0, 1") == [((0,), all_of(0)), ((1,), all_of(1))]


def test_mask_of_first_device_reports_it_whole(devices: list[Part]) -> None:
    assert masked(devices, "0") == [((0,), all_of(0))]


def test_mask_of_second_device_makes_it_device_0(devices: list[Part]) -> None:
    assert masked(devices, "1") == [((1,), all_of(1))]


def test_one_sub_device_is_reported_as_device_0(devices: list[Part]) -> None:
    assert masked(devices, "0.0") == [((0, 0), [])]


def test_two_sub_devices_of_the_second_device(devices: list[Part]) -> None:
    assert masked(devices, "1.1, 1.2") == [((1,), [(1, 1), (1, 2)])]


def test_masked_sub_devices_keep_driver_order(devices: list[Part]) -> None:
    assert masked(devices, "0.2, 1.3, 1.0, 0.3") == [
        ((0,), [(0, 2), (0, 3)]),
        ((1,), [(1, 0), (1, 3)]),
    ]


def test_partly_visible_device_has_only_that_part(devices: list[Part]) -> None:
    (device,) = affinity.select(devices, entries("1.1, 1.2"))
    assert device.workers == (10, 11, 12, 13)
    assert device.memory_bytes == 4 << 20


@pytest.mark.parametrize("mask", ["0,0.1", "0.1,0", "0, 0, 0", "0 ,"])
def test_a_device_named_whole_is_whole(devices: list[Part], mask: str) -> None:
    assert masked(devices, mask) == [((0,), all_of(0))]


def test_one_sub_device_beside_a_whole_device(devices: list[Part]) -> None:
    assert masked(devices, "1.3,0") == [((0,), all_of(0)), ((1, 3), [])]


def test_an_unset_mask_selects_everything() -> None:
    assert affinity.parse("") is None
    assert affinity.parse(" , ,") is None


@pytest.mark.parametrize("mask", ["7", "0.9", "2.0", "0.0.0", "99999999999999999999"])
def test_nonexistent_ordinals_select_nothing(devices: list[Part], mask: str) -> None:
    assert masked(devices, mask) == []


@pytest.mark.parametrize("mask", ["abc", "-1", "1.", ".1", "0..1", "1-2", "1;2", "²", "0x1", "*"])
def test_unusable_mask_is_ignored_and_reported(
    mask: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert affinity.parse(mask) is None
    assert "ignoring this entry" in capsys.readouterr().err


def test_usable_entries_count_despite_bad_ones(
    devices: list[Part], capsys: pytest.CaptureFixture[str]
) -> None:
    assert masked(devices, "abc, 1, 1.x") == [((1,), all_of(1))]
    assert capsys.readouterr().err.count("ignoring this entry") == 2


def test_undivided_device_is_own_sub_device_0() -> None:
    devices = topology.divide(2, 0, workers=2, memory_bytes=2)
    assert masked(devices, "1.0") == [((1,), [])]
    assert masked(devices, "1.1") == []


def test_flat_mask_counts_all_sub_devices(devices: list[Part]) -> None:
    kept = affinity.select_leaves(devices, entries("1, 5, 4"))
    assert outline(kept) == [((0,), [(0, 1)]), ((1,), [(1, 0), (1, 1)])]


def test_flat_mask_works_without_sub_devices() -> None:
    devices = topology.divide(3, 0, workers=3, memory_bytes=3)
    kept = affinity.select_leaves(devices, entries("2,0"))
    assert outline(kept) == [((0,), []), ((2,), [])]


def test_flat_mask_beyond_last_selects_nothing(devices: list[Part]) -> None:
    assert affinity.select_leaves(devices, entries("8")) == []
