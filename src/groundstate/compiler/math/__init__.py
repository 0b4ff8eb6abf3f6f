"""The functions of OpenCL.std, written as LLVM IR for any number of lanes."""
