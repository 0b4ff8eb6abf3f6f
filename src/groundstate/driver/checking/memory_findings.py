"""What is said of accesses outside of memory: the kind, a sentence, and whose memory it was."""

from __future__ import annotations

import struct

from groundstate import ze
from groundstate.driver import native
from groundstate.driver.checking import host_stack

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from typing import Any

    from groundstate.compiler.program.signature import Signature
    from groundstate.native_layouts import MemoryFacts

NULL_PAGE = 4096
SIZE_BITS = 21  # codegen/images/checks.py
FAR = 1 << 20
"""Bytes from an allocation from which on an address is called far away."""

TYPES: dict[int, str] = {
    ze.ZE_MEMORY_TYPE_HOST: "host",
    ze.ZE_MEMORY_TYPE_DEVICE: "device",
    ze.ZE_MEMORY_TYPE_SHARED: "shared",
}


def words(
    site: dict[str, Any], given: list[int], signature: Signature
) -> tuple[str, str, str, list[str]]:
    """The kind and title of a report, what its place is labelled with, and notes."""
    if site.get("inner"):
        return _outside_of_array(site, given)
    if site.get("image"):
        return _outside_of_image(site, given, signature)
    address, lower, upper, root = given
    access = _access(site)
    short = site["access"].split()[0]
    label, source = _label(site, signature)
    if site["by_offset"]:
        offset = address - (1 << 64) if address >> 63 else address
        where = _outside(offset, site["bytes"], 0, upper, _variable(site, upper))
        return f"out-of-bounds-{short}", f"out-of-bounds {access}, {where}", label, source
    is_nowhere = site["looks_for_memory"] and root < NULL_PAGE and native.memory_at(address) is None
    if address < NULL_PAGE or is_nowhere:
        title = f"{access} through a null pointer"
        advice = "" if address == 0 else f", at address {address:#x}"
        return f"null-{short}", title + advice, label, source
    if lower and not upper:  # how `instrument/bounds.py` says that the pointer is not aligned
        own = native.memory_at(lower)
        upper = own.base + own.size if own is not None else lower
    if lower <= address and address + site["bytes"] <= upper and address % site["align"]:
        return (
            f"misaligned-{short}",
            f"misaligned {access} at {address:#x}, which is no multiple of {site['align']}",
            label,
            [*source, *allocation_notes(native.memory_at(address))],
        )
    if site["looks_for_memory"] and native.is_local_memory(address):
        title = f"{access} in local memory of another group or of a kernel that has ended"
        advice = "a pointer to local memory is worth nothing outside of its group"
        return f"expired-local-{short}", title, label, [*source, advice]
    found = native.memory_at(address)
    if found is not None and found.is_freed:
        title = f"{access} in {allocation(found)} that was freed"
        return f"use-after-free-{short}", title, label, [*source, *allocation_notes(found)]
    if lower < upper:
        own = native.memory_at(lower) if site["memory"] == "global" else None
        what = allocation(own) if own is not None else _variable(site, upper - lower)
        where = _outside(address, site["bytes"], lower, upper, what)
        notes = [*source, *allocation_notes(own)]
        if found is not None and (own is None or found.base != own.base):
            notes.append(f"it is in another allocation, {allocation(found)}")
        return f"out-of-bounds-{short}", f"out-of-bounds {access}, {where}", label, notes
    near = found or (native.memory_at(root) if root else None)
    if near is not None:
        what = allocation(near)
        where = _outside(address, site["bytes"], near.base, near.base + near.size, what)
        title = f"out-of-bounds {access}, {where}"
        return f"out-of-bounds-{short}", title, label, [*source, *allocation_notes(near)]
    title = f"wild {access} at {address:#x}, where there is no memory"
    return f"wild-{short}", title, label, source


def _outside_of_array(site: dict[str, Any], given: list[int]) -> tuple[str, str, str, list[str]]:
    index, length = given[0] - (1 << 64) if given[0] >> 63 else given[0], given[1]
    short = site["access"].split()[0]
    title = f"out-of-bounds {_access(site)}: index {index} of an array"
    note = "it is outside of the array, whatever is there"
    return f"out-of-bounds-{short}", f"{title} of {length} elements", "", [note]


def _outside_of_image(
    site: dict[str, Any], given: list[int], signature: Signature
) -> tuple[str, str, str, list[str]]:
    sizes = [given[3] >> SIZE_BITS * axis & ((1 << SIZE_BITS) - 1) for axis in range(3)]
    axes = site["axes"]
    if site["is_float"]:
        place = [str(struct.unpack("<d", struct.pack("<Q", each))[0]) for each in given[:axes]]
    else:
        place = [str(each - (1 << 64) if each >> 63 else each) for each in given[:axes]]
    size = " x ".join(map(str, sizes[:axes]))
    title = f"image {site['access']} at ({', '.join(place)}), out of range of {size} texels"
    name = ""
    if site["argument"] is not None:
        name = f"argument {site['argument']} '{signature.arguments[site['argument']].name}'"
    advice = (
        "only coordinates in the image may be written"
        if site["access"] == "write"
        else "what is read there is undefined without an addressing mode of a sampler"
    )
    return f"out-of-range-image-{site['access']}", title, name, [advice]


def _label(site: dict[str, Any], signature: Signature) -> tuple[str, list[str]]:
    """What the pointer came from, and the same as a note where there is no place to label."""
    if site["argument"] is not None:
        text = f"argument {site['argument']} '{signature.arguments[site['argument']].name}'"
    elif site["variable"]:
        text = f"'{site['variable']}'"
    else:
        return "", []
    return text, [] if site["frames"] else [f"through {text}"]


def _access(site: dict[str, Any]) -> str:
    return f"{site['access']} of {_bytes(site['bytes'])}" if site["bytes"] else str(site["access"])


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


def _outside(address: int, size: int, lower: int, upper: int, what: str) -> str:
    """Where an access lies, seen from the memory that it should be in."""
    if address >= upper:
        distance, side = address - upper, "after"
    elif address < lower:
        distance, side = lower - address, "before"
    else:
        return f"of which {_bytes(address + size - upper)} are beyond the end of {what}"
    far = "far outside: " if distance > FAR else ""
    if distance == 0:
        return f"right after {what}"
    return f"{far}{distance:,} byte{'' if distance == 1 else 's'} {side} {what}"


def allocation(found: MemoryFacts) -> str:
    """What memory it is: its size and kind."""
    kind = TYPES.get(found.type, "")
    digits = str(found.size)
    is_teen = digits[:2] in ("11", "18") and len(digits) % 3 == 2  # eleven, eighteen thousand
    article = "an" if digits[0] == "8" or is_teen else "a"
    return f"{article} {found.size}-byte {kind} allocation".replace("  ", " ")


def _variable(site: dict[str, Any], size: int) -> str:
    name = f" '{site['variable']}'" if site["variable"] else ""
    kind = {"local": "local", "private": "private", "value": "by-value"}.get(
        site["memory"], "program-scope"
    )
    what = "argument" if site["argument"] is not None else "variable"
    return f"the {kind} {what}{name} of {_bytes(size)}"


def allocation_notes(found: MemoryFacts | None) -> list[str]:
    """Who allocated memory, and who freed it."""
    if found is None:
        return []
    kind = TYPES.get(found.type, "").capitalize()
    notes = host_stack.notes(f"allocated by zeMemAlloc{kind}", found.allocated_by) if kind else []
    return notes + (
        host_stack.notes("freed by zeMemFree", found.freed_by) if found.is_freed else []
    )
