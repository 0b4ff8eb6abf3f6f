"""Fills, with patterns of every size."""

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.support import Bench, address, fill, finish, handles, view

PATTERN_SIZES = [*range(1, 65), 100, 128, 255, 256, 1000, 4096, 5000, 65_536, 100_003]


def pattern_of(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.random.default_rng(size).integers(0, 256, size, np.uint8)


@pytest.mark.parametrize("repeats", [0, 1, 3, 100])
def test_patterns_of_each_size(bench: Bench, repeats: int) -> None:
    commands = bench.immediate()
    for pattern_size in PATTERN_SIZES:
        size = min(pattern_size * repeats, pattern_size * (1 + (8 << 20) // pattern_size))
        pattern = pattern_of(pattern_size)
        aligned = pattern_size if pattern_size & (pattern_size - 1) == 0 else 0
        memory = view(bench.host(size + 4096, aligned), size + 4096)
        memory[:] = 0x5A
        fill(commands, address(memory), pattern.tobytes(), size)
        finish(commands)
        assert np.array_equal(memory[:size], np.tile(pattern, size // pattern_size))
        assert (memory[size:] == 0x5A).all()
        bench.end(address(memory))


@pytest.mark.parametrize("pattern_size", [1, 2, 3, 5, 16, 48, 1000])
@pytest.mark.parametrize("megabytes", [1, 20])
def test_fills_shared_out_over_the_cores(bench: Bench, pattern_size: int, megabytes: int) -> None:
    count = (megabytes << 20) // pattern_size + 1
    pattern = pattern_of(pattern_size)
    memory = bench.bytes(count * pattern_size)
    commands = bench.immediate()
    fill(commands, address(memory), pattern.tobytes(), len(memory))
    finish(commands)
    assert np.array_equal(memory, np.tile(pattern, count))


def test_fills_at_random_offsets(bench: Bench) -> None:
    rng = np.random.default_rng(11)
    memory = bench.bytes(1 << 20, fill=0)
    expected = memory.copy()
    commands = bench.immediate(in_order=True)
    for _ in range(200):
        pattern = pattern_of(int(rng.choice([1, 2, 3, 4, 5, 7, 8, 16, 33, 64, 1000])))
        count = int(rng.integers(0, 500))
        size = count * len(pattern)
        offset = int(rng.integers(0, len(memory) - size)) // 64 * 64
        fill(commands, address(memory, offset), pattern.tobytes(), size)
        expected[offset : offset + size] = np.tile(pattern, count)
    finish(commands)
    assert np.array_equal(memory, expected)


@pytest.mark.parametrize("pattern_size", [2, 3, 4, 5, 7, 8, 16, 32, 64, 128, 256, 1000, 8192])
def test_patterns_need_no_alignment(bench: Bench, pattern_size: int) -> None:
    pattern = pattern_of(pattern_size)
    memory = bench.bytes(pattern_size * 10 + 1, fill=0)
    commands = bench.immediate()
    fill(commands, address(memory, 1), pattern.tobytes(), pattern_size * 10)
    finish(commands)
    assert np.array_equal(memory[1:], np.tile(pattern, 10))


def test_fill_pattern_is_read_at_append(bench: Bench) -> None:
    """The caller may change or free the pattern once the call has returned."""
    memory = bench.bytes(4096, fill=0)
    commands = bench.immediate()
    for size in (4, 256):
        go = bench.event()
        pattern = np.full(size, 7, np.uint8)
        check(ze.zeCommandListAppendWaitOnEvents(commands, 1, handles(go)))
        check(
            ze.zeCommandListAppendMemoryFill(
                commands, address(memory), address(pattern), size, 4096, None, 0, None
            )
        )
        pattern[:] = 1
        del pattern
        check(ze.zeEventHostSignal(go))
        finish(commands)
        assert (memory == 7).all()
        memory[:] = 0


def test_fill_with_parameters(bench: Bench) -> None:
    memory = bench.bytes(1024, fill=0)
    commands = bench.immediate()
    check(
        ze.zeCommandListAppendMemoryFillWithParameters(
            commands, address(memory), b"abcd", 4, 1024, None, None, 0, None
        )
    )
    finish(commands)
    assert memory.tobytes() == b"abcd" * 256


def test_a_fill_that_runs_over_the_end_is_refused(bench: Bench) -> None:
    memory = bench.bytes(4096, fill=1)
    commands = bench.immediate()
    result = ze.zeCommandListAppendMemoryFill(
        commands, address(memory, 4000), b"x", 1, 97, None, 0, None
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert "zeCommandListAppendMemoryFill" in last_error()
    assert (memory == 1).all()
