"""Reports of kernels become findings: what happened, where in the source, and to which memory.

native/check/launch_check.c calls `report_launch`, by way of driver/kernel.py, when a launch has
ended in which a checker found something. A site (compiler/ir/site.py) says what the kernel was
about to do there, a record which work-item it was and what it was given.
"""

from __future__ import annotations

import ctypes

from groundstate import findings, knobs
from groundstate.compiler.light_dataclass import replace
from groundstate.driver.checking import (
    arithmetic_findings,
    group_findings,
    memory_findings,
    uninitialised_findings,
)
from groundstate.driver.module import EntryPoint, entry_point_at
from groundstate.excerpt import Place
from groundstate.findings import Finding
from groundstate.native_layouts import Dispatch, LaunchReports, ReportRecord, SiteReports

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

WORDS = {"memory": memory_findings.words, "arithmetic": arithmetic_findings.words}
"""For each checker: the kind, the title, a label for the place, and notes of a record."""


def report_launch(entry_point: int, x: int, y: int, z: int, reports: int) -> int:
    """Tells what was found in a launch; 1 if the context is to be lost for it."""
    found, launch = entry_point_at(entry_point), LaunchReports.from_address(reports)
    sites = found.codes[x, y, z].sites
    stops = False
    for number in range(min(launch.site_count, len(sites))):
        place = launch.sites + number * ctypes.sizeof(SiteReports)
        reported = SiteReports.from_address(place)
        if sites[number]["checker"] in group_findings.CHECKERS:
            made = group_findings.findings(found, sites, number, reported, launch)
        elif sites[number]["checker"] == uninitialised_findings.CHECKER:
            made = uninitialised_findings.findings(found, sites, number, reported, launch)
        else:
            made = _findings(found, sites[number], reported, launch)
        for each in made:
            told = each if each.places else _with_instruction(each, found, sites[number])
            stops = findings.report(told) or stops
    return int(stops and knobs.CHECK_STOP.get())


def _with_instruction(finding: Finding, entry_point: EntryPoint, site: Any) -> Finding:
    """Names the instruction of the module, where nothing is known of the source."""
    from groundstate.compiler.spirv.assembly import instruction_at

    sources = entry_point.module.program.sources
    if not site["position"] or len(sources) != 1:
        return finding
    text = instruction_at(sources[0].spirv, site["position"])
    place = f"at word {site['position']} of the module (groundstate dis --words): {text}"
    return replace(finding, notes=[place, *finding.notes])


def _findings(
    entry_point: EntryPoint, site: Any, reports: SiteReports, launch: LaunchReports
) -> Iterator[Finding]:
    """What happened at one site: a finding for each kind, which share what was only counted."""
    records = reports.records[: min(reports.count, len(reports.records))]
    made: dict[str, Finding] = {}
    counts: dict[str, int] = {}
    for record in records:
        finding = _finding(entry_point, site, record, launch)
        made.setdefault(finding.kind, finding)
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
    rest = reports.count - len(records)
    for kind, finding in made.items():
        yield replace(finding, count=counts[kind] + rest)
        rest = 0


def _finding(
    entry_point: EntryPoint, site: Any, record: ReportRecord, launch: LaunchReports
) -> Finding:
    signature = entry_point.signature
    kind, title, label, notes = WORDS[site["checker"]](site, list(record.words), signature)
    item = tuple(record.work_item)
    return Finding(
        checker=site["checker"],
        kind=kind,
        title=title,
        places=places_of(entry_point, site, label),
        notes=notes,
        kernel=signature.name,
        work_item=item,
        group=group_of(item, Dispatch.from_address(launch.dispatch)),
    )


def group_of(item: tuple[int, ...], dispatch: Dispatch) -> tuple[int, ...]:
    axes = zip(item, dispatch.global_offset, dispatch.group_size, strict=True)
    return tuple((each - offset) // size for each, offset, size in axes)


def places_of(entry_point: EntryPoint, site: Any, label: str) -> list[Place]:
    """Where in the source, innermost first."""
    texts = entry_point.module.program.source_texts
    places: list[Place] = []
    for file, line, column, function in site["frames"]:
        beside = f"in {function}" if places else ""
        source = texts.line(file, line)
        places.append(Place(file, line, column, source, beside, "" if places else label))
    return places
