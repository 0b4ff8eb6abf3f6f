"""Kernels on a GPU: `export` writes them here, with inputs and results; `run` runs them there."""
