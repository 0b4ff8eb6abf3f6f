"""Races and barriers: what is said of two parties, the accesses of two work-items or those who wait
in two places.

native/check/races.c and group_checks.c write the records.
"""

from __future__ import annotations

from groundstate.compiler.light_dataclass import replace
from groundstate.driver.checking import race_notes
from groundstate.excerpt import of_other
from groundstate.findings import Finding
from groundstate.native_layouts import GROUP_REPORTS, Dispatch

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from groundstate.driver.module import EntryPoint
    from groundstate.native_layouts import LaunchReports, ReportRecord, SiteReports

CHECKERS = frozenset(("races", "sync"))
IS_LOCAL, IS_SAME_VALUE = 1, 2
IMAGE = "image"
DIVERGENT = GROUP_REPORTS.index("divergent_barrier")
DIVERGENT_OPERATION = GROUP_REPORTS.index("divergent_operation")
INACTIVE_SOURCE = GROUP_REPORTS.index("inactive_source")
DIVERGENT_COPY = GROUP_REPORTS.index("divergent_copy")
UNAWAITED_COPY = GROUP_REPORTS.index("unawaited_copy")
UNKNOWN_EVENT = GROUP_REPORTS.index("unknown_event")
MOST_SHOWN = 6
"""Work-items that a sentence lists."""

Item = tuple[int, ...]


def findings(
    entry_point: EntryPoint,
    sites: Sequence[dict[str, Any]],
    number: int,
    reports: SiteReports,
    launch: LaunchReports,
) -> Iterator[Finding]:
    """What happened at one site: a finding for each record where each has another party."""
    dispatch = Dispatch.from_address(launch.dispatch)
    for record in reports.records[: min(reports.count, len(reports.records))]:
        kind = record.words[0] & 0xFF
        finding = _MAKERS.get(kind, _race)(entry_point, sites, number, record, dispatch)
        if kind in (DIVERGENT_OPERATION, INACTIVE_SOURCE):
            yield replace(finding, count=reports.count)
            return
        yield finding


def item_at(dispatch: Dispatch, group: int, number: int) -> Item:
    """The global id of a work-item, from the numbers of its group and of itself in it."""
    place = []
    for axis in range(3):
        count, size = dispatch.group_counts[axis], dispatch.group_size[axis]
        place.append(dispatch.global_offset[axis] + group % count * size + number % size)
        group, number = group // count, number // size
    return tuple(place)


def _shown(item: Item) -> str:
    return f"({', '.join(map(str, item))})"


# --- Races ----------------------------------------------------------------------------------------


def _race(
    entry_point: EntryPoint,
    sites: Sequence[dict[str, Any]],
    number: int,
    record: ReportRecord,
    dispatch: Dispatch,
) -> Finding:
    from groundstate.driver.checking.kernel_findings import group_of, places_of

    first, group, second, address = record.words
    site, other = sites[number], sites[first >> 16]
    flags, size = first >> 8 & 0xFF, second >> 32
    items = dispatch.group_size[0] * dispatch.group_size[1] * dispatch.group_size[2]
    item, its = tuple(record.work_item), item_at(dispatch, group, (second & 0xFFFFFFFF) % items)
    own_group, its_group = group_of(item, dispatch), group_of(its, dispatch)
    memory = _memory_of(flags, site, other)
    part = "texel" if memory == IMAGE else "byte" if size == 1 else "bytes"
    parties = "work-items of one group" if own_group == its_group else "work-groups"
    same = ", which store the same value" if flags & IS_SAME_VALUE else ""
    kinds = f"{race_notes.access(site)} and {race_notes.access(other)}"
    title = (
        f"race in {'an image' if memory == IMAGE else f'{memory} memory'} between two {parties}: "
        f"{kinds} of the same {part}{same}"
    )
    who, whose = _who(site, item), _who(other, its)
    places = places_of(entry_point, site, f"{race_notes.access(site)} by {who}")
    places += of_other(
        places_of(entry_point, other, f"{race_notes.access(other)} by {whose}"),
        f"{whose}, group {_shown(its_group)}",
    )
    notes = [] if other["frames"] else [f"the {race_notes.access(other)} is by {whose}"]
    return Finding(
        checker="races",
        kind="race-in-image" if memory == IMAGE else f"race-in-{memory}-memory",
        title=title,
        places=places,
        notes=[
            *notes,
            *race_notes.place(memory, address),
            race_notes.advice(memory, own_group == its_group, site, other, sites),
        ],
        kernel=entry_point.signature.name,
        work_item=item,
        group=own_group,
    )


