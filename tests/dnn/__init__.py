"""Tests of the neural-network primitives."""
