"""Ranges of one dimension as rows and columns.

In goes a kernel whose work-items are numbered along a line, and compute from their numbers by
constants which element of a matrix each of them makes. Out comes the same with ids for the column
and the row. Then it is plain which values depend on the column alone, or on the row, and a vector
of work-items can lie within a row, wherever rows begin. What a comparison of a work-item's number
with the size of the matrix says can be taken as known, for rows that lie in it.

Rows need not be neighbours. Those of an image differ in where its border is, and rows at the same
place of several images do not: the number of the row is then that of the image, and the place in it
is a third id, which is the same for all rows that run together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groundstate.compiler.analysis.index_digits import (
    ITEM,
    Digit,
    Digits,
    IndexDigits,
    Part,
    Term,
)
from groundstate.compiler.ir import Block, Kernel, Node, constant_int, constant_node
from groundstate.compiler.opt.simplify import known_value
from groundstate.compiler.spirv.constants import Constant
from groundstate.compiler.spirv.types import Bool, Int

COLUMN, ROW = ("GlobalInvocationId", 0), ("GlobalInvocationId", 1)
BAND, PLACE = ("WorkgroupId", 1), ("WorkgroupId", 2)
"""The ids that hold them, the number of the group of rows, and what is between a row's first column
and the next row."""
SHORT, LONG = 32, 64
BOUNDS = {
    "LessThan": (0, True),
    "LessThanEqual": (1, True),
    "GreaterThan": (1, False),
    "GreaterThanEqual": (0, False),
}
"""Comparisons of a work-item's number with a constant, without their sign: what is added to it for
the number of work-items that they say the same of, and what they say."""
MOST_COLUMNS = 1 << 20
"""Of a row: two of them are far fewer than a launch may have work-items."""


class Bound(NamedTuple):
    """What a comparison says of the first work-items."""

    items: int
    holds: bool


class RangeInRows:
    """The rows and columns that a kernel divides its range into, for groups of so many items."""

    def __init__(self, kernel: Kernel, items: int, first: Digit | None = None) -> None:
        self.kernel = kernel
        self.digits = IndexDigits(kernel, items)
        self.users = kernel.users()
        self.numbers = [node for node in self.digits.known if self._is_wanted(node)]
        """The sums of digits that others compute with."""
        self.first = first
        """The digit that rows go along, if that is not the lowest one."""
        self._written = self._find_written()
        self._terms = {digit for sum_ in self._written.values() for digit in sum_.digits()}
        self.columns = self._find_columns()
        """In a row; 0: there are no rows."""
        self.limit = self._find_limit()
        """Of work-items that do something, as far as the kernel says."""

    def _is_wanted(self, node: Node) -> bool:
        if node.op == "Builtin":
            return False
        if any(each not in self.digits.known for each in self.users[node]):
            return True
        return any(block.condition is node for block in self.kernel.blocks)

    @property
    def higher_digits(self) -> list[Digit]:
        """Those that are not the lowest one."""
        return sorted(each for each in self._terms if each.place > 1)

    def _find_written(self) -> dict[Node, Digits]:
        """The numbers as sums of digits in the order that rows have; none if one is no such sum."""
        first, known = self.first, self.digits.known
        if first is None:
            return {node: known[node] for node in self.numbers}
        moved = {node: known[node].with_first(first) for node in self.numbers}
        found = {node: digits for node, digits in moved.items() if digits is not None}
        return found if len(found) == len(moved) else {}

    def _find_columns(self) -> int:
        """The shortest row, if all others consist of such rows, and there is no other number."""
        found = min(
            (each.extent for each in self._terms if each.place == 1 and each.extent), default=0
        )
        if not found:
            found = min((each.place for each in self._terms if each.place > 1), default=0)
        if not found or not all(_in_rows(each, found) for each in self._terms):
            return 0
        for node in self.kernel.nodes():
            if node.op == "Builtin" and not self._is_understood(node):
                return 0
        return found

    def distances(self) -> list[int]:
        """How far apart rows may be, the nearest first."""
        ends = {each.place * each.extent for each in self._terms} | {self.columns}
        places = {each.place for each in self._terms} | ends
        return sorted(each for each in places if each >= self.columns and self._suits(each))

    def _suits(self, distance: int) -> bool:
        """True if each digit can be taken apart where a row ends and the next begins."""
        for place, extent in self._terms:
            inside = distance // max(place, self.columns)
            if place > distance and place % distance:
                return False
            if place <= distance and distance % place:
                return False
            count = extent // self.columns if place == 1 else extent
            if place < distance and count and inside % count and count % inside:
                return False
        return True

    def _is_understood(self, node: Node) -> bool:
        """True for an id that nobody takes but to compute sums of digits."""
        users = self.users[node]
        return node in self.digits.known and all(each in self.digits.known for each in users)

    def _find_limit(self) -> int | None:
        return min(
            (bound.items for bound in map(self._bound, self.kernel.nodes()) if bound), default=None
        )

    def _bound(self, node: Node) -> Bound | None:
        """What a comparison says of the first work-items, or None."""
        if node.op[1:] not in BOUNDS or self.digits.known.get(node.operands[0]) != ITEM:
            return None
        number = constant_int(node.operands[1])
        more, holds = BOUNDS[node.op[1:]]
        return Bound(number + more, holds) if number is not None and number > 0 else None

    def inside(self, distance: int, rows: int) -> Kernel:
        """A copy of the kernel with rows and columns, for work-items that are below the limit, of
        which groups have so many rows."""
        copy, ids, others = self._copied(distance, rows, knows_bounds=True)
        copy.replace(others)
        copy.blocks[0].nodes[:0] = ids.nodes
        _fold_branches(copy)
        return copy

    def anywhere(self, distance: int) -> Kernel:
        """The same for any work-items, of which those do nothing that there are not: in columns
        behind a row's end, or behind the last one of the launch."""
        copy, ids, others = self._copied(distance, 1)
        copy.replace(others)
        entry = Block(copy.blocks[0].where)
        entry.condition = ids.exists()
        entry.nodes = ids.nodes
        entry.successors = [copy.blocks[0], Block(entry.where)]
        copy.blocks[0].predecessors = [entry]
        copy.blocks.insert(0, entry)
        copy.reorder()
        return copy

    def _copied(
        self, distance: int, rows: int, knows_bounds: bool = False
    ) -> tuple[Kernel, _Ids, dict[Node, Node]]:
        """A copy, its ids, and what takes the place of sums of digits, and of what is known."""
        copy = self.kernel.copy()
        ids = _Ids(self.columns, distance, rows)
        copies = dict(zip(self.kernel.nodes(), copy.nodes(), strict=True))
        others: dict[Node, Node] = {}
        for node, twin in copies.items():
            bound = self._bound(node) if knows_bounds else None
            if bound is not None:
                others[twin] = Node("Constant", Bool(), literals=(Constant(Bool(), bound.holds),))
        for node in self.numbers:
            others[copies[node]] = _in_place(copies[node], self._written[node], ids)
        return copy, ids, others


