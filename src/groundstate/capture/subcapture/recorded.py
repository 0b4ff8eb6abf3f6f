"""A stream read once from front to back, with all that cutting it has to know."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from groundstate.capture.describe import NamedCall, named_records
from groundstate.capture.stream import Kind, StreamReader, Writes
from groundstate.capture.structure import CommandList, Life, Lifetimes, Submissions
from groundstate.capture.subcapture.errors import CutError

LIST = "ze_command_list_handle_t"


@dataclass(frozen=True, slots=True)
class Step:
    """A call without what it led to."""

    number: int
    name: str
    succeeded: bool
    arguments: tuple[int, ...]


class Recorded:
    """The calls of a stream, what lives in it, what it submits and what the host wrote."""

    def __init__(self, reader: StreamReader) -> None:
        self.reader = reader
        self.lifetimes = Lifetimes()
        self.submissions = Submissions()
        self.steps: list[Step] = []
        self.writes: list[tuple[int, Writes]] = []
        self.about: list[tuple[str, str]] = []
        for record, call in named_records(reader):
            if call is not None:
                self._see(call)
            elif record.kind == Kind.WRITES:
                self.writes.append((record.number, Writes.unpack(record.body)))
            elif record.kind == Kind.ABOUT:
                self.about += _pairs(record.body)
        if reader.damage is not None and not self.submissions.submissions:
            raise CutError(f"the stream is damaged {reader.damage}; there is nothing to cut out")
        self._lists = {made.made_by: made for made in self.submissions.lists}

    def list_of(self, life: Life) -> CommandList | None:
        """The list that a life is that of."""
        return self._lists.get(life.made_by) if life.kind == LIST else None

    def life_of(self, made: CommandList) -> Life:
        """The life of a list."""
        lives = self.lifetimes.made.get(made.made_by, ())
        return next(life for life in lives if life.kind == LIST)

    def step(self, number: int) -> Step:
        """A call by its record."""
        return self.steps[bisect_left(self.steps, number, key=lambda step: step.number)]

    def uses(self, number: int) -> tuple[Life, ...]:
        """What a call was given."""
        return self.lifetimes.uses.get(number, ())

    def _see(self, call: NamedCall) -> None:
        self.lifetimes.see(call)
        self.submissions.see(call)
        succeeded = call.call.result == 0 or call.returns != "ze_result_t"
        self.steps.append(Step(call.number, call.name, succeeded, call.call.arguments))


def _pairs(body: bytes) -> list[tuple[str, str]]:
    words = body.decode("utf-8", "replace").split("\0")
    return list(zip(words[0::2], words[1::2], strict=False))
