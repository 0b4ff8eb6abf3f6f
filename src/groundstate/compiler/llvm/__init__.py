"""LLVM: in a process of its own or in this one; LLVM IR to object code."""
