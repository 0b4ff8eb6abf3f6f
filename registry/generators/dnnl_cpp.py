"""The C++ names of enumerations of the neural-network API, for groundstate/dnnl.hpp."""

from __future__ import annotations

from collections.abc import Iterator

from registry.dnnl import load
from registry.generators.dnnl_c import NOTICE

OPENING = """\
/* Enumerations under the names that they have in oneDNN's C++ interface. */
#ifndef GROUNDSTATE_DNNL_ENUMS_HPP
#define GROUNDSTATE_DNNL_ENUMS_HPP

#include "groundstate/dnnl.h"

namespace dnnl {
namespace enums {
"""
CLOSING = """\
} // namespace enums
} // namespace dnnl

#endif"""

CLASSES = {
    "data_type": ("dnnl_data_type_t", "data_type_"),
    "prop_kind": ("dnnl_prop_kind_t", "prop_kind_"),
    "algorithm": ("dnnl_alg_kind_t", "alg_kind_"),
}
"""By name: the C enumeration, and what is left out of the names of some of its members."""


def generate() -> Iterator[str]:
    """The header."""
    facts = load()
    yield NOTICE
    yield from OPENING.splitlines()
    yield ""
    for name, (of, prefix) in CLASSES.items():
        members = [each for each in facts.enums[of] if not each.endswith("_max")]
        yield from _class(name, [(_short(each, prefix), each) for each in members])
    tags = [*facts.tags, *facts.tag_aliases]
    names = {"format_tag_undef": "undef", "format_tag_any": "any"}
    yield from _class("format_tag", [(names.get(each, each), f"dnnl_{each}") for each in tags])
    yield from CLOSING.splitlines()


def _short(member: str, prefix: str) -> str:
    return member.removeprefix("dnnl_").removeprefix(prefix)


def _class(name: str, members: list[tuple[str, str]]) -> Iterator[str]:
    yield f"enum class {name} {{"
    for short, member in members:
        yield f"    {short} = {member},"
    yield "};"
    yield ""
