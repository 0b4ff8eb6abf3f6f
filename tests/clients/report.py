"""The closing table of a run, as text on a terminal, as JSON, and for the documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .comparing import FileComparison, reasons, total_share
from .devices import DEVICES, PEER
from .running import DIED, FAILED, PASSED, SKIPPED, FileResult

SHOWN = 12
BEGIN = "<!-- {suite}: printed by `python -m tests.clients {suite} --document` -->\n"
END = "<!-- end of {suite} -->\n"


def ours(devices: list[str]) -> list[str]:
    return [name for name in devices if name != PEER.name]


def cell(result: FileResult | None) -> str:
    """How many passed, and what else happened."""
    if result is None or not result.tests:
        return "not run" if result is None else result.trouble or "no tests"
    counts = result.counts
    parts = [f"{counts[PASSED]:,}"]
    parts += [f"{counts[kind]:,} {kind}" for kind in (SKIPPED, FAILED, DIED) if counts[kind]]
    if result.trouble:
        parts.append(f"{result.chosen - len(result.tests):,} not reached")
    return ", ".join(parts)


def size(file: FileComparison) -> str:
    """How many tests the file has, and how many of them were taken."""
    most = max(file.results.values(), key=lambda result: result.collected, default=FileResult())
    whole = most.chosen >= most.collected
    return f"{most.collected:,}" if whole else f"{most.chosen:,} of {most.collected:,}"


def show(suite: str, files: list[FileComparison], devices: list[str], console: Console) -> None:
    """The table on a terminal, and below it what is worse here than on the peer."""
    titles = [DEVICES[name].title for name in devices]
    table = Table("file", "tests", *titles, title=f"Tests of {suite} that pass")
    for file in files:
        table.add_row(file.name, size(file), *(cell(file.results.get(name)) for name in devices))
    console.print(table)
    for name in ours(devices):
        console.print(f"{DEVICES[name].title}: {summary(files, name)}", markup=False)
        for file in files:
            for test, reason in list(file.failing(name).items())[:SHOWN]:
                console.print(f"    {test}: {reason}", markup=False)


def summary(files: list[FileComparison], device: str) -> str:
    """In a sentence, how a device of ours compares."""
    passing, there = total_share(files, device)
    failing = f"{sum(len(file.failing(device)) for file in files):,} fail in all"
    if not there:
        return failing
    share = f"{passing:,} of {there:,} ({100 * passing / there:.2f} %)"
    return f"of the tests that pass on {PEER.title}, {share} pass; {failing}"


def as_json(files: list[FileComparison], devices: list[str]) -> dict[str, Any]:
    """The report for scripts."""
    return {
        "files": {
            file.name: {
                name: {
                    "collected": result.collected,
                    "chosen": result.chosen,
                    "counts": dict(result.counts),
                    "seconds": round(result.seconds, 1),
                    "trouble": result.trouble,
                }
                for name, result in file.results.items()
            }
            for file in files
        },
        "compared": {
            name: dict(zip(("passing", "there"), total_share(files, name), strict=True))
            for name in ours(devices)
        },
        "failing": {name: merged(files, name, FileComparison.failing) for name in ours(devices)},
        "worse": {name: merged(files, name, FileComparison.worse) for name in ours(devices)},
        "skipped here only": {
            name: merged(files, name, FileComparison.only_skipped_here) for name in ours(devices)
        },
    }


def merged(
    files: list[FileComparison], device: str, of: Callable[[FileComparison, str], dict[str, str]]
) -> dict[str, str]:
    """The tests of all files that one of the comparisons gives."""
    return {test: reason for file in files for test, reason in of(file, device).items()}


def as_markdown(files: list[FileComparison], devices: list[str]) -> str:
    """The table for the documentation, and what is worse here, by reason."""
    rows = [["file", "tests", *(DEVICES[name].title for name in devices)]]
    rows += [["---"] * len(rows[0])]
    for file in [*files, all_of(files)]:
        cells = [cell(file.results.get(name)) for name in devices]
        rows.append([f"`{file.name}`" if file in files else file.name, size(file), *cells])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    for name in ours(devices):
        lines += ["", f"{DEVICES[name].title}: {summary(files, name)}."]
    for heading, of in (
        ("Fails here and passes there", FileComparison.worse),
        ("Skipped here and passes there", FileComparison.only_skipped_here),
    ):
        counted = {name: reasons(merged(files, name, of)) for name in ours(devices)}
        lines += by_reason(heading, counted)
    return "\n".join(lines) + "\n"


def all_of(files: list[FileComparison]) -> FileComparison:
    """All files as if they were one."""
    whole = FileComparison("together")
    for file in files:
        for name, result in file.results.items():
            known = whole.results.setdefault(name, FileResult())
            known.tests.update(result.tests)
            known.collected += result.collected
            known.chosen += result.chosen
            known.trouble = known.trouble or result.trouble
    return whole


def by_reason(heading: str, counted: dict[str, Counter[str]]) -> list[str]:
    """A table of reasons, the most frequent first; nothing if there are none."""
    total: Counter[str] = sum(counted.values(), Counter())
    if not total:
        return []
    titles = " | ".join(DEVICES[name].title for name in counted)
    lines = ["", f"| {heading} | {titles} |", "|---" * (1 + len(counted)) + "|"]
    for why, _ in total.most_common():
        numbers = " | ".join(f"{each[why]:,}" for each in counted.values())
        lines.append(f"| {plain(why)} | {numbers} |")
    return lines


def plain(reason: str) -> str:
    """A reason that does not break a table."""
    return reason.replace("|", "\\|").replace("<", "&lt;") or "no reason given"


def write_document(path: Path, suite: str, text: str) -> None:
    """Replaces what the page has between the marks of the suite."""
    begin, end = BEGIN.format(suite=suite), END.format(suite=suite)
    page = path.read_text(encoding="utf-8")
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"{path} has no lines {begin.strip()} and {end.strip()}")
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
