"""`groundstate stream diff`: compares two recordings, or one that is played in two ways."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from groundstate import knobs
from groundstate.capture.stream import StreamReader
from groundstate.capture.views.call_diff import CallComparison, compare_calls, with_texts
from groundstate.capture.views.comparing import NumPyMissing, Tolerance
from groundstate.capture.views.diff import Finding, Outcome, compare_plays
from groundstate.capture.views.play_process import Side
from groundstate.cli import errors
from groundstate.cli.streams.opening import add_view, complain, print_json, sentence_of
from groundstate.cli.streams.playing import (
    UNPLAYABLE,
    add_play_options,
    only_stream,
    progress,
    side_of,
)
from groundstate.monitor.words import bytes_text, cut, printable

DESCRIPTION = """\
Compares two recordings of a program, or one recording that is played in two ways: on two drivers,
two topologies, with two settings. Says which calls differ, and which kernel is the first after
which memory differs, where, and how much.

What is different on one side is said with --left and --right:
  driver=PATH        another Level Zero library
  topology=2x2       devices and sub-devices; memory=8G and threads=4 likewise
  options=TEXT       options for the compiler of modules, such as -ze-opt-disable
  NAME=VALUE         any environment variable, its name in capitals

The exit status is 0 if both sides are alike, and 1 if they differ or cannot be compared.

examples:
  groundstate stream diff monday tuesday                         two recordings
  groundstate stream diff monday tuesday --calls                 only what they called
  groundstate stream diff trace --right topology=2x2             one, on other devices
  groundstate stream diff trace --right driver=libze_intel_gpu.so.1 --ulp 4 --atol 1e-6
  groundstate stream diff trace --right options=-ze-opt-disable --json
"""
SHOWN = 10
_KNOBS = {"topology": knobs.TOPOLOGY, "memory": knobs.MEMORY, "threads": knobs.THREADS}


def add_parser(views: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the view."""
    parser = add_view(
        views, "diff", "compare two recordings, or two ways to play one", DESCRIPTION, run
    )
    parser.add_argument("other", type=Path, nargs="?", metavar="OTHER")
    for which in ("left", "right"):
        parser.add_argument(
            f"--{which}", action="append", default=[], type=setting, metavar="NAME=VALUE",
            help=f"what is different on the {which} side",
        )  # fmt: skip
    parser.add_argument("--rtol", type=positive, default=0.0, help="allowed relative difference")
    parser.add_argument("--atol", type=positive, default=0.0, help="allowed absolute difference")
    parser.add_argument(
        "--ulp", type=int, default=0, help="allowed distance in representable floats"
    )
    parser.add_argument(
        "--calls", action="store_true", help="compare what was called, and play nothing"
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    add_play_options(parser)


def setting(text: str) -> tuple[str, str]:
    """An argument such as topology=2x2."""
    match = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", text, re.DOTALL)
    known = ("driver", "options", *_KNOBS)
    if match is None or not (match[1] in known or match[1].isupper()):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no setting: {', '.join(f'{name}=...' for name in known)}, or a variable "
            "of the environment in capitals"
        )
    return match[1], match[2]


def positive(text: str) -> float:
    """A tolerance."""
    with contextlib.suppress(ValueError):
        if 0 <= (value := float(text)) < float("inf"):
            return value
    raise argparse.ArgumentTypeError(f"'{text}' is no tolerance such as 1e-5")


def run(args: argparse.Namespace) -> int:
    """Compares; 0 if both sides are alike."""
    if args.other is None and not args.left and not args.right:
        args.parser.error(
            "name a second recording, or what is different, such as --right topology=2x2"
        )
    first = only_stream(args.recording)
    second = first if args.other is None else only_stream(args.other)
    if first is None or second is None:
        return 1
    try:
        calls = compare_recordings(first, second) if args.other is not None else None
        outcome = None if args.calls else play_both(args, first, second)
    except (*UNPLAYABLE, NumPyMissing) as problem:
        return complain(sentence_of(problem, args.recording))
    if args.json:
        print_json(
            {
                "calls": None if calls is None else asdict(calls),
                "play": None if outcome is None else outcome.data(),
            }
        )
    else:
        print_outcome(calls, outcome)
    for damage in outcome.damage if outcome is not None else ():
        complain(damage)
    if outcome is not None and outcome.damage:
        return 1  # what came before the damage was compared, the rest was not
    same = (calls is None or calls.same) and (outcome is None or outcome.same)
    return 0 if same else 1


