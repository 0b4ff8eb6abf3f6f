"""Whether a kernel may wait in a loop for what other work-items do.

Only atomic and volatile accesses let a work-item see others, and only if what they find decides
whether a loop ends. Two kinds of loops do so and wait for nobody:

* An update: it reads a place, computes what should be there, and exchanges the two if the place has
  not changed meanwhile. Undisturbed, that succeeds.
* A claim: it looks for a place that holds a certain value, such as a free slot of a hash table, and
  takes it by a compare-and-exchange. Nobody else writes there in any other way, so places that have
  been found taken stay taken: whoever looks in vain waits for nothing that could still happen.

So a work-item ends such a loop even if all others rest, and they may run in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.ir import Block, Kernel, Node, constant_int
from groundstate.compiler.ir.ops import Category, Effect, is_volatile, operation

EXCHANGES = frozenset(("AtomicCompareExchange", "AtomicCompareExchangeWeak"))
EQUAL, DIFFERENT = frozenset(("IEqual",)), frozenset(("INotEqual",))
DEEPEST = 16
"""How far conditions are followed."""
MOST_SEEN = 32
"""Accesses in one loop that are looked at one by one."""
LONGEST = 64
"""Over how many blocks a way out of a loop may lead."""


def may_wait(kernel: Kernel) -> bool:
    """True if it may wait in a loop for what others do."""
    if not any(map(_sees_others, kernel.nodes())):
        return False
    cfg = CFG(kernel)
    if not cfg.reducible:
        return any(map(_sees_others, kernel.nodes()))
    return any(_may_wait_in(kernel, cfg, loop) for loop in cfg.loops)


def _sees_others(node: Node) -> bool:
    is_access = node.op in ("Load", "Store")
    return (is_access and is_volatile(node)) or operation(node).category is Category.ATOMIC


def _may_wait_in(kernel: Kernel, cfg: CFG, loop: Loop) -> bool:
    seen = [
        node
        for block in loop.blocks
        for node in block.nodes
        if _sees_others(node) and operation(node).effect & Effect.READS
    ]
    if not seen or not _decides(kernel, loop, seen):
        return False
    if any(_is_update(cfg, loop, node) for node in seen):
        return False
    if len(seen) > MOST_SEEN:
        return True
    return not all(_is_claim(kernel, loop, node) for node in seen if _decides(kernel, loop, [node]))


def _decides(kernel: Kernel, loop: Loop, seen: list[Node]) -> bool:
    """Whether any of some values may decide when a loop ends.

    What is stored is followed to all that is loaded from the same argument or variable. If the
    values decide on some branch, all that is stored counts, and every value that depends on the way
    to it.
    """
    users = kernel.users()
    merged = [phi for block in loop.blocks for phi in block.phis if _depends_on_way(loop, phi)]
    loads, writes = [], []
    for block in loop.blocks:
        for node in block.nodes:
            effect = operation(node).effect
            if effect & Effect.READS:
                loads.append(node)
            if effect & Effect.WRITES and node not in seen:
                writes.append(node)
    tests = {block.condition for block in loop.blocks if len(block.successors) > 1}
    reached: set[Node] = set()
    waiting = list(seen)
    is_branched = False
    while waiting:
        node = waiting.pop()
        if node in reached or node.block not in loop.blocks:
            continue
        reached.add(node)
        waiting += users.get(node, ())
        if not is_branched and node in tests:
            is_branched = True
            waiting += merged
            waiting += writes
        if node in writes:
            waiting += [each for each in loads if _may_share_memory(node, each)]
    return any(
        block.condition is None or block.condition in reached
        for block, _ in loop.exits()
        if len(block.successors) > 1
    )


def _may_share_memory(one: Node, other: Node) -> bool:
    """Whether two nodes may access the same memory. Nobody waits for oneself by two arguments."""
    bases = [
        _base(each.operands[0]) if operation(each).address_operand else None
        for each in (one, other)
    ]
    return None in bases or bases[0] is bases[1]


def _depends_on_way(loop: Loop, phi: Node) -> bool:
    """Whether a phi in a loop depends on branches in the same iteration."""
    return phi.block is not loop.header or len(loop.latches) > 1


# --- Updates --------------------------------------------------------------------------------------


def _is_update(cfg: CFG, loop: Loop, node: Node) -> bool:
    """Whether a node is an exchange that each iteration does, that compares with what was found at
    the same place, and whose success ends the loop."""
    if node.op not in EXCHANGES or node.block is None:
        return False
    if not all(cfg.dominates(node.block, latch) for latch in loop.latches):
        return False
    return _is_of_place(loop, node) and _leaves(loop, node, node.operands[5])


def _is_of_place(loop: Loop, node: Node) -> bool:
    """Whether an exchange compares with what this iteration has read at its place, or with what
    the last exchange has found there."""
    place, expected = _uncast(node.operands[0]), _uncast(node.operands[5])
    if expected.block not in loop.blocks:
        return False
    if expected.op in ("Load", "AtomicLoad"):
        return _uncast(expected.operands[0]) is place
    if expected.op != "Phi" or expected.block is not loop.header or place.block in loop.blocks:
        return False
    return all(
        _uncast(value) is node
        or (_uncast(value).op in ("Load", "AtomicLoad") and _reads(_uncast(value), place))
        for value, source in zip(expected.operands, expected.literals, strict=True)
        if isinstance(source, Block) and source in loop.blocks
    )


def _reads(load: Node, place: Node) -> bool:
    return _uncast(load.operands[0]) is place


# --- Claims ---------------------------------------------------------------------------------------


def _is_claim(kernel: Kernel, loop: Loop, node: Node) -> bool:
    """Whether whoever finds the value that is looked for leaves the loop, and nothing but
    exchanges with that value write to the memory in question."""
    base = _base(node.operands[0])
    if base is None:
        return False
    exchanges = []
    for each in kernel.nodes():
        row = operation(each)
        if not row.effect & Effect.WRITES:
            continue
        if not row.address_operand:
            return False
        other = _base(each.operands[0])
        if other is not None and other is not base:
            continue
        if other is None or each.op not in EXCHANGES:
            return False
        exchanges.append(each)
    wanted = {constant_int(each.operands[5]) for each in exchanges}
    if len(wanted) != 1 or None in wanted:
        return False
    return _leaves(loop, node, exchanges[0].operands[5])


def _base(pointer: Node) -> Node | None:
    """The argument or variable that an address is of."""
    found: set[Node] = set()
    waiting, known = [pointer], {pointer}
    while waiting and len(known) < LONGEST:
        node = waiting.pop()
        row = operation(node)
        if row.category is Category.LEAF or node.op == "Variable":
            found.add(node)
            continue
        if node.op in ("Phi",):
            further = list(node.operands)
        elif row.same_address or row.category is Category.CHAIN or _is_cast(node):
            further = node.operands[:1]
        else:
            return None
        for each in further:
            if each not in known:
                known.add(each)
                waiting.append(each)
    return next(iter(found)) if len(found) == 1 and not waiting else None


# --- Ways out of a loop ---------------------------------------------------------------------------


def _leaves(loop: Loop, node: Node, value: Node) -> bool:
    """Whether a work-item that finds a value by a node leaves the loop, for certain.

    It is followed from there, over the end of the iteration once. An exchange with the same value
    at the same place finds it, too.
    """
    assert node.block is not None
    waiting = [(node.block, _Known(node, value))]
    for _ in range(LONGEST):
        if not waiting:
            return True
        block, known = waiting.pop()
        for following in known.ways(block):
            if following not in loop.blocks:
                continue
            after = known.copy()
            if following is loop.header and not after.go_round(loop):
                return False
            after.enter(block, following)
            waiting.append((following, after))
    return False


class _Known:
    """What is known of values on a way through a loop."""

    def __init__(self, node: Node, value: Node) -> None:
        self.value = _uncast(value)
        self.same = {node}
        """Nodes that are known to have the value."""
        self.places = {_uncast(node.operands[0])}
        """Nodes that are known to be the address where it was found."""
        self.ended: set[Block] = set()
        self.is_first = True

    def copy(self) -> _Known:
        """The same, to which other things can be added."""
        other = copy(self)
        other.same, other.places = set(self.same), set(self.places)
        return other

    def ways(self, block: Block) -> list[Block]:
        """The blocks that may come next."""
        if len(block.successors) != 2 or block.condition is None or block.switch is not None:
            return block.successors
        taken = self.truth(block.condition)
        return block.successors if taken is None else [block.successors[0 if taken else 1]]

    def enter(self, source: Block, target: Block) -> None:
        """Goes from a block to the next."""
        passed = list(self._passed(source, target))
        same = {phi for phi, value in passed if self.is_same(value)}
        places = {phi for phi, value in passed if value in self.places}
        if self.ended:
            self.same = {each for each in self.same if each.block not in self.ended}
            self.places = {each for each in self.places if each.block not in self.ended}
            self.ended = set()
        self.same |= same
        self.places |= places
        self._look_for_exchanges(target)

    def go_round(self, loop: Loop) -> bool:
        """Ends the iteration, after which values of the loop are no longer those of before; False
        if nothing is known then, or if it is not the first."""
        self.ended = loop.blocks
        is_first, self.is_first = self.is_first, False
        return is_first and self.value.block not in loop.blocks

    def _passed(self, source: Block, target: Block) -> Iterator[tuple[Node, Node]]:
        for phi in target.phis:
            for value, block in zip(phi.operands, phi.literals, strict=True):
                if block is source:
                    yield phi, _uncast(value)

    def _look_for_exchanges(self, block: Block) -> None:
        for node in block.nodes:
            if (
                node.op in EXCHANGES
                and _uncast(node.operands[0]) in self.places
                and self.is_same(node.operands[5])
            ):
                self.same.add(node)

    def is_same(self, node: Node) -> bool:
        node = _uncast(node)
        if node is self.value or node in self.same:
            return True
        number = constant_int(node)
        return number is not None and number == constant_int(self.value)

    def truth(self, node: Node, depth: int = 0) -> bool | None:
        """Whether a condition holds, if that is known."""
        if depth > DEEPEST:
            return None
        if node.op in EQUAL | DIFFERENT:
            if all(map(self.is_same, node.operands)):
                return node.op in EQUAL
            return None
        if node.op == "LogicalNot":
            inner = self.truth(node.operands[0], depth + 1)
            return None if inner is None else not inner
        if node.op in ("LogicalOr", "LogicalAnd"):
            both = [self.truth(each, depth + 1) for each in node.operands]
            decisive = node.op == "LogicalOr"
            if decisive in both:
                return decisive
            return None if None in both else not decisive
        if node.op == "Select":
            test, yes, no = node.operands
            chosen = self.truth(test, depth + 1)
            if chosen is not None:
                return self.truth(yes if chosen else no, depth + 1)
            return None
        number = constant_int(node)
        return None if number is None else bool(number)


def _uncast(node: Node) -> Node:
    """A value without what only gives its bits another type."""
    while _is_cast(node):
        node = node.operands[0]
    return node


def _is_cast(node: Node) -> bool:
    return node.op == "Bitcast" or (operation(node).same_address and len(node.operands) == 1)
