"""Random graphs: a replay leaves in memory what the same commands leave when they run at once."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from groundstate import ze
from tests.conftest import check
from tests.driver.graphs.graphs import EXTERNAL, begin, end, instantiate, replay
from tests.driver.support import Bench, Bytes, address, barrier, copy, fill, finish

CELLS, CELL, COMMANDS = 16, 64, 60


class Program:
    """A random sequence of commands on a tree of lists, in which every branch is joined."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.random = random.Random(seed)
        self.memory: Bytes = bench.bytes(CELLS * CELL)
        self.root = bench.immediate(in_order=True)
        self.used: list[int] = [self.root]
        self.events: list[int] = []

    def reset(self) -> None:
        """Each cell has its own number."""
        for cell in range(CELLS):
            self.memory[cell * CELL : (cell + 1) * CELL] = cell

    def event(self) -> int:
        """A new event of a random kind, which is used once."""
        make: Callable[[], int] = self.random.choice(
            (
                self.bench.event,
                self.bench.counter_event,
                lambda: self.bench.counter_event(EXTERNAL),
            )
        )
        self.events.append(make())
        return self.events[-1]

    def work(self, branch: int, cells: list[int], waits: list[int], signal: int | None) -> None:
        """A copy or a fill within the cells that the branch owns."""
        to = address(self.memory, CELL * self.random.choice(cells))
        if self.random.random() < 0.5:
            fill(branch, to, bytes([self.random.randrange(256)]), CELL, signal, waits)
        else:
            source = address(self.memory, CELL * self.random.choice(cells))
            copy(branch, to, source, CELL, signal, waits)

    def run(self, branch: int, cells: list[int], budget: int) -> None:
        """Appends commands to a branch; a fork gets half of the cells and gives them back."""
        while budget > 0:
            if len(cells) >= 4 and self.random.random() < 0.2:
                half, part = len(cells) // 2, budget // 3
                self.fork(branch, cells[:half], cells[half:], part)
                budget -= part + 1
            else:
                self.work(branch, cells, [], None)
                budget -= 1

    def fork(self, parent: int, own: list[int], given: list[int], budget: int) -> None:
        child = self.bench.immediate(in_order=True)
        self.used.append(child)
        start, done = self.event(), self.event()
        barrier(parent, signal=start)
        self.work(child, given, [start], None)
        self.work(parent, own, [], None)
        self.run(child, given, budget)
        barrier(child, signal=done)
        self.work(parent, own + given, [done], None)

    def append_all(self) -> None:
        """The same commands for the same seed."""
        self.run(self.root, list(range(CELLS)), COMMANDS)


@pytest.mark.parametrize("seed", range(12))
def test_a_replay_does_what_the_commands_do(bench: Bench, seed: int) -> None:
    direct, captured = Program(bench, seed), Program(bench, seed)
    direct.reset()
    direct.append_all()
    for commands in direct.used:
        finish(commands)
    begin(captured.root)
    captured.append_all()
    graph = end(bench, captured.root)
    executables = [instantiate(bench, graph) for _ in range(2)]
    for executable in executables * 2:
        captured.reset()
        replay(captured.root, executable)
        assert captured.memory.tolist() == direct.memory.tolist()
    for event in captured.events:
        check(ze.zeEventHostSynchronize(event, 0))
