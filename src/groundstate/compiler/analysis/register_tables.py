"""Constant tables that fit in a few vector registers: `constant uchar digits[16] = "0123...";`.

A gather reads its lanes one by one. Where a table of the program is small, its entries are in
registers after one load, and an instruction that moves lanes at will looks up all lanes together.
An index outside of the table is undefined; then any entry is as good as another.
"""

from __future__ import annotations

from typing import NamedTuple

from groundstate.compiler.analysis.places import place_of
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.ops import is_volatile
from groundstate.compiler.spirv.module import Variable
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Float, Int, Vector
from groundstate.compiler.target import Target


class Entry(NamedTuple):
    """What a load reads of a table."""

    table: Node
    number: Int | Float
    """What is loaded, or one component of it."""
    entries: int
    """How many such numbers the table has."""
    indices: list[tuple[Node, int]]
    """What is not known of the place, and by how many numbers a step of each goes on."""
    first: int
    """The number at which these begin."""


def entry_of(load: Node, target: Target) -> Entry | None:
    """What a load reads of a table that fits in registers; None if it reads anything else."""
    if load.op != "Load" or len(load.operands) != 1 or is_volatile(load):
        return None
    number = load.type.element if isinstance(load.type, Vector) else load.type
    if not isinstance(number, Int | Float) or number.width != 8 * number.size:
        return None
    lookups = target.table_lookups.get(number.size, ())
    (table, steps), offset = place_of(load.operands[0])
    # A lane's vector is one load, and its components would take so many lookups each.
    most = 1 if isinstance(load.type, Vector) else target.most_lookups
    size, bytes_ = number.size, _constant_bytes(table)
    if not lookups or not 0 < bytes_ <= lookups[-1].entries * most * size:
        return None
    if any(each % size for each in (bytes_, offset, *(step for _, step in steps))):
        return None
    indices = [(index, step // size) for index, step in steps]
    return Entry(table, number, bytes_ // size, indices, offset // size)


def _constant_bytes(node: Node) -> int:
    """How large a variable is that nothing writes to; 0 for anything else."""
    variable = node.literals[0] if node.op == "Global" else None
    if not isinstance(variable, Variable) or variable.builtin is not None:
        return 0
    kind = variable.data_type
    is_constant = variable.storage == StorageClass.UniformConstant
    return kind.size if is_constant and kind is not None else 0