def _in_place(node: Node, digits: Digits, ids: _Ids) -> Node:
    """What takes the place of a number. A constant is added where it stands, so that the other
    summands are one value for many numbers."""
    assert isinstance(node.type, Int)
    assert node.block is not None
    if not digits.terms:
        return constant_node(node.type, digits.constant % (1 << node.type.width))
    summands = ids.sum(digits._replace(constant=0), node.type.width)
    if not digits.constant:
        return summands
    constant = constant_node(node.type, digits.constant % (1 << node.type.width))
    added = node.derive("IAdd", node.type, [summands, constant])
    nodes = node.block.nodes
    nodes.insert(nodes.index(node), added)
    return added


def _in_rows(digit: Digit, columns: int) -> bool:
    """True for a digit that is the column, or is computed from the row, or is the sum of both."""
    if digit.place % columns == 0:
        return True
    return digit.place == 1 and digit.extent % columns == 0


class _Ids:
    """Writes sums of digits, from a column, a row, and what is between."""

    def __init__(self, columns: int, distance: int, rows: int) -> None:
        self.columns = columns
        self.distance = distance
        """From a row to the next."""
        self.rows = rows
        """Of a group."""
        self.nodes: list[Node] = []
        """In their order."""
        self._known: dict[object, Node] = {}

    def _add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def _once(self, key: object, write: Callable[[], Node]) -> Node:
        if key not in self._known:
            self._known[key] = write()
        return self._known[key]

    def _id(self, axis: tuple[str, int], width: int) -> Node:
        """The column or the row, as a number of so many bits."""
        whole = self._once(axis, lambda: self._add(Node("Builtin", Int(64), [], axis)))
        if width == LONG:
            return whole
        cut = Node("UConvert", Int(width), [whole])
        return self._once((axis, width), lambda: self._add(cut))

    def sum(self, digits: Digits, width: int = SHORT) -> Node:
        """The node that holds a sum of digits without a constant."""
        return self._once((digits, width), lambda: self._written(digits, width))

    def exists(self) -> Node:
        """The condition that there is a work-item."""
        columns = constant_node(Int(SHORT), self.columns)
        size = self._add(Node("Builtin", Int(LONG), [], ("GlobalSize", 0)))
        items = self._add(Node("UConvert", Int(SHORT), [size]))
        in_row = self._add(Node("ULessThan", Bool(), [self._id(COLUMN, SHORT), columns]))
        in_range = self._add(Node("ULessThan", Bool(), [self.sum(ITEM), items]))
        return self._add(Node("LogicalAnd", Bool(), [in_row, in_range]))

    def _written(self, digits: Digits, width: int) -> Node:
        parts = [
            self._by("IMul", value, by)
            for term, factor in digits.terms
            for value, by in self._parts(term, factor, width)
        ]
        total = parts[0]
        for part in parts[1:]:
            total = self._add(Node("IAdd", part.type, [total, part]))
        return total

    def _parts(self, digit: Term, factor: int, width: int) -> list[tuple[Node, int]]:
        """The ids in a digit, with their factors; or a quotient or rest of a sum."""
        if isinstance(digit, Part):
            return [(self._once((digit, width), lambda: self._part(digit, width)), factor)]
        place, extent = digit
        if place == 1:
            above = Digit(self.columns, extent // self.columns)
            over = above.extent != 1
            rest = self._parts(above, factor * self.columns, width) if over else []
            return [(self._id(COLUMN, width), factor), *rest]
        between = self.distance // place
        if place < self.distance and (extent == 0 or extent > between):
            above = Digit(self.distance, extent // between)
            below = self._parts(Digit(place, between), factor, width)
            return [*below, *self._parts(above, factor * between, width)]
        value = self._once((digit, width), lambda: self._digit(digit, width))
        return [(value, factor)]

    def _part(self, part: Part, width: int) -> Node:
        value = self.sum(part.of._replace(constant=0), width)
        if part.of.constant:
            value = self._add(
                Node("IAdd", value.type, [value, constant_node(value.type, part.of.constant)])
            )
        return self._by(part.op, value, part.by)

    def _digit(self, digit: Digit, width: int) -> Node:
        place, extent = digit
        if place < self.distance:
            value = self._by("UDiv", self._id(PLACE, width), place // self.columns)
            is_last = place * extent == self.distance
            return value if is_last else self._by("UMod", value, extent)
        number = place // self.distance
        if number % self.rows == 0:  # the same in all rows of a group
            value = self._by("UDiv", self._id(BAND, width), number // self.rows)
        else:
            value = self._by("UDiv", self._id(ROW, width), number)
        return self._by("UMod", value, extent) if extent else value

    def _by(self, op: str, value: Node, number: int) -> Node:
        """A number and a constant, if that changes anything."""
        if number == 1 and op != "UMod":
            return value
        assert isinstance(value.type, Int)
        constant = constant_node(value.type, number % (1 << value.type.width))
        return self._add(Node(op, value.type, [value, constant]))


def _fold_branches(kernel: Kernel) -> None:
    """Goes straight where a condition is known."""
    for block in kernel.blocks:
        value = known_value(block.condition) if block.condition is not None else None
        if value is None or block.switch is not None:
            continue
        target, other = block.successors if value.value else block.successors[::-1]
        if other is not target:
            _forget_way(block, other)
        block.successors, block.condition = [target], None
    kernel.reorder()


def _forget_way(source: Block, block: Block) -> None:
    for phi in block.phis:
        pairs = zip(phi.operands, phi.literals, strict=True)
        kept = [(value, each) for value, each in pairs if each is not source]
        phi.operands = [value for value, _ in kept]
        phi.literals = tuple(each for _, each in kept)
