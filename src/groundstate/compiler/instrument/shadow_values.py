"""How shadows go through operations that compute.

Operations on bits are exact: `x & 255` is initialised if the lowest byte of `x` is. Sums and
products are uninitialised in the bits in which a term is; other functions in all bits if any bit of
an operand is. What is only chosen, moved or cast keeps its shadow.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.instrument.shadow_types import (
    U64,
    ShadowTypes,
    ones,
    scalar_of,
    zeros,
)
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.ops import CHAINS, Category, operation
from groundstate.compiler.spirv.types import (
    Array,
    Bool,
    Float,
    Int,
    Pointer,
    Struct,
    Type,
    Vector,
    member_count,
    member_type,
)

MOST_PARTS = 64
"""Of a structure or array whose parts are looked at one by one."""

MOVED = frozenset(
    (
        *("CompositeConstruct", "CompositeConstructReplicateEXT", "CompositeExtract"),
        *("CompositeInsert", "VectorShuffle", "BitFieldInsert", "BitFieldSExtract"),
        *("BitFieldUExtract", "BitReverse", "llvm.bitreverse", "llvm.bswap"),
    )
)
"""Operations that do the same with the bits of a shadow, and have no operand besides."""

FIRST_ONLY: dict[str, int] = {
    "VectorExtractDynamic": 1,
    "VectorInsertDynamic": 2,
    "BitFieldInsert": 2,
    "BitFieldSExtract": 1,
    "BitFieldUExtract": 1,
    "llvm.fshl": 2,
    "llvm.fshr": 2,
}
"""Of how many operands the shadow is taken; the others say where or how far."""

LANES: dict[str, int] = {
    **dict.fromkeys(("SubgroupShuffleINTEL", "SubgroupShuffleXorINTEL"), 0),
    **dict.fromkeys(("SubgroupReadInvocationKHR", "SubgroupFirstInvocationKHR"), 0),
    **dict.fromkeys(("GroupBroadcast", "GroupNonUniformBroadcast"), 1),
    **dict.fromkeys(("GroupNonUniformBroadcastFirst", "GroupNonUniformShuffle"), 1),
    **dict.fromkeys(("GroupNonUniformShuffleXor", "GroupNonUniformShuffleUp"), 1),
    **dict.fromkeys(("GroupNonUniformShuffleDown", "GroupNonUniformQuadBroadcast"), 1),
    **dict.fromkeys(("GroupNonUniformQuadSwap", "GroupNonUniformRotateKHR"), 1),
}
"""Operations that take a value from another lane: which operand that is."""

PERMUTED = {"shuffle": 1, "shuffle2": 2}
"""Functions of OpenCL.std that do the same with the components of a shadow."""

SAME = frozenset(("CopyObject", "Copy", "CopyLogical", "ExpectKHR", "ArithmeticFenceEXT"))

NEVER = frozenset(
    (
        *("Builtin", "ArgumentBound", "Guard", "FreezeKHR", "ReadClockKHR"),
        *("NeverWraps", "NeverOverlaps"),
        *("ReadGroupCells", "CombineGroup", "SizeOf", "GenericPtrMemSemantics"),
        *("Variable", "VariableLengthArrayINTEL", "SaveMemoryINTEL", "Trap", "Refused"),
    )
)
"""Operations whose results are always initialised, or taken to be."""

NO_RESULT = frozenset(("printf", "prefetch", "nan"))
"""Functions of OpenCL.std of whose operands nothing is left in the result."""


class ShadowValues:
    """Makes the shadows of results from those of operands. New nodes wait in `made`."""

    def __init__(self, types: ShadowTypes) -> None:
        self.types = types
        self.shadows: dict[Node, Node] = {}
        """Of values that may be uninitialised."""
        self.made: list[Node] = []

    # --- What may be uninitialised at all -------------------------------------------------------

    def taken(self, node: Node) -> list[Node]:
        """The operands whose shadows the result's depends on."""
        op, row = node.op, operation(node)
        if op in NEVER or row.category in (Category.IMAGE, Category.MEMORY, Category.ATOMIC):
            return []
        if op == "ExtInst":
            if row.name in NO_RESULT or row.name.startswith("vload"):
                return []
            return node.operands[: PERMUTED.get(row.name, len(node.operands))]
        if op in LANES:
            return node.operands[LANES[op] : LANES[op] + 1]
        if row.category in (Category.GROUP, Category.SHUFFLE):
            return node.operands[1:2] if row.combines and len(node.operands) > 1 else []
        if op in FIRST_ONLY:
            return node.operands[: FIRST_ONLY[op]]
        if op in SAME:
            return node.operands[:1]
        return node.operands

    # --- Making nodes ---------------------------------------------------------------------------

    def make(
        self,
        node: Node,
        op: str,
        type_: Type,
        operands: list[Node],
        literals: tuple[object, ...] = (),
    ) -> Node:
        """A new node for the place of another."""
        made = node.derive(op, type_, operands, literals)
        self.made.append(made)
        return made

    def given(self, node: Node) -> Node:
        """The shadow of an operand, which is zero if that is initialised."""
        found = self.shadows.get(node)
        if found is not None:
            return found
        type_ = self.types.of(node.type)
        assert type_ is not None, node
        return zeros(type_)

    def both(self, node: Node, one: Node | None, other: Node | None) -> Node | None:
        """What is uninitialised in either of two shadows of one type."""
        if one is None or other is None or one is other:
            return one if other is None else other
        return self._bits(node, "Or", one, other)

    def _bits(self, node: Node, kind: str, one: Node, other: Node) -> Node:
        is_truth = isinstance(scalar_of(one.type), Bool)
        op = f"Logical{kind}" if is_truth else f"Bitwise{kind}"
        return self.make(node, op, one.type, [one, other])

    def _not(self, node: Node, one: Node) -> Node:
        is_truth = isinstance(scalar_of(one.type), Bool)
        return self.make(node, "LogicalNot" if is_truth else "Not", one.type, [one])

    def any(self, node: Node, shadow: Node) -> Node:
        """Whether any bit of a shadow is set."""
        type_ = shadow.type
        if isinstance(type_, Struct | Array):
            return self._any_part(node, shadow)
        bits = self.set_in(node, shadow)
        return self.make(node, "Any", Bool(), [bits]) if isinstance(type_, Vector) else bits

    def _any_part(self, node: Node, shadow: Node) -> Node:
        found: Node | None = None
        for index in range(min(member_count(shadow.type), MOST_PARTS)):
            part = member_type(shadow.type, index)
            assert part is not None
            picked = self.make(node, "CompositeExtract", part, [shadow], (index,))
            found = self.both(node, found, self.any(node, picked))
        return found if found is not None else zeros(Bool())

    def set_in(self, node: Node, shadow: Node) -> Node:
        """Whether any bit is set, for each component."""
        if isinstance(scalar_of(shadow.type), Bool):
            return shadow
        count = shadow.type.count if isinstance(shadow.type, Vector) else 0
        truth: Type = Vector(Bool(), count) if count else Bool()
        return self.make(node, "INotEqual", truth, [shadow, zeros(shadow.type)])

    def spread(self, node: Node, condition: Node, type_: Type) -> Node:
        """All bits of a shadow, where a condition holds; for each component if it is a vector."""
        if condition.type == type_:
            return condition
        if isinstance(type_, Bool):
            return condition
        if isinstance(type_, Vector) and not isinstance(condition.type, Vector):
            one = self.spread(node, condition, type_.element)
            return self.make(node, "CompositeConstruct", type_, [one] * type_.count)
        if isinstance(type_, Struct | Array):
            parts = []
            for index in range(member_count(type_)):
                part = member_type(type_, index)
                assert part is not None
                parts.append(self.spread(node, condition, part))
            return self.make(node, "CompositeConstruct", type_, parts)
        return self.make(node, "Select", type_, [condition, ones(type_), zeros(type_)])

    # --- The shadow of a result -----------------------------------------------------------------

    def of_result(self, node: Node) -> Node | None:
        """The shadow of what an operation gives; None if it is initialised."""
        type_ = self.types.of(node.type)
        taken = [each for each in self.taken(node) if each in self.shadows]
        if type_ is None or not taken:
            return None
        if node.op in CHAINS:
            return self.of_address(node, taken)
        rule = RULES.get(node.op)
        if rule is not None:
            return rule(self, node, type_)
        if node.op in MOVED or node.op in FIRST_ONLY:
            return self._moved(node, type_)
        if node.op in LANES:
            place = LANES[node.op]
            operands = list(node.operands)
            operands[place] = self.given(operands[place])
            return self.make(node, node.op, type_, operands, node.literals)
        if node.op in SAME:
            return self.shadows[node.operands[0]]
        if node.op == "ExtInst" and (count := PERMUTED.get(operation(node).name)):
            operands = [self.given(each) for each in node.operands[:count]]
            return self.make(
                node, "ExtInst", type_, [*operands, *node.operands[count:]], node.literals
            )
        return self._mixed(node, type_, taken)

    def of_address(self, node: Node, taken: list[Node]) -> Node:
        """Of an address: any bit of the base or of an index that is not known."""
        found: Node | None = None
        for each in taken:
            shadow = self.shadows[each]
            if shadow.type != U64:
                shadow = self.make(node, "SConvert", U64, [shadow])
            found = self.both(node, found, shadow)
        assert found is not None
        return found

    def _moved(self, node: Node, type_: Type) -> Node:
        count = FIRST_ONLY.get(node.op, len(node.operands))
        operands = [self.given(each) for each in node.operands[:count]]
        return self.make(node, node.op, type_, [*operands, *node.operands[count:]], node.literals)

    def _mixed(self, node: Node, type_: Type, taken: list[Node]) -> Node:
        """Of any other function: bit by bit where operands are as wide as the result."""
        found: Node | None = None
        for each in taken:
            shadow = self.shadows[each]
            if shadow.type != type_:
                shadow = self._resized(node, shadow, type_)
            found = self.both(node, found, shadow)
        assert found is not None
        return found

    def _resized(self, node: Node, shadow: Node, type_: Type) -> Node:
        """All bits if any is set; component by component, if there are as many."""
        both = isinstance(shadow.type, Vector) and isinstance(type_, Vector)
        if both and member_count(shadow.type) == member_count(type_):
            return self.spread(node, self.set_in(node, shadow), type_)
        return self.spread(node, self.any(node, shadow), type_)


