"""Enumerators and argument numbers by their names in C."""

from __future__ import annotations

from functools import cache

from groundstate.dnn import declarations, layout, tags


def is_enumeration(name: str) -> bool:
    """True for the name of an enumeration's type."""
    return name in declarations.ENUMS or name == "dnnl_format_tag_t"


@cache
def _values() -> dict[str, int]:
    found = {
        member: value
        for members in declarations.ENUMS.values()
        for member, value in members.items()
    }
    for name in (*tags.NAMES, *tags.ALIASES):
        value = layout.tag_value(name)
        if value is not None:
            found[f"dnnl_{name}"] = value
    return found | declarations.ARGUMENTS


def value_of(name: str) -> int | None:
    """The value of `dnnl_f32` or `DNNL_ARG_SRC`; None if there is no such name."""
    return _values().get(name)


def names() -> list[str]:
    """All names."""
    return list(_values())
