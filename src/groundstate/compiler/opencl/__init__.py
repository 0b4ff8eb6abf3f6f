"""OpenCL C to SPIR-V: finding and running clang, its options and messages, and what its output
needs before it is good SPIR-V for the OpenCL environment."""
