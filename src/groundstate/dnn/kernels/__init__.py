"""What writes the kernels of each family, in OpenCL C for exact shapes, types and attributes."""
