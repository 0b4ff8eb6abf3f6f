"""Loads, stores, atomics and addresses, for all lanes."""
