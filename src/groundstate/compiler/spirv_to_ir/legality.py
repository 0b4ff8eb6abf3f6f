"""What the instructions of a kernel may be given: numbers where numbers are needed, and so on.

A module is not validated as a whole, for real ones break rules that do not matter. But what is
written later relies on the types of operands, and LLVM stops the whole program when it meets
something that it was not made for; so all types are looked at before anything is made of them.
The row of each operation says what it takes (`ir/ops.py`).
"""

from __future__ import annotations

from groundstate.compiler.codegen.problems import Problems
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel
from groundstate.compiler.ir.type_check import TypeCheck


def check_operands(kernel: Kernel) -> None:
    """Raises BuildError if there are instructions whose operands are not what they take."""
    problems = Problems(kernel.name)
    check = TypeCheck()
    for node in kernel.nodes():
        reason = check.reason_against(node)
        if reason:
            problems.add(node, BuildError(reason))
    problems.check()
