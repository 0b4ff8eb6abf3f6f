"""What goes wrong: a status of the API and a sentence."""

from __future__ import annotations

from typing import NoReturn

from groundstate.dnn.types import Status


class DnnError(Exception):
    """A call failed; `status` is what the C function answers, the text says why."""

    def __init__(self, status: Status, sentence: str) -> None:
        super().__init__(f"{sentence} (dnnl_{status.name})")
        self.status = status
        self.sentence = sentence
        self.result = int(status)
        """What the C half answers."""


def invalid(sentence: str) -> NoReturn:
    """The arguments contradict each other or the rules."""
    raise DnnError(Status.invalid_arguments, sentence)


def unimplemented(sentence: str) -> NoReturn:
    """The arguments are right, but nobody has written this case."""
    raise DnnError(Status.unimplemented, sentence)


def require(condition: bool, sentence: str) -> None:
    """Invalid unless the condition holds."""
    if not condition:
        invalid(sentence)


def support(condition: bool, sentence: str) -> None:
    """Unimplemented unless the condition holds."""
    if not condition:
        unimplemented(sentence)
