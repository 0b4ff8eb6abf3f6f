"""What the instructions of a kernel may be given: numbers where numbers are needed, and so on.

A module is not validated as a whole, for real ones break rules that do not matter. But what is
written later relies on the types of operands, and LLVM stops the whole program when it meets
something that it was not made for; so all types are looked at before anything is made of them.
`operand_rules` has a row for each instruction; what a row cannot say is a function here.
"""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.analysis.addresses import chain_steps
from groundstate.compiler.codegen.arithmetic.tables import WRITERS
from groundstate.compiler.codegen.groups.operations import ARITHMETIC as GROUP_ARITHMETIC
from groundstate.compiler.codegen.problems import Problems
from groundstate.compiler.codegen.text import scalar_type
from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir import Kernel, Node, constant_int
from groundstate.compiler.ir.ops import CHAINS, OPERATIONS
from groundstate.compiler.spirv.types import (
    Array,
    Float,
    Int,
    Pointer,
    Struct,
    Type,
    Vector,
    Void,
    member_type,
)
from groundstate.compiler.spirv_to_ir.operand_rules import KINDS, Rule, Wanted, opencl_rule, rules

MAX_INTEGER_BITS = 128
"""Wider ones have no conversions to floating-point numbers, and divisions of any length."""
ANYWHERE = 0xFFFFFFFF
"""A component of OpVectorShuffle that may be any."""

ANY_FLOAT = frozenset(
    ("FConvert", "Dot", *(name for name, row in OPERATIONS.items() if row.llvm), *WRITERS)
)
"""Instructions that also take floating-point numbers that are not those of IEEE 754."""
FORMATS = {
    "QuantizeToF16": (32, 32),
    "RoundFToTF32INTEL": (32, 32),
    "ConvertFToBF16INTEL": (16, 32),
    "ConvertBF16ToFINTEL": (32, 16),
}
"""The bits of the result and of the operand, where there are just these."""
ATOMIC_BITS = (8, 16, 32, 64)

FLOAT_BITS = (16, 32, 64)

Shape = str | int
"""What a type is to LLVM: the name of a scalar type, or the number of a composite."""


def check_operands(kernel: Kernel) -> None:
    """Raises BuildError if there are instructions whose operands are not what they take."""
    problems = Problems(kernel.name)
    check = _Check()
    for node in kernel.nodes():
        reason = check.reason_against(node)
        if reason:
            problems.add(node, BuildError(reason))
    problems.check()


class _Check:
    """Looks at nodes, and keeps what it has found out about types."""

    def __init__(self) -> None:
        self.shapes: dict[Type, Shape | None] = {}
        self.numbers: dict[object, int] = {}
        """Of composites, so that equal ones are known without looking at their parts."""

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

    # --- One node -------------------------------------------------------------------------------

    def reason_against(self, node: Node) -> str:
        """Why a node cannot be written; nothing if it can."""
        for type_ in (node.type, *(each.type for each in node.operands)):
            reason = self._reason_against_type(type_)
            if reason:
                return reason
        if node.op == "ExtInst":
            rule = opencl_rule(int(str(node.literals[1])))
        else:
            rule = rules().get(node.op)
        reason = self._reason_by(rule, node) if rule is not None else ""
        special = SPECIAL.get(node.op)
        return reason or (special(self, node) if special is not None else "")

    def _reason_against_type(self, type_: Type) -> str:
        if isinstance(type_, Void) or self.shape(type_) is not None:
            return ""
        element = _parts(type_)[1]
        if isinstance(element, Int):
            return f"integers of {element.width} bits are not supported"
        return f"there are no values of type {type_}"

    def _reason_by(self, rule: Rule, node: Node) -> str:
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

    def _reason_against_result(self, wanted: Wanted, node: Node) -> str:
        if wanted.kind == "nothing":
            return ""
        if not self._is(wanted.kind, node, node.type):
            return f"its result is a {node.type}, and not made of {wanted.kind}s"
        return _reason_against_count(wanted, "its result is", node.type)

    def _is(self, kind: str, node: Node, type_: Type) -> bool:
        element = _parts(type_)[1]
        if not isinstance(element, KINDS[kind]) or isinstance(element, Void):
            return False
        if isinstance(element, Float) and element.encoding is not None:
            return kind != "float" or node.op in ANY_FLOAT
        return kind != "truth value" or self.shape(element) == "i1"

    def _reason_against_operand(self, wanted: Wanted, node: Node, given: Type) -> str:
        count, element = _parts(given)
        if wanted.kind == "pointer" and not isinstance(element, Pointer):
            return f"it needs an address, and is given a {given}"
        if not self._is(wanted.kind, node, given):
            return f"it is given a {given}, and takes {wanted.kind}s"
        relations, misfit = (
            wanted.relations,
            f"its result is a {node.type}, and it is given a {given}",
        )
        result_count, result_element = _parts(node.type)
        if "=" in relations and not self.same(given, node.type):
            return misfit
        if "~" in relations and count != result_count:
            return misfit
        if ":" in relations and not (
            count in (1, result_count) and self.same(element, result_element)
        ):
            return misfit
        if "@" in relations and not self.same(given, node.operands[0].type):
            return f"it is given a {node.operands[0].type} and a {given}"
        return _reason_against_count(wanted, "it is given", given)


