"""Speculations on numbers: what the first lane has, and the look that tells if the others follow.

What is computed of the vector is computed of its first lane as well. Where that may part from the
other lanes, such as at a bound, the first and the last lane are looked at: a number that does not
wrap in between is on the same side of the bound in all lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.analysis.affine import LOW_WORD, widened
from groundstate.compiler.analysis.speculated_strides import (
    REMAINDERS,
    bounds,
    exchanges,
    is_product,
)
from groundstate.compiler.codegen.arithmetic.tables import write_operation
from groundstate.compiler.codegen.values import Lanes, LaneText, Speculation
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.ops import CHAINS, Affine, Category, operation
from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.spirv.opcodes import Decoration

SUMS = {Affine.SUM: "add", Affine.DIFFERENCE: "sub"}
SIGNED_BOUNDS = (("sle",), ("sge",))
"""How a number compares first that is within bounds, and does not wrap from lane to lane."""
ALWAYS = ""
"""The condition of what is no speculation."""


def speculate(
    text: LaneText,
    node: Node,
    value: Lanes,
    stride: int,
    operand: Callable[[Node], Lanes],
    mask: str | None = None,
) -> Lanes:
    """The value of a node, with the speculation that it goes up by a stride in the lanes of a mask,
    if there is one."""
    if not value.is_vector or value.speculation is not None or node.op in CHAINS:
        return value
    ways = [_way(operand(each)) for each in node.operands]
    swaps = [each.swap for each in ways if each is not None and each.swap]
    if swaps and (len(swaps) > 1 or not _keeps_order(node, stride)):
        return value
    writer = _Writer(text, node, value.type, stride, operand, mask)
    if is_product(node):
        found = writer.product(ways)
    elif operation(node).affine is Affine.SELECT:
        found = writer.choice(operand(node.operands[0]), ways[1:])
    else:
        known = [each for each in ways if each is not None]
        found = writer.write(known) if len(known) == len(ways) else None
    if found is None or not found.holds:
        return value
    if swaps:
        found = replace(found, swap=swaps[0])
    return Lanes(value.type, value.name, None, found)


def _keeps_order(node: Node, stride: int) -> bool:
    """True if a number of one step from lane to lane stays so, whatever lane has which."""
    row = operation(node)
    is_moved = row.affine in (Affine.SUM, Affine.DIFFERENCE) and not row.divides
    return stride == 1 and (row.category is Category.CAST or is_moved or widened(node) is not None)


def _way(value: Lanes) -> Speculation | None:
    """How a value goes on from its first lane, as far as anything is known."""
    if value.stride is not None:
        return Speculation(value.name, value.stride, ALWAYS, value.type)
    return value.speculation


def low_word(text: LaneText, type_: str, name: str) -> str:
    """The low 32 bits of a number, in 64."""
    if type_ == "i32":
        return text.emit(f"zext i32 {name} to i64")
    return text.emit(f"and i64 {name}, {LOW_WORD}")


def _goes_down(number: Node) -> bool:
    """True if a number is what is left when something is taken away."""
    rule = operation(number).affine
    if rule is Affine.SUM:
        return any((constant_int(each) or 0) < 0 for each in number.operands)
    return rule is Affine.DIFFERENCE


def _stays_signed(number: Node) -> bool:
    """True if the program says that a number does not wrap in any lane that computes it."""
    return Decoration.NoSignedWrap in number.decorations


class _Writer:
    """Writes the first lane of one node, and the condition under which the others follow."""

    def __init__(
        self,
        text: LaneText,
        node: Node,
        type_: str,
        stride: int,
        operand: Callable[[Node], Lanes],
        mask: str | None,
    ) -> None:
        self.text, self.node, self.type, self.stride = text, node, type_, stride
        self.operand, self.mask = operand, mask

    @property
    def across(self) -> int:
        """From the first lane to the last."""
        return self.stride * (self.text.width - 1)

    def write(self, ways: list[Speculation]) -> Speculation | None:
        """All operands are known by their first lanes."""
        node, holds = self.node, [each.holds for each in ways]
        if widened(node) is not None:
            return self._widened(ways)
        if operation(node).category is Category.CAST:
            return self._cast(ways[0])
        if bounds(node):
            return self._bounded(ways)
        if exchanges(node):
            return self._exchanged(ways)
        if node.op in REMAINDERS or operation(node).divides:
            return self._division(ways)
        first = self._operation(*(each.first for each in ways), type_=ways[0].type)
        return self._if_all(first, holds)

    def _widened(self, ways: list[Speculation]) -> Speculation:
        """A number of 32 bits in 64, without its sign."""
        node = widened(self.node)
        assert node is not None
        number = ways[self.node.operands.index(node)]
        found = self._converted(number, lambda name: low_word(self.text, number.type, name))
        if self.mask is None or number.type != "i32" or number.swap or not _goes_down(node):
            return found
        return self._from_below_zero(number, found, self.mask)

    def _from_below_zero(self, number: Speculation, found: Speculation, mask: str) -> Speculation:
        """The same for `i - d` where only the lanes from d on are active: the first lane is below
        zero, and the last is not. That those before wrap does not matter."""
        text = self.text
        is_below = text.emit(f"icmp slt i32 {number.first}, 0")
        ends_above = text.emit(f"icmp sge i32 {self._last(number)}, 0")
        crosses = text.emit(f"and i1 {is_below}, {ends_above}")
        numbers = text.as_vector(Lanes("i32", number.first, number.stride))
        below = text.emit(f"icmp slt {text.vector_type('i32')} {numbers}, zeroinitializer")
        wrapped = text.any(text.emit(f"and {text.vector_type('i1')} {below}, {mask}"))
        others = text.emit(f"xor i1 {wrapped}, true")
        start = text.emit(f"sext i32 {number.first} to i64")
        above = self._if_all(start, [number.holds, others])
        return self._either(crosses, above, found)

    def _exchanged(self, ways: list[Speculation]) -> Speculation | None:
        """Numbers of which the first is a multiple of the number of lanes, with the same bits
        inverted in all of them: the upper ones lead to another vector, the lower ones to another
        lane of it."""
        own, bits = sorted(ways, key=lambda each: each.stride == 0)
        if (own.stride, bits.stride) != (1, 0) or own.swap:
            return None
        text, type_, last = self.text, self.type, self.text.width - 1
        low = text.emit(f"and {type_} {own.first}, {last}")
        begins = text.emit(f"icmp eq {type_} {low}, 0")
        upper = text.emit(f"and {type_} {bits.first}, {~last}")
        first = text.emit(f"xor {type_} {own.first}, {upper}")
        swap = text.emit(f"and {type_} {bits.first}, {last}")
        if type_ != "i32":
            swap = text.emit(f"trunc {type_} {swap} to i32")
        return replace(self._if_all(first, [own.holds, bits.holds, begins]), swap=swap)

    def product(self, ways: list[Speculation | None]) -> Speculation | None:
        """An index times an element stride that is the same for all lanes: that it is 1."""
        still = [each for each in ways if each is not None and each.stride == 0]
        moving = [each for each in ways if each is not None and each.stride]
        if not still or not moving:
            return None
        is_one = self.text.emit(f"icmp eq {self.type} {still[0].first}, 1")
        return self._if_all(moving[0].first, [is_one, moving[0].holds])

    def choice(self, condition: Lanes, ways: list[Speculation | None]) -> Speculation | None:
        """All lanes choose the same of two numbers, and it is one that goes up by the stride."""
        text = self.text
        bits = "i1"
        given = condition.name
        if condition.is_vector:
            bits = f"i{text.width}"
            given = text.emit(f"bitcast {text.vector_type('i1')} {condition.name} to {bits}")
        found: Speculation | None = None
        for way, everybody in zip(ways, ("-1", "0"), strict=True):
            if way is None or way.stride != self.stride:
                continue
            agree = text.emit(f"icmp eq {bits} {given}, {everybody}")
            this = self._if_all(way.first, [agree, way.holds])
            found = this if found is None else self._either(agree, this, found)
        return found

    def _either(self, condition: str, one: Speculation, other: Speculation) -> Speculation:
        """The first of two speculations if a condition holds, else the second."""
        text, choose = self.text, f"select i1 {condition}"
        first = text.emit(f"{choose}, {self.type} {one.first}, {self.type} {other.first}")
        holds = text.emit(f"{choose}, i1 {one.holds}, i1 {other.holds}")
        return Speculation(first, self.stride, holds, self.type)

    def _operation(self, *names: str, type_: str) -> str:
        written = write_operation(self.text, self.node.op, self.type, type_, list(names), "")
        assert written is not None
        return written

    def _if_all(self, first: str, conditions: list[str]) -> Speculation:
        holds = ALWAYS
        for each in filter(None, conditions):
            holds = self.text.emit(f"and i1 {holds}, {each}") if holds else each
        return Speculation(first, self.stride, holds, self.type)

    def _last(self, way: Speculation) -> str:
        return self.text.emit(f"add {way.type} {way.first}, {self.across}")

    def _cast(self, way: Speculation) -> Speculation | None:
        """The same value as another type; a number may become longer or shorter."""
        if way.type == self.type:
            return self._if_all(way.first, [way.holds])
        if way.type[0] != "i" or self.type[0] != "i":
            return None
        if int(self.type[1:]) > int(way.type[1:]):
            is_signed = operation(self.node).affine is Affine.SAME
            exact = self._sum_in_more_bits(self.node.operands[0]) if is_signed else None
            if exact is not None:
                return self._if_all(exact, [way.holds])
            return self._converted(way, lambda name: self._resized("sext", way, name))
        return self._if_all(self._resized("trunc", way, way.first), [way.holds])

    def _sum_in_more_bits(self, number: Node) -> str | None:
        """The first lane of a sum that the program says does not wrap, summed in more bits, if each
        part is the same in all lanes or within bounds: then nothing is left to look at."""
        way, rule = _way(self.operand(number)), operation(number).affine
        if way is None or way.swap:
            return None
        if way.stride == 0 or bounds(number)[:1] in SIGNED_BOUNDS:
            return self._resized("sext", way, way.first)
        is_speculated = way.holds != ALWAYS
        if not is_speculated or rule not in SUMS or not _stays_signed(number):
            return None
        parts = [self._sum_in_more_bits(each) for each in number.operands]
        if None in parts:
            return None
        return self.text.emit(f"{SUMS[rule]} {self.type} {parts[0]}, {parts[1]}")

    def _resized(self, kind: str, way: Speculation, name: str) -> str:
        return self.text.emit(f"{kind} {way.type} {name} to {self.type}")

    def _converted(self, way: Speculation, convert: Callable[[str], str]) -> Speculation:
        """A number in more bits: its first and last lane must not have become further apart."""
        first, last = convert(way.first), convert(self._last(way))
        distance = self.text.emit(f"sub {self.type} {last}, {first}")
        same = self.text.emit(f"icmp eq {self.type} {distance}, {self.across}")
        return self._if_all(first, [way.holds, same])

    def _is_monotonic(self, way: Speculation, sign: str) -> str:
        """That a number does not wrap between the first and the last lane."""
        order = f"{sign}{'le' if self.stride > 0 else 'ge'}"
        return self.text.emit(f"icmp {order} {self.type} {way.first}, {self._last(way)}")

    def _bounded(self, ways: list[Speculation]) -> Speculation:
        """A number that is within its bounds in the first and the last lane."""
        text, limits = self.text, bounds(self.node)
        way, *others = sorted(ways, key=lambda each: each.stride == 0)
        conditions = [way.holds]
        for predicate, other in zip(limits, others, strict=True):
            is_last = (predicate[1] == "l") == (self.stride > 0)
            end = self._last(way) if is_last else way.first
            conditions.append(text.emit(f"icmp {predicate} {self.type} {end}, {other.first}"))
        conditions.append(self._is_monotonic(way, limits[0][0]))
        return self._if_all(way.first, conditions)

    def _division(self, ways: list[Speculation]) -> Speculation | None:
        """A number and a divisor, neither of them negative: no multiple of the divisor lies
        between the first lane and the last."""
        (number, divisor), text, type_ = ways, self.text, self.type
        if number.stride < 0:
            return None
        sign = "u" if self.node.op[0] == "U" else "s"
        across = number.stride * (text.width - 1)
        first = rest = self._operation(number.first, divisor.first, type_=type_)
        if self.node.op not in REMAINDERS:
            whole = text.emit(f"mul {type_} {first}, {divisor.first}")
            rest = text.emit(f"sub {type_} {number.first}, {whole}")
        left = text.emit(f"sub {type_} {divisor.first}, {rest}")
        last = text.emit(f"add {type_} {number.first}, {across}")
        conditions = [
            number.holds,
            text.emit(f"icmp ugt {type_} {left}, {across}"),
            text.emit(f"icmp {sign}gt {type_} {divisor.first}, 0"),
            text.emit(f"icmp {sign}le {type_} {number.first}, {last}"),
        ]
        if sign == "s":
            conditions.append(text.emit(f"icmp sge {type_} {number.first}, 0"))
        return self._if_all(first, conditions)
