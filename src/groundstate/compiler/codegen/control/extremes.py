"""The lowest and the highest of the numbers that lanes have.

Of a bound such as min(n - i, 4), where i goes up with the lanes, they are those of the first and
the last lane: two scalars. Of other numbers they take a reduction of the whole vector.
"""

from __future__ import annotations

from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.text import overloaded
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node, constant_int
from groundstate.compiler.ir.ops import OPERATIONS, operation


def extremes(emitter: Emitter, node: Node, sign: str) -> tuple[str, str]:
    """The lowest and the highest of the numbers of all lanes, signed ("S") or not ("U").

    Where it takes few steps, they may be lower and higher than that."""
    found = _of_ends(emitter, node, sign)
    if found is not None:
        return found
    text, value = emitter.text, emitter.scalar(node)
    wide, name = text.vector_type(value.type), text.as_vector(value)
    low, high = (
        text.call(
            value.type, f"llvm.vector.reduce.{sign.lower()}{end}.{overloaded(wide)}", [(wide, name)]
        )
        for end in ("min", "max")
    )
    return low, high


def _of_ends(emitter: Emitter, node: Node, sign: str) -> tuple[str, str] | None:
    """Those of the smaller or larger of two numbers, if one is the same for all lanes and the other
    goes up by a fixed step: it is enough to look at the first lane and the last, unless that
    number wraps in between."""
    if not _is_choice_by_order(node, sign) or not all(map(emitter.is_at_hand, node.operands[1:])):
        return None
    condition, *operands = node.operands
    values = [emitter.scalar(each) for each in operands]
    strides = [each.stride for each in values]
    if None in strides or strides.count(0) != 1:
        return None
    moving = 1 - strides.index(0)
    if not goes_one_way(emitter, values[moving]):
        return None
    first, last = values[moving], last_lane(emitter, values[moving])
    text, type_ = emitter.text, first.type
    chosen = []
    for end in (first, last):
        values[moving] = end
        by_node = dict(zip(operands, values, strict=True))
        compared = [
            next(by_node[each] for each in operands if _is_same(each, operand))
            for operand in condition.operands
        ]
        holds = compare(emitter, condition.op, *compared)
        names = [each.name for each in values]
        chosen.append(text.emit(f"select i1 {holds}, {type_} {names[0]}, {type_} {names[1]}"))
    order = "GreaterThanEqual"
    if (first.stride or 0) < 0:
        chosen.reverse()
        order = "LessThanEqual"
    in_order = compare(emitter, sign + order, last, first)
    bits = int(type_[1:])
    ends = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "S" else (0, -1)
    low, high = (
        text.emit(f"select i1 {in_order}, {type_} {name}, {type_} {end}")
        for name, end in zip(chosen, ends, strict=True)
    )
    return low, high


def _is_choice_by_order(node: Node, sign: str) -> bool:
    """True for what chooses the smaller or the larger of two integers."""
    if node.op != "Select":
        return False
    condition, *choices = node.operands
    if condition.op[:1] != sign or not operation(condition).is_ordering:
        return False
    one, other = condition.operands
    return any(
        _is_same(one, each) and _is_same(other, rest) for each, rest in (choices, choices[::-1])
    )


def _is_same(one: Node, other: Node) -> bool:
    number = constant_int(one)
    return one is other or (number is not None and number == constant_int(other))


def compare(emitter: Emitter, op: str, left: Lanes, right: Lanes) -> str:
    """A truth value: what a comparison of two scalars says."""
    return emitter.text.emit(OPERATIONS[op].llvm.format(left.name, right.name, s=left.type))


def goes_one_way(emitter: Emitter, value: Lanes) -> bool:
    """True if a value that goes up by a fixed step wraps at most once from the first lane to the
    last, so that these show whether it does."""
    assert value.stride is not None
    return abs(value.stride) * (emitter.width - 1) < 1 << (int(value.type[1:]) - 1)


def last_lane(emitter: Emitter, value: Lanes) -> Lanes:
    """What a value that goes up by a fixed step is in the last lane."""
    assert value.stride is not None
    distance = value.stride * (emitter.width - 1)
    return Lanes(value.type, emitter.text.emit(f"add {value.type} {value.name}, {distance}"))
