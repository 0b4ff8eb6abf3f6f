"""The table of operations: one row for each, which analyses, passes and code generation ask.

An operation has the name of its SPIR-V instruction without "Op" (`IAdd`), of an LLVM intrinsic
(`llvm.umin`), or one of our own (`ReadGroupCells`). The rows stand in `ops_arithmetic`,
`ops_memory`, `ops_groups`, `ops_checks` and `ops_opencl`; `docs/internals/compiler.md` says how to
add one.
"""

from __future__ import annotations

from functools import cache

from groundstate.compiler.ir import ops_arithmetic, ops_checks, ops_groups, ops_memory
from groundstate.compiler.ir.kernel import Node
from groundstate.compiler.ir.operation import ROWS, Affine, Category, Effect, LaneRule, Operation
from groundstate.compiler.ir.ops_opencl import extended
from groundstate.compiler.spirv.opcodes import GroupOperation, MemoryAccess, Op
from groundstate.compiler.spirv.types import Pointer

__all__ = ["OPERATIONS", "Affine", "Category", "Effect", "LaneRule", "Operation", "operation"]

OPERATIONS: dict[str, Operation] = ROWS
EXTENDED = ROWS["ExtInst"]
del ops_arithmetic, ops_checks, ops_groups, ops_memory  # imported to fill the table


def operation(node: Node) -> Operation:
    """The row of a node's operation."""
    row = OPERATIONS[node.op]
    if row is EXTENDED:
        return extended(int(str(node.literals[1]))) or row
    return row


def operation_of(opcode: int) -> Operation | None:
    """The row of a SPIR-V instruction, by its number."""
    return _by_opcode().get(opcode)


@cache
def _by_opcode() -> dict[int, Operation]:
    found = {getattr(Op, name, None): row for name, row in OPERATIONS.items()}
    return {number: row for number, row in found.items() if number is not None}


def named(category: Category) -> frozenset[str]:
    """The names of all operations of a category."""
    return frozenset(name for name, row in OPERATIONS.items() if row.category is category)


LEAVES = named(Category.LEAF)
"""Values that belong to no block."""
CHAINS = named(Category.CHAIN)
CASTS = named(Category.CAST)
SHUFFLES = named(Category.SHUFFLE)
SAME_ADDRESS = frozenset(name for name, row in OPERATIONS.items() if row.same_address)
"""Casts of pointers."""
REDUCTIONS = tuple(
    name for name, row in OPERATIONS.items() if row.combines and row.divergence is LaneRule.SPECIAL
)
"""Reductions and scans of a group."""


def keeps_memory(node: Node) -> bool:
    """True for a cast of a pointer to one of the same storage class."""
    return (
        node.op in SAME_ADDRESS
        and isinstance(node.type, Pointer)
        and isinstance(node.operands[0].type, Pointer)
        and node.type.storage == node.operands[0].type.storage
    )


def is_volatile(node: Node) -> bool:
    """True for an access that must happen exactly as the program says."""
    return any(isinstance(each, int) and each & MemoryAccess.Volatile for each in node.literals[:1])


def guards_of(node: Node) -> list[Node]:
    """What keeps an access from happening in checked mode: its last operands."""
    return [each for each in node.operands if each.op == "Guard"]


def is_reduction(node: Node) -> bool:
    """True for a group operation that gives all work-items the same: no scan."""
    return "Ballot" not in node.op and node.literals[:1] == (GroupOperation.Reduce,)


def has_side_effects(node: Node) -> bool:
    """True unless an operation does nothing but compute, or read memory: then it may be left out,
    and done again where nothing was written in between. A shuffle counts as one that computes."""
    if node.op == "Load":
        return is_volatile(node)
    if node.op == "ShadowLoad":
        return False
    row = operation(node)
    return not row.is_pure and row.category is not Category.SHUFFLE
