"""Kernels on the device beside the OpenCL runtimes that drive a CPU, from the same source."""