def _reason_against_count(wanted: Wanted, what: str, type_: Type) -> str:
    is_vector = isinstance(type_, Vector)
    if "/" in wanted.relations and not is_vector:
        return f"{what} a {type_}, and not a vector"
    if "." in wanted.relations and (is_vector or isinstance(type_, Array | Struct)):
        return f"{what} a {type_}, and not a single {wanted.kind}"
    return ""


def _parts(type_: Type) -> tuple[int, Type]:
    """How many components a value has, and their type."""
    return (type_.count, type_.element) if isinstance(type_, Vector) else (1, type_)


# --- What a row cannot say ------------------------------------------------------------------------


def _phi(check: _Check, node: Node) -> str:
    for each in node.operands:
        if not check.same(each.type, node.type):
            return f"it is a {node.type}, and one of its values is a {each.type}"
    return ""


def _variable(check: _Check, node: Node) -> str:
    del check
    if not isinstance(node.type, Pointer) or node.type.pointee is None:
        return f"its type is {node.type}, and not a pointer to something"
    return ""


def _chain(check: _Check, node: Node) -> str:
    del check
    try:
        chain_steps(node)
    except BuildError as problem:
        return problem.log.partition(": ")[2]
    return ""


def _pointee(check: _Check, node: Node) -> str:
    del check
    for each in node.operands:
        if isinstance(each.type, Pointer) and not (each.type.pointee and each.type.pointee.size):
            return f"a {each.type} does not say how large what it points to is"
    return ""


def _select(check: _Check, node: Node) -> str:
    condition, *choices = node.operands
    count, kind = _parts(condition.type)
    if check.shape(kind) != "i1" or count not in (1, _parts(node.type)[0]):
        return f"its condition is a {condition.type}, and its result a {node.type}"
    for each in choices:
        if not check.same(each.type, node.type):
            return f"its result is a {node.type}, and it is given a {each.type}"
    return ""


def _bitcast(check: _Check, node: Node) -> str:
    sizes = []
    for each in (node.type, node.operands[0].type):
        count, kind = _parts(each)
        if not isinstance(kind, Int | Float | Pointer):
            return f"the bits of a {each} are not to be had"
        sizes.append(count * (kind.width if isinstance(kind, Int | Float) else 64))
    counts = sorted(_parts(each)[0] for each in (node.type, node.operands[0].type))
    if sizes[0] != sizes[1] or counts[1] % counts[0]:
        return f"a {node.operands[0].type} does not have the bits of a {node.type}"
    del check
    return ""


def _at(type_: Type, path: tuple[object, ...]) -> Type | None:
    """The type of a part of a composite."""
    part: Type | None = type_
    for index in path:
        part = member_type(part, index) if part is not None and isinstance(index, int) else None
    return part


def _extract(check: _Check, node: Node) -> str:
    part = _at(node.operands[0].type, node.literals)
    if part is None:
        return f"a {node.operands[0].type} has no part {_path(node)}"
    return "" if check.same(part, node.type) else f"part {_path(node)} is a {part}"


def _insert(check: _Check, node: Node) -> str:
    given, whole = (each.type for each in node.operands[:2])
    part = _at(whole, node.literals)
    if part is None:
        return f"a {whole} has no part {_path(node)}"
    if not check.same(whole, node.type):
        return f"its result is a {node.type}, and it is given a {whole}"
    return "" if check.same(part, given) else f"part {_path(node)} is a {part}, and not a {given}"


def _path(node: Node) -> str:
    return ".".join(map(str, node.literals))


def _construct(check: _Check, node: Node) -> str:
    wanted = node.type
    given = [each.type for each in node.operands]
    if node.op == "CompositeConstructReplicateEXT" and isinstance(wanted, Vector | Array):
        given *= wanted.count if isinstance(wanted, Vector) else wanted.length
    misfit = f"a {wanted} is not made of {', '.join(map(str, given[:8])) or 'nothing'}"
    if isinstance(wanted, Vector):
        parts = [part for each in given for part in [_parts(each)[1]] * _parts(each)[0]]
        expected = [wanted.element] * wanted.count
    elif isinstance(wanted, Array):
        parts, expected = given, [wanted.element] * wanted.length
    elif isinstance(wanted, Struct):
        parts, expected = given, list(wanted.members)
    else:
        return misfit
    fits = len(parts) == len(expected) and all(map(check.same, parts, expected))
    return "" if fits else misfit


