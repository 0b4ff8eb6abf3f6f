"""Loops in formulas, over values that are kept in slots. Only for scalars."""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.math.functions import Body
from groundstate.compiler.math.vec import Vec


class Slot:
    """A value that changes from one iteration to the next."""

    def __init__(self, start: Vec) -> None:
        self.text, self.t = start.text, start.t
        self.name = self.text.emit(f"alloca {start.t}")
        self.put(start)

    def get(self) -> Vec:
        return Vec(self.text, self.t, self.text.emit(f"load {self.t}, ptr {self.name}"))

    def put(self, value: Vec) -> None:
        self.text.do(f"store {self.t} {value.name}, ptr {self.name}")


def repeat(example: Vec, body: Callable[[], Vec]) -> None:
    """Does something, and again as long as it gives true."""
    text = example.text
    assert isinstance(text, Body)
    head, after = text.label("loop"), text.label("after")
    text.do(f"br label %{head}")
    text.start(head)
    goes_on = body()
    text.do(f"br i1 {goes_on.name}, label %{head}, label %{after}")
    text.start(after)


def down_from(count: Vec, body: Callable[[Vec], None]) -> None:
    """Does something for the numbers from `count` down to 1; `count` is an i32, and positive."""
    left = Slot(count)

    def once() -> Vec:
        number = left.get()
        body(number)
        rest = number - 1
        left.put(rest)
        return rest > 0

    repeat(count, once)
