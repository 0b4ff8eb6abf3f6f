"""Recordings of what programs say to Level Zero (docs/stream-format.md), and hooks in their calls
(docs/scripting.md)."""

from __future__ import annotations

from groundstate.capture.scripting.hooks import Call, hook

__all__ = ["Call", "hook"]
