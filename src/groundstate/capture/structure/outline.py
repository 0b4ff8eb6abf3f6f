"""One reading of a stream that tells both what lives in it and what it submits."""

from __future__ import annotations

from groundstate.capture.describe import named_calls
from groundstate.capture.stream import StreamError, StreamReader
from groundstate.capture.structure.lifetimes import Lifetimes
from groundstate.capture.structure.submissions import Submissions


class Outline:
    """The lifetimes and submissions of a stream, as far as it can be read.

    `problem` says what ended the reading early, if anything did; all before that is good.
    """

    def __init__(self, reader: StreamReader) -> None:
        self.lifetimes = Lifetimes()
        self.submissions = Submissions()
        self.problem: str | None = None
        try:
            for call in named_calls(reader):
                self.lifetimes.see(call)
                self.submissions.see(call)
        except StreamError as problem:
            self.problem = str(problem)
        if self.problem is None and reader.damage is not None:
            self.problem = str(reader.damage)
