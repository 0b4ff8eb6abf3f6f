"""Benchmarks of the driver, each figure beside that of a named peer measured in the same run."""
