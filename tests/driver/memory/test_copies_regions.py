"""Copies of 2D and 3D regions, against NumPy's slices."""

import ctypes
from dataclasses import dataclass

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import Bench, address, finish


@dataclass(frozen=True)
class Layout:
    """How a block of bytes is seen as slices of rows."""

    width: int
    height: int
    depth: int

    @property
    def size(self) -> int:
        return self.width * self.height * self.depth

    @property
    def slice(self) -> int:
        return self.width * self.height


def copy_region(
    commands: int,
    target: tuple[int, "ze.ze_copy_region_t", Layout],
    source: tuple[int, "ze.ze_copy_region_t", Layout],
) -> int:
    to, to_region, to_layout = target
    from_, from_region, from_layout = source
    return int(
        ze.zeCommandListAppendMemoryCopyRegion(
            commands,
            to,
            ctypes.byref(to_region),
            to_layout.width,
            to_layout.slice,
            from_,
            ctypes.byref(from_region),
            from_layout.width,
            from_layout.slice,
            None,
            0,
            None,
        )
    )


def slices(region: "ze.ze_copy_region_t") -> tuple[slice, slice, slice]:
    return (
        slice(region.originZ, region.originZ + max(region.depth, 1)),
        slice(region.originY, region.originY + max(region.height, 1)),
        slice(region.originX, region.originX + region.width),
    )


def random_case(
    rng: np.random.Generator, dimensions: int, largest: int
) -> tuple[Layout, Layout, "ze.ze_copy_region_t", "ze.ze_copy_region_t"]:
    """Two layouts, and a region of the same extent somewhere in each."""
    extent = [int(rng.integers(1, largest)) for _ in range(3)]
    depth = extent[2]
    if dimensions == 2:
        extent[2], depth = 1, int(rng.integers(0, 2))
    layouts, regions = [], []
    for _ in range(2):
        room = [int(rng.integers(0, 9)) for _ in range(3)]
        origin = [int(rng.integers(0, more + 1)) for more in room]
        layouts.append(Layout(*(size + more for size, more in zip(extent, room, strict=True))))
        regions.append(ze.ze_copy_region_t(*origin, extent[0], extent[1], depth))
    return layouts[0], layouts[1], regions[0], regions[1]


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("largest", [5, 40])
def test_random_regions(bench: Bench, dimensions: int, largest: int) -> None:
    rng = np.random.default_rng(largest + dimensions)
    commands = bench.immediate()
    source, target = bench.random_bytes(1 << 17), bench.bytes(1 << 17)
    for _ in range(60):
        to, from_, to_region, from_region = random_case(rng, dimensions, largest)
        target[:] = 0xEE
        expected = target.copy()
        shaped = expected[: to.size].reshape(to.depth, to.height, to.width)
        original = source[: from_.size].reshape(from_.depth, from_.height, from_.width)
        shaped[slices(to_region)] = original[slices(from_region)]
        check(
            copy_region(
                commands,
                (address(target), to_region, to),
                (address(source), from_region, from_),
            )
        )
        finish(commands)
        assert np.array_equal(target, expected), (to, from_, to_region, from_region)


def test_a_region_of_many_megabytes(bench: Bench) -> None:
    """Large enough to be shared out over the cores of the device."""
    layout = Layout(3001, 1000, 4)
    source, target = bench.random_bytes(layout.size), bench.bytes(layout.size, fill=0)
    region = ze.ze_copy_region_t(500, 10, 1, 2500, 900, 2)
    expected = target.copy().reshape(layout.depth, layout.height, layout.width)
    original = source.reshape(expected.shape)
    expected[slices(region)] = original[slices(region)]
    commands = bench.immediate()
    check(
        copy_region(commands, (address(target), region, layout), (address(source), region, layout))
    )
    finish(commands)
    assert np.array_equal(target, expected.ravel())


def test_a_region_moves_within_one_block(bench: Bench) -> None:
    """Columns beside each other interleave in memory, yet do not overlap."""
    layout = Layout(64, 50, 1)
    memory = bench.random_bytes(layout.size)
    left, right = (ze.ze_copy_region_t(x, 0, 0, 32, 50, 1) for x in (0, 32))
    expected = memory.copy().reshape(50, 64)
    expected[:, 32:] = expected[:, :32]
    commands = bench.immediate()
    check(copy_region(commands, (address(memory), right, layout), (address(memory), left, layout)))
    finish(commands)
    assert np.array_equal(memory, expected.ravel())


@pytest.mark.parametrize(
    ("right", "down"), [(1, 0), (31, 0), (0, 1), (0, 0), (5, 7)], ids=lambda value: str(value)
)
def test_overlapping_regions_are_refused(bench: Bench, right: int, down: int) -> None:
    layout = Layout(64, 64, 1)
    memory = bench.random_bytes(layout.size)
    before = memory.copy()
    commands = bench.immediate()
    one = ze.ze_copy_region_t(0, 0, 0, 32, 32, 1)
    other = ze.ze_copy_region_t(right, down, 0, 32, 32, 1)
    result = copy_region(commands, (address(memory), other, layout), (address(memory), one, layout))
    assert result == ze.ZE_RESULT_ERROR_OVERLAPPING_REGIONS
    assert "zeCommandListAppendMemoryCopyRegion" in last_error()
    finish(commands)
    assert np.array_equal(memory, before)


def test_regions_of_different_extent_are_refused(bench: Bench) -> None:
    layout = Layout(64, 64, 1)
    source, target = bench.bytes(layout.size, 1), bench.bytes(layout.size, 0)
    commands = bench.immediate()
    one = ze.ze_copy_region_t(0, 0, 0, 8, 8, 1)
    for width, height, depth in [(9, 8, 1), (8, 7, 1), (8, 8, 2)]:
        other = ze.ze_copy_region_t(0, 0, 0, width, height, depth)
        result = copy_region(
            commands, (address(target), one, layout), (address(source), other, layout)
        )
        assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
        assert "zeCommandListAppendMemoryCopyRegion" in last_error()
    assert not target.any()


def test_region_past_end_of_allocation_is_refused(bench: Bench) -> None:
    layout = Layout(4096, 16, 1)
    source, target = bench.bytes(layout.size, 1), bench.bytes(layout.size, 0)
    commands = bench.immediate()
    region = ze.ze_copy_region_t(0, 0, 0, 4096, 17, 1)
    result = copy_region(
        commands, (address(target), region, layout), (address(source), region, layout)
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert "end of its allocation" in last_error()
    assert not target.any()


def test_region_with_overflowing_sizes_is_refused(bench: Bench) -> None:
    layout = Layout(4096, 16, 1)
    source, target = bench.bytes(layout.size, 1), bench.bytes(layout.size, 0)
    commands = bench.immediate()
    huge = 2**32 - 1
    for fields in [
        (huge, huge, huge, 1, 1, 1),
        (0, 0, 0, huge, huge, huge),
        (huge, 0, 0, huge, 1, 1),
    ]:
        region = ze.ze_copy_region_t(*fields)
        result = ze.zeCommandListAppendMemoryCopyRegion(
            commands,
            address(target),
            ctypes.byref(region),
            huge,
            huge,
            address(source),
            ctypes.byref(region),
            huge,
            huge,
            None,
            0,
            None,
        )
        assert result != ze.ZE_RESULT_SUCCESS
        assert "zeCommandListAppendMemoryCopyRegion" in last_error()
    finish(commands)
    assert not target.any()
