"""The compiler: SPIR-V to vector machine code, and OpenCL C to SPIR-V."""

from groundstate.compiler import module_finder

module_finder.install()
