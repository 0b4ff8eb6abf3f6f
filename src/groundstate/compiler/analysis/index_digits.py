"""Indices as sums of digits of a work-item's number in a line of groups.

A kernel of one dimension that makes an element of a matrix in each work-item computes its row and
column by constants: `i / 300` and `i % 300`, or, where compilers know the size of a group, by
shifts and masks of the group's number and the local id. All of these are digits of the work-item's
number `i`: `(i / place) % extent`. A number that is known as a sum of digits can be divided
further, and what was taken apart fits together again:

    (group << 7 & 384) + local   is   128 * digit(128, 4) + 1 * digit(1, 128)   is   digit(1, 512)

That holds as long as the launch has no more than `MOST_ITEMS` work-items in one line, which starts
at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.spirv.types import Int

MOST_ITEMS = 1 << 29
"""In a launch: so four times the number of a work-item is not negative, as one of 32 bits."""
TOO_LARGE = 1 << 31
"""For a number of 32 bits that may have a sign."""
SHORTEST = 32
WIDTHS = (SHORTEST, 64)
MOST_TERMS = 8
"""Of a sum that is worth following."""
MOST_PARTS = 3
"""Of sums inside of each other."""


class Digit(NamedTuple):
    """`(i / place) % extent` of the number of a work-item."""

    place: int
    extent: int
    """0: whatever is left when it is divided by the place."""

    @property
    def largest(self) -> int:
        """The highest value that it has."""
        whole = (MOST_ITEMS - 1) // self.place
        return min(whole, self.extent - 1) if self.extent else whole

    def parts(self, extent: int) -> tuple[Digit, Digit] | None:
        """The digit as that of so many values at the same place, and what lies above that."""
        if extent < 1 or self.extent % extent:
            return None
        return Digit(self.place, extent), Digit(self.place * extent, self.extent // extent)


class Part(NamedTuple):
    """The quotient or the rest of a sum, where it is no sum of digits itself."""

    op: str
    """UDiv or UMod."""
    of: Digits
    by: int

    @property
    def largest(self) -> int:
        """The highest value that it could have."""
        return (
            self.of.highest // self.by if self.op == "UDiv" else min(self.of.highest, self.by - 1)
        )


Term: TypeAlias = "Digit | Part"


class Digits(NamedTuple):
    """A sum of digits, each times a factor, and of a constant."""

    terms: tuple[tuple[Term, int], ...]
    constant: int = 0

    def digits(self) -> Iterator[Digit]:
        """All digits in it."""
        for term, _ in self.terms:
            if isinstance(term, Digit):
                yield term
            else:
                yield from term.of.digits()

    @property
    def lowest(self) -> int:
        """The smallest value that it could have."""
        return self.constant + sum(min(0, factor * each.largest) for each, factor in self.terms)

    @property
    def highest(self) -> int:
        """The largest."""
        return self.constant + sum(max(0, factor * each.largest) for each, factor in self.terms)

    @property
    def is_exact(self) -> bool:
        """Whether 32 bits hold its value, with a sign or without one."""
        return self.lowest >= 0 and self.highest < TOO_LARGE

    def times(self, factor: int) -> Digits:
        """The sum, multiplied."""
        return _sum({each: factor * by for each, by in self.terms}, self.constant * factor)

    def plus(self, other: Digits) -> Digits:
        """The sum of both."""
        terms: dict[Term, int] = dict(self.terms)
        for digit, factor in other.terms:
            terms[digit] = terms.get(digit, 0) + factor
        return _sum(terms, self.constant + other.constant)

    def divided(self, divisor: int) -> tuple[Digits, Digits] | None:
        """The quotient and the rest, if both are sums of digits."""
        return self.parts(divisor) if divisor > 0 and self.is_exact else None

    def with_first(self, first: Digit) -> Digits | None:
        """The same of numbers in another order, in which a digit goes up from one to the next, and
        what is below it in their places comes behind it; None if a digit goes over one's end."""
        moved: dict[Term, int] = {}
        rest = Digits((), self.constant)
        for term, factor in self.terms:
            if isinstance(term, Part):
                inner = term.of.with_first(first)
                parts = inner and inner.parts(term.by)
                if parts is None:
                    return None
                rest = rest.plus(parts[term.op == "UMod"].times(factor))
                continue
            for part, by in _cut(term, factor, (first.place, first.place * first.extent)):
                place = _place_with_first(part, first)
                if not place:
                    return None
                part = part._replace(place=place)
                moved[part] = moved.get(part, 0) + by
        return _sum(moved, 0).plus(rest)

    def low_bits(self, count: int) -> Digits | None:
        """So many of the low bits. They are right even if the sum does not fit into a word."""
        parts = self.parts(1 << count) if self.lowest >= 0 else None
        return parts and parts[1]

    def parts(self, divisor: int) -> tuple[Digits, Digits] | None:
        """The quotient and the rest of a number that does not wrap and has no sign."""
        high: dict[Term, int] = {}
        low: dict[Term, int] = {}
        for term, factor in self.terms:
            extent = divisor // factor if factor > 0 and divisor % factor == 0 else 0
            is_cut = isinstance(term, Digit) and extent and term.largest >= extent
            parts = term.parts(extent) if isinstance(term, Digit) and is_cut else None
            if factor % divisor == 0:
                high[term] = factor // divisor
            elif parts is not None:
                low[parts[0]], high[parts[1]] = factor, 1
            else:
                low[term] = factor
        quotient, constant = divmod(self.constant, divisor)
        rest = _sum(low, constant)
        if rest.lowest < 0:
            return None
        if rest.highest >= divisor:
            if not rest.is_exact or rest.depth >= MOST_PARTS:
                return None
            high[Part("UDiv", rest, divisor)] = 1
            rest = Digits(((Part("UMod", rest, divisor), 1),))
        return _sum(high, quotient), rest

    @property
    def depth(self) -> int:
        """How many quotients and rests there are inside of each other."""
        return max(
            (1 + each.of.depth for each, _ in self.terms if isinstance(each, Part)), default=0
        )


