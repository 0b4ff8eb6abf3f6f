"""A profile on a terminal, or as text."""

from __future__ import annotations

import os
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundstate.printable import printable

WIDTH = 110
"""Of what is no terminal, unless COLUMNS says otherwise."""
BAR = 10
"""Characters of a full bar."""
PARTS = ("", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589")
"""Of a character: eighths."""
NAME = 12
"""Characters of a kernel's name for which other columns are left out."""
NARROW = 4
"""Those that it has in any case."""
GAP = 2
"""Between columns."""
LEAST_WANTED = ("bar", "workers", "lanes", "each", "launches", "GB/s", "GFLOP/s", "share")
"""Columns in the order in which they make room on a narrow terminal."""
DETAILED = 5
"""Kernels that are told in detail unless somebody wants more."""
MOST_REASONS = 3


def show(report: dict[str, Any], to: TextIO, most: int = DETAILED) -> None:
    """Writes the profile."""
    columns = os.environ.get("COLUMNS", "")
    chosen = int(columns) if columns.isdecimal() else 0
    width = None if to.isatty() else chosen or WIDTH
    console = Console(file=to, width=width, highlight=False, emoji=False, soft_wrap=False)
    kernels = report["kernels"]
    if not kernels and not report["processes"]:
        console.print("no process used the driver")
        return
    console.print(_summary(report))
    if kernels:
        console.print(_fitting_table(kernels, console))
    for number, kernel in enumerate(kernels[:most], 1):
        console.print()
        for line in _details(number, kernel):
            console.print(line)
    if len(kernels) > most:
        console.print(f"\n{len(kernels) - most} more kernels not shown in detail (--kernels)")
    for process in report["processes"]:
        console.print()
        for line in _host(process):
            console.print(line)
    for sentence in report["advice"]:
        console.print(Text(f"* {printable(sentence)}", style="bold"))
    if report["dropped"]:
        console.print(f"{report['dropped']:,} records had no room and are missing")


def _summary(report: dict[str, Any]) -> Text:
    text = Text()
    text.append(f"{report['wall_ms']:,.1f} ms", style="bold")
    text.append(f", {report['kernel_ms']:,.1f} ms of them in kernels")
    roof = report["roof"]
    if roof:
        text.append(
            f"; the machine's roof: {roof['gflops']:,.0f} GFLOP/s, {roof['gbs']:,.0f} GB/s memory, "
            f"{roof['cache_gbs']:,.0f} GB/s cache"
        )
    text.append("\n")
    return text


def _fitting_table(kernels: list[dict[str, Any]], console: Console) -> Table:
    """The table with as many columns as there is room for."""
    rows = [_cells(each, console.options.ascii_only) for each in kernels]
    names = [name for name in rows[0] if name != "kernel"]
    for left_out in (None, *LEAST_WANTED):
        names = [name for name in names if name != left_out]
        if _width(names, rows) <= console.width:
            break
    return _table(names, rows)


def _width(names: list[str], rows: list[dict[str, str | Text]]) -> int:
    """What the table takes if no column is cut and kernels have short names."""
    wide = (max(len(name), *(len(row[name]) for row in rows)) for name in names)
    return len(f"{len(rows)}") + NAME + sum(GAP + each for each in (0, *wide))


def _table(names: list[str], rows: list[dict[str, str | Text]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("kernel", overflow="fold", min_width=NARROW)
    for name in names:
        is_bar = name == "bar"
        title, justify = ("", "left") if is_bar else (name, "right")
        table.add_column(title, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for number, row in enumerate(rows, 1):
        table.add_row(str(number), row["kernel"], *(row[name] for name in names))
    return table


def _cells(kernel: dict[str, Any], ascii_only: bool) -> dict[str, str | Text]:
    """What the table says of a kernel, by column."""
    counted = kernel["counted"]
    busy = kernel["utilisation"]
    return {
        "kernel": printable(kernel["name"]),
        "time": ("~" if kernel["is_slowed"] else "") + time_of(kernel["ms"] * 1e3),
        "share": f"{kernel['share']:.1%}",
        "bar": Text(_bar(kernel["share"], ascii_only), style="blue"),
        "launches": f"{kernel['launches']:,}",
        "each": time_of(kernel["mean_us"]),
        "GFLOP/s": rate(counted, "gflops"),
        "GB/s": rate(counted, "gbs"),
        "lanes": f"{counted['lanes_active']:.0%}" if counted else "-",
        "workers": "-" if busy is None else f"{busy:.0%}",
    }


def rate(counted: dict[str, Any] | None, name: str) -> str:
    """A rate, and which part of the roof it is."""
    if counted is None:
        return "-"
    part = counted[f"of_{name}"]
    found: float = counted[name]
    text = f"{found:.3g}" if found < 1000 else f"{found:,.0f}"
    return text if part is None else f"{text} ({part:.0%})"


def _bar(share: float, ascii_only: bool) -> str:
    if ascii_only:
        return "#" * round(share * BAR)
    eighths = round(share * BAR * 8)
    return "\u2588" * (eighths // 8) + PARTS[eighths % 8]


def time_of(microseconds: float) -> str:
    """A time with its unit."""
    if microseconds < 1000:
        return f"{microseconds:.1f} us"
    if microseconds < 1e6:
        return f"{microseconds / 1e3:.1f} ms"
    return f"{microseconds / 1e6:.2f} s"


def _details(number: int, kernel: dict[str, Any]) -> list[Text]:
    size = " x ".join(str(each) for each in kernel["group_size"])
    groups = " x ".join(f"{each:,}" for each in kernel["groups"])
    head = Text(f"{number}. {printable(kernel['name'])}", style="bold")
    head.append(f"   {groups} groups of {size}", style="not bold dim")
    lines = [head]
    for nth, reason in enumerate(kernel["reasons"][:MOST_REASONS]):
        lines.append(Text(f"   {printable(reason)}", style="yellow" if nth == 0 else ""))
    if kernel["is_slowed"]:
        lines.append(Text("   all of its launches counted, which takes time: --no-counters"))
    counted = kernel["counted"]
    if counted:
        item = counted["per_item"]
        lines.append(
            Text(
                f"   for each work-item: instructions {item['instructions']:,.4g}, floating-point "
                f"operations {item['flops']:,.4g}, bytes of global memory {item['bytes']:,.4g}",
                style="dim",
            )
        )
        for words in ("loads", "stores"):
            kinds = [f"{share:.0%} {kind}" for kind, share in counted[words].items()]
            if kinds:
                lines.append(Text(f"   {words}: {', '.join(kinds)}", style="dim"))
    for each in kernel["lines"][:3]:
        place = f"{printable(each['file'].rsplit('/', 1)[-1])}:{each['line']}"
        line = Text(f"   {each['share']:4.0%}  {place}  ")
        line.append(printable(each["text"].strip()), style="cyan")
        lines.append(line)
    return lines


def _host(process: dict[str, Any]) -> list[Text]:
    lines = [
        Text(f"host, process {process['pid']}", style="bold"),
        Text(
            f"   device busy {_ms(process['device_busy_ms'])}, idle {_ms(process['idle_ms'])} in "
            f"{process['gaps']:,} gaps; in calls {_ms(process['calling_ms'])}, waiting "
            f"{_ms(process['waiting_ms'])}; compiling {_ms(process['compiling_ms'])}"
        ),
    ]
    for each in process["calls"][:4]:
        lines.append(
            Text(f"   {_ms(each['ms']):>9}  {each['calls']:,} x {each['name']}", style="dim")
        )
    copies = process["copies"]
    if copies["number"]:
        lines.append(
            Text(
                f"   copies: {copies['number']:,}, {copies['bytes'] / 1e6:,.1f} MB in "
                f"{_ms(copies['ms'])} ({copies['gbs']:.1f} GB/s)"
            )
        )
    return lines


def _ms(milliseconds: float) -> str:
    return time_of(milliseconds * 1e3)
