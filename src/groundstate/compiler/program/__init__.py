"""Programs: SPIR-V modules with kernels, compiled for a group size when needed.

The driver imports from here; the other modules of this package are for the compiler.
"""

from groundstate.compiler.errors import BuildError
from groundstate.compiler.program.kernel_compiler import KernelCode
from groundstate.compiler.program.program import Program
from groundstate.compiler.program.signature import Argument, Signature

__all__ = ["Argument", "BuildError", "KernelCode", "Program", "Signature"]
