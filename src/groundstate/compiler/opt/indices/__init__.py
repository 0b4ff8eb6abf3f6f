"""Passes that make indices and counters simpler, narrower, or certain not to wrap."""
