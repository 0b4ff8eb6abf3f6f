"""The clean-up pass: puts what is known in the place of operations, and drops what nobody needs.

In goes any kernel; out comes one without copies, choices by a constant, integer operations whose
operands are known, and casts of casts, in which every value is needed for something that is stored,
branched on, or done. Passes that leave such things behind rely on it. `simplified` is also there
for passes that copy nodes one at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.ir.ops import (
    CHAINS,
    OPERATIONS,
    SAME_ADDRESS,
    Affine,
    guards_of,
    has_side_effects,
    is_volatile,
    operation,
)
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.constants import Constant
from groundstate.compiler.spirv.fold import number
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Bool, Int, Pointer

COPIES = frozenset(("Copy", "CopyObject"))
MAX_STEPS = 64
"""From a variable to an address in it."""


def simplify(kernel: Kernel, analyses: Analyses) -> bool:
    """Folds what is known, and removes what has neither side effects nor a use."""
    del analyses
    changed = _replace_simple(kernel)
    return _eliminate_dead_code(kernel) or changed


# --- What is known ------------------------------------------------------------------------------


def simplified(node: Node) -> Node | None:
    """A node that is the same as this one and simpler, or None if there is none."""
    rule = SIMPLER.get(node.op)
    return rule(node) if rule is not None else None


def known_value(node: Node) -> Constant | None:
    """The value of a number that is known."""
    value = node.literals[0] if node.op == "Constant" else None
    if isinstance(value, Constant) and isinstance(value.value, int) and not value.undef:
        return value
    return None


def _copied(node: Node) -> Node | None:
    """What is copied. A pointer to something else is a cast and no copy: a module may declare a
    function that it imports with other pointers than the one that defines it, and steps from a
    parameter are as long as the function says, not as its caller does."""
    return None if _changes_pointee(node) else node.operands[0]


def _changes_pointee(copy: Node) -> bool:
    kind, given = copy.type, copy.operands[0].type
    return (
        isinstance(kind, Pointer)
        and isinstance(given, Pointer)
        and given != kind
        and given.storage == kind.storage
    )


def _chosen(node: Node) -> Node | None:
    """What a constant chooses. SYCL's headers check every dimension of an index so, and a choice
    would hide that it is one."""
    condition, *choices = node.operands
    constant = condition.literals[0] if condition.op == "Constant" else None
    if not isinstance(condition.type, Bool) or not isinstance(constant, Constant):
        return None
    return choices[0 if constant.value else 1]


def _cast_back(node: Node) -> Node | None:
    """What a value was before it became another type and this one again, or the same."""
    source = node.operands[0]
    if source.type == node.type:
        return source
    if source.op in SAME_ADDRESS and source.operands[0].type == node.type:
        return source.operands[0]
    return None


def _folded(node: Node) -> Node | None:
    """What an operation comes to whose operands are known, or one of them adds nothing."""
    if not any(each.op == "Constant" for each in node.operands):
        return None
    row = operation(node)
    if row.fold is None or not isinstance(node.type, Int | Bool):
        return None
    values = [known_value(each) for each in node.operands]
    known = [each for each in values if each is not None]
    kinds = {type(each.type) for each in node.operands}
    if len(known) == len(values) and kinds in ({Int}, {Bool}):
        result = number(node.type, row.fold, known)
        return Node("Constant", node.type, literals=(result,))
    for one, other in (node.operands, node.operands[::-1]) if row.affine is Affine.SUM else ():
        if constant_int(one) == 0:
            return other
    return None


SIMPLER: dict[str, Callable[[Node], Node | None]] = {
    **{name: _folded for name, row in OPERATIONS.items() if row.fold is not None},
    **dict.fromkeys(SAME_ADDRESS, _cast_back),
    **dict.fromkeys(COPIES, _copied),
    "Select": _chosen,
}
"""How what is simpler is found, for the operations for which there may be something."""


def _replace_simple(kernel: Kernel) -> bool:
    """Lets users of a node use what is simpler. Operands come before their users, but for those of
    phis, so one look at each node is enough."""
    others: dict[Node, Node] = {}
    changed = False
    for block in kernel.blocks:
        for node in block.nodes:
            if others:
                node.operands = [others.get(each, each) for each in node.operands]
            if node.op not in SIMPLER:
                continue
            changed |= _shorten_cast(node)
            found = simplified(node)
            if found is not None:
                others[node] = others.get(found, found)
            elif node.op in COPIES:
                node.op, node.literals, changed = "Bitcast", (), True
    if others:
        kernel.replace(others)
        for block in kernel.blocks:
            block.nodes = [node for node in block.nodes if node not in others]
    return changed or bool(others)


def _shorten_cast(node: Node) -> bool:
    """Lets a cast of an address take the address that the first of several in a row takes, so that
    whoever looks for it does not go a long way."""
    source = node.operands[0] if node.op in SAME_ADDRESS else None
    if source is None or source.op not in SAME_ADDRESS:
        return False
    types = (node.type, source.type, source.operands[0].type)
    if not all(isinstance(each, Pointer) for each in types):
        return False
    node.operands = list(source.operands)
    return True


# --- What nobody needs --------------------------------------------------------------------------


def _eliminate_dead_code(kernel: Kernel) -> bool:
    waiting = [block.condition for block in kernel.blocks if block.condition is not None]
    stores: dict[Node, list[Node]] = {}
    """To private variables: they matter if somebody uses the variable for something else."""
    for block in kernel.blocks:
        for node in block.nodes:
            variable = _variable_stored_to(node)
            if variable is not None:
                stores.setdefault(variable, []).append(node)
            elif node.op != "Variable" and (has_side_effects(node) or _is_kept(kernel, node)):
                waiting.append(node)
    used: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node not in used:
            used.add(node)
            waiting += node.operands
            waiting += stores.get(node, ())
    removed = False
    for block in kernel.blocks:
        count = len(block.phis) + len(block.nodes)
        block.phis = [each for each in block.phis if each in used]
        block.nodes = [each for each in block.nodes if each in used]
        removed |= len(block.phis) + len(block.nodes) < count
    return removed


def _is_kept(kernel: Kernel, node: Node) -> bool:
    """True for a load that checked mode looks at, or that reports a mistake."""
    if node.op != "Load":
        return False
    pointer = node.operands[0].type
    is_shared = isinstance(pointer, Pointer) and pointer.storage != StorageClass.Function
    return (kernel.keeps_loads and is_shared) or bool(guards_of(node))


def _variable_stored_to(node: Node) -> Node | None:
    """The private variable that a node does nothing but store to."""
    if node.op != "Store" or is_volatile(node):
        return None
    address = node.operands[0]
    for _ in range(MAX_STEPS):
        if address.op not in SAME_ADDRESS and address.op not in CHAINS:
            break
        address = address.operands[0]
    return address if address.op == "Variable" else None
