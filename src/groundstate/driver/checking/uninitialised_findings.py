"""What is said of values that nobody has written: where one is used, where it was read, and whose
memory it was.

The site of a use names the loads that the value may come from. Those that have loaded something
uninitialised have records of their own (compiler/codegen/memory/shadows.py), which make no finding
by themselves.
"""

from __future__ import annotations

import ctypes

from groundstate import findings as found_so_far
from groundstate.compiler.light_dataclass import replace
from groundstate.driver import native
from groundstate.driver.api import request
from groundstate.driver.checking import host_stack, memory_findings
from groundstate.excerpt import of_other
from groundstate.findings import Finding
from groundstate.native_layouts import Dispatch, SiteReports

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from groundstate.driver.module import EntryPoint
    from groundstate.excerpt import Place
    from groundstate.native_layouts import LaunchReports, ReportRecord

LOCAL_ADVICE = (
    "local memory is uninitialised when a group begins, "
    "until something that is initialised is written there"
)
CHECKER = "uninit"
USES = {
    "branch": ("uninitialised-branch", "a branch depends on an uninitialised value"),
    "address": ("uninitialised-address", "the address of {article} {access} is uninitialised"),
    "coordinate": ("uninitialised-address", "the coordinates in an image are uninitialised"),
    "print": ("uninitialised-print", "an uninitialised value is printed"),
    "store": ("uninitialised-store", "an uninitialised value is stored to {memory}"),
}
"""The kind and the title of a finding, by what the value is used for."""
CHANGED = "an atomic operation changes an uninitialised value in {memory}"
"""The title where the value that is stored is what was there, and something else."""

OWN = ("variable", "private", "local")
"""Memory of which nothing but the place is known."""
MOST_STORED = 1000
_stored: dict[int, tuple[int, Finding]] = {}
"""What kernels have stored to device memory that is no finding unless the host copies it, by its
address, with its bytes; the oldest first."""


@request
def report_unwritten_copy(source: int, size: int, is_all: int, stack: int) -> None:
    """Tells of a copy to the host that brings something uninitialised: what a kernel has stored
    there, or memory that nobody has ever written. A result of which only a part was written may be
    copied as a whole."""
    copied = host_stack.notes("copied to the host by", stack)
    for address, (width, finding) in list(_stored.items()):
        if source <= address < source + size and native.is_unwritten(address, width):
            del _stored[address]
            found_so_far.report(replace(finding, notes=[*finding.notes, *copied]))
            return
    memory = native.memory_at(source)
    if not is_all or memory is None:
        return
    places = host_stack.places(stack)
    title = f"{size} bytes are copied to the host that nobody has written"
    there = f"at offset {source - memory.base} of {memory_findings.allocation(memory)}"
    notes = [there, *memory_findings.allocation_notes(memory), *(copied if not places else [])]
    found_so_far.report(Finding(CHECKER, "uninitialised-copy", title, places, notes))


def findings(
    entry_point: EntryPoint,
    sites: Sequence[dict[str, Any]],
    number: int,
    reports: SiteReports,
    launch: LaunchReports,
) -> Iterator[Finding]:
    """What happened at one site: nothing, or one finding."""
    site = sites[number]
    if site["use"] not in USES or reports.count == 0:
        return
    records = reports.records[: min(reports.count, len(reports.records))]
    is_store = site["use"] == "store"
    now = [each for each in records if each.words[1] or not is_store]
    for record in records if is_store and not now else ():
        finding = _finding(entry_point, sites, site, record, launch, reports.count)
        _keep(record.words[0], site["bytes"], finding)
    if now:
        yield _finding(entry_point, sites, site, now[0], launch, reports.count)


def _keep(address: int, width: int, finding: Finding) -> None:
    _stored.pop(address, None)
    _stored[address] = width, finding
    while len(_stored) > MOST_STORED:
        del _stored[next(iter(_stored))]


def _finding(
    entry_point: EntryPoint,
    sites: Sequence[dict[str, Any]],
    site: dict[str, Any],
    record: ReportRecord,
    launch: LaunchReports,
    count: int,
) -> Finding:
    from groundstate.driver.checking.kernel_findings import group_of, places_of

    item = tuple(record.work_item)
    origin = _origin(sites, site, item, launch)
    kind, title = USES[site["use"]]
    access = site.get("access", "")
    if site["use"] == "store" and access.startswith("atomic"):
        title = CHANGED
    article = "an" if access[:1] in "aeiou" else "a"
    memory = _memory(record.words[0])
    notes: list[str] = []
    places = places_of(entry_point, site, "used here")
    if origin is not None:
        where, loaded = origin
        is_variable = where["memory"] == "variable"
        beside = "where it was declared" if is_variable else "where it was read"
        read = places_of(entry_point, where, _label(entry_point, where))
        places = read if _are_one(places, read) else [*places, *of_other(read, beside)]
        notes += _notes(entry_point, where, loaded)
    elif site["unwritten"]:
        notes.append("it comes from a private variable that is not written on every way to here")
    return Finding(
        checker=CHECKER,
        kind=kind,
        title=title.format(access=access, article=article, memory=memory),
        places=places,
        notes=notes,
        kernel=entry_point.signature.name,
        work_item=item,
        group=group_of(item, Dispatch.from_address(launch.dispatch)),
        count=count,
    )


def _origin(
    sites: Sequence[dict[str, Any]],
    site: dict[str, Any],
    item: tuple[int, ...],
    launch: LaunchReports,
) -> tuple[dict[str, Any], ReportRecord | None] | None:
    """The load that the value came from, and what that work-item read there."""
    others: tuple[dict[str, Any], ReportRecord | None] | None = None
    for number in site["origins"]:
        place = launch.sites + number * ctypes.sizeof(SiteReports)
        reports = SiteReports.from_address(place)
        records = reports.records[: min(reports.count, len(reports.records))]
        for record in records:
            if tuple(record.work_item) == item:
                return sites[number], record
        if records and others is None:
            others = sites[number], records[0]
    if others is None and not site["unwritten"]:
        own = [each for each in site["origins"] if sites[each]["memory"] in OWN]
        others = (sites[own[0]], None) if own else None
    return others


def _are_one(used: list[Place], read: list[Place]) -> bool:
    """True if an atomic operation uses what it reads itself."""
    where = [[(each.file, each.line, each.column) for each in places] for places in (used, read)]
    return where[0] == where[1]


def _label(entry_point: EntryPoint, site: dict[str, Any]) -> str:
    if site["argument"] is not None:
        name = entry_point.signature.arguments[site["argument"]].name
        return f"argument {site['argument']} '{name}'"
    if site["memory"] == "variable":
        return "declared here"
    return f"'{site['variable']}'" if site["variable"] else "read here"


def _memory(address: int) -> str:
    found = native.memory_at(address) if address else None
    return memory_findings.allocation(found) if found is not None else "memory of the host"


def _notes(entry_point: EntryPoint, site: dict[str, Any], record: ReportRecord | None) -> list[str]:
    """Whose memory it was."""
    where = [] if site["frames"] else [f"read through {_label(entry_point, site)}"]
    if site["memory"] == "variable":
        return ["it is a private variable that is not written on every way to here"]
    if site["memory"] == "private":
        return [*where, "it is a private variable that was not written before"]
    if site["memory"] == "local":
        return [*where, LOCAL_ADVICE]
    if record is None:
        return where
    found = native.memory_at(record.words[0])
    if found is None:
        return where
    offset = record.words[0] - found.base
    there = f"at offset {offset} of {memory_findings.allocation(found)}"
    return [*where, f"nobody has written it: {there}", *memory_findings.allocation_notes(found)]
