"""Kernels for AArch64 that another machine compiles and an emulator runs."""
