"""The larger or smaller of two numbers, or NaN if either is one, is found in fewer steps.

OpenXLA writes it as `ordered(a, b) ? (a >= b ? a : b) : NaN`. In a reduction `a` is the result so
far, so each step waits for two comparisons and two selections. Where an `a` that is a NaN can only
be that very NaN, as what such an expression gives is, `isnan(b) ? NaN : (b > a ? b : a)` has the
same bits. Its inner part is one instruction, and whether `b` is a NaN does not depend on `a`.
"""

from __future__ import annotations

from groundstate.compiler.ir import Kernel, Node
from groundstate.compiler.ir.passes import Analyses
from groundstate.compiler.spirv.constants import Constant
from groundstate.compiler.spirv.types import Float

OPPOSITES = {
    "GreaterThanEqual": "FOrdGreaterThan",
    "GreaterThan": "FOrdGreaterThanEqual",
    "LessThanEqual": "FOrdLessThan",
    "LessThan": "FOrdLessThanEqual",
}
"""What is true of `(b, a)` where a comparison of `(a, b)` is false, if both are numbers."""
SIGNIFICANDS = {16: 10, 32: 23, 64: 52}
MOST_VALUES = 64
"""How many values a question about one may lead to."""


def nan_extremes(kernel: Kernel, analyses: Analyses) -> bool:
    """Shortens maxima and minima that keep NaNs."""
    del analyses
    found = {node: _Extreme(*parts) for node in kernel.nodes() if (parts := _parts(node))}
    shorter = [
        (node, extreme, known)
        for node, extreme in found.items()
        if (known := next((each for each in extreme.pair if extreme.keeps(each, found)), None))
    ]
    if not shorter:
        return False
    ahead: dict[Node, list[Node]] = {}
    for node, extreme, known in shorter:
        ahead[node] = extreme.rewrite(node, known)
    for block in kernel.blocks:
        block.nodes = [each for node in block.nodes for each in (*ahead.get(node, ()), node)]
    return True


class _Extreme:
    """`ordered(a, b) ? (comparison(a, b) ? a : b) : nan`."""

    def __init__(self, comparison: str, pair: list[Node], nan: Node) -> None:
        self.comparison = comparison
        self.pair = pair
        self.nan = nan

    def keeps(self, node: Node, found: dict[Node, _Extreme]) -> bool:
        """Whether a value is the same NaN if it is one at all."""
        bits = _bits(self.nan)
        asked: list[tuple[Node, int | None]] = [(node, None)]
        for value, part in asked:
            if value in found:
                if _bits(found[value].nan) != bits:
                    return False
                continue
            further = _sources(value, part, bits)
            if further is None or len(asked) > MOST_VALUES:
                return False
            asked.extend(each for each in further if each not in asked)
        return True

    def rewrite(self, node: Node, known: Node) -> list[Node]:
        """Makes a node the shorter expression; what has to be computed before it."""
        first, second = self.pair
        is_first = known is first
        other = second if is_first else first
        kind = node.operands[0].type
        is_nan = node.derive("IsNan", kind, [other])
        op = OPPOSITES[self.comparison] if is_first else f"FOrd{self.comparison}"
        is_other = node.derive(op, kind, [other, known])
        chosen = node.derive("Select", node.type, [is_other, other, known])
        node.operands = [is_nan, self.nan, chosen]
        return [is_nan, is_other, chosen]


def _parts(node: Node) -> tuple[str, list[Node], Node] | None:
    """The comparison, what is compared and the NaN, if a node is such an expression."""
    if node.op != "Select" or not isinstance(node.type, Float):
        return None
    condition, chosen, nan = node.operands
    if condition.op == "Unordered":
        chosen, nan = nan, chosen
    elif condition.op != "Ordered":
        return None
    if chosen.op != "Select" or _bits(nan) is None or not _is_nan(node.type, _bits(nan)):
        return None
    comparison, *pair = chosen.operands
    name = comparison.op.removeprefix("FOrd").removeprefix("FUnord")
    if name == comparison.op or name not in OPPOSITES or comparison.operands != pair:
        return None
    if set(condition.operands) != set(pair) or pair[0] is pair[1]:
        return None
    return name, pair, nan


def _sources(node: Node, part: int | None, nan: int | None) -> list[tuple[Node, int | None]] | None:
    """The values that one is taken from, or a component of it; None if it may be another NaN."""
    if node.op == "Phi":
        return [(each, part) for each in node.operands]
    if node.op == "Select":
        return [(each, part) for each in node.operands[1:]]
    if node.op == "CompositeExtract" and part is None and len(node.literals) == 1:
        (index,) = node.literals
        assert isinstance(index, int)
        return [(node.operands[0], index)]
    if node.op == "CompositeInsert" and part is not None and len(node.literals) == 1:
        value, composite = node.operands
        return [(value, None)] if node.literals[0] == part else [(composite, part)]
    constant = node.literals[0] if node.op == "Constant" else None
    if not isinstance(constant, Constant) or constant.undef:
        return None
    if part is not None and isinstance(constant.value, tuple):
        constant = constant.value[part]
    if constant.is_null:
        return []
    if not isinstance(constant.type, Float) or not isinstance(constant.value, int):
        return None
    is_kept = constant.value == nan or not _is_nan(constant.type, constant.value)
    return [] if is_kept else None


def _bits(node: Node) -> int | None:
    """Of a constant number."""
    constant = node.literals[0] if node.op == "Constant" else None
    if isinstance(constant, Constant) and isinstance(constant.value, int) and not constant.undef:
        return constant.value
    return None


def _is_nan(kind: Float, bits: int | None) -> bool:
    significand = SIGNIFICANDS.get(kind.width) if kind.encoding is None else None
    if significand is None or bits is None:
        return False
    sign = 1 << kind.width - 1
    return bits & sign - 1 > sign - (1 << significand)