# --- Rules of operations --------------------------------------------------------------------------


def _and(of: ShadowValues, node: Node, type_: Type) -> Node | None:
    """A bit that is known to be 0 in one operand is known."""
    return _masked(of, node, type_, lambda value: value)


def _or(of: ShadowValues, node: Node, type_: Type) -> Node | None:
    """A bit that is known to be 1 in one operand is known."""
    return _masked(of, node, type_, lambda value: of._not(node, value))


def _masked(
    of: ShadowValues, node: Node, type_: Type, lets_through: Callable[[Node], Node]
) -> Node | None:
    found: Node | None = None
    del type_
    for one, other in (node.operands[:2], node.operands[1::-1]):
        shadow = of.shadows.get(one)
        if shadow is None:
            continue
        mask = lets_through(other)
        if other in of.shadows:
            mask = of._bits(node, "Or", mask, of.shadows[other])
        found = of.both(node, found, of._bits(node, "And", shadow, mask))
    return found


def _shift(of: ShadowValues, node: Node, type_: Type) -> Node | None:
    value, amount = node.operands[:2]
    found: Node | None = None
    if value in of.shadows:
        found = of.make(node, node.op, type_, [of.shadows[value], amount])
    if amount in of.shadows:
        found = of.both(node, found, of._resized(node, of.shadows[amount], type_))
    return found


