"""What can go wrong while a recording is played."""

from __future__ import annotations


class PlayError(Exception):
    """A recording cannot be played at all, or not any further."""


class UnplayableError(PlayError):
    """One call cannot be made; the sentence says why, and the others go on."""
