"""Plays a stream with as many threads as the recorded program had.

A call starts when everything has returned that had returned before it was made, as its `began`
says. All that a call can wait for has smaller numbers: nobody waits in a circle, whatever a stream
says.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

from groundstate.capture.play.timing import BEGAN, THREAD, call_head
from groundstate.capture.stream import Kind, Record

if TYPE_CHECKING:
    from groundstate.capture.play.player import Player, Worker

CALL = int(Kind.CALL)
THREAD_AT = 4
"""Where the number of its thread is in a call's record."""
AHEAD = 4096
"""How many calls are read ahead of the slowest."""
THREADS = 512
"""Recorded threads beyond this number share the threads of others."""


class Frontier:
    """How far everything is done: the number of the first record that is not."""

    def __init__(self, reached: Callable[[int], None] | None) -> None:
        self._next = 0
        self._reached = reached
        self._done: set[int] = set()
        self._changed = threading.Condition()

    def begin_at(self, number: int) -> None:
        """All records before `number` have been dealt with."""
        self._next = number

    def finish(self, number: int) -> None:
        """A record has been dealt with."""
        with self._changed:
            self._done.add(number)
            before = self._next
            while self._next in self._done:
                self._done.remove(self._next)
                self._next += 1
            if self._next != before:
                self._changed.notify_all()
                if self._reached is not None:
                    self._reached(self._next)

    def wait_for(self, number: int) -> None:
        """Waits until all records before `number` have been dealt with."""
        with self._changed:
            self._changed.wait_for(lambda: self._next >= number)


class Threads:
    """The threads of a player, made when the stream first needs a second one."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._queues: dict[int, SimpleQueue[Record | None]] = {}
        self._threads: list[threading.Thread] = []
        self._frontier = Frontier(None if player.turns is None else player.turns.reached)
        self._room = threading.Semaphore(AHEAD)
        self._first: bytes | None = None
        self._problem: BaseException | None = None

    def play(self, record: Record) -> None:
        """Deals with a record, or hands it to its thread."""
        if not self._queues and not self._needs_another(record):
            self._player.play(record, self._player.worker)
            return
        if self._problem is not None:
            raise self._problem
        if record.kind == CALL:
            head = call_head(record.body)
            if head is not None and self._player.turns is not None:
                self._player.turns.expect(record.number, head)
            self._hand_over(record, 0 if head is None else head[THREAD])
            return
        if record.kind in (Kind.WRITES, Kind.RESULTS):
            self._frontier.wait_for(record.number)
        self._player.play(record, self._player.worker)
        self._frontier.finish(record.number)

    def _needs_another(self, record: Record) -> bool:
        """Whether a record is a call of a thread other than the first; all before it is done."""
        if record.kind != CALL:
            return False
        thread = record.body[THREAD_AT : THREAD_AT + 4]
        if self._first is None:
            self._first = thread
        if thread == self._first:
            return False
        self._frontier.begin_at(record.number)
        return True

    def end(self) -> None:
        """Waits until all threads have made their calls."""
        for queue in self._queues.values():
            queue.put(None)
        for thread in self._threads:
            thread.join()
        if self._problem is not None:
            raise self._problem

    def _hand_over(self, record: Record, thread: int) -> None:
        thread %= THREADS
        if thread not in self._queues:
            queue: SimpleQueue[Record | None] = SimpleQueue()
            worker = self._player.new_worker()
            made = threading.Thread(target=self._work, args=(queue, worker), daemon=True)
            self._queues[thread] = queue
            self._threads.append(made)
            made.start()
        self._room.acquire()
        self._queues[thread].put(record)

    def _work(self, queue: SimpleQueue[Record | None], worker: Worker) -> None:
        while (record := queue.get()) is not None:
            try:
                head = call_head(record.body)
                if head is not None:
                    self._frontier.wait_for(min(head[BEGAN], record.number))
                self._player.play(record, worker)
            except BaseException as problem:
                self._problem = problem
            self._frontier.finish(record.number)
            self._room.release()
