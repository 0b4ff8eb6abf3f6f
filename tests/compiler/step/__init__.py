"""Kernels that are stepped, against what compiled code and NumPy compute."""
