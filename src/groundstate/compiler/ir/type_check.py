"""Whether a node's operands and result are of the types that its row names.

The legality check asks this of what a module brings, and the verifier of what passes make.
"""

from __future__ import annotations

from groundstate.compiler.ir.kernel import Node
from groundstate.compiler.ir.operation import Operation
from groundstate.compiler.ir.ops import operation
from groundstate.compiler.ir.type_rules import TypeRule, ValueRule, components_of, scalar_type
from groundstate.compiler.spirv.opcodes import StorageClass
from groundstate.compiler.spirv.types import Array, Float, Int, Pointer, Struct, Type, Vector, Void

MAX_INTEGER_BITS = 128
"""Wider ones have no conversions to floating-point numbers, and divisions of any length."""
FLOAT_BITS = (16, 32, 64)

Shape = str | int
"""What a type is to LLVM: the name of a scalar type, or the number of a composite."""


class TypeCheck:
    """Looks at nodes, and keeps what it has found out about types."""

    def __init__(self) -> None:
        self.shapes: dict[Type, Shape | None] = {}
        self.numbers: dict[object, int] = {}
        """Of composites, so that equal ones are known without looking at their parts."""
        self._fitting: set[tuple[object, ...]] = set()
        """Operations with the types of results and operands that fit."""

    def shape(self, type_: Type) -> Shape | None:
        """What values of a type are to LLVM; None if there are none."""
        if type_ not in self.shapes:
            self.shapes[type_] = self._find_shape(type_)
        return self.shapes[type_]

    def _find_shape(self, type_: Type) -> Shape | None:
        if isinstance(type_, Struct):
            parts = tuple(map(self.shape, type_.members))
            return None if None in parts else self._number(parts)
        if isinstance(type_, Vector | Array):
            count = type_.count if isinstance(type_, Vector) else type_.length
            element = self.shape(type_.element)
            return None if element is None else self._number((type(type_), count, element))
        if isinstance(type_, Float) and type_.width not in FLOAT_BITS:
            return None
        if isinstance(type_, Int) and type_.width > MAX_INTEGER_BITS:
            return None
        try:
            return scalar_type(type_)
        except TypeError:
            return None

    def _number(self, what: object) -> int:
        return self.numbers.setdefault(what, len(self.numbers))

    def same(self, one: Type, other: Type) -> bool:
        """Whether two types are the same to LLVM."""
        return one == other or self.shape(one) == self.shape(other)

    def is_bool(self, type_: Type) -> bool:
        """Whether values of a type, or their components, are true or false."""
        return self.shape(components_of(type_)[1]) == "i1"

    # --- One node -------------------------------------------------------------------------------

    def reason_against(self, node: Node) -> str:
        """Why a node cannot be as it is; nothing if it can."""
        row = operation(node)
        if node.operands and node.operands[-1].op == "Guard":  # of checked mode
            node = _without_guards(node)
        key = (row.name, node.type, *[each.type for each in node.operands])
        if key not in self._fitting:
            reason = self._reason_against_types(row, node) or _reason_against_writing(row, node)
            if reason:
                return reason
            self._fitting.add(key)
        return row.check(self, node) if row.check is not None else ""

    def _reason_against_types(self, row: Operation, node: Node) -> str:
        for type_ in (node.type, *(each.type for each in node.operands)):
            reason = self._reason_against_type(type_)
            if reason:
                return reason
        return self._reason_by(row.types, node)

    def _reason_against_type(self, type_: Type) -> str:
        if isinstance(type_, Void) or self.shape(type_) is not None:
            return ""
        element = components_of(type_)[1]
        if isinstance(element, Int):
            return f"integers of {element.width} bits are not supported"
        return f"there are no values of type {type_}"

    def _reason_by(self, rule: TypeRule, node: Node) -> str:
        reason = self._reason_against_result(rule.result, node)
        if reason:
            return reason
        count = len(node.operands)
        if count < rule.fewest or (rule.most is not None and count > rule.most):
            return f"it does not take {count} operands"
        for index, operand in enumerate(node.operands):
            reason = self._reason_against_operand(rule.operand(index), node, operand.type)
            if reason:
                return reason
        return ""

    def _reason_against_result(self, wanted: ValueRule, node: Node) -> str:
        if isinstance(node.type, Void) and (wanted.kind == "void" or wanted.is_optional):
            return ""
        if wanted.kind == "void":
            return f"its result is a {node.type}, and it should have none"
        if not self._is(wanted, node.type):
            return f"its result is a {node.type}, and not made of {wanted.word}s"
        return _reason_against_count(wanted, "its result is", node.type)

    def _is(self, wanted: ValueRule, type_: Type) -> bool:
        element = components_of(type_)[1]
        if not isinstance(element, wanted.types) or isinstance(element, Void):
            return False
        if isinstance(element, Float) and element.encoding is not None:
            return wanted.kind != "ieee"
        return wanted.kind != "bool" or self.shape(element) == "i1"

    def _reason_against_operand(self, wanted: ValueRule, node: Node, given: Type) -> str:
        count, element = components_of(given)
        if wanted.kind == "pointer" and not isinstance(element, Pointer):
            return f"it needs an address, and is given a {given}"
        if not self._is(wanted, given):
            return f"it is given a {given}, and takes {wanted.word}s"
        marks = wanted.marks
        result_count, result_element = components_of(node.type)
        if (
            ("=" in marks and not self.same(given, node.type))
            or ("~" in marks and count != result_count)
            or (
                ":" in marks
                and not (count in (1, result_count) and self.same(element, result_element))
            )
        ):
            return f"its result is a {node.type}, and it is given a {given}"
        if "@" in marks and not self.same(given, node.operands[0].type):
            return f"it is given a {node.operands[0].type} and a {given}"
        return _reason_against_count(wanted, "it is given", given)


def _without_guards(node: Node) -> Node:
    operands = [each for each in node.operands if each.op != "Guard"]
    return node.derive(node.op, node.type, operands, node.literals)


def _reason_against_writing(row: Operation, node: Node) -> str:
    address = node.operands[0].type if row.writes_to_address and node.operands else None
    is_constant = isinstance(address, Pointer) and address.storage == StorageClass.UniformConstant
    return f"it writes through a {address}" if is_constant else ""


def _reason_against_count(wanted: ValueRule, what: str, type_: Type) -> str:
    is_vector = isinstance(type_, Vector)
    if "/" in wanted.marks and not is_vector:
        return f"{what} a {type_}, and not a vector"
    if "." in wanted.marks and (is_vector or isinstance(type_, Array | Struct)):
        return f"{what} a {type_}, and not a single {wanted.word}"
    return ""
