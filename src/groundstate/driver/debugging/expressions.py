"""Expressions in C over the variables of a stopped work-item: for print, conditions and watches."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from groundstate.compiler.step.source_types import SourceType, pointer_to
from groundstate.driver.debugging import inspection
from groundstate.driver.debugging.values import (
    EvaluationError,
    Number,
    Result,
    encoded,
    of_number,
)

if TYPE_CHECKING:
    from groundstate.compiler.step.work_item import WorkItem
    from groundstate.driver.debugging.inspection import Names

TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?P<ending>[uUlLfFhH]*)"
    r"|(?P<name>[A-Za-z_$]\w*)"
    r"|(?P<symbol>->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>()\[\].,@?:]))"
)
LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
SWIZZLES = {letter: index for index, letter in enumerate("xyzw")}
MOST_CHARACTERS = 1000
MOST_DEPTH = 50
MOST_ELEMENTS = 1 << 16


def _quotient(a: Number, b: Number) -> Number:
    if isinstance(a, float) or isinstance(b, float):
        return a / b if b else math.nan if not a else math.copysign(math.inf, a)
    if b == 0:
        raise EvaluationError("a division by zero")
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def _rest(a: Number, b: Number) -> Number:
    if b == 0:
        raise EvaluationError("a division by zero")
    return a - b * _quotient(a, b)


def _shift(compute: Callable[[int, int], int]) -> Callable[[Number, Number], Number]:
    def shifted(a: Number, b: Number) -> Number:
        if not 0 <= b < 64:
            raise EvaluationError(f"a shift by {b}")
        return compute(int(a), int(b))

    return shifted


BINARY: dict[str, Callable[[Number, Number], Number]] = {
    "|": lambda a, b: int(a) | int(b),
    "^": lambda a, b: int(a) ^ int(b),
    "&": lambda a, b: int(a) & int(b),
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "<<": _shift(operator.lshift),
    ">>": _shift(operator.rshift),
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": _rest,
}


UNARY: dict[str, Callable[[Number], Number]] = {
    "-": operator.neg,
    "+": operator.pos,
    "!": lambda a: int(not a),
    "~": lambda a: ~int(a),
}


def evaluate(text: str, item: WorkItem, names: Names, frame: int = 0) -> Result:
    """The value of an expression; EvaluationError says what is wrong with it."""
    reader = _Reader(text, item, names, frame)
    value = reader.binary(0)
    if reader.symbol:
        raise EvaluationError(f"there is {reader.symbol!r} behind the expression")
    return value


class _Reader:
    """Reads an expression from left to right, and computes it on the way."""

    def __init__(self, text: str, item: WorkItem, names: Names, frame: int) -> None:
        if len(text) > MOST_CHARACTERS:
            raise EvaluationError(f"an expression has at most {MOST_CHARACTERS} characters")
        self.item = item
        self.memory = item.group.memory
        self.names = names
        self.frame = frame
        self.tokens = self._split(text)
        self.at = 0
        self.depth = 0

    def _split(self, text: str) -> list[re.Match[str]]:
        found, at, text = [], 0, text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise EvaluationError(f"{text[at:].strip()!r} is no part of an expression")
            found.append(match)
            at = match.end()
        return found

    @property
    def symbol(self) -> str:
        """What comes next; nothing at the end."""
        return self.tokens[self.at][0].strip() if self.at < len(self.tokens) else ""

    def _take(self, wanted: str) -> bool:
        if self.symbol != wanted:
            return False
        self.at += 1
        return True

    def _expect(self, wanted: str) -> None:
        if not self._take(wanted):
            raise EvaluationError(f"{wanted!r} is missing")

    # --- Operators ------------------------------------------------------------------------------

    def binary(self, level: int) -> Result:
        """Operands and operators of a level, and those that bind closer."""
        if level == len(LEVELS):
            return self._unary()
        left = self.binary(level + 1)
        while self.symbol in LEVELS[level]:
            sign = self.symbol
            self.at += 1
            left = self._combined(sign, left, self.binary(level + 1))
        return left

    def _combined(self, sign: str, left: Result, right: Result) -> Result:
        a, b = left.number(self.memory), right.number(self.memory)
        if sign in ("&&", "||"):
            return of_number(int(bool(a) and bool(b) if sign == "&&" else bool(a) or bool(b)))
        element = left.type.element
        moves = left.type.kind in ("pointer", "array") and sign in ("+", "-")
        if moves and element is not None and right.type.kind not in ("pointer", "array"):
            kind = pointer_to(element)
            return Result(kind, 0, encoded(kind, BINARY[sign](a, b * element.size)))
        try:
            return of_number(BINARY[sign](a, b))
        except (OverflowError, ValueError) as problem:
            raise EvaluationError(str(problem)) from problem

    def _unary(self) -> Result:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise EvaluationError("the expression is nested too deeply")
        try:
            sign = self.symbol
            if sign not in ("-", "+", "!", "~", "*", "&"):
                return self._postfix()
            self.at += 1
            value = self._unary()
        finally:
            self.depth -= 1
        if sign == "*":
            return self._element(value, 0)
        if sign == "&":
            return self._address(value)
        number = value.number(self.memory)
        return of_number(UNARY[sign](number))

    def _address(self, value: Result) -> Result:
        if not value.address:
            raise EvaluationError("what lies nowhere in memory has no address")
        kind = pointer_to(value.type)
        return Result(kind, 0, encoded(kind, value.address))

    # --- Parts ----------------------------------------------------------------------------------

    def _postfix(self) -> Result:
        value = self._primary()
        while True:
            if self._take("["):
                index = int(self.binary(0).number(self.memory))
                self._expect("]")
                value = self._element(value, index)
            elif self._take("."):
                value = self._member(value)
            elif self._take("->"):
                value = self._member(self._element(value, 0))
            elif self._take("@"):
                value = self._array(value, int(self._primary().number(self.memory)))
            else:
                return value

    def _element(self, value: Result, index: int) -> Result:
        kind = value.type
        if kind.element is None:
            raise EvaluationError(f"{kind.name} has no elements")
        if kind.kind == "pointer":
            start = int(value.number(self.memory))
            return Result(kind.element, start + index * kind.element.size)
        if kind.count and not 0 <= index < kind.count:
            raise EvaluationError(f"a {kind.name} has no element {index}")
        return value.part(index * kind.element.size, kind.element)

    def _array(self, value: Result, count: int) -> Result:
        """`pointer @ 8`: what it leads to as an array."""
        element = value.type.element
        if element is None or not 0 < count <= MOST_ELEMENTS:
            raise EvaluationError("POINTER @ COUNT takes a pointer and a count")
        start = int(value.number(self.memory))
        kind = SourceType(f"{element.name}[{count}]", "array", element.size * count, element, count)
        return Result(kind, start)

    def _member(self, value: Result) -> Result:
        name = self.symbol
        self.at += 1
        kind = value.type
        if kind.kind == "pointer" and kind.element is not None:
            value = self._element(value, 0)
            kind = value.type
        for member, offset, part in kind.members:
            if member == name:
                return value.part(offset, part)
        if kind.kind == "vector" and kind.element is not None:
            index = SWIZZLES.get(name, -1)
            if re.fullmatch("[sS][0-9a-fA-F]", name):
                index = int(name[1:], 16)
            if 0 <= index < kind.count:
                return value.part(index * kind.element.size, kind.element)
        raise EvaluationError(f"a {kind.name} has no member {name!r}")

    def _primary(self) -> Result:
        if self.at >= len(self.tokens):
            raise EvaluationError("the expression ends too early")
        token = self.tokens[self.at]
        self.at += 1
        if token["number"]:
            return self._number(token)
        if token["name"]:
            return self._named(token["name"])
        if token["symbol"] == "(":
            value = self.binary(0)
            self._expect(")")
            return value
        raise EvaluationError(f"{token['symbol']!r} is out of place")

    def _number(self, token: re.Match[str]) -> Result:
        digits = token["number"]
        if digits[:2] in ("0x", "0X"):
            return of_number(int(digits, 16))
        if token["ending"].lower().endswith(("f", "h")) or not digits.isdigit():
            return of_number(float(digits))
        return of_number(int(digits))

    def _named(self, name: str) -> Result:
        if self._take("("):
            axis = 0 if self.symbol == ")" else int(self.binary(0).number(self.memory))
            self._expect(")")
            if not name.startswith("get_"):
                raise EvaluationError(f"{name}() cannot be called here; only get_global_id() etc.")
            return inspection.id_value(self.item, name.removeprefix("get_"), axis)
        visible = inspection.locals_of(self.item, self.names, self.frame)
        if name in visible:
            return visible[name]
        for others in (
            inspection.arguments_of(self.item, self.names),
            inspection.shared_of(self.item),
        ):
            if name in others:
                return others[name]
        known = ", ".join(visible) or "none"
        raise EvaluationError(f"there is no variable {name!r} here; there are: {known}")
