"""The driver and the recorder where pages of memory have 16 or 64 KiB, as on many Arm machines.

`large_pages.c` makes them of several pages of this machine. Tests of memory that exist run again
under it, and programs look at what larger pages would break.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = os.environ.get("CC", "cc").split()
SIZES = [size for size in (16384, 65536) if size >= mmap.PAGESIZE]
Run = Callable[..., str]

MEMORY_TESTS = [
    "driver/memory/test_memory.py",
    "driver/memory/test_memory_free.py",
    "driver/memory/test_memory_ipc.py",
    "driver/memory/test_memory_virtual.py",
    "driver/memory/test_external_memory.py",
    "driver/memory/test_copies.py",
    "loader/test_record_memory.py",
    "loader/test_record_threads.py",
    "capture/test_shared_memory.py",
    "capture/play/test_play_memory.py",
]
RECORDER_TESTS = [
    "loader/test_record_memory.py::test_what_work_finds",
    "loader/test_record_threads.py::test_what_work_finds",
]
"""With pages of each size: the recorder stores memory in pieces of 4 KiB."""
TESTS = [(65536, tests) for tests in MEMORY_TESTS] + [(16384, tests) for tests in RECORDER_TESTS]


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """For each size of a page, the library to preload."""
    folder = tmp_path_factory.mktemp("pages")
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    built = {size: folder / f"pages{size}.so" for size in SIZES}
    for size, output in built.items():
        command = [*COMPILER, *flags, f"-DPAGE={size}", HERE / "large_pages.c", "-o", output]
        subprocess.run(command, check=True)
    return built


def run_with(preloaded: Path, *arguments: str) -> str:
    """Runs Python in a process with larger pages; what it printed."""
    result = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "LD_PRELOAD": str(preloaded)},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("size", "tests"), [each for each in TESTS if each[0] in SIZES])
def test_tests_of_memory_pass_with_large_pages(
    preloaded: dict[int, Path], size: int, tests: str
) -> None:
    words = run_with(
        preloaded[size], "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", f"tests/{tests}"
    )
    if " passed" not in words and " skipped" in words:
        pytest.skip(words)
    assert " passed" in words


@pytest.fixture(params=SIZES)
def page(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def run(preloaded: dict[int, Path], page: int) -> Run:
    """Runs a program in a process with such pages; what it printed."""
    return lambda program: run_with(preloaded[page], "-c", START + program)


START = """
import ctypes
from groundstate import ze
from tests.conftest import check, first_driver
from tests.driver.processes import close_memory, memory_handle, open_memory
from tests.driver.support import Bench, view
check(ze.zeInit(0))
driver, count, device = first_driver(), ctypes.c_uint32(1), ctypes.c_void_p()
check(ze.zeDeviceGet(driver, ctypes.byref(count), ctypes.byref(device)))
bench = Bench(driver, device.value)
"""


def test_page_size_is_that_of_the_system(run: Run, page: int) -> None:
    words = run(
        """
answer, properties = ctypes.c_size_t(), ze.ze_memory_allocation_properties_t()
ask = (bench.context, bench.device, 100)
check(ze.zeVirtualMemQueryPageSize(*ask, ctypes.byref(answer)))
memory = bench.local(100)
check(ze.zeMemGetAllocProperties(bench.context, memory, ctypes.byref(properties), None))
print(answer.value, properties.pageSize, memory % answer.value)
bench.close()
"""
    )
    assert words.split() == [str(page), str(page), "0"]


def test_sharing_allocation_spares_its_neighbours(run: Run) -> None:
    """Pages that are shared move into a file; small allocations that follow each other must not
    lie on one page."""
    words = run(
        """
sizes = [1 + 997 * number % 9000 for number in range(64)]
blocks = [view(bench.local(size), size) for size in sizes]
for number, block in enumerate(blocks):
    block[:] = number
opened = []
for number in range(0, 64, 2):
    pointer = blocks[number].ctypes.data
    opened.append((number, open_memory(bench, memory_handle(bench, pointer))))
for number, block in enumerate(blocks):
    assert (block == number).all(), number
for number, pointer in opened:
    size = sizes[number]
    assert (view(pointer, size) == number).all(), number
    view(pointer, size)[:] = 200
    assert (blocks[number] == 200).all(), number
    close_memory(bench, pointer)
for number in range(1, 64, 2):
    assert (blocks[number] == number).all(), number
bench.close()
print("done")
"""
    )
    assert words == "done\n"


def test_freed_blocks_are_reused_without_overlap(run: Run) -> None:
    words = run(
        """
import random
draw, live = random.Random(7), {}
for turn in range(3000):
    if live and draw.random() < 0.45:
        pointer = draw.choice(list(live))
        size, value = live.pop(pointer)
        assert (view(pointer, size) == value).all()
        check(ze.zeMemFree(bench.context, bench.forget(pointer)))
        continue
    size, value = int(2 ** draw.uniform(0, 21)), turn % 251
    pointer = bench.local(size)
    view(pointer, size)[:] = value
    live[pointer] = size, value
ends = sorted((pointer, pointer + size) for pointer, (size, _) in live.items())
assert all(end <= start for (_, end), (start, _) in zip(ends, ends[1:]))
bench.close()
print("done")
"""
    )
    assert words == "done\n"