def _place_with_first(digit: Digit, first: Digit) -> int:
    """The place of a digit where another one comes first; 0: it is no digit there."""
    place, extent = digit
    block = first.place * first.extent
    if place % block == 0:
        return place
    if place == first.place:
        return 1 if extent and first.extent % extent == 0 else 0
    return place * first.extent if extent and first.place % (place * extent) == 0 else 0


def _cut(digit: Digit, factor: int, places: tuple[int, ...]) -> list[tuple[Digit, int]]:
    """A digit times a factor, taken apart at some places if it goes on there."""
    for place in places:
        extent, rest = divmod(place, digit.place)
        parts = digit.parts(extent) if extent > 1 and not rest else None
        if parts is not None and parts[1].extent != 1:
            low, high = parts
            return [(low, factor), *_cut(high, factor * extent, places)]
    return [(digit, factor)]


def _sum(terms: dict[Term, int], constant: int) -> Digits:
    """A sum, with digits of the same place in the same pieces, and as few as possible."""
    digits = {each: factor for each, factor in terms.items() if isinstance(each, Digit)}
    parts = [(each, factor) for each, factor in terms.items() if isinstance(each, Part) and factor]
    pieces = sorted(_merged(_aligned(digits)).items())
    return Digits((*pieces, *sorted(parts, key=repr)), constant)


def _aligned(terms: dict[Digit, int]) -> dict[Digit, int]:
    """Takes digits apart that contain another one."""
    terms = {digit: factor for digit, factor in terms.items() if factor and digit.largest}
    for digit in sorted(terms, reverse=True):
        for extent in _ends(digit, terms):
            parts = digit.parts(extent)
            if parts is not None:
                factor = terms.pop(digit)
                for part, by in zip(parts, (factor, factor * extent), strict=True):
                    terms[part] = terms.get(part, 0) + by
                return _aligned(terms)
    return terms


def _ends(digit: Digit, terms: dict[Digit, int]) -> list[int]:
    """Where others end or go on inside of a digit."""
    ends = [each.extent for each in terms if each.place == digit.place]
    for each in terms:
        extent, rest = divmod(each.place, digit.place)
        if rest == 0 and digit.parts(extent) == (Digit(digit.place, extent), each):
            ends.append(extent)
    return sorted(extent for extent in ends if extent > 1 and extent != digit.extent)


def _merged(terms: dict[Digit, int]) -> dict[Digit, int]:
    """Makes one digit of two of which one goes on where the other ends."""
    for low, factor in terms.items():
        for high in terms:
            follows = low.extent and high.place == low.place * low.extent
            if follows and terms[high] == factor * low.extent:
                rest = {each: by for each, by in terms.items() if each not in (low, high)}
                whole = Digit(low.place, low.extent * high.extent)
                rest[whole] = rest.get(whole, 0) + factor
                return _merged(rest)
    return terms


