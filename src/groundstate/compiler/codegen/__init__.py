"""Kernel graph to LLVM IR text, for any number of lanes."""
