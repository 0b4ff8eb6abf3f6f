"""Narrowing: a 64-bit counter between two extended words becomes one of 32 bits.

Clang widens `for (int k = first[i]; k < first[i + 1]; k++)` to 64 bits, because an address is as
wide. Where each lane counts for itself, that takes twice the registers, and twice the instructions
that gather. In goes a phi that starts with an extended word, goes up by a constant, and is compared
with another extended word before it goes round, so that it never leaves the range of a word; out
comes a phi of 32 bits, extended where it is used. Lanes that count together stay as they are: a
counter in a scalar register is best as wide as an address.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from groundstate.compiler.analysis.affine import LOW_WORD
from groundstate.compiler.analysis.cfg import CFG, Loop
from groundstate.compiler.analysis.divergence import VARYING, Divergence
from groundstate.compiler.ir import Block, Kernel, Node, constant_int, constant_node
from groundstate.compiler.ir.ops import OPERATIONS, Affine, operation
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.opcodes import Decoration
from groundstate.compiler.spirv.types import Int

WORD = Int(32, False)
HALF = 32
"""The bits of a word, and how far the low word of a number is shifted to extend it."""
MOST_GUARDS = 32
"""Branches that are looked at on the way to a loop."""


class Extension(NamedTuple):
    """How words become numbers of 64 bits."""

    op: str
    sign: str
    """With which comparisons of such numbers begin."""
    least: int
    most: int
    """The words with which others are compared lie between these."""
    promise: int
    """What a sum of words says that stays between them."""


SIGNED = Extension("SConvert", "S", -(1 << 31), (1 << 31) - 1, Decoration.NoSignedWrap)
UNSIGNED = Extension("UConvert", "U", 0, (1 << 32) - 1, Decoration.NoUnsignedWrap)


class Counter(NamedTuple):
    """A phi of 64 bits that stays in the range of a word."""

    phi: Node
    following: Node
    """What it is in the next iteration."""
    step: int
    extension: Extension


class Fact(NamedTuple):
    """A comparison that is true."""

    op: str
    number: Node
    bound: Node


def narrow_counters(kernel: Kernel, analyses: Analyses) -> bool:
    """Makes 32-bit counters of 64-bit ones between two words, where each lane has its own."""
    divergence = analyses.get(Divergence)
    if divergence.width == 1:
        return False
    counters = list(_counters(divergence))
    if not counters:
        return False
    replaced: dict[Node, Node] = {}
    for each in counters:
        _narrow(each, replaced)
    kernel.replace(replaced)
    for node in kernel.nodes():
        _compare_words(node)
    return True


def _counters(divergence: Divergence) -> Iterator[Counter]:
    for loop in divergence.cfg.loops:
        for phi in loop.header.phis:
            if not _is_long(phi) or divergence.stride(phi) is not VARYING:
                continue
            for extension in (SIGNED, UNSIGNED):
                found = _counter(divergence.cfg, loop, phi, extension)
                if found is not None:
                    yield found
                    break


def _is_long(node: Node) -> bool:
    return isinstance(node.type, Int) and node.type.width == 64


def _counter(cfg: CFG, loop: Loop, phi: Node, extension: Extension) -> Counter | None:
    """A phi as a counter, if it goes up by one amount, and never too far."""
    ways = list(zip(phi.operands, phi.literals, strict=True))
    starts = [value for value, source in ways if source not in loop.blocks]
    nexts = {value for value, source in ways if source in loop.blocks}
    following = nexts.pop()
    step = _step(following, phi)
    if nexts or step is None or not all(_word(each, extension) for each in starts):
        return None
    counter = Counter(phi, following, step, extension)
    return counter if _is_bounded(cfg, counter, loop.latches, starts) else None


def _step(following: Node, phi: Node) -> int | None:
    """How far a phi goes up, if that is a small constant."""
    if operation(following).affine is not Affine.SUM or following.operands[0] is not phi:
        return None
    step = constant_int(following.operands[1])
    return step if step is not None and 0 < step < 1 << 16 else None


def _word(node: Node, extension: Extension) -> Node | None:
    """The word that a number is the extension of."""
    number = constant_int(node)
    if number is not None:
        fits = extension.least <= number <= extension.most
        return constant_node(WORD, number & LOW_WORD) if fits else None
    is_extended = node.op == extension.op and node.operands[0].type == WORD
    return node.operands[0] if is_extended else None


def _is_bounded(cfg: CFG, counter: Counter, latches: list[Block], starts: list[Node]) -> bool:
    """True if the next value fits into a word wherever it is computed."""
    computed = counter.following.block
    assert computed is not None
    if any(_stays_below(cfg, counter, each, starts) for each in _facts(cfg, computed, None)):
        return True
    header, following = counter.phi.block, counter.following
    return all(
        any(
            fact.number is following and _stays_below(cfg, counter, fact, starts)
            for fact in _facts(cfg, latch, header)
        )
        for latch in latches
    )


def _stays_below(cfg: CFG, counter: Counter, fact: Fact, starts: list[Node]) -> bool:
    """True if it follows from a comparison that the next value fits. One of the counter itself has
    been made before that is computed; one of the next value says so of those behind it, so that
    the loop must not have begun above the bound."""
    phi, following, step, extension = counter
    word = _word(fact.bound, extension)
    if word is None or fact.number not in (phi, following):
        return False
    below, up_to = f"{extension.sign}LessThan", f"{extension.sign}LessThanEqual"
    is_next, is_equal = fact.number is following, fact.op == up_to
    if fact.op not in (below, up_to) and (fact.op != "INotEqual" or step > 1):
        return False
    if _most(word, extension) - (not is_equal) + step > extension.most:
        return False
    if not is_next and fact.op != "INotEqual":
        return True
    starts_at = {below, up_to} if is_equal or not is_next else {below}
    assert phi.block is not None
    return all(_is_tested(cfg, phi.block, each, fact.bound, starts_at) for each in starts)


def _most(word: Node, extension: Extension) -> int:
    """The largest number that a word can be."""
    number = constant_int(word)
    if number is not None:
        return number if extension is SIGNED else number & LOW_WORD
    if word.op == "IAdd" and extension is SIGNED and extension.promise in word.decorations:
        return extension.most + min(constant_int(word.operands[1]) or 0, 0)
    if operation(word).name == f"{extension.sign.lower()}_min":
        return min(_most(each, extension) for each in word.operands)
    return extension.most


def _is_tested(cfg: CFG, header: Block, start: Node, bound: Node, ops: set[str]) -> bool:
    """True if a loop is only entered when a comparison of its start with the bound is true."""
    pairs = [[start, bound]]
    if start.op == bound.op != "Constant":
        pairs.append([start.operands[0], bound.operands[0]])
    return all(
        any(
            fact.op in ops and [fact.number, fact.bound] in pairs
            for fact in _facts(cfg, block, header)
        )
        for block in header.predecessors
        if not cfg.dominates(header, block)
    )


def _facts(cfg: CFG, block: Block, following: Block | None) -> Iterator[Fact]:
    """What is known to be true in a block, or where control goes from there to another one."""
    above: Block | None = block
    below = following
    for _ in range(MOST_GUARDS):
        if above is None:
            return
        is_branch = len(set(above.successors)) == 2 and above.switch is None
        is_alone = below is not None and (below is following or below.predecessors == [above])
        if is_branch and is_alone and below in above.successors:
            assert above.condition is not None
            yield from _comparisons(above.condition, below is above.successors[0])
        below, above = above, cfg.dominator[above.index]


def _comparisons(condition: Node, holds: bool) -> Iterator[Fact]:
    op = condition.op if holds else operation(condition).negated
    row = OPERATIONS.get(op)
    if row is None or not row.swapped:
        return
    one, other = condition.operands
    yield Fact(op, one, other)
    yield Fact(row.swapped, other, one)


def _narrow(counter: Counter, replaced: dict[Node, Node]) -> None:
    """Puts a phi of 32 bits, and its extension, in the place of a counter."""
    phi, following, extension = counter.phi, counter.following, counter.extension
    assert phi.block is not None
    assert following.block is not None
    word = phi.derive("Phi", WORD, [], phi.literals)
    step = constant_node(WORD, counter.step)
    after = following.derive("IAdd", WORD, [word, step])
    after.decorations = {extension.promise: ()}
    for value in phi.operands:
        start = after if value is following else _word(value, extension)
        assert start is not None
        word.operands.append(start)
    phi.block.phis[phi.block.phis.index(phi)] = word
    replaced[phi] = phi.derive(extension.op, phi.type, [word])
    replaced[following] = following.derive(extension.op, phi.type, [after])
    phi.block.nodes.insert(0, replaced[phi])
    place = following.block.nodes.index(following)
    following.block.nodes[place : place + 1] = [after, replaced[following]]


def _compare_words(node: Node) -> None:
    """Compares words, where both numbers are their extensions."""
    if not operation(node).swapped or not _is_long(node.operands[0]):
        return
    for extension in (SIGNED, UNSIGNED):
        if node.op[0] not in ("I", extension.sign):
            continue
        words = [_word(each, extension) for each in node.operands]
        if words.count(None) == 1 and any(each.op == extension.op for each in node.operands):
            place = words.index(None)
            words[place] = _cut(node, node.operands[place], extension)
        if None not in words:
            node.operands = [each for each in words if each is not None]
            return


def _cut(node: Node, number: Node, extension: Extension) -> Node | None:
    """The low word of a number that extends that of another one by itself, cut before a node."""
    source = None
    if extension is SIGNED and number.op == "ShiftRightArithmetic":
        shifted, *amounts = number.operands
        if shifted.op == "ShiftLeftLogical":
            amounts.append(shifted.operands[1])
            source = shifted.operands[0]
        if [constant_int(each) for each in amounts] != [HALF, HALF]:
            return None
    elif extension is UNSIGNED and number.op == "BitwiseAnd":
        source = number.operands[0]
        if constant_int(number.operands[1]) != LOW_WORD:
            return None
    if source is None or node.block is None:
        return None
    word = node.derive("UConvert", WORD, [source])
    node.block.nodes.insert(node.block.nodes.index(node), word)
    return word
