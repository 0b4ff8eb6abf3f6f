"""What rows look at besides the types of operands: each says why a node cannot be as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundstate.compiler.errors import BuildError
from groundstate.compiler.ir.addresses import chain_steps
from groundstate.compiler.ir.kernel import Node, constant_int
from groundstate.compiler.ir.type_rules import components_of
from groundstate.compiler.spirv.opcodes import StorageClass
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

if TYPE_CHECKING:
    from groundstate.compiler.ir.operation import Check
    from groundstate.compiler.ir.type_check import TypeCheck

ANYWHERE = 0xFFFFFFFF
"""A component of OpVectorShuffle that may be any."""
ATOMIC_BITS = (8, 16, 32, 64)
TILE_MEMORY = frozenset(
    (StorageClass.Workgroup, StorageClass.CrossWorkgroup, StorageClass.UniformConstant)
)


def phi(check: TypeCheck, node: Node) -> str:
    """All values have the type of the phi."""
    for each in node.operands:
        if not check.same(each.type, node.type):
            return f"it is a {node.type}, and one of its values is a {each.type}"
    return ""


def variable(check: TypeCheck, node: Node) -> str:
    """It is a pointer that says what it points to."""
    del check
    if not isinstance(node.type, Pointer) or node.type.pointee is None:
        return f"its type is {node.type}, and not a pointer to something"
    return ""


def chain(check: TypeCheck, node: Node) -> str:
    """The indices lead somewhere."""
    del check
    try:
        chain_steps(node)
    except BuildError as problem:
        return problem.log.partition(": ")[2]
    return ""


def pointee(check: TypeCheck, node: Node) -> str:
    """Pointers say how large what they point to is."""
    del check
    for each in node.operands:
        if isinstance(each.type, Pointer) and not (each.type.pointee and each.type.pointee.size):
            return f"a {each.type} does not say how large what it points to is"
    return ""


def select(check: TypeCheck, node: Node) -> str:
    """A condition chooses one of two values, or one for each component."""
    condition, *choices = node.operands
    count, kind = components_of(condition.type)
    if check.shape(kind) != "i1" or count not in (1, components_of(node.type)[0]):
        return f"its condition is a {condition.type}, and its result a {node.type}"
    for each in choices:
        if not check.same(each.type, node.type):
            return f"its result is a {node.type}, and it is given a {each.type}"
    return ""


def bitcast(check: TypeCheck, node: Node) -> str:
    """Both types have as many bits."""
    sizes = []
    for each in (node.type, node.operands[0].type):
        count, kind = components_of(each)
        if not isinstance(kind, Int | Float | Pointer):
            return f"the bits of a {each} are not to be had"
        sizes.append(count * (kind.width if isinstance(kind, Int | Float) else 64))
    counts = sorted(components_of(each)[0] for each in (node.type, node.operands[0].type))
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


def extract(check: TypeCheck, node: Node) -> str:
    """The part is there, and of the type of the result."""
    part = _at(node.operands[0].type, node.literals)
    if part is None:
        return f"a {node.operands[0].type} has no part {_path(node)}"
    return "" if check.same(part, node.type) else f"part {_path(node)} is a {part}"


def insert(check: TypeCheck, node: Node) -> str:
    """The part is there, and of the type of what takes its place."""
    given, whole = (each.type for each in node.operands[:2])
    part = _at(whole, node.literals)
    if part is None:
        return f"a {whole} has no part {_path(node)}"
    if not check.same(whole, node.type):
        return f"its result is a {node.type}, and it is given a {whole}"
    return "" if check.same(part, given) else f"part {_path(node)} is a {part}, and not a {given}"


def _path(node: Node) -> str:
    return ".".join(map(str, node.literals))


def construct(check: TypeCheck, node: Node) -> str:
    """The parts make up the result."""
    return _is_made_of(check, node.type, [each.type for each in node.operands])


def replicate(check: TypeCheck, node: Node) -> str:
    """Copies of the operand make up the result."""
    wanted, given = node.type, [each.type for each in node.operands]
    if isinstance(wanted, Vector | Array):
        given *= wanted.count if isinstance(wanted, Vector) else wanted.length
    return _is_made_of(check, wanted, given)


def _is_made_of(check: TypeCheck, wanted: Type, given: list[Type]) -> str:
    misfit = f"a {wanted} is not made of {', '.join(map(str, given[:8])) or 'nothing'}"
    if isinstance(wanted, Vector):
        parts = [
            part for each in given for part in [components_of(each)[1]] * components_of(each)[0]
        ]
        expected = [wanted.element] * wanted.count
    elif isinstance(wanted, Array):
        parts, expected = given, [wanted.element] * wanted.length
    elif isinstance(wanted, Struct):
        parts, expected = given, list(wanted.members)
    else:
        return misfit
    fits = len(parts) == len(expected) and all(map(check.same, parts, expected))
    return "" if fits else misfit


def shuffle(check: TypeCheck, node: Node) -> str:
    """Every component that is picked is there."""
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


def extract_component(check: TypeCheck, node: Node) -> str:
    """The result is a component of the vector."""
    return _is_component(check, node.operands[0].type, node.type)


def insert_component(check: TypeCheck, node: Node) -> str:
    """What is inserted is a component of the vector."""
    return _is_component(check, node.operands[0].type, node.operands[1].type)


def _is_component(check: TypeCheck, vector: Type, given: Type) -> str:
    element = components_of(vector)[1]
    return "" if check.same(element, given) else f"a component of a {vector} is no {given}"


def pair(check: TypeCheck, node: Node) -> str:
    """The result is a structure of two numbers like the operands."""
    given, wanted = node.operands[0].type, node.type
    members = wanted.members if isinstance(wanted, Struct) else ()
    if len(members) != 2 or not all(check.same(each, given) for each in members):
        return f"its result is a {wanted}, and not two of {given}"
    return ""


def store_value(check: TypeCheck, node: Node) -> str:
    """There is something to store."""
    del check
    return "nothing cannot be stored" if isinstance(node.operands[1].type, Void) else ""


def masked(check: TypeCheck, node: Node) -> str:
    """Values, addresses and mask have as many components."""
    value, pointers, mask = node.operands
    counts = {components_of(each.type)[0] for each in (value, pointers, mask)}
    del check
    return "" if len(counts) == 1 else "its operands have different numbers of components"


def condition(check: TypeCheck, node: Node) -> str:
    """One of the operands is a truth value."""
    truths = [each for each in node.operands if check.shape(components_of(each.type)[1]) == "i1"]
    return "" if truths else "its condition is not a truth value"


def packed(check: TypeCheck, node: Node) -> str:
    """Vectors of as many components, or four bytes in 32 bits each."""
    first, second = (each.type for each in node.operands[:2])
    del check
    if isinstance(first, Vector) != isinstance(second, Vector) or (
        components_of(first)[0] != components_of(second)[0]
    ):
        return f"it is given a {first} and a {second}"
    if not isinstance(first, Vector) and not (first.size == second.size == 4):
        return f"four bytes are packed in 32 bits, and not in a {first}"
    return ""


def words(check: TypeCheck, node: Node) -> str:
    """Everything has 32 bits."""
    del check
    odd = next((each.type for each in (*node.operands, node) if each.type.size != 4), None)
    return "" if odd is None else f"it takes and gives words of 32 bits, not a {odd}"


def tiles(check: TypeCheck, node: Node) -> str:
    """Memory is not private, a step has 64 bits, and all counts have 32."""
    del check
    for place, operand in enumerate(node.operands):
        kind = operand.type
        if isinstance(kind, Pointer):
            if kind.storage not in TILE_MEMORY:
                return "a tile lies in global, constant or local memory"
        elif kind.size != (8 if place == 3 else 4):
            return f"operand {place} of a product of tiles is not a {kind}"
    return ""


def in_steps(check: TypeCheck, node: Node) -> str:
    """The group operation is a reduction, a scan or in clusters."""
    del check
    operation = node.literals[0] if node.literals else None
    return "" if operation in (0, 1, 2, 3) else f"the group operation {operation} is not known"


def bytes_swapped(check: TypeCheck, node: Node) -> str:
    """There are pairs of bytes to swap."""
    del check
    kind = components_of(node.type)[1]
    is_odd = isinstance(kind, Int) and kind.width % 16
    return f"the bytes of a {kind} cannot be swapped" if is_odd else ""


def classes(check: TypeCheck, node: Node) -> str:
    """The classes of numbers are a constant."""
    del check
    number = constant_int(node.operands[1])
    return "" if number is not None and 0 <= number < 1024 else "there are no such classes"


def bits(result: int, operand: int) -> Check:
    """The result has so many bits, and the operand so many."""

    def look(check: TypeCheck, node: Node) -> str:
        del check
        for type_, wanted in ((node.type, result), (node.operands[0].type, operand)):
            if 8 * components_of(type_)[1].size != wanted:
                return f"a {type_} does not have {wanted} bits"
        return ""

    return look


def atomic(check: TypeCheck, node: Node) -> str:
    """Machines have atomic operations of the width."""
    del check
    for type_ in (node.type, *(each.type for each in node.operands)):
        if isinstance(type_, Int) and type_.width not in ATOMIC_BITS:
            return f"there are no atomic operations on a {type_}"
    return ""
