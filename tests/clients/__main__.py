"""`make test-clients`: the tests of dpctl and dpnp, on our device and on Intel's CPU OpenCL.

Each file of tests has a process of its own on each device, and a limit on its time. What becomes of
each test is kept in build/clients, so that a run that was interrupted goes on with --resume, and so
that a larger sample later only runs what is new in it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import report
from .comparing import FileComparison
from .devices import DEVICES, PEER, ClientDevice
from .running import ENDING, FileResult, FileRun, read_journal
from .suites import CLIENT, ROOT, SUITES, Suite

JOURNALS = ROOT / "build" / "clients"
DOCUMENT = ROOT / "docs" / "howto" / "clients.md"

EXAMPLES = """\
examples:
  python -m tests.clients dpctl                            all of dpctl's tests, on both adapters
  python -m tests.clients dpnp --sample 100                up to 100 tests of each of dpnp's files
  python -m tests.clients dpnp --files test_linalg --devices newer
  python -m tests.clients dpnp --sample 1000 --resume --document
"""


def journal_of(suite: Suite, device: ClientDevice, file: Path, journals: Path) -> Path:
    return journals / suite.name / device.name / f"{file.stem}.jsonl"


def run_suite(suite: Suite, options: argparse.Namespace, console: Console) -> list[FileComparison]:
    """Runs the files that were asked for on every device."""
    files = chosen_files(suite, options)
    devices = [DEVICES[name] for name in options.devices or suite.devices]
    compared = {file: FileComparison(file.stem) for file in files}
    columns = (
        TextColumn("{task.description:42}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress, ThreadPoolExecutor(options.jobs) as pool:
        whole = progress.add_task(suite.name, total=len(files) * len(devices))

        def one(file: Path, device: ClientDevice) -> None:
            task = progress.add_task(f"  {file.stem}, {device.name}", total=None)
            run = FileRun(
                options.client,
                device,
                file,
                journal_of(suite, device, file, options.journals),
                options.limit,
                options.test_limit,
                options.sample,
                options.seed,
                suite.options,
            )
            compared[file].results[device.name] = run_one(
                run,
                options,
                lambda now: progress.update(task, completed=len(now.tests), total=now.chosen),
            )
            progress.remove_task(task)
            progress.advance(whole)

        pending = [pool.submit(one, file, device) for file in files for device in devices]
        try:
            for each in pending:
                each.result()
        except BaseException:
            ENDING.set()
            pool.shutdown(cancel_futures=True)
            raise
    return list(compared.values())


def run_one(
    run: FileRun, options: argparse.Namespace, moved: Callable[[FileResult], None]
) -> FileResult:
    """Runs one file on one device, or reads what is known of it."""
    if options.read:
        return read_journal(run.journal)
    if not options.resume:
        run.journal.unlink(missing_ok=True)
    return run.run(moved)


def chosen_files(suite: Suite, options: argparse.Namespace) -> list[Path]:
    files = suite.files(options.client)
    if not files:
        options.parser.error(
            f"{options.client} has no {suite.package}: make .venv/clients/.installed"
        )
    return [file for file in files if not options.files or file.stem in options.files]


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.clients",
        description="Runs the tests that other people's packages bring along on our device and on "
        "Intel's OpenCL runtime for CPUs, and compares them test by test. Exits with 1 if a test "
        "fails here that passes there, or, without that runtime, if one fails.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="SUITE",
        help=f"which tests: {', '.join(SUITES)} (dpctl and dpnp)",
    )
    parser.add_argument("--files", nargs="+", metavar="NAME", help="only these files of tests")
    parser.add_argument(
        "--devices", nargs="+", choices=list(DEVICES), help="only these devices (the suite's own)"
    )
    parser.add_argument(
        "--sample", type=int, default=0, metavar="N", help="at most N tests of a file (all)"
    )
    parser.add_argument("--seed", type=int, default=1, help="which tests those are (1)")
    parser.add_argument(
        "--limit",
        type=float,
        default=1800,
        metavar="S",
        help="seconds that one file may take on one device (1800)",
    )
    parser.add_argument(
        "--test-limit",
        type=int,
        default=120,
        metavar="S",
        help="seconds that one test may take; a test that takes longer has died (120)",
    )
    parser.add_argument("--jobs", type=int, default=1, help="files that run at a time (1)")
    parser.add_argument(
        "--resume", action="store_true", help="keep the results there are, run the other tests"
    )
    parser.add_argument("--read", action="store_true", help="run nothing: report what is kept")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--document", action="store_true", help="put the table into docs/howto/clients.md, too"
    )
    parser.add_argument(
        "--client", type=Path, default=CLIENT, help="the environment that has the packages"
    )
    parser.add_argument(
        "--journals", type=Path, default=JOURNALS, help="where results are kept (build/clients)"
    )
    parser.set_defaults(parser=parser)
    return parser


def main() -> int:
    options = arguments().parse_args()
    unknown = set(options.suites) - set(SUITES)
    if unknown:
        options.parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    console = Console(stderr=options.json)
    worse = False
    told = {}
    for suite in (SUITES[name] for name in options.suites or ("dpctl", "dpnp")):
        files = run_suite(suite, options, console)
        devices = list(options.devices or suite.devices)
        told[suite.name] = report.as_json(files, devices)
        if not options.json:
            report.show(suite.name, files, devices, console)
        if options.document:
            report.write_document(DOCUMENT, suite.name, report.as_markdown(files, devices))
        judge = FileComparison.worse if PEER.name in devices else FileComparison.failing
        worse |= any(judge(file, name) for file in files for name in report.ours(devices))
    if options.json:
        print(json.dumps(told, indent=2))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
