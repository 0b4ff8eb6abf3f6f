"""What kernels may be made of: numbers where numbers are needed, constants where code needs them.

A module is not validated as a whole, for real ones break rules that do not matter. But what is
written later relies on the types of operands, and LLVM stops the whole program when it meets
something that it was not made for; so all types are looked at before anything is made of them, and
once more is looked when a kernel has been lowered: then it has code for every group size. The row
of each operation says what it takes (`ir/ops.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Container

from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.lowered_checks import reason_against_quads
from groundstate.compiler.ir.ops import operation
from groundstate.compiler.ir.problems import Problems
from groundstate.compiler.ir.type_check import TypeCheck
from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.program.variables import Key, variables_of

Rule = Callable[[Node], str]
"""Why a node cannot be compiled; nothing if it can."""


def check_operands(kernel: Kernel) -> None:
    """Raises BuildError if there are instructions whose operands are not what they take."""
    _check(kernel, TypeCheck().reason_against)


def check_lowered(kernel: Kernel, placed: Container[Key], lanes: int) -> None:
    """Raises BuildError if there is no code for a kernel, though its types are right.

    `placed` are the variables that have an address; sub-groups have `lanes` work-items."""
    types = TypeCheck()
    has_barriers = any(map(is_group_barrier, kernel.nodes()))

    def reason_against(node: Node) -> str:
        row = operation(node)
        if row.lowered is not None and (reason := row.lowered(types, node)):
            return reason
        if has_barriers and node.op == "VariableLengthArrayINTEL":
            return "an array of variable length does not outlive a barrier"
        if row.needs_quads and (reason := reason_against_quads(lanes)):
            return reason
        for key in variables_of(node):
            if key not in placed:
                return f"the variable %{key[1]} has no address here"
        return ""

    _check(kernel, reason_against)


def _check(kernel: Kernel, reason_against: Rule) -> None:
    problems = Problems(kernel.name)
    for node in kernel.nodes():
        reason = reason_against(node)
        if reason:
            problems.add(node, BuildError(reason))
    problems.check()
