"""Operations of a whole work-group, in terms of sub-groups, shared cells and barriers.

`GroupIAdd` over a work-group becomes: each sub-group adds up its lanes and adds the sum to a cell,
one sub-group after the other; barrier; everybody reads the cell; in a loop another barrier, so that
the cell may be used again.
The nodes `WriteGroupCell` and `ReadGroupCells` are ours; codegen/groups/workgroups.py writes them.
"""

from __future__ import annotations

from groundstate.compiler.analysis.facts import observes_subgroups
from groundstate.compiler.ir import Block, Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import Category, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.opcodes import GroupOperation, MemorySemantics, Scope
from groundstate.compiler.spirv.types import Int, Void

SEMANTICS = MemorySemantics.AcquireRelease | MemorySemantics.WorkgroupMemory


def lower_group_operations(kernel: Kernel, analyses: Analyses) -> bool:
    """Makes sub-group operations, cells and barriers of work-group operations."""
    del analyses
    kernel.observes_subgroups = observes_subgroups(kernel)  # before there are any of ours
    cells = 0
    for block in kernel.blocks:
        nodes: list[Node] = []
        for node in block.nodes:
            if _is_group_operation(node):
                *parts, barrier = _rewrite(node, cells)
                nodes += parts
                if _may_come_again(block):
                    nodes.append(barrier)
                cells += 1
            else:
                nodes.append(node)
        block.nodes = nodes
    kernel.renumber()
    kernel.cells = cells
    return cells > 0


def _may_come_again(block: Block) -> bool:
    """True if control may come back to a block."""
    seen: set[Block] = set()
    waiting = [block]
    while waiting:
        for each in waiting.pop().successors:
            if each is block:
                return True
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return False


def _is_group_operation(node: Node) -> bool:
    row = operation(node)
    if row.category is not Category.GROUP or row.is_of_subgroup:
        return False
    return constant_int(node.operands[0]) == Scope.Workgroup


def _number(value: int) -> Node:
    return constant_node(Int(32, False), value)


def _barrier(node: Node) -> Node:
    scope = _number(Scope.Workgroup)
    return node.derive("ControlBarrier", Void(), [scope, scope, _number(SEMANTICS)])


def _rewrite(node: Node, cell: int) -> list[Node]:
    if node.op == "GroupBroadcast":
        write = node.derive("WriteGroupCell", Void(), node.operands[1:], (cell, "one"))
        node.op, node.operands, node.literals = "ReadGroupCells", [], (cell, "one")
        return [write, _barrier(node), node, _barrier(node)]
    kind = operation(node).combines
    steps = int(str(node.literals[0])) if node.literals else GroupOperation.Reduce
    reduce = (GroupOperation.Reduce,) if node.literals else ()
    scope = _number(Scope.Subgroup)
    part = node.derive(node.op, node.type, [scope, node.operands[1]], reduce)
    mode = "all" if steps == GroupOperation.Reduce else "before"
    write = node.derive("WriteGroupCell", Void(), [part], (cell, mode, kind))
    if steps == GroupOperation.Reduce:
        node.op, node.operands, node.literals = "ReadGroupCells", [], (cell, mode, kind)
        return [part, write, _barrier(node), node, _barrier(node)]
    assert steps in (GroupOperation.InclusiveScan, GroupOperation.ExclusiveScan)
    inner = node.derive(node.op, node.type, [_number(Scope.Subgroup), node.operands[1]], (steps,))
    before = node.derive("ReadGroupCells", node.type, [], (cell, mode, kind))
    node.op, node.operands, node.literals = "CombineGroup", [before, inner], (kind,)
    return [part, write, _barrier(node), before, inner, node, _barrier(node)]
