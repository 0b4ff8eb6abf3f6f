"""A row of the table of operations: what is known of one operation."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntFlag, auto
from typing import TYPE_CHECKING, NamedTuple

from groundstate.compiler.ir.kernel import Node
from groundstate.compiler.ir.type_rules import TypeRule, type_rule
from groundstate.compiler.spirv.fold_numbers import Fold

if TYPE_CHECKING:
    from groundstate.compiler.ir.type_check import TypeCheck

Check = Callable[["TypeCheck", Node], str]
"""Why a node cannot be as it is; nothing if it can."""
SourceLane = Callable[[int, int], int]
"""Of a lane's own number and the amount: the lane that it takes its value from."""


class Effect(IntFlag):
    """What an operation does besides computing its result."""

    NONE = 0
    READS = auto()
    """It reads memory."""
    WRITES = auto()
    """It writes memory."""
    ORDERS = auto()
    """It orders the accesses of memory around it, or waits for other work-items."""
    CONVERGENT = auto()
    """Its result depends on which lanes execute it together."""
    OBSERVABLE = auto()
    """It does something else that must happen exactly as often as the program says."""


class LaneRule(Enum):
    """How the result of an operation differs between lanes."""

    OPERANDS = "operands"
    """Uniform if all operands are, else what `affine` says."""
    UNIFORM = "uniform"
    """The same in all lanes."""
    VARYING = "varying"
    """Each lane has its own, even if all operands are uniform."""
    SPECIAL = "special"
    """The analysis knows (ids, variables, phis, shuffles)."""


class Affine(Enum):
    """How a value that goes up by a fixed step, from lane to lane or from iteration to iteration,
    goes through an operation."""

    NONE = "none"
    SAME = "same"
    """The step of the operand."""
    WIDENED = "widened"
    """The step of the operand, if it does not wrap."""
    SUM = "sum"
    DIFFERENCE = "difference"
    PRODUCT = "product"
    """The step of one factor times the other, which is a constant."""
    SHIFT_LEFT = "shift left"
    SHIFT_RIGHT = "shift right"
    QUOTIENT = "quotient"
    AND = "and"
    OR = "or"
    SELECT = "select"
    CHAIN = "chain"
    """The steps of the indices times the sizes of what they step over."""


class Category(Enum):
    """What kind of operation it is."""

    LEAF = "leaf"
    """A value that belongs to no block: constants, arguments, addresses of variables."""
    CAST = "cast"
    """The same value as another type; next to free."""
    CHAIN = "access chain"
    ARITHMETIC = "arithmetic"
    COMPOSITE = "composite"
    MEMORY = "memory"
    ATOMIC = "atomic"
    IMAGE = "image"
    GROUP = "group"
    SHUFFLE = "shuffle"
    BARRIER = "barrier"
    CONTROL = "control"


class Operation(NamedTuple):
    """One row. (No dataclass: these are imported to read some modules, and should cost little.)"""

    name: str
    category: Category
    types: TypeRule
    """What operands it takes and what it gives."""
    check: Check | None = None
    """What else is looked at, where the types of operands do not say it all."""
    lowered: Check | None = None
    """What is looked at when a kernel has been lowered: whether there can be code for it."""
    effect: Effect = Effect.NONE
    divergence: LaneRule = LaneRule.OPERANDS
    affine: Affine = Affine.NONE
    fold: Fold | None = None
    """How it is computed where the operands are known."""
    same_address: bool = False
    """The result is the address that is given."""
    converts_address: bool = False
    """It makes a number of an address, or an address of a number."""
    moves_pointer: bool = False
    """The first index of an access chain steps over whole pointees."""
    divides: bool = False
    """It takes several times as long as other arithmetic."""
    rematerialisable: bool = False
    """Cheap enough to be computed again rather than kept over a barrier."""
    address_operand: bool = False
    """The first operand is the address that it accesses or steps from."""
    source_lane: SourceLane | None = None
    """For a shuffle: where lanes take their values from."""
    combines: str = ""
    """For a reduction, a scan or a vote: how two values become one."""
    negated: str = ""
    """For a comparison: the operation that is true when it is not."""
    swapped: str = ""
    """For a comparison: the operation that says the same with the operands exchanged."""
    llvm: str = ""
    """The LLVM instruction that it is, as a template; empty if a writer knows."""

    @property
    def is_pure(self) -> bool:
        """It may be left out if nobody uses the result, done twice, or moved."""
        return self.effect is Effect.NONE

    @property
    def writes_to_address(self) -> bool:
        """It writes to the address that is its first operand."""
        return bool(self.effect & Effect.WRITES) and self.address_operand

    @property
    def is_chain(self) -> bool:
        """It is an access chain."""
        return self.category is Category.CHAIN

    @property
    def is_ordering(self) -> bool:
        """It compares two integers by their order, and not for being equal."""
        return self.swapped not in ("", self.name)

    @property
    def needs_quads(self) -> bool:
        """It is for groups of four lanes, by its name."""
        return "Quad" in self.name

    @property
    def is_of_subgroup(self) -> bool:
        """It is for sub-groups, by its name."""
        return self.name.startswith(("Subgroup", "GroupNonUniform"))


ROWS: dict[str, Operation] = {}
"""All operations, by name, once `ops` is imported."""


def define(names: str, types: str, category: Category, **facts: object) -> None:
    """Adds a row for each of several names. What they take and give is `int= int= -> int`."""
    rule = type_rule(types)
    for name in names.split():
        assert name not in ROWS, f"{name} has two rows"
        ROWS[name] = Operation(name, category, rule, **facts)  # type: ignore[arg-type]
