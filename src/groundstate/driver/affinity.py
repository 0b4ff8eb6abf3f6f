"""Which devices `ZE_AFFINITY_MASK` leaves visible.

The mask is a list of device ordinals (`1`) and sub-device ordinals (`1.2`). The order of the list
does not matter: what is kept stays in the driver's order, and is numbered anew from 0.
"""

from __future__ import annotations

from groundstate import knobs
from groundstate.driver.topology import Part
from groundstate.knobs.kinds import complain

TYPE_CHECKING = False  # as in driver/platform.py
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Entry = tuple[int, ...]


def parse(mask: str) -> list[Entry] | None:
    """The entries of a mask: (1,) for a device, (1, 2) for a sub-device. None if it selects all.

    An entry that is not made of ordinals is ignored, with a complaint; so is a mask without any
    usable entry. An ordinal that does not exist is an entry like any other: it selects nothing.
    """
    entries = []
    for word in mask.split(","):
        entry = _parse_entry(word.strip())
        if entry is not None:
            entries.append(entry)
        elif word.strip():
            complain(
                knobs.AFFINITY_MASK.name,
                word.strip(),
                "expected device or device.sub-device, such as 0 or 0.1; ignoring this entry",
            )
    return entries or None


def _parse_entry(word: str) -> Entry | None:
    ordinals = word.split(".")
    if all(ordinal.isascii() and ordinal.isdigit() for ordinal in ordinals):
        return tuple(int(ordinal[:10]) for ordinal in ordinals)
    return None


def select(devices: Sequence[Part], entries: Iterable[Entry]) -> list[Part]:
    """Keeps the devices that the entries name, each with the sub-devices that they name.

    A device of which only one sub-device is named is reported as that sub-device alone, which then
    has no root device.
    """
    wanted = set(entries)
    kept = []
    for ordinal, device in enumerate(devices):
        if (ordinal,) in wanted:
            kept.append(device)
            continue
        parts = [part for index, part in enumerate(device.parts) if (ordinal, index) in wanted]
        if not device.parts and (ordinal, 0) in wanted:
            # A device that is not divided is its own only sub-device.
            kept.append(device)
        elif len(parts) == 1:
            kept.append(parts[0])
        elif parts:
            kept.append(device.keeping(parts))
    return kept


def select_leaves(devices: Sequence[Part], entries: Iterable[Entry]) -> list[Part]:
    """Keeps sub-devices by their number across all devices, as the flat hierarchies count them.

    Each device is returned with the sub-devices that are kept, or not at all.
    """
    wanted = set(entries)
    ordinal = 0
    kept = []
    for device in devices:
        leaves = []
        for leaf in device.leaves():
            if (ordinal,) in wanted or (ordinal, 0) in wanted:
                leaves.append(leaf)
            ordinal += 1
        if leaves:
            kept.append(device.keeping(leaves) if device.parts else device)
    return kept
