"""Recordings of what programs say to Level Zero; see docs/stream-format.md."""