def _memory_of(flags: int, *sites: dict[str, Any]) -> str:
    """Which memory a race is in; a pointer may lead to the texels of an image."""
    if any(site.get("is_image") for site in sites):
        return IMAGE
    return "local" if flags & IS_LOCAL else "global"


def _who(site: dict[str, Any], item: Item) -> str:
    return "the whole group" if site.get("is_copy") else f"work-item {_shown(item)}"


# --- Barriers -------------------------------------------------------------------------------------


def _divergent_barrier(
    entry_point: EntryPoint,
    sites: Sequence[dict[str, Any]],
    number: int,
    record: ReportRecord,
    dispatch: Dispatch,
) -> Finding:
    from groundstate.driver.checking.kernel_findings import group_of, places_of

    first, other, counts, ended = record.words
    site, item = sites[number], tuple(record.work_item)
    group = group_of(item, dispatch)
    its = _item_of_group(dispatch, group, other)
    waiting, elsewhere = counts & 0xFFFFFFFF, counts >> 32
    place = first >> 16
    items = dispatch.group_size[0] * dispatch.group_size[1] * dispatch.group_size[2]
    places = places_of(entry_point, site, f"{waiting} of {items} work-items wait here")
    notes = [f"{waiting} work-items wait here, the first is {_shown(item)}"]
    if place:
        title = "work-items of a group wait at different barriers"
        places += of_other(
            places_of(entry_point, sites[place - 1], f"{elsewhere} wait here"),
            f"work-item {_shown(its)}",
        )
        notes.append(f"{elsewhere} wait at another barrier, the first is {_shown(its)}")
        if ended:
            notes.append(f"{ended} have ended")
    else:
        title = "not all work-items of a group come to a barrier"
        notes.append(f"{ended} have ended without it, the first is {_shown(its)}")
    notes.append("a barrier must be reached by all work-items of a group, or by none")
    return Finding(
        checker="sync",
        kind="divergent-barrier",
        title=title,
        places=places,
        notes=notes,
        kernel=entry_point.signature.name,
        work_item=item,
        group=group,
    )


def _item_of_group(dispatch: Dispatch, group: Item, number: int) -> Item:
    x, y, z = group
    return item_at(
        dispatch, x + dispatch.group_counts[0] * (y + dispatch.group_counts[1] * z), number
    )


# --- Copies ---------------------------------------------------------------------------------------


def _divergent_copy(
    entry_point: EntryPoint,
    sites: Sequence[dict[str, Any]],
    number: int,
    record: ReportRecord,
    dispatch: Dispatch,
) -> Finding:
    """Not all of a group come to a copy or to a wait for it, or not with the same arguments."""
    from groundstate.driver.checking.kernel_findings import group_of, places_of

    first, other = record.words[:2]
    site, item = sites[number], tuple(record.work_item)
    group = group_of(item, dispatch)
    its, noun = _shown(_item_of_group(dispatch, group, other)), site["noun"]
    if first >> 8:
        title = f"not all work-items of a group come to an asynchronous {noun}"
        said = f"work-item {its} has not come here as often, or elsewhere last"
    else:
        title = f"work-items of a group come to an asynchronous {noun} with different arguments"
        said = f"those of work-item {its} differ"
    return Finding(
        checker="sync",
        kind="divergent-copy",
        title=title,
        places=places_of(entry_point, site, f"work-item {_shown(item)} was here"),
        notes=[said, f"a {noun} belongs to the whole group: all come to it and give the same"],
        kernel=entry_point.signature.name,
        work_item=item,
        group=group,
    )


def _unawaited_copy(
    entry_point: EntryPoint,
    sites: Sequence[dict[str, Any]],
    number: int,
    record: ReportRecord,
    dispatch: Dispatch,
) -> Finding:
    """A group ends before its copy."""
    from groundstate.driver.checking.kernel_findings import group_of, places_of

    item = tuple(record.work_item)
    return Finding(
        checker="races",
        kind="unawaited-copy",
        title="a group ends without having waited for its asynchronous copy",
        places=places_of(entry_point, sites[number], "this copy"),
        notes=["wait_group_events, with the event of the copy, has to come before the end"],
        kernel=entry_point.signature.name,
        group=group_of(item, dispatch),
    )


