"""How the examples with networks report: a table of layers with their times, or JSON."""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import groundstate.dnn as dnn


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that all networks have."""
    parser.add_argument("--seed", type=int, default=0, help="of the made-up weights (default: 0)")
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="how often it runs; the best run is shown (default: 5)",
    )
    parser.add_argument("--json", action="store_true", help="a report for scripts")


def prepare(network: dnn.Network, title: str) -> None:
    """Prepares a network with a bar on standard error: the first time compiles kernels."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=len(network.steps))
        try:
            network.prepare(lambda done: progress.update(task, completed=done))
        except dnn.DnnError as problem:  # such as a compiler that is not installed
            raise SystemExit(str(problem)) from None


def per_second(amount: int, elapsed_ns: int) -> float:
    """A rate in billions."""
    return amount / elapsed_ns if elapsed_ns else 0.0


@dataclass
class Row:
    """A layer, or layers of one name, with their times together."""

    name: str
    kind: str
    shape: str
    count: int = 0
    elapsed_ns: int = 0
    operations: int = 0
    size_bytes: int = 0

    def as_json(self) -> dict[str, Any]:
        """The row for scripts."""
        return {
            "layer": self.name,
            "kind": self.kind,
            "result": self.shape,
            "count": self.count,
            "milliseconds": round(self.elapsed_ns / 1e6, 4),
            "gflops": round(per_second(self.operations, self.elapsed_ns), 2),
            "gigabytes_per_second": round(per_second(self.size_bytes, self.elapsed_ns), 2),
        }


@dataclass
class Times:
    """The times of a network's layers in the best of some runs: one that really was."""

    title: str
    best: list[dnn.Time] = field(default_factory=list)

    def add(self, times: Iterable[dnn.Time]) -> None:
        """Counts another run."""
        run = list(times)
        if not self.best or sum(each.elapsed_ns for each in run) < self.elapsed_ns:
            self.best = run

    @property
    def elapsed_ns(self) -> int:
        """All layers together."""
        return sum(each.elapsed_ns for each in self.best)

    @property
    def operations(self) -> int:
        """Multiplications and additions of all layers."""
        return sum(each.step.operations for each in self.best)

    def rows(self) -> list[Row]:
        """A row for each name; what comes before ": " in a name says which one it is."""
        rows: dict[str, Row] = {}
        for each in self.best:
            name = each.step.name.partition(": ")[2] or each.step.name
            shape = " x ".join(map(str, each.step.shape))
            row = rows.setdefault(name, Row(name, each.step.described.kind.name, shape))
            row.count += 1
            row.elapsed_ns += each.elapsed_ns
            row.operations += each.step.operations
            row.size_bytes += each.step.size_bytes
        return list(rows.values())

    def as_json(self) -> dict[str, Any]:
        """The whole for scripts."""
        return {
            "title": self.title,
            "milliseconds": round(self.elapsed_ns / 1e6, 4),
            "gflops": round(per_second(self.operations, self.elapsed_ns), 2),
            "layers": [row.as_json() for row in self.rows()],
        }

    def table(self) -> Table:
        """The whole for people."""
        table = Table(title=self.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for column in ("layer", "result"):
            table.add_column(column, no_wrap=True)
        for column in ("ms", "share", "GFLOP/s", "GB/s"):
            table.add_column(column, justify="right", no_wrap=True)
        for row in self.rows():
            speed = per_second(row.operations, row.elapsed_ns)
            table.add_row(
                f"{row.name} ({row.count}x)" if row.count > 1 else row.name,
                row.shape,
                f"{row.elapsed_ns / 1e6:.3f}",
                f"{row.elapsed_ns / (self.elapsed_ns or 1):.1%}",
                f"{speed:.1f}" if row.operations else "",
                f"{per_second(row.size_bytes, row.elapsed_ns):.1f}",
            )
        speed = per_second(self.operations, self.elapsed_ns)
        table.add_section()
        table.add_row("total", "", f"{self.elapsed_ns / 1e6:.3f}", "", f"{speed:.1f}", "")
        return table
