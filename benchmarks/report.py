"""Shows results as tables, keeps them as JSON, and prints recorded ones as Markdown."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks import speed_up, wide
from benchmarks.figures import Benchmark, Figure, Measure
from benchmarks.machine import Machine
from benchmarks.numbers import pair, ratio_text
from benchmarks.programs import MeasuringError

FORMAT = 1
STYLES = {True: "green", False: "red", None: ""}
RATIO = -3
"""The place of the ratio in a row of a wide table."""


def show(console: Console, benchmark: Benchmark, figures: list[Figure]) -> None:
    """One table, with a row for each figure or for each case."""
    table = Table(title=benchmark.title, caption=benchmark.explanation, box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    fill = _fill_speed_up if benchmark.speed_up else _fill_wide if benchmark.wide else _fill
    fill(table, benchmark, figures)
    console.print(table)
    for figure in figures:
        if figure.note:
            style = "yellow" if figure.ours is not None else "red"
            text = f"{figure.case}, {figure.peer}: {figure.note}"
            console.print(Text(text, style), soft_wrap=True)


def _fill(table: Table, _: Benchmark, figures: list[Figure]) -> None:
    table.add_column("case")
    table.add_column("Groundstate\nbest (median)", justify="right", no_wrap=True)
    table.add_column("peer")
    table.add_column("\nbest (median)", justify="right", no_wrap=True)
    table.add_column("ratio\nbest", justify="right", no_wrap=True)
    table.add_column("\nmedian", justify="right", no_wrap=True)
    table.add_column("goal", justify="right", no_wrap=True)
    before = ""
    for figure in figures:
        ours = (figure.case, pair(figure.ours, figure.unit))
        goal = "" if figure.goal is None else f"{figure.goal:g}"
        table.add_row(*(("", "") if figure.case == before else ours), *_peer_cells(figure), goal)
        before = figure.case


def _peer_cells(figure: Figure) -> tuple[str | Text, ...]:
    if figure.theirs is None:
        return Text(f"{figure.peer}: not measured", "yellow"), "", "", ""
    return (
        figure.peer,
        pair(figure.theirs, figure.unit),
        Text(ratio_text(figure.best_ratio), STYLES[figure.reached]),
        ratio_text(figure.median_ratio),
    )


def _fill_wide(table: Table, benchmark: Benchmark, figures: list[Figure]) -> None:
    for index, name in enumerate(wide.header(figures)):
        table.add_column(name, justify="left" if index < 2 else "right", no_wrap=index != 0)
    peers, rows = wide.peers_in(figures), wide.rows(figures)
    for row in rows:
        cells: list[str | Text] = [*wide.cells(row, peers)]
        cells[RATIO] = Text(str(cells[RATIO]), STYLES[row.reached])
        table.add_row(*cells)
    if benchmark.mean_goal is not None and wide.mean_ratio(rows) is not None:
        table.add_section()
        table.add_row(*wide.mean_cells(rows, peers, benchmark.mean_goal))


def _fill_speed_up(table: Table, _: Benchmark, figures: list[Figure]) -> None:
    for index, name in enumerate(speed_up.header(figures)):
        table.add_column(name, justify="left" if index < 2 else "right", no_wrap=index != 0)
    for row in speed_up.table(figures):
        table.add_row(*row)


# --- JSON -----------------------------------------------------------------------------------------


def as_json(benchmark: Benchmark, figures: list[Figure], busy_cores: float) -> dict[str, Any]:
    """What is kept of one benchmark."""
    return {
        "title": benchmark.title,
        "explanation": benchmark.explanation,
        "wide": benchmark.wide,
        "speed_up": benchmark.speed_up,
        "mean_goal": benchmark.mean_goal,
        "busy_cores_before": round(busy_cores, 2),
        "figures": [_figure_as_json(figure) for figure in figures],
    }


def _figure_as_json(figure: Figure) -> dict[str, Any]:
    def rounded(value: Any) -> Any:
        return float(f"{value:.4g}") if isinstance(value, float) else value

    def deep(values: dict[str, Any]) -> dict[str, Any]:
        return {
            name: deep(value) if isinstance(value, dict) else rounded(value)
            for name, value in values.items()
        }

    ratios = {"ratio": figure.best_ratio, "median_ratio": figure.median_ratio}
    return deep({**asdict(figure), **ratios, "reached": figure.reached})


def write(path: Path, machine: Machine, results: dict[str, dict[str, Any]]) -> None:
    """Writes results of this run; benchmarks it did not run keep what the file said of them."""
    kept: dict[str, Any] = {}
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        if before.get("format") == FORMAT and before.get("machine") == asdict(machine):
            kept = before["benchmarks"]
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"format": FORMAT, "machine": asdict(machine), "benchmarks": {**kept, **results}}
    text = json.dumps(document, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


# --- Markdown -------------------------------------------------------------------------------------

MARKER = "<!-- From here on printed by `python -m benchmarks --record --document`. -->\n"
"""Stands in a document before the recorded results."""


def update(document: Path, results: Path) -> None:
    """Puts recorded results in the place of those in a document."""
    before, marker, _ = document.read_text(encoding="utf-8").partition(MARKER)
    if not marker:
        raise MeasuringError(f"{document} has no line {MARKER.strip()}")
    document.write_text(f"{before}{marker}\n{as_markdown(results)}", encoding="utf-8")


def as_markdown(path: Path) -> str:
    """Recorded results as tables for docs/reference/performance.md."""
    document = json.loads(path.read_text(encoding="utf-8"))
    lines = [f"Measured on {Machine(**document['machine']).sentence()}."]
    for benchmark in document["benchmarks"].values():
        lines += ["", f"### {benchmark['title']}", "", benchmark["explanation"]]
        lines += [f"{_busy_sentence(benchmark['busy_cores_before'])}", ""]
        figures = [_figure_from_json(figure) for figure in benchmark["figures"]]
        goal = benchmark.get("mean_goal")
        if benchmark.get("speed_up"):
            lines += _speed_up_table(figures)
        else:
            lines += _wide_table(figures, goal) if benchmark.get("wide") else _table(figures)
    return "\n".join(lines) + "\n"


def _busy_sentence(busy_cores: float | None) -> str:
    if busy_cores is None:
        return "How busy other programs kept the machine was not recorded."
    return f"Other programs kept {busy_cores:.1f} cores busy when it began."


def _figure_from_json(values: dict[str, Any]) -> Figure:
    def measure(name: str) -> Measure | None:
        return None if values[name] is None else Measure(**values[name])

    return Figure(
        values["case"],
        values["unit"],
        measure("ours"),
        values["peer"],
        measure("theirs"),
        values["goal"],
        values["note"],
    )


def _table(figures: list[Figure]) -> list[str]:
    head = ["| case | Groundstate | peer | ratio | goal |", "|---|---:|---:|---:|---:|"]
    return head + [_table_row(figure) for figure in figures]


def _table_row(figure: Figure) -> str:
    ours = pair(figure.ours, figure.unit)
    goal = "" if figure.goal is None else f"{figure.goal:g}"
    if figure.theirs is None:
        return f"| {figure.case} | {ours} | {figure.peer}: not measured | | {goal} |"
    peer = f"{pair(figure.theirs, figure.unit)} {figure.peer}"
    return f"| {figure.case} | {ours} | {peer} | {ratio_text(figure.best_ratio)} | {goal} |"


def _speed_up_table(figures: list[Figure]) -> list[str]:
    header = speed_up.header(figures)
    lines = [header, ["---", "---", *("---:" for _ in header[2:])], *speed_up.table(figures)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _wide_table(figures: list[Figure], mean_goal: float | None) -> list[str]:
    header, peers, rows = wide.header(figures), wide.peers_in(figures), wide.rows(figures)
    lines = [header, ["---", "---", *("---:" for _ in header[2:])]]
    lines += [wide.cells(row, peers) for row in rows]
    if mean_goal is not None and wide.mean_ratio(rows) is not None:
        lines.append(wide.mean_cells(rows, peers, mean_goal))
    return ["| " + " | ".join(line) + " |" for line in lines]
