"""The modules of a survey, compiled by the workers of a Dask cluster.

LLVM runs in the worker, so that its time is measured as everywhere in a survey. A module over which
a worker dies is tried again on others, as often as Dask's `allowed-failures` says, and has failed
then; the nanny starts another worker.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence

from distributed import Client, Future, as_completed

from groundstate.compiler.llvm import service
from groundstate.survey.crew import Task
from groundstate.survey.trial import FAILED, Outcome, compile_module

TIMEOUT = "30s"
"""How long the scheduler may take to answer."""

_known: dict[str, float] = {}
"""In a worker: the code that LLVM has compiled here, and the seconds that it took."""


class Workers:
    """The workers that a scheduler has, for as long as the program runs."""

    def __init__(self, scheduler: str) -> None:
        self.client = Client(scheduler, timeout=TIMEOUT, set_as_default=False)

    def compile_all(
        self, widths: Sequence[int], limit_s: int, tasks: Sequence[Task], known: dict[str, float]
    ) -> Iterator[tuple[Task, Outcome]]:
        """The outcomes of all tasks, as they come. Adds what was compiled to `known`."""
        given: dict[Future[Outcome], Task] = {
            self.client.submit(compile_here, task.parts, tuple(widths), limit_s, pure=False): task
            for task in tasks
        }
        for future in as_completed(given):
            outcome = outcome_of(future)
            known |= outcome.made
            yield given.pop(future), outcome


def outcome_of(future: Future[Outcome]) -> Outcome:
    """What became of a module; if its workers died over it, that."""
    if future.status == "finished":
        outcome = future.result()
        assert isinstance(outcome, Outcome)
        return outcome
    return Outcome(FAILED, f"no worker could compile it: {future.exception()}")


def compile_here(parts: tuple[bytes, ...], widths: tuple[int, ...], limit_s: int) -> Outcome:
    """Compiles a module in a worker, which ends if that takes longer than the limit."""
    service.run_in_this_process()
    before = resource.getrlimit(resource.RLIMIT_CPU)
    until = int(time.process_time()) + 1 + limit_s
    resource.setrlimit(resource.RLIMIT_CPU, (until, before[1]))
    try:
        outcome = compile_module(parts, widths, _known)
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)
    _known.update(outcome.made)
    return outcome