ITEM = Digits(((Digit(1, 0), 1),))
"""The number of the work-item itself."""


class IndexDigits:
    """The numbers of a kernel that are sums of digits, for groups of so many work-items."""

    def __init__(self, kernel: Kernel, items: int) -> None:
        self.items = items
        self.known: dict[Node, Digits] = {}
        for node in kernel.nodes():
            found = self._of(node)
            if found is not None and len(found.terms) <= MOST_TERMS:
                self.known[node] = found

    def of(self, node: Node) -> Digits | None:
        """What a number is the sum of, or None."""
        number = constant_int(node)
        return self.known.get(node) if number is None else Digits((), number)

    def _of(self, node: Node) -> Digits | None:
        if node.op == "Builtin":
            return self._id(node)
        rule: Rule | None = RULES.get(node.op)
        if rule is None or not _is_number(node):
            return None
        operands = [self.of(each) for each in node.operands]
        known = [each for each in operands if each is not None]
        if len(known) < len(operands) or (_widens(node) and not known[0].is_exact):
            return None
        return rule(*known)

    def _id(self, node: Node) -> Digits | None:
        name, *axis = node.literals
        if name == "GlobalLinearId":
            return ITEM
        if name == "LocalInvocationIndex":
            return _sum({Digit(1, self.items): 1}, 0)
        of_axes = {
            "GlobalInvocationId": Digit(1, 0),
            "LocalInvocationId": Digit(1, self.items),
            "WorkgroupId": Digit(self.items, 0),
        }
        digit = of_axes.get(str(name))
        if digit is None or not axis:
            return None
        return _sum({digit: 1}, 0) if axis[0] == 0 else Digits(())


def _is_number(node: Node) -> bool:
    return isinstance(node.type, Int) and node.type.width in WIDTHS and not node.type.signed


def _widens(node: Node) -> bool:
    source = node.operands[0].type
    assert isinstance(node.type, Int)
    return isinstance(source, Int) and source.width < node.type.width


def _difference(one: Digits, other: Digits) -> Digits:
    return one.plus(other.times(-1))


def _product(one: Digits, other: Digits) -> Digits | None:
    if other.terms:
        one, other = other, one
    return None if other.terms else one.times(other.constant)


def _shifted_left(one: Digits, amount: Digits) -> Digits | None:
    return (
        None if amount.terms or not 0 <= amount.constant < SHORTEST else one.times(_power(amount))
    )


def _power(amount: Digits) -> int:
    return 1 << max(0, min(amount.constant, SHORTEST))


def _quotient(one: Digits, divisor: Digits) -> Digits | None:
    parts = None if divisor.terms else one.divided(divisor.constant)
    return parts and parts[0]


def _rest(one: Digits, divisor: Digits) -> Digits | None:
    parts = None if divisor.terms else one.divided(divisor.constant)
    return parts and parts[1]


def _shifted_right(one: Digits, amount: Digits) -> Digits | None:
    if amount.terms or not 0 <= amount.constant < SHORTEST:
        return None
    return _quotient(one, Digits((), _power(amount)))


def _masked(one: Digits, mask: Digits) -> Digits | None:
    """With all bits from one on up to another."""
    if mask.terms:
        one, mask = mask, one
    bits = mask.constant % (1 << SHORTEST)
    if mask.terms or not bits or (mask.constant >> SHORTEST) not in (0, -1):
        return None
    lowest = bits & -bits
    above = bits + lowest
    if above & (above - 1):
        return None
    low = one.low_bits(above.bit_length() - 1) if mask.constant > 0 else one
    if low is None or low.lowest < 0 or low.highest >= 1 << SHORTEST:
        return None
    parts = low.parts(lowest)
    return parts and parts[0].times(lowest)


def _same(one: Digits) -> Digits:
    return one


Rule = Callable[..., "Digits | None"]
RULES: dict[str, Rule] = {
    "UConvert": _same,
    "SConvert": _same,
    "IAdd": Digits.plus,
    "ISub": _difference,
    "IMul": _product,
    "ShiftLeftLogical": _shifted_left,
    "ShiftRightLogical": _shifted_right,
    "ShiftRightArithmetic": _shifted_right,
    "UDiv": _quotient,
    "SDiv": _quotient,
    "UMod": _rest,
    "SMod": _rest,
    "SRem": _rest,
    "BitwiseAnd": _masked,
}
"""What operations make of sums of digits. Those on the first lines hold modulo a power of two, and
the others for numbers that are not negative and do not wrap, which `divided` makes sure of."""
