"""Processes that compile modules. One that dies or takes too long costs its module and no other.

They are forked from a process that has imported the compiler and does nothing else, so that a new
one is there at once. What one has had LLVM compile, the others are told.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, ForkServerProcess

from groundstate.compiler.llvm import service
from groundstate.compiler.target.host import host
from groundstate.survey.trial import FAILED, Outcome, compile_module

MOST_MEMORY = 8 << 30
"""Of addresses, for one process."""
MODULES_EACH = 400
"""How many modules a process compiles before another takes its place: LLVM forgets nothing."""


@dataclass(frozen=True, slots=True)
class Task:
    """A module to compile, and what it is linked with."""

    digest: str
    parts: tuple[bytes, ...]


class Worker:
    """One process, and the module that it has."""

    def __init__(
        self,
        context: ForkServerContext,
        widths: Sequence[int],
        limit_s: int,
        known: dict[str, float],
    ) -> None:
        self.link, other = context.Pipe()
        arguments = (other, tuple(widths), limit_s, dict(known))
        self.process: ForkServerProcess = context.Process(target=_work, args=arguments, daemon=True)
        self.process.start()
        other.close()
        self.task: Task | None = None
        self.news: dict[str, float] = {}
        """The code that others have compiled since it was told last."""
        self.left = MODULES_EACH

    def give(self, task: Task) -> None:
        """Has it compile a module."""
        self.task = task
        self.left -= 1
        with suppress(ConnectionError):  # it has died; `take` will say how
            self.link.send((task.parts, self.news))
        self.news = {}

    def take(self, limit_s: int) -> Outcome:
        """What became of its module; if it has died over it, how."""
        self.task = None
        try:
            outcome = self.link.recv()
            assert isinstance(outcome, Outcome)
            return outcome
        except (EOFError, ConnectionError):
            self.left = 0
            self.process.join()
            return _death(self.process.exitcode or 0, limit_s)

    def close(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.join()
        self.process.close()
        self.link.close()


def _death(status: int, limit_s: int) -> Outcome:
    """The outcome of a module over which a process has died; how long it took is rarely known."""
    if status == -signal.SIGXCPU:
        return Outcome(FAILED, f"it takes longer than {limit_s} s", seconds=limit_s)
    how = signal.Signals(-status).name if status < 0 else f"status {status}"
    return Outcome(FAILED, f"the compiler's process was ended by {how}")


class Crew:
    """The workers, and the tasks that nobody has yet."""

    def __init__(
        self, tasks: Iterable[Task], widths: Sequence[int], limit_s: int, known: dict[str, float]
    ) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([__name__])
        self.waiting = iter(tasks)
        self.widths, self.limit_s, self.known = widths, limit_s, known
        self.workers: dict[Connection, Worker] = {}
        """By the connections to them."""

    def engage(self, old: Worker | None = None) -> None:
        """Gives the next task to a worker that has none, or to a new one."""
        task = next(self.waiting, None)
        if old is not None and (task is None or not old.left):
            del self.workers[old.link]
            old.close()
            old = None
        if task is not None:
            worker = old or Worker(self.context, self.widths, self.limit_s, self.known)
            self.workers[worker.link] = worker
            worker.give(task)

    def collect(self, worker: Worker) -> tuple[Task, Outcome]:
        """Takes an outcome from a worker, tells the others what was compiled, and goes on."""
        task = worker.task
        assert task is not None
        outcome = worker.take(self.limit_s)
        self.known |= outcome.made
        for other in self.workers.values():
            if other is not worker:
                other.news |= outcome.made
        self.engage(worker)
        return task, outcome

    def close(self) -> None:
        """Ends all processes."""
        for worker in self.workers.values():
            worker.close()


def compile_all(
    tasks: Sequence[Task],
    widths: Sequence[int],
    jobs: int,
    limit_s: int,
    known: dict[str, float],
) -> Iterator[tuple[Task, Outcome]]:
    """The outcomes of all tasks, as they come. Adds what was compiled to `known`."""
    with closing(Crew(tasks, widths, limit_s, known)) as crew:
        for _ in range(jobs):
            crew.engage()
        while crew.workers:
            for link in wait(list(crew.workers)):
                assert isinstance(link, Connection)
                yield crew.collect(crew.workers[link])


def _work(link: Connection, widths: tuple[int, ...], limit_s: int, known: dict[str, float]) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started it ends it
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    service.run_in_this_process()
    host()
    while True:
        try:
            parts, news = link.recv()
        except EOFError:
            return
        known |= news
        _allow(limit_s)
        outcome = compile_module(parts, widths, known)
        known |= outcome.made
        link.send(outcome)


def _allow(seconds: int) -> None:
    """Lets this process run on for some seconds of processor time; then the system ends it."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + seconds, most))
