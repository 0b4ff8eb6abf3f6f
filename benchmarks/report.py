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

from benchmarks.figures import Benchmark, Figure
from benchmarks.machine import Machine

FORMAT = 1


def show(console: Console, benchmark: Benchmark, figures: list[Figure]) -> None:
    """One table, with a row for each figure."""
    table = Table(title=benchmark.title, caption=benchmark.explanation, box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    table.add_column("case")
    table.add_column("Groundstate\nbest (median)", justify="right", no_wrap=True)
    table.add_column("peer")
    table.add_column("\nbest (median)", justify="right", no_wrap=True)
    table.add_column("ratio\nbest", justify="right", no_wrap=True)
    table.add_column("\nmedian", justify="right", no_wrap=True)
    table.add_column("goal", justify="right", no_wrap=True)
    before = ""
    for figure in figures:
        ours = (figure.case, _pair(figure.ours.best, figure.ours.median, figure.unit))
        goal = "" if figure.goal is None else f"{figure.goal:g}"
        table.add_row(*(("", "") if figure.case == before else ours), *_peer_cells(figure), goal)
        before = figure.case
    console.print(table)


def _peer_cells(figure: Figure) -> tuple[str | Text, ...]:
    if figure.theirs is None:
        return Text(f"{figure.peer}: {figure.note}", "yellow"), "", "", ""
    style = {True: "green", False: "red", None: ""}[figure.reached]
    return (
        figure.peer,
        _pair(figure.theirs.best, figure.theirs.median, figure.unit),
        Text(_ratio(figure.best_ratio), style),
        _ratio(figure.median_ratio),
    )


def _pair(best: float, median: float, unit: str) -> str:
    return f"{_number(best)} ({_number(median)}) {unit}"


def _number(value: float) -> str:
    """Three digits that mean something."""
    if value >= 1000:
        return f"{value:,.0f}"
    if value < 0.01:
        return f"{value:.1g}"
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3}f}"


def _ratio(value: float | None) -> str:
    return "" if value is None else _number(value)


# --- JSON -----------------------------------------------------------------------------------------


def as_json(benchmark: Benchmark, figures: list[Figure], busy_cores: float) -> dict[str, Any]:
    """What is kept of one benchmark."""
    return {
        "title": benchmark.title,
        "explanation": benchmark.explanation,
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


def as_markdown(path: Path) -> str:
    """Recorded results as tables for docs/performance.md."""
    document = json.loads(path.read_text(encoding="utf-8"))
    lines = [f"Measured on {Machine(**document['machine']).sentence()}."]
    for benchmark in document["benchmarks"].values():
        lines += ["", f"### {benchmark['title']}", "", benchmark["explanation"]]
        lines += [f"{_busy_sentence(benchmark['busy_cores_before'])}", ""]
        lines += ["| case | Groundstate | peer | ratio | goal |", "|---|---:|---:|---:|---:|"]
        lines += [_markdown_row(figure) for figure in benchmark["figures"]]
    return "\n".join(lines) + "\n"


def _busy_sentence(busy_cores: float | None) -> str:
    if busy_cores is None:
        return "How busy other programs kept the machine was not recorded."
    return f"Other programs kept {busy_cores:.1f} cores busy when it began."


def _markdown_row(figure: dict[str, Any]) -> str:
    unit, theirs, goal = figure["unit"], figure["theirs"], figure["goal"]
    ours = _pair(figure["ours"]["best"], figure["ours"]["median"], unit)
    shown_goal = "" if goal is None else f"{goal:g}"
    if theirs is None:
        return f"| {figure['case']} | {ours} | {figure['peer']}: not measured | | {shown_goal} |"
    peer = f"{_pair(theirs['best'], theirs['median'], unit)} {figure['peer']}"
    return f"| {figure['case']} | {ours} | {peer} | {_ratio(figure['ratio'])} | {shown_goal} |"
