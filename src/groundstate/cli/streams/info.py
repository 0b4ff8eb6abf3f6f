"""`groundstate stream info`: what a recording is."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from groundstate.capture.views.summary import Summary, summarise
from groundstate.cli.console import make_console
from groundstate.cli.streams.opening import (
    UNREADABLE,
    add_view,
    complain,
    find_streams,
    print_json,
    sentence_of,
)
from groundstate.monitor.words import bytes_text, cut, duration_text, printable

DESCRIPTION = """\
Says what was recorded, when and on what, how large it is, and whether it is whole.
"""
LABEL_WIDTH = 12
SHOWN_MODULES = 8


def add_parser(views: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the view."""
    parser = add_view(
        views, "info", "say what was recorded, and whether it is whole", DESCRIPTION, run
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Prints the facts of each stream; 1 if one of them is damaged."""
    streams = find_streams(args.recording)
    status = 0 if streams else 1
    problems: list[str] = []
    summaries = []
    for path in streams:
        try:
            summaries.append(summarise(path))
        except UNREADABLE as problem:
            problems.append(sentence_of(problem, path))
        else:
            if summaries[-1].problem is not None:
                problems.append(f"{path}: {summaries[-1].problem}")
    if args.json:
        print_json({"recording": str(args.recording), "streams": [s.data() for s in summaries]})
    else:
        console = make_console()
        for number, summary in enumerate(summaries):
            if number:
                console.print()
            print_summary(console, summary)
    return max(map(complain, problems), default=status)


def print_summary(console: Console, summary: Summary) -> None:
    """Prints a stream as a name and lines of facts."""
    console.print(Text(printable(summary.file), style="bold cyan"))
    for label, value in rows(summary):
        console.print(Text.assemble((f"  {label:<{LABEL_WIDTH}}", "dim"), printable(value)))


def rows(summary: Summary) -> Iterator[tuple[str, str]]:
    """The facts, each with a word for what it is about."""
    about = summary.about
    program = about.get("argument") or about.get("program") or ["unknown"]
    yield "program", cut(shlex.join(program), 400)
    yield (
        "recorded",
        f"{summary.started_text}, {duration_text(summary.duration)} long, "
        f"as process {summary.process} on {' '.join(about.get('machine', ['an unknown machine']))}",
    )
    api = " ".join(about.get("api", ["of an unknown version"]))
    yield "through", f"{' '.join(about.get('next', ['an unknown library']))}, Level Zero {api}"
    yield "state", state(summary)
    yield "size", size(summary)
    yield "calls", calls(summary)
    for device in summary.devices:
        yield "device", f"{device.name} (type {device.kind})"
    for module in summary.modules[:SHOWN_MODULES]:
        options = f" with {module.options!r}" if module.options else ""
        failed = "" if module.succeeded else ", which failed"
        name = f" {module.digest}" if module.digest else ""
        yield "module", f"{module.form}{name}, {bytes_text(module.size)}{options}{failed}"
    more = len(summary.modules[SHOWN_MODULES:]) + summary.unlisted_modules
    if more:
        yield "", f"and {more} more modules"
    for inside in summary.inside:
        since = duration_text(inside.time)
        yield "not returned", f"{inside.function} of thread {inside.thread}, called at {since}"


def state(summary: Summary) -> str:
    """Whether the stream is whole."""
    if summary.problem is not None:
        return summary.problem
    if summary.finished:
        return "whole, closed by its program"
    return "not closed: its program was killed, or still runs; all calls that returned are here"


def size(summary: Summary) -> str:
    """How much there is, and what that took to store."""
    stored = summary.file_bytes + summary.journal_bytes
    text = f"{bytes_text(stored)} for {bytes_text(summary.record_bytes)} of records"
    if summary.contents:
        text += f", of which {bytes_text(summary.content_bytes)} are contents, each stored once"
    return f"{text} (format {summary.version})"


def calls(summary: Summary) -> str:
    """How many calls there are, and of whom."""
    text = (
        f"{summary.calls:,} of {summary.functions} functions by {summary.threads} "
        f"thread{'s' * (summary.threads != 1)}"
    )
    return f"{text}; {summary.failed:,} failed" if summary.failed else text
