"""Light dataclasses: made like the standard ones, compared by value, not to be changed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from groundstate.compiler.light_dataclass import field, light_dataclass, replace


@light_dataclass()
class Point:
    x: int
    y: int = 0
    notes: list[str] = field(default_factory=list, repr=False)


@light_dataclass()
class Sized(Point):
    size: int = 1
    area: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", self.size**2)


class Plain(Sized):
    """Adds no fields, so it need not be decorated again."""


@light_dataclass(frozen=False)
class Bag:
    things: dict[str, int] = field(default_factory=dict)
    name: str | None = field(default=None)


def test_fields_are_positional_named_or_default() -> None:
    for made in (Point(1, 2), Point(1, y=2), Point(y=2, x=1)):
        assert (made.x, made.y, made.notes) == (1, 2, [])
    assert Point(1).y == 0
    assert Point(1).notes is not Point(1).notes


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), ((1, 2, [], 4), {}), ((1,), {"z": 1}), ((1,), {"x": 1}), ((), {"y": 1})],
)
def test_what_does_not_fit_is_a_type_error(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="Point takes x, y, notes"):
        Point(*given, **named)
    with pytest.raises(TypeError):
        Sized(1, area=4)  # type: ignore[call-arg]


def test_records_are_compared_by_value_and_class() -> None:
    assert Point(1, 2) == Point(1, 2) != Point(1, 3)
    assert Point(1) != Sized(1)
    assert len({Sized(1, 0, (), 2), Sized(1, 0, (), 2)}) == 1  # type: ignore[arg-type]
    assert Bag() == Bag({}) != Bag({"a": 1})
    with pytest.raises(TypeError, match="unhashable"):
        hash(Bag())


def test_a_frozen_record_cannot_be_changed() -> None:
    for made in (Point(1), Plain(1)):
        with pytest.raises(AttributeError, match=r"\.x cannot be changed"):
            made.x = 2  # type: ignore[misc]
        with pytest.raises(AttributeError, match="cannot be changed"):
            del made.x
    bag = Bag()
    bag.name = "b"
    assert repr(bag) == "Bag(things={}, name='b')"


def test_fields_are_inherited_in_order() -> None:
    made = Plain(1, 2, [], 3)
    assert (made.x, made.size, made.area) == (1, 3, 9)
    assert repr(made) == "Plain(x=1, y=2, size=3)"


def test_replace_changes_some_values() -> None:
    bag = Bag({"a": 1}, "b")
    assert replace(bag, name="c") == Bag({"a": 1}, "c")
    assert bag.name == "b"
    with pytest.raises(TypeError, match="no field 'weight'"):
        replace(bag, weight=1)


def test_reading_spirv_does_not_need_dataclasses() -> None:
    code = "import sys; import groundstate.compiler.program; print('dataclasses' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
