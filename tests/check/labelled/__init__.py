"""Kernels and programs that are known to be wrong in one way, or right although they look wrong."""
