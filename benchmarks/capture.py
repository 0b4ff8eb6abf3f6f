"""What recording and playing cost, in time and in bytes, against the same program alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial

from benchmarks import peers, programs
from benchmarks.figures import Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.kernels.cases import EMPTY
from groundstate import knobs
from groundstate.capture import place
from groundstate.capture.scripting.script import Script
from groundstate.compiler.opencl.frontend import compile_opencl

ALONE = "alone"
OUT = programs.BUILT / "recording"
KERNEL = programs.BUILT / "empty.spv"
REWRITTEN = (1 << 30) // 100
UPLOAD = 16 << 20


@dataclass(frozen=True)
class Case:
    """Something that a program does, how often, and the unit to speak of it."""

    title: str
    rounds: int
    operations: int
    unit: str = "ns"


CASES = {
    "launches": Case("100,000 empty launches, each", 5, 20_000),
    "tracked": Case("100,000 empty launches beside 16 MiB of host memory, each", 5, 20_000),
    "questions": Case("zeEventQueryStatus", 5, 100_000),
    "rewrites": Case("1 % of 1 GiB rewritten, and a launch", 1, 8, "ms"),
    "uploads": Case("the same 16 MiB uploaded again", 1, 8, "ms"),
}
WAYS = {
    "passed on": "through the capture library, not recorded",
    "recorded": "recorded",
    "compared": "recorded, comparing all pages",
    "empty script": "with a script that hooks nothing",
    "hooked in Lua": "hooked in Lua, called on",
    "hooked in Python": "hooked in Python, called on",
    "played": "played from a recording",
}
SCRIPTS = {
    "empty script": "nothing.lua",
    "hooked in Lua": "call_on.lua",
    "hooked in Python": "call_on.py",
}
SCRIPTED_CASES = ("launches", "questions")


def plan(options: Options) -> Plan:
    """In each round each case runs in new processes, alone and in each way."""
    samples = Samples()
    sizes: dict[str, list[float]] = {}

    def prepare() -> None:
        KERNEL.parent.mkdir(parents=True, exist_ok=True)
        KERNEL.write_bytes(compile_opencl(EMPTY.source))

    def run(name: str, way: str) -> None:
        case = CASES[name]
        shutil.rmtree(OUT, ignore_errors=True)
        library, environment = _library_of(way)
        measured = programs.run(
            programs.build("capture"), library, name, KERNEL, case.rounds, case.operations,
            env=environment,
        )  # fmt: skip
        if way == "played":
            measured = _played(case)
        samples.add(measured, f"{way} {name} ")
        stored = sum(path.stat().st_size for path in OUT.glob("*"))
        sizes.setdefault(f"{way} {name}", []).append(stored / (case.rounds * case.operations))
        shutil.rmtree(OUT, ignore_errors=True)

    chosen = options.cases or tuple(CASES)
    turn = [
        Step(f"{name}, {way}", partial(run, name, way))
        for name in chosen
        for way in (ALONE, *WAYS)
        if _is_measured(name, way)
    ]
    rounds = options.rounds or (1 if options.quick else 3)
    return Plan(
        [Step("empty kernel: build", prepare), *turn * rounds], lambda: _figures(samples, sizes)
    )


def _played(case: Case) -> dict[str, list[float]]:
    """How long the recording that was just made takes to play, for each operation."""
    command = [sys.executable, "-m", "groundstate", "play", "--json", str(OUT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=programs.TIMEOUT_S)
    if done.returncode != 0:
        raise programs.MeasuringError(f"play ended with {done.returncode}: {done.stderr}")
    (report,) = json.loads(done.stdout)
    return {"operation": [report["seconds"] * 1e9 / (case.rounds * case.operations)]}


def _is_measured(name: str, way: str) -> bool:
    """Comparing 16 MiB a hundred thousand times takes minutes and says nothing new, and memory is
    nothing to a script."""
    is_endless = (name, way) == ("tracked", "compared")
    is_short = way not in SCRIPTS and way != "played"
    return not is_endless and (is_short or name in SCRIPTED_CASES)


def _library_of(way: str) -> tuple[str, dict[str, str]]:
    """The library that the program opens, and its variables."""
    driver = peers.direct()
    if way == ALONE:
        return driver.library, driver.env
    environment = {**driver.env, knobs.CAPTURE_NEXT.name: driver.library}
    if way in SCRIPTS:
        environment |= Script(programs.SOURCES / SCRIPTS[way]).environment()
    elif way != "passed on":
        environment[knobs.CAPTURE_OUT.name] = str(OUT)
    if way == "compared":
        environment[knobs.CAPTURE_PAGES.name] = "compare"
    return str(place.library()), environment


def _figures(samples: Samples, sizes: dict[str, list[float]]) -> list[Figure]:
    figures = []
    for name, case in CASES.items():
        alone = samples.times(f"{ALONE} {name} operation")
        for way, description in WAYS.items():
            times = samples.times(f"{way} {name} operation")
            if times and alone:
                ours, theirs = (Measure.of_times(each, case.unit) for each in (times, alone))
                title = f"{case.title} ({description})"
                figures.append(Figure(title, case.unit, ours, "the program alone", theirs))
    for name, written in (("rewrites", REWRITTEN), ("uploads", UPLOAD)):
        stored = sizes.get(f"recorded {name}")
        if stored:
            kib = [size / 1024 for size in stored]
            ours = Measure(min(kib), sorted(kib)[len(kib) // 2], max(kib))
            peer = Measure(written / 1024, written / 1024)
            title = f"{CASES[name].title}: bytes stored"
            figures.append(Figure(title, "KiB", ours, "bytes written", peer))
    return figures


BENCHMARK = Benchmark(
    name="capture",
    title="What recording, scripts and playing cost",
    explanation="A C program that is linked to nothing and opens the driver, the capture library "
    "that passes calls on, records them or hands them to a script. What is recorded is every "
    "call with its structs, and before each submission the pages that the program wrote. Bytes "
    "stored are those of the files, for each operation: the rewritten pages are noise, and the "
    "upload is the same each time. A recording of the same calls is played, too; that takes the "
    "whole time from the first call on.",
    plan=plan,
)
