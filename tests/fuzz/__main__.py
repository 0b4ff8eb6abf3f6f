"""`make fuzz`: hands everything that takes what strangers hand over what it does not expect.

    python -m tests.fuzz                         all targets, one minute each
    python -m tests.fuzz calls ipc --minutes 10  these, for ten minutes together
    python -m tests.fuzz --replay build/fuzz/calls/seed-77.json

Cases run in processes of their own, so a crash or a hang is a finding: it is made smaller, written
into a folder, and shown with the command that makes it happen again. What was fixed is moved to the
corpus, `tests/fuzz/corpus`, which the tests replay.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.fuzz.campaign import Campaign, Finding, Tally
from tests.fuzz.targets import TARGETS
from tests.fuzz.targets.libfuzzer import Harness
from tests.fuzz.targets.target import Target
from tests.fuzz.watching import Watched, signature


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    listed = "; ".join(f"{each.name}: {each.summary}" for each in TARGETS.values())
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{listed} (default: all)")
    parser.add_argument("--minutes", type=float, help="for all together (default: one each)")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="for what is found")
    parser.add_argument("--sanitize", action="store_true", help="in the build of make native-asan")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("--replay", type=Path, nargs="+", help="run these cases and nothing else")
    parser.add_argument(
        "--grow", action="store_true", help="keep libFuzzer's new cases in tests/fuzz/corpus"
    )
    parser.add_argument("--target", help="the target of --replay, if its folder does not say")
    args = parser.parse_args(words)
    unknown = [name for name in args.targets if name not in TARGETS]
    if unknown:
        parser.error(f"there is no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    return args


def target_of(path: Path) -> Target:
    """The target in whose folder a case lies."""
    return next(TARGETS[each.name] for each in path.parents if each.name in TARGETS)


def replay(paths: Sequence[Path], name: str | None, sanitize: bool) -> int:
    """Runs cases as they are."""
    status = 0
    for path in paths:
        watched = Watched(TARGETS[name] if name else target_of(path), sanitize)
        wrong = watched.check(path.read_bytes())
        watched.close()
        print(f"{path}: {wrong or 'in order'}")
        status = status or bool(wrong)
    return int(status)


def run(args: argparse.Namespace, console: Console) -> dict[str, Tally]:
    """Runs all targets that were asked for, each for its share of the time."""
    chosen = [TARGETS[name] for name in args.targets or TARGETS]
    minutes = args.minutes if args.minutes is not None else float(len(chosen))
    ready = [target for target in chosen if not target.missing()] or chosen
    seconds = 60 * minutes * min(args.jobs, len(ready)) / len(ready)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with (
        Progress(*columns, console=console, disable=args.json) as progress,
        ThreadPoolExecutor(args.jobs) as pool,
    ):
        rows = {target.name: progress.add_task(target.name, start=False) for target in chosen}

        def show(name: str, executions: int, findings: int) -> None:
            text = f"{name:12} {executions:>9} executions, {findings} findings"
            progress.update(rows[name], description=text)

        def one(target: Target) -> Tally:
            progress.start_task(rows[target.name])
            campaign = Campaign(target, args.seed, args.out, show, args.sanitize)
            tally = campaign.run(seconds)
            if args.grow and isinstance(target, Harness):
                target.grow(args.out / target.name)
            progress.stop_task(rows[target.name])
            return tally

        return dict(zip((each.name for each in chosen), pool.map(one, chosen), strict=True))


def show(tallies: dict[str, Tally], console: Console) -> None:
    table = Table(title="Fuzzing")
    table.add_column("target")
    for heading in ("executions", "findings", "seconds"):
        table.add_column(heading, justify="right")
    for name, tally in tallies.items():
        cells = (f"{tally.executions:,}", str(len(tally.findings)), f"{tally.seconds:.0f}")
        table.add_row(name, *(cells if not tally.missing else ("", "", "")))
    console.print(table)
    for name, tally in tallies.items():
        if tally.missing:
            console.print(f"{name}: {tally.missing}", markup=False)
        for finding in tally.findings:
            console.print(f"{name}: {signature(finding.wrong)}", markup=False)
            console.print(f"    {finding.command}", markup=False, soft_wrap=True)


def as_json(tallies: dict[str, Tally]) -> str:
    def described(finding: Finding) -> dict[str, object]:
        said = {"wrong": finding.wrong, "seed": finding.seed}
        return said | {"file": str(finding.path), "command": finding.command}

    return json.dumps(
        {
            name: {
                "executions": tally.executions,
                "seconds": round(tally.seconds, 1),
                "missing": tally.missing,
                "findings": [described(finding) for finding in tally.findings],
            }
            for name, tally in tallies.items()
        },
        indent=2,
    )


def main(words: Sequence[str] | None = None) -> int:
    args = parse(words)
    if args.replay:
        return replay(args.replay, args.target, args.sanitize)
    console = Console()
    tallies = run(args, console)
    if args.json:
        print(as_json(tallies))
    else:
        show(tallies, console)
    return 1 if any(tally.findings for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
