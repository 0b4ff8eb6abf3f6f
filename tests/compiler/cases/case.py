"""How a case is added to the list `CASES`, and the arguments that many of them take."""

from __future__ import annotations

from typing import Any

from tests.compiler.kernels import Argument, Case, random

CASES: list[Case] = []

Size = int | tuple[int, ...]


def case(
    file: str, name: str, arguments: list[Argument], size: Size, group: Size, **more: Any
) -> None:
    """Adds a case; one-dimensional sizes may be plain numbers, needs a text of words."""
    sizes = (size,) if isinstance(size, int) else size
    groups = (group,) if isinstance(group, int) else group
    more["needs"] = frozenset(str(more.get("needs", "")).split())
    CASES.append(Case(file, name, tuple(arguments), sizes, groups, **more))


N = 1024
INT, UINT, LONG, ULONG = random("i4", N), random("u4", N), random("i8", N), random("u8", N)
FLOAT, DOUBLE, FLOAT4 = random("f4", N), random("f8", N), random("f4", 4 * N)
SMALL = random("i4", N, -1000, 1000)
