"""Narrowing: an induction variable of which only the low 32 bits are used becomes one of 32 bits.

Clang makes a 64-bit phi of `for (uint i = get_global_id(0); i < n; i += get_global_size(0))`, and
masks its low word wherever the program uses `i`. The masks hide that lanes stay next to each other
from iteration to iteration. With a phi of 32 bits, that may wrap as the program says, it is plain,
and only the widening to an address is left to be checked (`codegen/control/speculation.py`).
"""

from __future__ import annotations

from groundstate.compiler.analysis.affine import LOW_WORD
from groundstate.compiler.analysis.cfg import CFG
from groundstate.compiler.ir import Block, Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import Affine, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.lower.barriers import is_group_barrier
from groundstate.compiler.spirv.types import Int

WORD = Int(32, False)
EXACT = (Affine.SUM, Affine.DIFFERENCE, Affine.PRODUCT)
"""Operations whose low word depends on the low words of their operands alone."""


def narrow_induction(kernel: Kernel, analyses: Analyses) -> bool:
    """Makes 32-bit induction variables of 64-bit ones of which only the low word is used."""
    users = kernel.users()
    narrowed = {
        phi: Node("Phi", WORD, where=phi.where)
        for loop in analyses.get(CFG).loops
        for phi in loop.header.phis
        if _is_long(phi) and users[phi] and all(_takes_low_word(each) for each in users[phi])
    }
    if not narrowed:
        return False
    _Narrowing(kernel, users, narrowed).narrow()
    return True


def _is_long(node: Node) -> bool:
    return isinstance(node.type, Int) and node.type.width == 64


def _takes_low_word(node: Node) -> bool:
    return _masked(node) is not None or _is_truncation(node)


def _masked(node: Node) -> Node | None:
    """What a node takes the low word of, in 64 bits."""
    if operation(node).affine is not Affine.AND or not _is_long(node):
        return None
    one, other = node.operands
    if constant_int(one) == LOW_WORD:
        one, other = other, one
    return one if constant_int(other) == LOW_WORD and constant_int(one) is None else None


def _is_truncation(node: Node) -> bool:
    """True for the low bits of a number, 32 at most."""
    return (
        node.op in ("UConvert", "SConvert")
        and isinstance(node.type, Int)
        and node.type.width <= 32
        and _is_long(node.operands[0])
    )


class _Narrowing:
    """Some phis of a kernel, and what takes their place."""

    def __init__(
        self, kernel: Kernel, users: dict[Node, list[Node]], narrowed: dict[Node, Node]
    ) -> None:
        self.kernel = kernel
        self.users = users
        self.narrowed = narrowed

    def narrow(self) -> None:
        """Lets everybody use the low words."""
        for phi, word in self.narrowed.items():
            assert phi.block is not None
            for value, source in zip(phi.operands, phi.literals, strict=True):
                assert isinstance(source, Block)
                word.operands.append(self._low_word(value) or self._truncated(value, source))
            word.literals = phi.literals
        replaced: dict[Node, Node] = {}
        for phi, word in self.narrowed.items():
            assert phi.block is not None
            phi.block.phis[phi.block.phis.index(phi)] = word
            for user in self.users[phi]:
                if _is_truncation(user) and user.type == WORD:
                    replaced[user] = word
                else:
                    user.operands = [word]
                    user.op, user.decorations = "UConvert", {}
        self.kernel.replace(replaced)
        for block in self.kernel.blocks:
            block.nodes = [each for each in block.nodes if each not in replaced]
            for node in list(block.nodes):
                self._narrow_sum(node)

    def _low_word(self, node: Node) -> Node | None:
        """The low word of a number, if it is there already."""
        if node in self.narrowed:
            return self.narrowed[node]
        number = constant_int(node)
        if number is not None:
            return constant_node(WORD, number & LOW_WORD)
        masked = _masked(node)
        if masked is not None:
            return self._low_word(masked)
        if node.op == "UConvert" and node.operands[0].type == WORD:
            return node.operands[0]
        return next(
            (
                each
                for each in self.users.get(node, ())
                if _is_truncation(each) and each.type == WORD and each.block is node.block
            ),
            None,
        )

    def _truncated(self, node: Node, block: Block) -> Node:
        """A new node for the low word, at the end of a block."""
        word = Node("UConvert", WORD, [node], where=node.where)
        at_barrier = bool(block.nodes) and is_group_barrier(block.nodes[-1])
        block.nodes.insert(len(block.nodes) - at_barrier, word)
        return word

    def _narrow_sum(self, node: Node) -> None:
        """Makes a sum of low words of the low word of a sum, if one of them is a new phi."""
        if not _is_truncation(node) or node.type != WORD:
            return
        total, block = node.operands[0], node.block
        if operation(total).affine not in EXACT or block is None:
            return
        words = [self._low_word(each) for each in total.operands]
        if not any(word in self.narrowed.values() for word in words if word is not None):
            return
        place = block.nodes.index(node)
        for index, (word, operand) in enumerate(zip(words, total.operands, strict=True)):
            if word is None or word is node:
                words[index] = truncated = Node("UConvert", WORD, [operand], where=node.where)
                block.nodes.insert(place, truncated)
                place += 1
        node.op, node.decorations = total.op, {}
        node.operands = [word for word in words if word is not None]
