"""The facts of the neural-network API: enumerations, format tags, argument numbers, functions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from registry.load import FACTS


@dataclass(frozen=True)
class Function:
    """One function of the API."""

    name: str
    returns: str
    """For example "dnnl_status_t" or "const char *"."""
    parameters: tuple[str, ...]
    """For example ("dnnl_engine_t *engine", "dnnl_engine_kind_t kind", "size_t index")."""


@dataclass(frozen=True)
class Facts:
    """Everything that is generated is made of these."""

    version: str
    enums: dict[str, dict[str, int]]
    tags: tuple[str, ...]
    """The layouts by their canonical names, such as "aBcd16b"; the place is the value."""
    tag_aliases: dict[str, str]
    """Other names, such as "nChw16c", and what they stand for."""
    arguments: dict[str, int]
    functions: tuple[Function, ...]


@cache
def load() -> Facts:
    """The facts; read once."""
    read = json.loads((FACTS / "dnnl.json").read_text(encoding="utf-8"))
    return Facts(
        read["version"],
        read["enums"],
        tuple(read["tags"].split()),
        read["tag_aliases"],
        read["arguments"],
        tuple(_function(name, text) for name, text in read["functions"].items()),
    )


def _function(name: str, text: str) -> Function:
    parameters, _, returns = text.partition(" -> ")
    return Function(name, returns, tuple(filter(None, parameters.strip().split(", "))))