def _equal(of: ShadowValues, node: Node, type_: Type) -> Node | None:
    """Two numbers are known to differ if bits that are known do."""
    one, other = node.operands[:2]
    either = of.both(node, of.shadows.get(one), of.shadows.get(other))
    assert either is not None
    some = of.set_in(node, either)
    if not isinstance(scalar_of(one.type), Int):
        return some
    differ = of.make(node, "BitwiseXor", either.type, [one, other])
    known = of._bits(node, "And", differ, of._not(node, either))
    same = of.make(node, "IEqual", type_, [known, zeros(either.type)])
    return of._bits(node, "And", some, same)


def _ordering(of: ShadowValues, node: Node, type_: Type) -> Node | None:
    """A comparison with 0 by sign asks for one bit."""
    one, other = node.operands[:2]
    shadow = of.shadows.get(one)
    limit = {"SLessThan": 0, "SGreaterThanEqual": 0, "SGreaterThan": -1, "SLessThanEqual": -1}
    if shadow is not None and node.op in limit and constant_int(other) == limit[node.op]:
        return of.make(node, "SLessThan", type_, [shadow, zeros(shadow.type)])
    either = of.both(node, shadow, of.shadows.get(other))
    assert either is not None
    return of.set_in(node, either)


def _select(of: ShadowValues, node: Node, type_: Type) -> Node | None:
    """What is chosen; and where the choice is not known, what the two differ in."""
    condition, one, other = node.operands[:3]
    chosen: Node | None = None
    if one in of.shadows or other in of.shadows:
        given = [of.given(one), of.given(other)]
        chosen = of.make(node, "Select", type_, [condition, *given])
    doubt = of.shadows.get(condition)
    if doubt is None:
        return chosen
    if isinstance(type_, Struct | Array):
        return of.both(node, chosen, None) if chosen is not None else of.spread(node, doubt, type_)
    anything = of.spread(node, doubt, type_)
    if isinstance(scalar_of(node.type), Int) and node.type == type_:
        differ = of._bits(node, "Xor", one, other)
        for each in (one, other):
            differ = (
                of._bits(node, "Or", differ, of.shadows[each]) if each in of.shadows else differ
            )
        anything = of._bits(node, "And", anything, differ)
    return of.both(node, chosen, anything)


