"""What kernels write to shared memory is no upload of the host, in programs with threads, too."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from groundstate.capture.stream import Kind, StreamReader, Writes
from tests.capture.play.played import played_elsewhere
from tests.capture.recorded import only_stream, record

pytestmark = pytest.mark.usefixtures("library")

LAUNCHES = 60

PROGRAM = """
import json, sys, threading
import groundstate as gs

launches, pages, sleepers, host_writes = map(int, sys.argv[1:])
SOURCE = "kernel void add(global uint *x) { size_t i = get_global_id(0); if (i % 4) x[i] += i; }"
woken = threading.Event()
for _ in range(sleepers):
    threading.Thread(target=woken.wait, daemon=True).start()  # whatever fails below, they end
with gs.Context(gs.devices()[0]) as context:
    module = gs.Module(context, opencl=SOURCE)
    x = context.alloc_shared(1024 * pages, "uint32")
    view = x.buffer()
    view[0] = 1
    with gs.CommandList.immediate(context, in_order=True) as commands:
        for number in range(launches):
            if host_writes and number % host_writes == 0:
                view[number * 4 % len(view)] = number
            module["add"](commands, 16 * pages, 64, x)
            commands.synchronize()
    print(json.dumps(sum(x.tolist())))
woken.set()
"""


def recorded(
    out: Path, pages: int, sleepers: int, host_writes: int = 0
) -> tuple[int, list[Writes]]:
    """What the program found in its memory at the end, and what it is said to have written."""
    arguments = map(str, (LAUNCHES, pages, sleepers, host_writes))
    text = record(out, sys.executable, "-c", PROGRAM, *arguments, options=("--results",))
    with StreamReader(only_stream(out)) as reader:
        writes = [Writes.unpack(each.body) for each in reader.records() if each.kind == Kind.WRITES]
    return json.loads(text.splitlines()[0]), writes


@pytest.mark.parametrize("sleepers", [0, 3], ids=["alone", "beside sleeping threads"])
@pytest.mark.parametrize("pages", [1, 16])
def test_pages_only_kernels_write_are_stored_once(
    tmp_path: Path, pages: int, sleepers: int
) -> None:
    _, writes = recorded(tmp_path / "out", pages, sleepers)
    assert sum(run.size for each in writes for run in each.runs) <= LAUNCHES // 6 * pages * 4096


@pytest.mark.parametrize("sleepers", [0, 3], ids=["alone", "beside sleeping threads"])
@pytest.mark.parametrize("every", [1, 2, 25])
def test_host_writes_to_kernel_pages_are_replayed(
    tmp_path: Path, every: int, sleepers: int
) -> None:
    total, writes = recorded(tmp_path / "out", 4, sleepers, every)
    assert total > 0
    assert len(writes) >= LAUNCHES // every - 1
    (report,) = played_elsewhere(tmp_path / "out")
    assert report["same"]
    assert report["memory_compared"] >= LAUNCHES
