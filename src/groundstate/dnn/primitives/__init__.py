"""Families of primitives: one file for each; see `primitive`."""
