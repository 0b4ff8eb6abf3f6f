"""Changes SPIR-V modules at random and reads them: anything but `InvalidModule` is a failure.

    python -m tests.compiler.spirv.fuzz_spirv --count 1000000
    python -m tests.compiler.spirv.fuzz_spirv --count 100000 --modules some/folder --jobs 8
    python -m tests.compiler.spirv.fuzz_spirv --seed 77 --count 1 --keep failed.hex

Mutation number n is made from the seed n, so that a failure can be made again by its number. What
failed is written as hexadecimal text into a folder; what is kept in `tests/compiler/corpus` is read
again by every run of the tests.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from groundstate.compiler.spirv import InvalidModule, read
from groundstate.compiler.spirv.assembly import assembly
from groundstate.compiler.spirv.disassemble import disassemble
from tests import prebuilt
from tests.compiler.spirv.spirv_support import MODULE_NAMES, module_data
from tests.fuzz.spirv_mutate import mutate

CORPUS = Path(__file__).parent / "corpus"
BATCH = 500
SLOW_S = 5.0
"""Reading a small module must never come near this: it tells a hang from a busy machine."""
SHOW_ONE_IN = 8
"""Showing takes longer than reading and has less to go wrong."""
LARGEST_WORDS = 16384
LARGEST_KEPT = 12_000
"""Bytes of a module that tests compile: small ones are changed where it matters."""


@dataclass(frozen=True)
class Failure:
    """A module that was answered with something other than a sentence."""

    seed: int
    data: bytes
    report: str


def seed_modules(folder: Path | None) -> list[bytes]:
    """The modules to change: those beside the tests, what tests compile, and those of a folder."""
    modules = [module_data(name) for name in MODULE_NAMES]
    for archive in prebuilt.archives():
        kept = [entry.spirv for _, entry in prebuilt.entries(archive)]
        modules += [each for each in kept if 0 < len(each) <= LARGEST_KEPT]
    for path in sorted(folder.rglob("*.spv")) if folder else []:
        data = path.read_bytes()
        if len(data) <= 4 * LARGEST_WORDS:
            modules.append(data)
    return modules


# --- Reading --------------------------------------------------------------------------------------


def show_all(data: bytes) -> None:
    """Shows the instructions of a module."""
    try:
        for _ in assembly(data):
            pass
    except InvalidModule as problem:
        str(problem)


def read_all(data: bytes) -> None:
    """Reads everything of a module that can be read, and shows what was read."""
    try:
        module = read(data)
    except InvalidModule as problem:
        str(problem)
        return
    module.specialise({1: b"\x07", 2: b"\0" * 8, 3: b"", 4: b"\xff" * 8})
    for id in module.function_ids:
        try:
            module.function(id)
        except InvalidModule as problem:
            str(problem)
            return
    for _ in disassemble(module):
        pass


def check(seed: int, data: bytes) -> Failure | None:
    """Reads one module; what went wrong, if something did."""
    began = time.process_time()
    try:
        if seed % SHOW_ONE_IN == 0:
            show_all(data)
        read_all(data)
    except InvalidModule:
        pass  # specialising may make an array too large, and showing may find what reading left
    except BaseException:
        return Failure(seed, data, traceback.format_exc(limit=-6))
    took = time.process_time() - began
    return Failure(seed, data, f"it took {took:.1f} s of processor time") if took > SLOW_S else None


def run_batch(modules: list[bytes], seeds: range) -> list[Failure]:
    """Makes and reads a batch of mutations."""
    failures = []
    for seed in seeds:
        chance = random.Random(seed)
        failure = check(seed, mutate(chance.choice(modules), chance))
        if failure is not None:
            failures.append(failure)
    return failures


def batches(first: int, count: int) -> Iterator[range]:
    for start in range(first, first + count, BATCH):
        yield range(start, min(start + BATCH, first + count))


# --- The corpus -----------------------------------------------------------------------------------


def corpus() -> Iterator[tuple[str, bytes]]:
    """The modules that once failed: hexadecimal text, with `;` in front of remarks."""
    for path in sorted(CORPUS.glob("*.hex")):
        lines = path.read_text(encoding="utf-8").splitlines()
        text = " ".join(line for line in lines if not line.startswith(";"))
        yield path.stem, bytes.fromhex(text)


def keep(failure: Failure, folder: Path) -> Path:
    """Writes a failure as text."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{failure.seed}.hex"
    said = "".join(f"; {line}\n" for line in failure.report.rstrip().splitlines())
    rows = [failure.data[at : at + 32] for at in range(0, len(failure.data), 32)]
    path.write_text(said + "".join(f"{row.hex(' ', 4)}\n" for row in rows), encoding="utf-8")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compiler.spirv.fuzz_spirv")
    parser.add_argument("--count", type=int, default=100_000, help="how many mutations")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--modules", type=Path, help="a folder with more .spv files to change")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for failures")
    args = parser.parse_args()
    modules = seed_modules(args.modules)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), "{task.description}")
    failures = 0
    with Progress(*columns) as progress, ProcessPoolExecutor(args.jobs) as pool:
        task = progress.add_task(f"{len(modules)} modules", total=args.count)
        work = list(batches(args.seed, args.count))
        for seeds, found in zip(work, pool.map(partial(run_batch, modules), work), strict=True):
            for failure in found:
                failures += 1
                last = failure.report.strip().splitlines()[-1]
                progress.print(f"seed {failure.seed}: {last} ({keep(failure, args.keep)})")
            progress.advance(task, len(seeds))
    print(
        f"{args.count} mutations from seed {args.seed} of {len(modules)} modules: {failures} failed"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
