"""The target that this machine is."""

from __future__ import annotations

from functools import cache

from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.target.aarch64 import NEON
from groundstate.compiler.target.description import Target
from groundstate.compiler.target.x86 import MORE, NEWEST_FIRST


@cache
def host() -> Target:
    """The target of this process, found on first use: LLVM is asked."""
    from groundstate.compiler.llvm import service

    return on_this_machine(*service.facts())


def on_this_machine(cpu: str, features: str, triple: str) -> Target:
    """The description of a machine, by LLVM's names for it."""
    return replace(_described(features, triple), cpu=cpu, features=features, triple=triple)


def _described(features: str, triple: str) -> Target:
    there = {each[1:] for each in features.split(",") if each.startswith("+")}
    if triple.startswith(("aarch64", "arm64")):
        return replace(NEON, has_half_arithmetic="fullfp16" in there)
    found = next(target for needed, target in NEWEST_FIRST if there.issuperset(needed))
    for needed, fields in MORE:
        if there.issuperset(needed):
            found = replace(found, **fields)
    return found
