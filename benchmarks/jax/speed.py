"""How fast JAX is on our device, against its own CPU back end, in one run."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.figures import OURS, Benchmark, Measure, Options, Plan
from benchmarks.jax.cases import CASES
from benchmarks.kernels.race import Race
from benchmarks.kernels.team import Member, Team
from benchmarks.programs import ROOT
from groundstate import standin

WORKER = "benchmarks.jax.worker"
PEER = "JAX's CPU back end"
PACKAGES = "'jax-oneapi-plugin[with-oneapi]==0.11.2' jax==0.11.2 jaxlib==0.11.2"
SECONDS_PER_ROUND = 0.3
ROUNDS = 5
GOAL = 0.5


class JaxTeam(Team):
    """Back ends of JAX, which take turns."""

    def prepare(self, name: str) -> dict[str, str]:
        """All run a case once; what is wrong with whose, by name of the back end."""
        return self.mistakes({each.name: each.ask("prepare", name=name) for each in self.members})


def python() -> Path:
    """The Python of an environment that has JAX, which may be named by a variable."""
    return Path(os.environ.get("JAX_PYTHON") or ROOT / ".venv" / "jax" / "bin" / "python")


def install() -> str:
    """The command that makes the environment."""
    place = python().parents[1]
    return (
        f"python3.13 -m venv {place} && {place}/bin/pip install {PACKAGES}; "
        "or name the Python of an environment that has them by JAX_PYTHON"
    )


def team(with_peer: bool) -> JaxTeam:
    """Our device as `groundstate run` shows it, and the peer."""
    env = standin.environment(os.environ)
    devices = {OURS: ("oneapi", "oneapi,cpu"), PEER: ("cpu", "cpu")}
    members = [
        Member(name, backend, {**env, "JAX_PLATFORMS": platforms}, WORKER, str(python()))
        for name, (backend, platforms) in devices.items()
        if with_peer or name == OURS
    ]
    return JaxTeam(members, [])


def plan(options: Options) -> Plan:
    """For each case: both check their results, then take turns for some rounds."""
    cases = options.choose(CASES)
    if not python().exists():
        return Plan([], list, [f"JAX is not installed: {install()}"])
    rounds = options.rounds or (2 if options.quick else ROUNDS)
    race = Race(team(options.peers))
    steps = [step for case in cases for step in race.steps(case.name, rounds, SECONDS_PER_ROUND)]

    def in_microseconds(times: list[float]) -> Measure:
        return Measure.of_times(times, "µs")

    return Plan(
        [*steps, race.end()],
        lambda: [
            figure
            for case in cases
            for figure in race.figures(case.name, case.title, "µs", in_microseconds, GOAL)
        ],
    )


BENCHMARK = Benchmark(
    name="jax",
    title="JAX",
    explanation="A compiled function until its result is there, on our device through OpenXLA's "
    "plugin for Intel's GPUs, and on JAX's own CPU back end. Both take turns; results are compared "
    "with that back end first. A training step is the loss of a small network, its gradients and "
    "new parameters.",
    plan=plan,
    wide=True,
)
