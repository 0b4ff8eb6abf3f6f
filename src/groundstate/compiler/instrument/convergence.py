"""Sub-group operations in divergent code: who does not come to those that all must reach, and who
takes a value from a work-item that has none to give.

`GroupIAdd` and its like, broadcasts, votes and barriers of a sub-group are undefined unless all of
its work-items come to them. Those of `GroupNonUniform` and shuffles may stand anywhere; but what a
work-item is given by one that does not execute the same shuffle is undefined, which matters if it
is used.
"""

from __future__ import annotations

from groundstate.compiler.instrument.demand import ALWAYS, Demand, condition_of
from groundstate.compiler.ir import Block, Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import Category, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.ir.site import make_site
from groundstate.compiler.spirv.opcodes import Scope
from groundstate.compiler.spirv.types import Bool, Int, Void
from groundstate.native_layouts import GROUP_REPORTS

INACTIVE_SOURCE = GROUP_REPORTS.index("inactive_source")
OWN_PARTS = ("WriteGroupCell", "CombineGroup")
"""Who uses what a work-group's operation is made of (lower/group_operations.py)."""
BROADCASTS = ("GroupNonUniformBroadcast", "SubgroupReadInvocationKHR")
SHUFFLES = (
    "SubgroupShuffleINTEL",
    "SubgroupShuffleXorINTEL",
    "GroupNonUniformShuffle",
    "GroupNonUniformShuffleXor",
    "GroupNonUniformShuffleUp",
    "GroupNonUniformShuffleDown",
)
U32 = Int(32, False)


def check_convergence(kernel: Kernel, analyses: Analyses) -> bool:
    """Watches operations of sub-groups; true if there is any."""
    del analyses
    users, demand = kernel.users(), Demand(kernel)
    before: dict[Node, list[Node]] = {}
    behind: dict[Node, list[Node]] = {}
    at_end: dict[Block, list[Node]] = {}
    for node in list(kernel.nodes()):
        if is_collective(node) and not _is_own_part(users.get(node, [])):
            check = node.derive("CheckConvergence", Void(), [], (len(kernel.sites),))
            kernel.sites.append(make_site("sync", node, noun=_noun(node), flags=0, bytes=0))
            before[node] = [check]
        elif node.op in SHUFFLES or node.op in BROADCASTS:
            before[node] = _watch_source(kernel, node, demand, behind, at_end)
    for block in kernel.blocks:
        nodes: list[Node] = []
        for node in block.nodes:
            nodes += [*before.get(node, ()), node, *behind.get(node, ())]
        block.nodes = [*nodes, *at_end.get(block, ())]
    kernel.renumber()
    return bool(before)


def is_collective(node: Node) -> bool:
    """True of what all work-items of a sub-group must come to."""
    row = operation(node)
    if row.category not in (Category.GROUP, Category.BARRIER) or row.is_of_subgroup:
        return False
    return bool(node.operands) and constant_int(node.operands[0]) == Scope.Subgroup


def _is_own_part(users: list[Node]) -> bool:
    return bool(users) and all(each.op in OWN_PARTS for each in users)


def _noun(node: Node) -> str:
    if node.op == "ControlBarrier":
        return "sub-group barrier"
    if node.op in SHUFFLES:
        return "shuffle"
    if "Broadcast" in node.op or node.op in BROADCASTS:
        return "sub-group broadcast"
    return (
        "sub-group vote" if node.op in ("GroupAll", "GroupAny") else "sub-group reduction or scan"
    )


def _watch_source(
    kernel: Kernel,
    node: Node,
    demand: Demand,
    behind: dict[Node, list[Node]],
    at_end: dict[Block, list[Node]],
) -> list[Node]:
    """Reports, where the result of a shuffle is used, that its source is not active."""
    index = node.operands[-1]
    kind = "same" if node.op in BROADCASTS else _step(node)
    is_missing = node.derive("SourceIsMissing", Bool(), [index], (kind,))
    lane = Node("Builtin", U32, [], ("SubgroupLocalInvocationId",), node.where)
    site = len(kernel.sites)
    places = demand.uses(node)
    if not places:
        return []
    facts = {"noun": _noun(node), "step": kind, "flags": 0, "bytes": 0}
    kernel.sites.append(make_site("sync", node, **facts))
    word = constant_node(Int(64, False), INACTIVE_SOURCE)
    for block, ways in places:
        added: list[Node] = []
        wrong, wanted = is_missing, None
        if ways != [ALWAYS]:
            wanted = condition_of(is_missing, ways, added)
        if wanted is not None:
            wrong = node.derive("LogicalAnd", Bool(), [wanted, is_missing])
            added.append(wrong)
        added.append(node.derive("Report", Void(), [wrong, word, index, lane], (site,)))
        own = ways == [ALWAYS] and block is node.block
        into = behind.setdefault(node, []) if own else at_end.setdefault(block, [])
        into += added
    return [lane, is_missing]


def _step(node: Node) -> str:
    """How the lane that a value comes from follows from the lane's own number and an operand."""
    return next((word for word in ("Xor", "Up", "Down") if word in node.op), "same").lower()
