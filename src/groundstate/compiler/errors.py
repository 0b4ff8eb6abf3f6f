"""What goes wrong in a build, in words for a person."""

from __future__ import annotations


class BuildError(Exception):
    """A module or kernel cannot be compiled. `log` names the function, the operation, the reason."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log
