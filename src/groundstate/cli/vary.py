"""`groundstate check --vary`: a program runs again under other schedules, and what it prints is
compared."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from groundstate import knobs
from groundstate.cli.child import Ended, run_child
from groundstate.printable import printable

MOST_SEEDS = 1000


def seeds(text: str) -> tuple[int, ...]:
    """An argument such as `7` or `1..8`."""
    first, dots, last = text.partition("..")
    try:
        low = int(first)
        high = int(last) if dots else low
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no seed such as 7, or several such as 1..8"
        ) from None
    if not 1 <= low <= high < 1 << 32 or high - low >= MOST_SEEDS:
        raise argparse.ArgumentTypeError(
            f"'{text}': seeds go from 1 up, and at most {MOST_SEEDS} in one run"
        )
    return tuple(range(low, high + 1))


@dataclass(frozen=True)
class Run:
    """How a program ended under one seed, and what it printed."""

    seed: int
    ended: Ended
    output: bytes


def run_varied(
    command: list[str],
    environment: dict[str, str],
    wanted: Sequence[int],
    between: Callable[[], None],
) -> tuple[Ended, list[str]]:
    """Runs a program as it is, which is seen, and once for each seed, and says which of these ended
    or printed something else. `between` is called after each."""
    first = _run(command, environment, 0)
    between()
    sys.stdout.flush()
    sys.stdout.buffer.write(first.output)
    sys.stdout.buffer.flush()
    differences = []
    for seed in wanted if first.ended.started else ():
        difference = _difference(first, _run(command, environment, seed))
        between()
        if difference:
            differences.append(f"seed {seed}: {difference}")
    return first.ended, differences


def _run(command: list[str], environment: dict[str, str], seed: int) -> Run:
    with tempfile.TemporaryFile() as output:
        varied = environment | {knobs.CHECK_VARY.name: str(seed)}
        ended = _with_output(output, lambda: run_child(command, varied, "check"))
        output.seek(0)
        return Run(seed, ended, output.read())


def _with_output(file: BinaryIO, run: Callable[[], Ended]) -> Ended:
    """Runs something whose standard output goes into a file."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(file.fileno(), 1)
    try:
        return run()
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _difference(usual: Run, varied: Run) -> str:
    if varied.ended.signal and varied.ended != usual.ended:
        return f"killed by signal {varied.ended.signal}"
    if varied.ended.status != usual.ended.status:
        return f"the exit status is {varied.ended.status} instead of {usual.ended.status}"
    if varied.output == usual.output:
        return ""
    lines, others = usual.output.splitlines(), varied.output.splitlines()
    for number in range(max(len(lines), len(others))):
        line = lines[number] if number < len(lines) else b""
        other = others[number] if number < len(others) else b""
        if line != other:
            return f"line {number + 1} of the output is {_shown(other)} instead of {_shown(line)}"
    return "the output has other ends of lines"


def _shown(line: bytes) -> str:
    text = printable(line.decode("utf-8", "replace"))
    return repr(text if len(text) <= 60 else text[:57] + "...")