def _shuffle(check: _Check, node: Node) -> str:
    first, second = (each.type for each in node.operands)
    if not isinstance(first, Vector) or not isinstance(second, Vector):
        return f"it is given a {first} and a {second}, and takes vectors"
    elements = [first.element, second.element]
    if not isinstance(node.type, Vector) or node.type.count != len(node.literals):
        return f"it picks {len(node.literals)} components for a {node.type}"
    if not all(check.same(each, node.type.element) for each in elements):
        return f"its result is a {node.type}, and it is given a {first} and a {second}"
    for pick in node.literals:
        if pick != ANYWHERE and not 0 <= int(str(pick)) < first.count + second.count:
            return f"there is no component {pick}"
    return ""


def _component(check: _Check, node: Node) -> str:
    vector = node.operands[0].type
    element = _parts(vector)[1]
    given = node.type if node.op == "VectorExtractDynamic" else node.operands[1].type
    return "" if check.same(element, given) else f"a component of a {vector} is no {given}"


def _pair(check: _Check, node: Node) -> str:
    given, wanted = node.operands[0].type, node.type
    members = wanted.members if isinstance(wanted, Struct) else ()
    if len(members) != 2 or not all(check.same(each, given) for each in members):
        return f"its result is a {wanted}, and not two of {given}"
    return ""


def _store_value(check: _Check, node: Node) -> str:
    del check
    return "nothing cannot be stored" if isinstance(node.operands[1].type, Void) else ""


def _masked(check: _Check, node: Node) -> str:
    value, pointers, mask = node.operands
    counts = {_parts(each.type)[0] for each in (value, pointers, mask)}
    del check
    return "" if len(counts) == 1 else "its operands have different numbers of components"


def _condition(check: _Check, node: Node) -> str:
    truths = [each for each in node.operands if check.shape(_parts(each.type)[1]) == "i1"]
    return "" if truths else "its condition is not a truth value"


def _packed(check: _Check, node: Node) -> str:
    first, second = (each.type for each in node.operands[:2])
    del check
    if isinstance(first, Vector) != isinstance(second, Vector) or (
        _parts(first)[0] != _parts(second)[0]
    ):
        return f"it is given a {first} and a {second}"
    if not isinstance(first, Vector) and not (first.size == second.size == 4):
        return f"four bytes are packed in 32 bits, and not in a {first}"
    return ""


def _in_steps(check: _Check, node: Node) -> str:
    del check
    operation = node.literals[0] if node.literals else None
    return "" if operation in (0, 1, 2, 3) else f"the group operation {operation} is not known"


def _bytes_swapped(check: _Check, node: Node) -> str:
    del check
    kind = _parts(node.type)[1]
    is_odd = isinstance(kind, Int) and kind.width % 16
    return f"the bytes of a {kind} cannot be swapped" if is_odd else ""


def _classes(check: _Check, node: Node) -> str:
    del check
    number = constant_int(node.operands[1])
    return "" if number is not None and 0 <= number < 1024 else "there are no such classes"


def _format(check: _Check, node: Node) -> str:
    del check
    for type_, bits in zip((node.type, node.operands[0].type), FORMATS[node.op], strict=True):
        if 8 * _parts(type_)[1].size != bits:
            return f"a {type_} does not have {bits} bits"
    return ""


def _atomic(check: _Check, node: Node) -> str:
    del check
    for type_ in (node.type, *(each.type for each in node.operands)):
        if isinstance(type_, Int) and type_.width not in ATOMIC_BITS:
            return f"there are no atomic operations on a {type_}"
    return ""


SPECIAL: dict[str, Callable[[_Check, Node], str]] = {
    "Phi": _phi,
    "Variable": _variable,
    "Select": _select,
    "Bitcast": _bitcast,
    "CompositeExtract": _extract,
    "CompositeInsert": _insert,
    "CompositeConstruct": _construct,
    "CompositeConstructReplicateEXT": _construct,
    "VectorShuffle": _shuffle,
    "VectorExtractDynamic": _component,
    "VectorInsertDynamic": _component,
    "IAddCarry": _pair,
    "ISubBorrow": _pair,
    "UMulExtended": _pair,
    "SMulExtended": _pair,
    "Store": _store_value,
    "PtrDiff": _pointee,
    "SizeOf": _pointee,
    "CopyMemory": _pointee,
    "MaskedScatterINTEL": _masked,
    "PredicatedLoadINTEL": _condition,
    "PredicatedStoreINTEL": _condition,
    "llvm.bswap": _bytes_swapped,
    "llvm.is.fpclass": _classes,
}
SPECIAL |= dict.fromkeys(CHAINS, _chain)
SPECIAL |= dict.fromkeys(
    ["SDot", "UDot", "SUDot", "SDotAccSat", "UDotAccSat", "SUDotAccSat"], _packed
)
SPECIAL |= dict.fromkeys(FORMATS, _format)
SPECIAL |= {name: _atomic for name in rules() if name.startswith("Atomic")}
SPECIAL |= dict.fromkeys(GROUP_ARITHMETIC, _in_steps)
"""Instructions for which more is to be looked at than a row says."""
