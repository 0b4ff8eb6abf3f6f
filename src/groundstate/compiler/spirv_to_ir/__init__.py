"""SPIR-V to the IR: one kernel, every call inlined, the types of all operands checked."""
