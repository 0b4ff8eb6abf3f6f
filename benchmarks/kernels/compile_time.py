"""How long compiling takes: one large kernel, and the index of a module of hundreds of kernels."""

from __future__ import annotations

from pathlib import Path

from benchmarks import peers, programs
from benchmarks.figures import OURS, Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.kernels.large import LARGE, MODULE_KERNELS, large_module
from benchmarks.kernels.team import Member
from benchmarks.peers import Missing, Target
from benchmarks.programs import MeasuringError
from groundstate.compiler.opencl.frontend import compile_opencl

KERNEL_TARGET_MS = 200.0
INDEX_TARGET_MS = 1000.0
NATIVE_GOAL = 3.0


def plan(options: Options) -> Plan:
    """Each round starts each runtime anew, without caches."""
    samples = Samples()
    found = peers.opencl_peers() if options.peers else []
    present = [peer for peer in found if isinstance(peer, Target)]
    missing = [peer for peer in found if isinstance(peer, Missing)]
    kernel, module = programs.BUILT / "large.spv", programs.BUILT / "large-module.spv"

    def ours() -> None:
        env = {**peers.direct().env, "GROUNDSTATE_CACHE": "0"}
        requests = {
            "kernel": ("compile", {"spirv": str(kernel)}),
            "native": ("compile_native", {"spirv": str(kernel)}),
            "index": ("index", {"spirv": str(module)}),
        }
        _ask(samples, Member(OURS, "groundstate", env), requests)

    def theirs(peer: Target) -> None:
        env = {**peer.env, "PYOPENCL_NO_CACHE": "1", "POCL_KERNEL_CACHE": "0"}
        _ask(samples, Member(peer.name, "opencl", env), {"kernel": ("compile", {})})

    def prepare() -> None:
        _write(kernel, LARGE.source)
        _write(module, large_module())

    turn = [Step("large kernels, ours", ours)]
    turn += [
        Step(f"large kernels, {peer.name}", lambda peer=peer: theirs(peer))  # type: ignore[misc]
        for peer in present
    ]
    rounds = options.rounds or (2 if options.quick else 6)
    return Plan(
        [Step("large kernels: OpenCL C to SPIR-V", prepare), *turn * rounds],
        lambda: _figures(samples, present, missing, module.stat().st_size),
    )


def _write(path: Path, source: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compile_opencl(source))


def _ask(samples: Samples, member: Member, requests: dict[str, tuple[str, dict[str, str]]]) -> None:
    for name, (request, values) in requests.items():
        answer = member.ask(request, **values)
        mistake = answer.get("error") or answer.get("mistake")
        if mistake:
            raise MeasuringError(f"{member.name}: {mistake}")
        samples.add({f"{member.name} {name}": answer["times"]})
    member.close()


def _figures(
    samples: Samples, present: list[Target], missing: list[Missing], module_bytes: int
) -> list[Figure]:
    def measured(name: str, what: str) -> Measure:
        return Measure.of_times(samples.times(f"{name} {what}"), "ms")

    def target(milliseconds: float) -> tuple[str, Measure]:
        return f"target of {milliseconds:g} ms", Measure(milliseconds, milliseconds)

    case = f"{LARGE.title}, SPIR-V to first result"
    ours, native = measured(OURS, "kernel"), measured(OURS, "native")
    figures = [Figure(case, "ms", ours, *target(KERNEL_TARGET_MS), goal=1.0)]
    figures += [
        Figure(case, "ms", ours, f"{peer.name}, from OpenCL C", measured(peer.name, "kernel"))
        for peer in present
    ]
    figures += [Figure(case, "ms", ours, peer.name, note=peer.note) for peer in missing]
    case = f"{LARGE.title}, native binary to first result"
    figures.append(Figure(case, "ms", native, "ours from SPIR-V", ours, NATIVE_GOAL))
    case = f"module of {MODULE_KERNELS} kernels, {module_bytes / 1e6:.1f} MB: names of all kernels"
    index = measured(OURS, "index")
    figures.append(Figure(case, "ms", index, *target(INDEX_TARGET_MS), goal=1.0))
    return figures


BENCHMARK = Benchmark(
    name="compile",
    title="Compile time",
    explanation="Without any cache, in a process that has compiled a small kernel before. A kernel "
    "of random statements with loops and divergent branches, 4,096 work-items; and the "
    "time until a large module is made and has told the names of its kernels.",
    plan=plan,
)
