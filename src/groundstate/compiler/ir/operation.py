"""A row of the table of operations: what is known of one operation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntFlag, auto

from groundstate.compiler.spirv.opcodes import Op


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


@dataclass(frozen=True, slots=True)
class Operation:
    """One row."""

    name: str
    category: Category
    operands: tuple[str, ...]
    """The kind of each operand; "..." repeats the one before any number of times."""
    result: str
    """The kind of the result: "void" for none; with a "?" there may be none."""
    componentwise: bool
    """Each component of a vector by itself: operands and result have as many."""
    effect: Effect
    divergence: LaneRule
    affine: Affine
    same_address: bool
    """The result is the address that is given."""
    rematerialisable: bool
    """Cheap enough to be computed again rather than kept over a barrier."""
    address_operand: bool
    """The first operand is the address that it accesses or steps from."""
    llvm: str
    """The LLVM instruction that it is, as a template; empty if a writer knows."""

    @property
    def is_pure(self) -> bool:
        """It may be left out if nobody uses the result, done twice, or moved."""
        return self.effect is Effect.NONE

    @property
    def is_of_subgroup(self) -> bool:
        """It is for sub-groups, by its name."""
        return self.name.startswith(("Subgroup", "GroupNonUniform"))

    @property
    def opcode(self) -> int | None:
        """The number of the SPIR-V instruction, by which constants are folded."""
        number: int | None = getattr(Op, self.name, None)
        return number


ROWS: dict[str, Operation] = {}
"""All operations, by name, once `ops` is imported."""


def define(
    names: str,
    signature: str,
    category: Category,
    *,
    componentwise: bool = False,
    effect: Effect = Effect.NONE,
    divergence: LaneRule = LaneRule.OPERANDS,
    affine: Affine = Affine.NONE,
    same_address: bool = False,
    rematerialisable: bool = False,
    address_operand: bool = False,
    llvm: str = "",
) -> None:
    """Adds a row for each of several names. The signature reads `int int -> int`."""
    operands, _, result = signature.partition("->")
    for name in names.split():
        assert name not in ROWS, f"{name} has two rows"
        ROWS[name] = Operation(
            name,
            category,
            tuple(operands.split()),
            result.strip(),
            componentwise,
            effect,
            divergence,
            affine,
            same_address,
            rematerialisable,
            address_operand,
            llvm,
        )
