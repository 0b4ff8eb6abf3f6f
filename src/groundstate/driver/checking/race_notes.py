"""What is said of a race beside its two accesses: which memory it is about, and what to change."""

from __future__ import annotations

from groundstate.driver import native
from groundstate.driver.checking.memory_findings import allocation, allocation_notes
from groundstate.native_layouts import (
    ACCESS_ACQUIRES,
    ACCESS_ATOMIC,
    ACCESS_FENCED,
    ACCESS_RELEASES,
    ACCESS_UNFENCED,
    ACCESS_WRITES,
)

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Site = dict[str, Any]

LOCK = (
    "a lock needs a fence with the scope of the device behind the compare-exchange that takes it,"
    " and one before it is given back"
)
FENCES = (
    "relaxed atomic operations order two groups only with a fence whose scope is the device: before"
    " the one that publishes, and behind the one that finds it"
)
RELAXED = (
    "nothing orders two groups of a launch but atomic operations that acquire and release: those"
    " of this kernel are relaxed, and there is no fence"
)
NOTHING = (
    "nothing orders two groups of a launch but atomic operations that acquire and release: make"
    " both accesses atomic, or put what comes after into another launch"
)


def access(site: Site) -> str:
    """What a site does, as a noun."""
    if site.get("is_copy"):
        return "copy's write" if site["flags"] & ACCESS_WRITES else "copy's read"
    if site["flags"] & ACCESS_ATOMIC:
        is_load = not site["flags"] & ACCESS_WRITES
        return "atomic load" if is_load else "atomic operation"
    return "write" if site["flags"] & ACCESS_WRITES else "read"


def place(memory: str, address: int) -> list[str]:
    """Where the bytes are: in which allocation, and who made that."""
    found = native.memory_at(address) if memory != "local" else None
    if found is None or not found.base <= address < found.base + found.size:
        return [f"at address {address:#x}"]
    where = f"at offset {address - found.base:,} of {allocation(found)}"
    return [where, *allocation_notes(found)]


def advice(memory: str, is_one_group: bool, site: Site, other: Site, sites: Sequence[Site]) -> str:
    """What to do about a race of two sites of a kernel."""
    if site["flags"] & other["flags"] & ACCESS_ATOMIC:
        return "their scope is the work-group: atomic operations of two groups need a wider one"
    if is_one_group and other.get("is_copy"):
        return "wait_group_events, with the event of the copy, has to lie between them"
    plain = [each for each in (site, other) if not each["flags"] & ACCESS_ATOMIC]
    too = f"make the {access(plain[0])} atomic as the other access is" if len(plain) == 1 else ""
    barrier = f"barrier(CLK_{memory.upper()}_MEM_FENCE)"
    if is_one_group:
        return (
            f"{too}, or put a {barrier} between them" if too else f"no {barrier} lies between them"
        )
    return f"{too}; {_between_groups(sites)}" if too else _between_groups(sites)


def _between_groups(sites: Sequence[Site]) -> str:
    """What would order two groups in this kernel."""
    flags = [each["flags"] for each in sites if each["checker"] == "races"]
    atomics = [each for each in flags if each & ACCESS_ATOMIC]
    if any(each & ACCESS_UNFENCED for each in atomics):
        return LOCK
    if any(each & ACCESS_FENCED for each in atomics):
        return FENCES
    if atomics and not any(each & (ACCESS_ACQUIRES | ACCESS_RELEASES) for each in atomics):
        return RELAXED
    return NOTHING
