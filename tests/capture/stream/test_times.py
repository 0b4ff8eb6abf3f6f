"""The recorder measures when kernels, copies and fills ran, and changes nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from groundstate.capture.describe import named_records
from groundstate.capture.stream import CommandTime, Kind, StreamError, StreamReader, unpack_times
from groundstate.capture.stream.times import pack_times
from groundstate.capture.views.device_times import all_runs, settle
from groundstate.capture.views.device_work import DeviceWork, Ran
from groundstate.capture.views.tally import Tally, tally
from tests.capture.play.played import played_elsewhere
from tests.capture.recorded import only_stream, record

pytestmark = pytest.mark.usefixtures("library")

HEAD = '''
import ctypes
import groundstate as gs
from groundstate import ze

SOURCE = """
kernel void spin(global uint *x, uint rounds) {
    uint value = x[get_global_id(0)];
    for (uint each = 0; each < rounds; each++) value = value * 1664525u + 1013904223u ^ value >> 7;
    x[get_global_id(0)] = value;
}
kernel void spin_long(global uint *x, uint rounds) {
    uint value = x[get_global_id(0)];
    for (uint each = 0; each < rounds; each++) value = value * 1664525u + 1013904223u ^ value >> 7;
    x[get_global_id(0)] = value;
}
"""
context = gs.Context(gs.devices()[0])
module = gs.Module(context, opencl=SOURCE)
x, y = context.alloc_shared(64, "uint32"), context.alloc_device(64, "uint32")
short, long = module["spin"], module["spin_long"]
'''
IMMEDIATE = """
commands = gs.CommandList.immediate(context, in_order=True)
for _ in range(5):
    short(commands, 1, 64, x, 10)
    long(commands, 1, 64, x, 1_000_000)
    commands.copy(y, x)
    commands.fill(y, 0)
commands.synchronize()
"""
QUEUED = """
commands = gs.CommandList(context, in_order=True)
short(commands, 1, 64, x, 10)
long(commands, 1, 64, x, 1_000_000)
commands.copy(y, x)
commands.fill(y, 0)
commands.finish()
queue = gs.CommandQueue(context)
for _ in range(5):
    queue.execute(commands)
    queue.synchronize()
"""
EVENTS = """
pool = gs.EventPool(context, 4)
first, second, third, last = (pool.event() for _ in range(4))
commands = gs.CommandList.immediate(context)
for _ in range(5):
    short(commands, 1, 64, x, 10, signal=first)
    long(commands, 1, 64, x, 1_000_000, signal=second, wait=[first])
    commands.copy(y, x, signal=third, wait=[second])
    commands.fill(y, 0, signal=last, wait=[third])
    last.wait()
    for event in (first, second, third, last):
        event.reset()
"""
WAYS = {"immediate list": IMMEDIATE, "executed list": QUEUED, "events of the program": EVENTS}


def tally_of(out: Path) -> Tally:
    with StreamReader(only_stream(out)) as reader:
        return tally(reader)


def runs_of(stream: Path) -> list[Ran]:
    work = DeviceWork()
    with StreamReader(stream) as reader:
        for record, call in named_records(reader):
            if call is not None:
                work.see(call)
            elif record.kind == Kind.TIMES:
                work.measure(unpack_times(record.body))
    settle(work, 0)
    return [ran for _, _, ran in all_runs(work)]


@pytest.mark.parametrize("pages", ["auto", "none"])
@pytest.mark.parametrize("way", WAYS)
def test_every_kernel_copy_and_fill_is_measured(tmp_path: Path, way: str, pages: str) -> None:
    program = HEAD + WAYS[way]
    record(tmp_path / "out", sys.executable, "-c", program, options=("--pages", pages))
    found = {each.name: each for each in tally_of(tmp_path / "out").commands}
    for name in ("spin", "spin_long", "memory copy", "memory fill"):
        assert found[name].time.count == 5
        assert found[name].measured == 5, name
    assert found["spin_long"].time.median > 20 * found["spin"].time.median


def test_recorded_times_match_event_timestamps(tmp_path: Path) -> None:
    program = (
        HEAD
        + """
event = gs.EventPool(context, 1, timestamps=True).event()
commands = gs.CommandList.immediate(context)
for _ in range(5):
    long(commands, 1, 64, x, 10_000, signal=event)
    event.wait()
    print(event.timestamps.duration_ns)
    event.reset()
"""
    )
    text = record(tmp_path / "out", sys.executable, "-c", program)
    measured = [ran.took for ran in runs_of(only_stream(tmp_path / "out"))]
    assert [int(float(line)) for line in text.splitlines()[:5]] == pytest.approx(measured, abs=2)


UNCHANGED = """
pool = gs.EventPool(context, 1)
event = pool.event()
commands = gs.CommandList.immediate(context, in_order=True)
short(commands, 1, 64, x, 10, signal=event)
event.wait()
flags = ctypes.c_uint32()
assert ze.zeEventPoolGetFlags(pool.handle, ctypes.byref(flags)) == 0
print(flags.value)
try:
    event.timestamps
except gs.InvalidArgument as problem:
    print("no timestamps")
overlapping = gs.CommandList(context, in_order=True)
long(overlapping, 1, 64, x, 1_000_000)
overlapping.finish()
queue = gs.CommandQueue(context)
for _ in range(3):
    queue.execute(overlapping)
queue.synchronize()
"""


def test_recorder_timing_is_hidden_and_not_played(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    options = ("--pages", "none")  # nothing waits, so that executions overlap
    text = record(out, sys.executable, "-c", HEAD + UNCHANGED, options=options)
    assert text.splitlines()[:2] == ["1", "no timestamps"]
    with StreamReader(only_stream(out)) as reader:
        calls = [call.name for _, call in named_records(reader) if call is not None]
    assert calls.count("zeEventPoolCreate") == calls.count("zeEventCreate") == 1
    (report,) = played_elsewhere(out)
    assert report["same"]
    measured = {each.name: each.measured for each in tally_of(out).commands}
    assert measured["spin"] == 1
    assert measured["spin_long"] >= 1  # of executions that overlap, the last one


def test_without_times_nothing_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "out"
    record(out, sys.executable, "-c", HEAD + IMMEDIATE, options=("--no-times",))
    assert {each.certainty for each in tally_of(out).commands} == {"estimated"}


def test_times_are_read_as_they_were_written() -> None:
    times = [CommandTime(7, 7, 100, 250), CommandTime(9, 3, 300, 1 << 63)]
    assert unpack_times(pack_times(times)) == times


@pytest.mark.parametrize("size", [0, 7, 8, 39, 71])
def test_truncated_times_record_is_refused(size: int) -> None:
    body = pack_times([CommandTime(1, 2, 3, 4), CommandTime(5, 6, 7, 8)])
    with pytest.raises(StreamError, match="record of times"):
        unpack_times(body[:size])