def _unknown_event(
    entry_point: EntryPoint,
    sites: Sequence[dict[str, Any]],
    number: int,
    record: ReportRecord,
    dispatch: Dispatch,
) -> Finding:
    """A group waits for what no copy has begun."""
    from groundstate.driver.checking.kernel_findings import group_of, places_of

    item = tuple(record.work_item)
    return Finding(
        checker="races",
        kind="unknown-event",
        title="a group waits for an event that no asynchronous copy of it has returned",
        places=places_of(entry_point, sites[number], "this wait"),
        notes=["wait_group_events takes what async_work_group_copy returned in this group"],
        kernel=entry_point.signature.name,
        group=group_of(item, dispatch),
    )


# --- Sub-groups -----------------------------------------------------------------------------------


def _divergent_operation(
    entry_point: EntryPoint,
    sites: Sequence[dict[str, Any]],
    number: int,
    record: ReportRecord,
    dispatch: Dispatch,
) -> Finding:
    """Not all of a sub-group come to what all of it must."""
    from groundstate.driver.checking.kernel_findings import group_of, places_of

    _, here, existing, _ = record.words
    site, item = sites[number], tuple(record.work_item)
    missing = here ^ existing
    lane = (here & -here).bit_length() - 1
    absent = [each for each in range(64) if missing >> each & 1]
    shown = [_shown(_neighbour(dispatch, item, each - lane)) for each in absent[:MOST_SHOWN]]
    count, total = here.bit_count(), existing.bit_count()
    rest = f" and {len(absent) - MOST_SHOWN} more" if len(absent) > MOST_SHOWN else ""
    return Finding(
        checker="sync",
        kind="divergent-sub-group-operation",
        title=f"not all work-items of a sub-group come to a {site['noun']}",
        places=places_of(entry_point, site, f"{count} of {total} work-items are here"),
        notes=[
            f"missing: work-item{'s' * (len(absent) > 1)} {', '.join(shown)}{rest}",
            "it must be reached by all work-items of a sub-group, or by none",
        ],
        kernel=entry_point.signature.name,
        work_item=item,
        group=group_of(item, dispatch),
    )


def _inactive_source(
    entry_point: EntryPoint,
    sites: Sequence[dict[str, Any]],
    number: int,
    record: ReportRecord,
    dispatch: Dispatch,
) -> Finding:
    """A work-item takes a value from one that takes no part."""
    from groundstate.driver.checking.kernel_findings import group_of, places_of

    _, amount, lane, _ = record.words
    site, item = sites[number], tuple(record.work_item)
    amount &= 0xFFFFFFFF
    source = {"xor": lane ^ amount, "up": lane - amount, "down": lane + amount}.get(
        site["step"], amount
    )
    return Finding(
        checker="sync",
        kind="inactive-shuffle-source",
        title=f"a {site['noun']} takes the value of lane {source}, which does not execute it",
        places=places_of(entry_point, site, f"lane {lane} takes the value of lane {source}"),
        notes=["what it takes is undefined"],
        kernel=entry_point.signature.name,
        work_item=item,
        group=group_of(item, dispatch),
    )


def _neighbour(dispatch: Dispatch, item: Item, distance: int) -> Item:
    """The work-item so many places further in the same group."""
    from groundstate.driver.checking.kernel_findings import group_of

    group, own = group_of(item, dispatch), []
    for axis in range(3):
        size = dispatch.group_size[axis]
        own.append((item[axis] - dispatch.global_offset[axis]) % size)
    x, y, z = own
    place = x + dispatch.group_size[0] * (y + dispatch.group_size[1] * z)
    return _item_of_group(dispatch, group, place + distance)


_MAKERS = {
    DIVERGENT: _divergent_barrier,
    DIVERGENT_OPERATION: _divergent_operation,
    INACTIVE_SOURCE: _inactive_source,
    DIVERGENT_COPY: _divergent_copy,
    UNAWAITED_COPY: _unawaited_copy,
    UNKNOWN_EVENT: _unknown_event,
}