def _converted(of: ShadowValues, node: Node, type_: Type) -> Node | None:
    """Of integers of another width: bits that are added are known, or copies of the sign."""
    shadow = of.shadows[node.operands[0]]
    if shadow.type == type_:
        return shadow
    if isinstance(scalar_of(shadow.type), Bool) or isinstance(scalar_of(type_), Bool):
        return of._resized(node, shadow, type_)
    return of.make(node, node.op, type_, [shadow])


def _cast(of: ShadowValues, node: Node, type_: Type) -> Node | None:
    shadow = of.shadows[node.operands[0]]
    if shadow.type == type_:
        return shadow
    if shadow.type.size != type_.size or isinstance(shadow.type, Struct | Array):
        return of._resized(node, shadow, type_)
    return of.make(node, "Bitcast", type_, [shadow])


def _address(of: ShadowValues, node: Node, type_: Type) -> Node | None:
    """An address as a number, or the other way round."""
    shadow = of.shadows[node.operands[0]]
    return shadow if shadow.type == type_ else of.make(node, "UConvert", type_, [shadow])


def _wrong(of: ShadowValues, node: Node, type_: Type) -> Node | None:
    """Of functions that mix all bits."""
    found: Node | None = None
    for each in of.taken(node):
        if each in of.shadows:
            found = of.both(node, found, of._resized(node, of.shadows[each], type_))
    return found


Rule = Callable[[ShadowValues, Node, Type], Node | None]

RULES: dict[str, Rule] = {
    **dict.fromkeys(("BitwiseAnd", "LogicalAnd"), _and),
    **dict.fromkeys(("BitwiseOr", "LogicalOr"), _or),
    **dict.fromkeys(("ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic"), _shift),
    **dict.fromkeys(("IEqual", "INotEqual"), _equal),
    **{
        f"{sign}{name}": _ordering
        for sign in "US"
        for name in ("LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual")
    },
    "Select": _select,
    **dict.fromkeys(("UConvert", "SConvert"), _converted),
    **dict.fromkeys(("Bitcast", "PtrCastToGeneric", "GenericCastToPtr"), _cast),
    **dict.fromkeys(("ConvertPtrToU", "ConvertUToPtr"), _address),
    **dict.fromkeys(("BitCount", "llvm.ctpop", "llvm.ctlz", "llvm.cttz"), _wrong),
    **dict.fromkeys(("SDiv", "UDiv", "SMod", "UMod", "SRem"), _wrong),
}
"""Of operations whose shadows are more exact than those of functions in general."""


def is_number(type_: Type) -> bool:
    """True for a number, an address, or a vector of numbers."""
    return isinstance(scalar_of(type_), Int | Float | Pointer | Bool)
