"""Recordings of what programs say to Level Zero (docs/reference/stream-format.md), and hooks in
their calls (docs/howto/scripting.md)."""

from __future__ import annotations

from groundstate.capture.scripting.hooks import Call, hook

__all__ = ["Call", "hook"]