def compare_recordings(first: Path, second: Path) -> CallComparison:
    """The calls of two streams, those that are shown with their texts."""
    with StreamReader(first) as left, StreamReader(second) as right:
        found = compare_calls(left, right)
        return replace(found, differences=with_texts(found, left, right, SHOWN))


def play_both(args: argparse.Namespace, first: Path, second: Path) -> Outcome:
    """Plays both sides."""
    tolerance = Tolerance(args.rtol, args.atol, max(0, args.ulp))
    left = changed(side_of(args, first), args.left)
    right = changed(side_of(args, second), args.right)
    with progress("playing on both sides") as say:
        return compare_plays(left, right, tolerance, say)


def changed(side: Side, settings: list[tuple[str, str]]) -> Side:
    """A side with its settings."""
    changes: dict[str, Any] = {}
    environment = dict(side.environment)
    for name, value in settings:
        if name == "driver":
            changes["library"] = value
        elif name == "options":
            changes["build_options"] = value
        else:
            environment[_KNOBS[name].name if name in _KNOBS else name] = value
    return dataclasses.replace(side, environment=environment, **changes)


def print_outcome(calls: CallComparison | None, outcome: Outcome | None) -> None:
    """Prints what differs, or that nothing does."""
    if calls is not None:
        print_calls(calls)
    if outcome is None:
        return
    errors.say(memory_line(outcome))
    if outcome.first is not None:
        print_finding(outcome.first)
    for text in outcome.calls[:SHOWN]:
        errors.say(f"only on the {printable(text)}")
    if len(outcome.calls) > SHOWN:
        errors.say(f"and {len(outcome.calls) - SHOWN} more calls")
    for note in dict.fromkeys(outcome.notes):
        errors.say(f"note: {printable(note)}")


def memory_line(outcome: Outcome) -> str:
    """How much memory was compared, and how that went."""
    if not outcome.items:
        return "memory: no kernel and no copy ran, so there was nothing to compare"
    return (
        f"memory: {outcome.items:,} buffers after {outcome.submissions:,} submissions, "
        f"{bytes_text(outcome.size)}, "
        + ("alike" if outcome.first is None else "alike until one differs")
        + (f"; {outcome.close:,} within the tolerance" if outcome.close else "")
    )


def print_finding(first: Finding) -> None:
    """Prints the first kernel that differs."""
    errors.say(f"the first that differs: {printable(first.kernel)} at {first.place}")
    if first.argument is not None:
        name = f" ({printable(first.name)})" if first.name else ""
        errors.say(f"  argument {first.argument}{name}, {first.memory} memory")
    errors.say(f"  {printable(first.sentence)}")
    if first.inputs_equal is not None:
        equal = "were equal: it is this kernel" if first.inputs_equal else "differed already"
        errors.say(f"  its inputs {equal}")


def print_calls(calls: CallComparison) -> None:
    """Prints the calls that differ."""
    errors.say(f"calls: {calls.calls:,} compared, {calls.count:,} differ")
    for each in calls.differences:
        for sign, record, text in (
            ("-", each.left, each.left_text),
            ("+", each.right, each.right_text),
        ):
            if record is not None:
                errors.say(f"  {sign} {record:>7} thread {each.thread} {printable(cut(text, 240))}")
    if calls.count > len(calls.differences):
        errors.say(f"  and {calls.count - len(calls.differences):,} more")
    if calls.uploads_differ:
        where = (
            ""
            if calls.first_upload is None
            else ", first in records {} and {}".format(*calls.first_upload)
        )
        errors.say(f"uploads: {calls.uploads_differ:,} of {calls.uploads:,} differ{where}")
    for problem in calls.problems:
        errors.say(f"note: {problem}")
