"""Runtimes that take turns with one kernel after the other, and the figures that come of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.figures import OURS, Figure, Measure, Samples, Step
from benchmarks.kernels.team import Team


class Race:
    """A team, and what has been measured of it so far."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.samples = Samples()
        self.mistakes: dict[tuple[str, str], str] = {}
        """Why a runtime has no time for a case."""

    def steps(self, name: str, rounds: int, seconds: float) -> list[Step]:
        """All check their results, then take turns, then give their memory back."""
        turns = [Step(name, partial(self._turn, name, seconds)) for _ in range(rounds)]
        prepare = Step(f"{name}: NumPy, checks", partial(self._prepare, name))
        return [prepare, *turns, Step(name, self._drop)]

    def end(self) -> Step:
        """The last step: the processes end."""
        return Step("end", self.team.close)

    def _times(self, name: str, runtime: str) -> list[float]:
        return self.samples.times(f"{runtime} {name}")

    def figures(
        self,
        name: str,
        title: str,
        unit: str,
        measure: Callable[[list[float]], Measure],
        goal: float | None = None,
    ) -> list[Figure]:
        """A figure for each peer; a single one if there is no peer, or if ours is wrong."""
        mistake = self.mistakes.get((name, OURS))
        if mistake:
            return [Figure(title, unit, None, OURS, goal=goal, note=mistake)]
        ours = measure(self._times(name, OURS))
        figures = []
        for member in self.team.members[1:]:
            mistake = self.mistakes.get((name, member.name), "")
            theirs = None if mistake else measure(self._times(name, member.name))
            figures.append(Figure(title, unit, ours, member.name, theirs, goal, mistake))
        for missing in self.team.missing:
            figures.append(Figure(title, unit, ours, missing.name, None, goal, missing.note))
        return figures or [Figure(title, unit, ours, "")]

    def _prepare(self, name: str) -> None:
        for runtime, mistake in self.team.prepare(name).items():
            self.mistakes[name, runtime] = mistake

    def _turn(self, name: str, seconds: float) -> None:
        for member in self.team.members:
            if (name, member.name) in self.mistakes:
                continue
            answer = member.ask("measure", seconds=seconds)
            if "error" in answer:
                self.mistakes[name, member.name] = answer["error"]
            else:
                self.samples.add({f"{member.name} {name}": answer["times"]})

    def _drop(self) -> None:
        for member in self.team.members:
            member.ask("drop")
