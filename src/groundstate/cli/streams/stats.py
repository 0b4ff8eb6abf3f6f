"""`groundstate stream stats`: where the time and the bytes of a recording went."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundstate.capture.stream import StreamReader
from groundstate.capture.views.kernel_tally import CommandTally
from groundstate.capture.views.tally import FunctionTally, MemoryTally, Tally, tally
from groundstate.cli.console import make_console
from groundstate.cli.streams.opening import (
    add_view,
    complain,
    find_streams,
    print_json,
    sentence_of,
)
from groundstate.cli.streams.playing import UNPLAYABLE, add_measure_option, measured
from groundstate.monitor.words import bytes_text, duration_text, percent_text, printable

DESCRIPTION = """\
Counts calls and kernels: how often, how long in all, and the shortest, the median and the longest.
Times of calls are those that the program waited for them to return. Times of kernels and copies are
measured by the device while the program was recorded. What could not be measured then (graphs,
mutable lists, recordings of older versions) is estimated: from its submission until the program saw
it done, which is far too long for short kernels; with --play it is measured now.

examples:
  groundstate stream stats trace                   the functions that took most time first
  groundstate stream stats trace --sort count      those that were called most often first
  groundstate stream stats trace --top 0 --json    all of them, for a script
"""
BAR_WIDTH = 16
ESTIMATED = (
    "estimated: from the submission until the program saw it done; not measured, --play does that"
)
ORDERS: dict[str, Callable[[FunctionTally | CommandTally], tuple[int | str, ...]]] = {
    "total": lambda each: (-each.time.total, each.name),
    "count": lambda each: (-each.time.count, each.name),
    "max": lambda each: (-each.time.most, each.name),
    "name": lambda each: (each.name,),
}


def add_parser(views: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the view."""
    parser = add_view(views, "stats", "count calls, kernels, times and bytes", DESCRIPTION, run)
    parser.add_argument(
        "--sort", choices=sorted(ORDERS), default="total", help="what comes first (default: total)"
    )
    parser.add_argument(
        "--top", type=int, default=25, metavar="N", help="so many rows; 0: all (default: 25)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    add_measure_option(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the statistics of each stream; 1 if one of them is damaged."""
    streams = find_streams(args.recording)
    status = 0 if streams else 1
    found: list[tuple[Path, Tally]] = []
    for path in streams:
        try:
            durations = measured(args, [path]).get(path)
            with StreamReader(path) as reader:
                found.append((path, tally(reader, durations)))
        except UNPLAYABLE as problem:
            status = complain(sentence_of(problem, path))
    if args.json:
        print_json({"streams": [{"file": path.name, **each.data()} for path, each in found]})
    else:
        console = make_console()
        for path, each in found:
            print_tally(console, path.name, each, args)
    for path, each in found:
        if each.problem is not None:
            status = complain(f"{path}: {each.problem}")
    return status


def print_tally(console: Console, name: str, found: Tally, args: argparse.Namespace) -> None:
    """Prints a heading, a table of functions and what there is to say about memory."""
    share = found.inside / found.duration if found.duration else 0
    console.print(
        Text.assemble(
            (printable(name), "bold cyan"),
            f"  {found.calls:,} calls in {duration_text(found.duration)}, ",
            f"of which {duration_text(found.inside)} ({percent_text(share)}) inside of calls",
        )
    )
    console.print(function_table(found, args))
    if found.commands:
        console.print()
        console.print(command_table(found, args))
        if any(each.certainty != "measured" for each in found.commands if each.category != "sync"):
            console.print(Text(ESTIMATED, style="dim"))
    if found.memory.stored:
        console.print()
        console.print(memory_text(found.memory))


def memory_text(memory: MemoryTally) -> Text:
    """What was uploaded, and how much of it was new."""
    return Text.assemble(
        ("memory  ", "dim"),
        f"{memory.writes:,} uploads of {bytes_text(memory.written)} and ",
        f"{bytes_text(memory.in_blocks)} in arguments; stored are {bytes_text(memory.stored)}, ",
        f"each byte used {memory.ratio or 0:.2f} times",
    )


def command_table(found: Tally, args: argparse.Namespace) -> Table:
    """Kernels, copies and what else queues ran."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("on the queues", no_wrap=True)
    for heading in ("runs", "total", "min", "median", "max", "work"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("group size", no_wrap=True)
    table.add_column("times are", no_wrap=True)
    order = sorted(found.commands, key=ORDERS[args.sort])
    for each in order[: args.top] if args.top > 0 else order:
        add_command(table, each)
    return table


def add_command(table: Table, each: CommandTally) -> None:
    """One kernel or kind of command."""
    is_kernel = each.category == "kernel"
    work = f"{each.items:,} items" if is_kernel and each.items else ""
    if is_kernel and not work:
        work = f"{each.groups:,} groups" if each.groups else ""
    shapes = [shape for shape, _ in each.group_sizes.most_common(2)]
    more = "..." if len(each.group_sizes) > len(shapes) else ""
    table.add_row(
        Text(printable(each.name), style="green" if is_kernel else ""),
        f"{each.time.count:,}",
        duration_text(each.time.total),
        duration_text(each.time.least),
        duration_text(each.time.median),
        duration_text(each.time.most),
        work if is_kernel else bytes_text(each.size) if each.size else "",
        ", ".join(shapes) + more,
        Text(each.certainty, style="dim"),
    )


def function_table(found: Tally, args: argparse.Namespace) -> Table:
    """The functions, those first that were asked for."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("function", no_wrap=True)
    for heading in ("calls", "failed", "total", "min", "median", "max"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("share of the time in calls", no_wrap=True)
    order = sorted(found.functions.values(), key=ORDERS[args.sort])
    shown = order[: args.top] if args.top > 0 else order
    for each in shown:
        add_row(table, each, found.inside)
    if len(shown) < len(order):
        table.add_row(Text(f"and {len(order) - len(shown)} more; --top 0 shows them", style="dim"))
    return table


def add_row(table: Table, each: FunctionTally, inside: int) -> None:
    """One function."""
    share = each.time.total / inside if inside else 0
    table.add_row(
        Text(printable(each.name)),
        f"{each.time.count:,}",
        Text(str(each.failed), style="red") if each.failed else "",
        duration_text(each.time.total),
        duration_text(each.time.least),
        duration_text(each.time.median),
        duration_text(each.time.most),
        Text.assemble((bar(share), "green"), f" {percent_text(share)}"),
    )


def bar(share: float) -> str:
    """A bar of block characters, in eighths of a character.

    >>> bar(0.5)
    '████████        '
    """
    eighths = round(min(1.0, max(0.0, share)) * BAR_WIDTH * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + ("" if not rest else "▏▎▍▌▋▊▉"[rest - 1])).ljust(BAR_WIDTH)
