"""What the CUDA driver is asked for: a call costs a launch more than all else that we do."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator

import numpy as np
import pytest

import groundstate as gs

TURNS = 20


class Calls:
    """Counts calls by their names, as long as it is open."""

    def __init__(self, function: str) -> None:
        self.count = getattr(ctypes.CDLL(os.environ["GROUNDSTATE_CUDA_LIBRARY"]), function)
        self.before = {name: self._now(name) for name in NAMES}

    def _now(self, name: str) -> int:
        return int(self.count(name.encode()))

    def __getitem__(self, name: str) -> int:
        return self._now(name) - self.before[name]


NAMES = (
    "cuLaunchKernel",
    "cuStreamWriteValue32",
    "cuEventRecord",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuCtxPushCurrent",
    "cuCtxPopCurrent",
)


@pytest.fixture
def memory(ctx: gs.Context) -> Iterator[gs.Memory]:
    with ctx.alloc_device(16, "uint64") as made:
        yield made


@pytest.fixture
def kernel(
    module: gs.Module,
    commands: gs.CommandList,
    memory: gs.Memory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[gs.Kernel]:
    """A short one, which has run before on a GPU that begins at once."""
    monkeypatch.setenv("STANDIN_DELAY_US", "0")
    with module["shape"] as made:
        made(commands, 1, 1, memory)
        commands.synchronize()
        yield made


def test_launch_and_wait_takes_two_calls(
    kernel: gs.Kernel, commands: gs.CommandList, memory: gs.Memory
) -> None:
    """A launch and a word that the stream writes, each in the GPU's context, by any thread."""
    calls, here = Calls("standin_calls"), Calls("standin_calls_here")
    for _ in range(TURNS):
        kernel(commands, 1, 1, memory)
        commands.synchronize()
    assert calls["cuLaunchKernel"] == TURNS
    assert calls["cuStreamWriteValue32"] <= TURNS
    assert here["cuCtxPushCurrent"] == here["cuCtxPopCurrent"] <= 2 * TURNS
    assert calls["cuEventRecord"] == calls["cuStreamSynchronize"] == 0


def test_launches_in_a_row_take_one_call_each(
    kernel: gs.Kernel, commands: gs.CommandList, memory: gs.Memory
) -> None:
    """The thread that launches asks for a word of the stream only now and then."""
    calls, here = Calls("standin_calls"), Calls("standin_calls_here")
    for _ in range(10 * TURNS):
        kernel(commands, 1, 1, memory)
    assert here["cuLaunchKernel"] == here["cuCtxPushCurrent"] > 0
    assert here["cuStreamWriteValue32"] <= 10 * TURNS / 64
    assert here["cuEventRecord"] == here["cuStreamQuery"] == 0
    commands.synchronize()
    assert calls["cuLaunchKernel"] == 10 * TURNS


def test_signalled_launch_takes_two_calls(
    ctx: gs.Context, kernel: gs.Kernel, commands: gs.CommandList, memory: gs.Memory
) -> None:
    with gs.EventPool(ctx, TURNS) as pool:
        events = [pool.event() for _ in range(TURNS)]
        calls = Calls("standin_calls")
        for event in events:
            kernel(commands, 1, 1, memory, signal=event)
        commands.synchronize()
        assert calls["cuLaunchKernel"] == calls["cuStreamWriteValue32"] == TURNS
        assert calls["cuEventRecord"] == 0


def test_long_wait_asks_ever_less_often(
    ctx: gs.Context, commands: gs.CommandList, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once in a millisecond at last, however many threads look."""
    with ctx.alloc_device(4096) as memory:
        commands.fill(memory, 1)
        commands.synchronize()
        monkeypatch.setenv("STANDIN_DELAY_US", "100000")
        calls, begun = Calls("standin_calls"), time.monotonic()
        commands.fill(memory, 2)
        commands.synchronize()
        milliseconds = 1000 * (time.monotonic() - begun)
        monkeypatch.setenv("STANDIN_DELAY_US", "0")
        assert 1 <= calls["cuStreamQuery"] <= milliseconds + 10
        back = np.zeros(4096, np.uint8)
        commands.copy(back, memory)
        commands.synchronize()
    assert (back == 2).all()
