"""Several judges at once: processes that each have our library and the reference."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from tests.dnn.reference.contender import contender
from tests.dnn.reference.families import FAMILIES
from tests.dnn.reference.judge import NO_REFERENCE, Solver, Verdict, judge
from tests.dnn.reference.worker import Reference, ReferenceCrashed

_judges: dict[str, tuple[Solver, Reference]] = {}
"""What a process has: ours, through one API, and the reference."""


def verdict_of(api: str, family: str, seed: int, number: int) -> Verdict:
    """The verdict on one problem, in the process that calls this."""
    if api not in _judges:
        reference = Reference()
        _judges[api] = (reference if api == "reference" else contender(api), reference)
    ours, reference = _judges[api]
    problem = FAMILIES[family].problem(seed, number)
    try:
        return judge(FAMILIES[family], problem, ours, reference)
    except ReferenceCrashed as crash:
        return Verdict(NO_REFERENCE, str(problem), [str(crash)])


class Court:
    """As many judges as asked for; one sits in this process."""

    def __init__(self, api: str, judges: int) -> None:
        self.api = api
        # A process that is forked would share the driver's threads and locks.
        start = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(judges, mp_context=start) if judges > 1 else None

    def verdicts(self, family: str, seed: int, numbers: Sequence[int]) -> Iterator[Verdict]:
        """The verdicts on problems of a family, in their order."""
        if self.pool is None:
            yield from (verdict_of(self.api, family, seed, number) for number in numbers)
            return
        waiting = [
            self.pool.submit(verdict_of, self.api, family, seed, number) for number in numbers
        ]
        try:
            for verdict in waiting:
                yield verdict.result()
        except BrokenProcessPool:
            raise SystemExit(
                f"our library ended its process at a problem of {family}: find it with --jobs 1"
            ) from None

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
        for _, reference in _judges.values():
            reference.close()
        _judges.clear()
