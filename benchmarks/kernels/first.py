"""How long a new process takes to the first result of a kernel, without and with a cache."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from benchmarks import peers, programs
from benchmarks.figures import OURS, Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.kernels.cases import SMALL_CASES, Case
from benchmarks.kernels.team import Member
from benchmarks.peers import Missing, Target
from benchmarks.programs import MeasuringError
from groundstate.compiler.opencl.frontend import compile_opencl

COLD, SPIRV, CACHED = "cold", "cold, ours from SPIR-V", "from the cache"
GOAL = 1.0


@dataclass(frozen=True)
class Contender:
    """A runtime that is started anew for each measurement."""

    name: str
    kind: str
    env: Mapping[str, str]

    def first(self, case: Case, folder: str, spirv: str = "") -> list[float]:
        """Nanoseconds to the first result, in a process that keeps its caches in a folder."""
        caches = {
            "XDG_CACHE_HOME": folder,
            "GROUNDSTATE_CACHE": f"{folder}/groundstate",
            "POCL_CACHE_DIR": f"{folder}/pocl",
        }
        member = Member(self.name, self.kind, {**self.env, **caches})
        answer = member.ask("first", name=case.name, spirv=spirv)
        member.close()
        mistake = answer.get("error") or answer["mistake"]
        if mistake:
            raise MeasuringError(f"{self.name}: {mistake}")
        times: list[float] = answer["times"]
        return times


def plan(options: Options) -> Plan:
    """In each round and for each kernel: all runtimes with empty caches, and all once more."""
    samples = Samples()
    chosen = options.choose(SMALL_CASES)
    found = peers.opencl_peers() if options.peers else []
    contenders = [Contender(OURS, "groundstate", peers.direct().env)]
    contenders += [
        Contender(peer.name, "opencl", peer.env) for peer in found if isinstance(peer, Target)
    ]
    missing = [peer for peer in found if isinstance(peer, Missing)]
    rounds = options.rounds or (1 if options.quick else 4)
    steps = [
        Step(f"{case.name}, {contender.name}", partial(_measure, samples, contender, case))
        for _ in range(rounds)
        for case in chosen
        for contender in contenders
    ]
    names = [contender.name for contender in contenders[1:]]
    return Plan(
        steps,
        lambda: [
            figure
            for way in (COLD, SPIRV, CACHED)
            for case in chosen
            for figure in _figures(samples, case, way, names, missing)
        ],
    )


def _measure(samples: Samples, contender: Contender, case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for way in (COLD, CACHED):
            samples.add({f"{contender.name} {case.name} {way}": contender.first(case, folder)})
    if contender.name == OURS:
        path = programs.BUILT / f"{case.name}.spv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(compile_opencl(case.source))
        with tempfile.TemporaryDirectory() as folder:
            times = contender.first(case, folder, str(path))
            samples.add({f"{contender.name} {case.name} {SPIRV}": times})


def _figures(
    samples: Samples, case: Case, way: str, names: list[str], missing: list[Missing]
) -> list[Figure]:
    def measured(name: str, way: str) -> Measure:
        return Measure.of_times(samples.times(f"{name} {case.name} {way}"), "ms")

    title, ours = f"{case.name}, {way}", measured(OURS, way)
    theirs = COLD if way == SPIRV else way
    figures = [Figure(title, "ms", ours, name, measured(name, theirs), GOAL) for name in names]
    figures += [Figure(title, "ms", ours, peer.name, None, GOAL, peer.note) for peer in missing]
    return figures or [Figure(title, "ms", ours, "")]


BENCHMARK = Benchmark(
    name="first",
    title="Time to the first result",
    explanation="A new process that has opened its device and uploaded the arguments: from the "
    "source of a kernel to its first result, for a small amount of work. Cold: all caches are "
    "empty; where ours starts from SPIR-V, the peers still start from the source. From the cache: "
    "a second process, with the runtimes' own caches and pyopencl's.",
    plan=plan,
    wide=True,
)
