"""The light `cached_property` and `cache` do what the standard ones do."""

import functools
from typing import Any

import pytest

from groundstate import light_functools


@pytest.mark.parametrize("kind", [functools, light_functools])
def test_cached_property_computes_once_per_instance(kind: Any) -> None:
    computed: list[int] = []

    class Thing:
        def __init__(self, number: int) -> None:
            self.number = number

        @kind.cached_property
        def double(self) -> int:
            """Twice the number."""
            computed.append(self.number)
            return 2 * self.number

    first, second = Thing(1), Thing(2)
    assert [first.double, first.double, second.double] == [2, 2, 4]
    assert computed == [1, 2]
    assert Thing.double.__doc__ == "Twice the number."
    first.double = 5
    assert first.double == 5
    del first.double
    assert first.double == 2


@pytest.mark.parametrize("kind", [functools, light_functools])
def test_cache_answers_each_argument_once(kind: Any) -> None:
    computed: list[int] = []

    @kind.cache
    def double(number: int) -> int:
        if number < 0:
            raise ValueError(number)
        computed.append(number)
        return 2 * number

    assert [double(1), double(1), double(2)] == [2, 2, 4]
    for _ in range(2):
        with pytest.raises(ValueError, match="-1"):
            double(-1)
    double.cache_clear()
    assert double(1) == 2
    assert computed == [1, 2, 1]
