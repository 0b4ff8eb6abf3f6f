"""The compiler: SPIR-V to vector machine code, and OpenCL C to SPIR-V."""
