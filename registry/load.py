"""Read `facts/*.json` into the dataclasses of `model`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from registry.model import (
    NAMESPACES,
    Callback,
    Constant,
    CType,
    Direction,
    Enum,
    Field,
    Function,
    Handle,
    Parameter,
    Registry,
    Struct,
    Table,
    TableField,
    Typedef,
    Version,
    parse_version,
)

FACTS = Path(__file__).parent / "facts"

Facts = dict[str, Any]


@cache
def load() -> Registry:
    """The whole registry; read once."""
    registry = Registry("", {}, {}, {}, {}, {}, {}, {}, {})
    version = ""
    for namespace in NAMESPACES:
        facts = json.loads((FACTS / f"{namespace}.json").read_text(encoding="utf-8"))
        version = facts["spec_version"]
        _add(registry, namespace, facts)
    return Registry(**{**vars(registry), "version": version})


def _add(registry: Registry, namespace: str, facts: Facts) -> None:
    for name, fact in facts["functions"].items():
        registry.functions[name] = _function(name, namespace, fact)
    for name, fact in facts["structs"].items():
        registry.structs[name] = _struct(name, namespace, fact)
    for name, fact in facts["enums"].items():
        since = parse_version(fact["since"])
        registry.enums[name] = Enum(name, namespace, since, tuple(fact["values"].items()))
    for name, alias in facts["handles"].items():
        registry.handles[name] = Handle(name, namespace, alias)
    for name, target in facts["typedefs"].items():
        registry.typedefs[name] = Typedef(name, namespace, target)
    for name, parameters in facts["callbacks"].items():
        types = tuple(CType.parse(text) for text in parameters)
        registry.callbacks[name] = Callback(name, namespace, types)
    for name, fact in facts["tables"].items():
        registry.tables[name] = _table(name, namespace, fact)
    for name, value in facts["constants"].items():
        registry.constants[name] = Constant(name, namespace, value)


def _function(name: str, namespace: str, fact: Facts) -> Function:
    return Function(
        name=name,
        namespace=namespace,
        noun=fact["class"],
        region=fact["region"],
        since=parse_version(fact["since"]),
        returns=fact.get("returns", "ze_result_t"),
        failure=fact.get("failure"),
        parameters=tuple(_parameter(parameter) for parameter in fact["parameters"]),
        errors=tuple((result, tuple(when)) for result, when in fact.get("errors", {}).items()),
    )


def _parameter(fact: Facts) -> Parameter:
    return Parameter(
        name=fact["name"],
        type=CType.parse(fact["type"]),
        direction=Direction(fact["direction"]),
        optional=fact.get("optional", False),
        count=_count(fact),
        release=fact.get("release", False),
        must_be_zero=fact.get("must_be_zero", False),
    )


def _struct(name: str, namespace: str, fact: Facts) -> Struct:
    return Struct(
        name=name,
        namespace=namespace,
        kind=fact.get("kind", "struct"),
        size=fact["size"],
        align=fact["align"],
        since=_since(fact),
        base=fact.get("base"),
        stype=fact.get("stype"),
        extends=tuple(fact.get("extends", ())),
        fields=tuple(_field(field) for field in fact["fields"]),
    )


def _field(fact: Facts) -> Field:
    return Field(
        name=fact["name"],
        type=CType.parse(fact["type"]),
        offset=fact["offset"],
        direction=Direction(fact["direction"]) if "direction" in fact else None,
        optional=fact.get("optional", False),
        count=_count(fact),
    )


def _table(name: str, namespace: str, fact: Facts) -> Table:
    fields = tuple(
        TableField(
            name=field["name"],
            offset=field["offset"],
            function=field.get("function"),
            type=field.get("type"),
            since=_since(field),
        )
        for field in fact["fields"]
    )
    return Table(name, namespace, fact["size"], fact.get("getter"), fields)


def _count(fact: Facts) -> str | None:
    span = fact.get("range")
    return str(span[1]) if span else None


def _since(fact: Facts) -> Version | None:
    return parse_version(fact["since"]) if "since" in fact else None
