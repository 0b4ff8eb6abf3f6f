"""Neural-network primitives against oneDNN on the same cores."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial

from benchmarks import peers, programs
from benchmarks.figures import Benchmark, Figure, Measure, Options, Plan, Samples, Step
from benchmarks.peers import Missing, Target
from benchmarks.programs import ROOT, Session
from groundstate.dnn.layout import tag_value
from groundstate.dnn.types import Algorithm, DataType

INCLUDE = f"-I{ROOT / 'src' / 'groundstate' / 'include'}"
EXECUTIONS, SLICES = 6, 20
"""How many samples a library takes at its turn, and how many turns it has in a round."""
ROUNDS = 2
MATMUL, CONVOLUTION, MEMORY = 0.8, 0.7, 0.9
"""How fast primitives should be, as parts of oneDNN's speed."""


@dataclass(frozen=True)
class Case:
    """One primitive with its sizes, as the program takes them, and how much work it is."""

    name: str
    title: str
    primitive: str
    sizes: tuple[int, ...]
    work: float
    unit: str
    goal: float | None


F32, S8, U8, BF16 = DataType.f32, DataType.s8, DataType.u8, DataType.bf16
TYPES = {"": (F32, F32, F32), "u8": (U8, S8, F32), "s8": (S8, S8, S8), "bf16": (BF16, BF16, BF16)}
"""Of source, weights and result, by what they are called in the name of a case."""


def _typed(name: str, title: str, types: str) -> tuple[str, str]:
    """The name and the title of a case with other types than f32."""
    return (f"{name}-{types}", f"{title}, {types}") if types else (name, title)


def _matmul(rows: int, columns: int, depth: int, goal: float | None, types: str = "") -> Case:
    sizes = (rows, columns, depth, *map(int, TYPES[types]))
    name, title = _typed(f"matmul-{rows}", f"matmul {rows} x {columns} x {depth}", types)
    return Case(name, title, "matmul", sizes, 2.0 * rows * columns * depth, "GFLOP/s", goal)


def _convolution(
    inputs: int,
    outputs: int,
    size: int,
    kernel: int,
    stride: int,
    goal: float | None,
    types: str = "",
) -> Case:
    padding = kernel // 2
    places = (size + 2 * padding - kernel) // stride + 1
    work = 2.0 * places * places * inputs * outputs * kernel * kernel
    title = f"convolution {kernel}x{kernel}, {size}x{size}, {inputs} to {outputs}"
    sizes = (inputs, outputs, size, kernel, stride, padding, *map(int, TYPES[types]))
    name, title = _typed(f"convolution-{kernel}x{kernel}-{size}", title, types)
    return Case(name, title, "convolution", sizes, work, "GFLOP/s", goal)


def _memory(name: str, title: str, primitive: str, sizes: tuple[int, ...], elements: int) -> Case:
    return Case(name, title, primitive, sizes, 8.0 * elements, "GB/s", MEMORY)


def _tag(name: str) -> int:
    value = tag_value(name)
    assert value is not None
    return value


ROWS, COLUMNS = 4096, 2048
PLANES = (16, 64, 112)
CASES = {
    case.name: case
    for case in (
        _matmul(1024, 1024, 1024, MATMUL),
        _matmul(512, 3072, 768, None),
        _convolution(64, 64, 56, 3, 1, CONVOLUTION),
        _convolution(128, 128, 28, 3, 1, CONVOLUTION),
        _convolution(256, 256, 14, 3, 1, CONVOLUTION),
        _convolution(512, 512, 7, 3, 1, CONVOLUTION),
        _convolution(64, 256, 56, 1, 1, None),
        _convolution(3, 64, 224, 7, 2, None),
        *(
            case
            for types in ("u8", "s8", "bf16")
            for case in (
                _matmul(1024, 1024, 1024, None, types),
                _matmul(512, 3072, 768, None, types),
                _convolution(64, 64, 56, 3, 1, None, types),
                _convolution(256, 256, 14, 3, 1, None, types),
                _convolution(64, 256, 56, 1, 1, None, types),
                _convolution(3, 64, 224, 7, 2, None, types),
            )
        ),
        _memory("softmax", "softmax", "softmax", (ROWS, COLUMNS), ROWS * COLUMNS),
        _memory("layer-norm", "layer normalization", "layer_norm", (ROWS, COLUMNS), ROWS * COLUMNS),
        _memory(
            "relu",
            "eltwise, ReLU",
            "eltwise",
            (ROWS, COLUMNS, Algorithm.eltwise_relu),
            ROWS * COLUMNS,
        ),
        _memory(
            "gelu",
            "eltwise, GELU",
            "eltwise",
            (ROWS, COLUMNS, Algorithm.eltwise_gelu_erf),
            ROWS * COLUMNS,
        ),
        _memory(
            "nchw-nhwc",
            "reorder, nchw to nhwc",
            "reorder",
            (*PLANES, _tag("nchw"), _tag("nhwc")),
            PLANES[0] * PLANES[1] * PLANES[2] ** 2,
        ),
        _memory(
            "nchw-nChw16c",
            "reorder, nchw to nChw16c",
            "reorder",
            (*PLANES, _tag("nchw"), _tag("nChw16c")),
            PLANES[0] * PLANES[1] * PLANES[2] ** 2,
        ),
    )
}


def plan(options: Options) -> Plan:
    """In each round a process for each library, which take turns that are short."""
    chosen = options.choose(CASES)
    peer = peers.onednn() if options.peers else Missing("oneDNN", "it was not asked for")
    ours = Samples()
    theirs = Samples()

    def session(case: Case, target: Target, kind: str) -> Session:
        program = programs.build("dnn", INCLUDE)
        return Session(program, target.library, kind, case.primitive, *case.sizes, env=target.env)

    def step(case: Case) -> None:
        with contextlib.ExitStack() as stack:
            turns = [(stack.enter_context(session(case, peers.dnn(), "gpu")), ours)]
            if isinstance(peer, Target):
                turns.append((stack.enter_context(session(case, peer, "cpu")), theirs))
            for _ in range(SLICES):
                for each, samples in turns:
                    samples.add({case.name: each.measure(EXECUTIONS)[case.primitive]})

    rounds = options.rounds or (1 if options.quick else ROUNDS)
    steps = [Step(case.title, partial(step, case)) for _ in range(rounds) for case in chosen]
    notes = [] if isinstance(peer, Target) or not options.peers else [peer.note]
    return Plan(steps, lambda: [_figure(case, ours, theirs, peer) for case in chosen], notes)


def _figure(case: Case, ours: Samples, theirs: Samples, peer: Target | Missing) -> Figure:
    measured = theirs.times(case.name)
    return Figure(
        case=case.title,
        unit=case.unit,
        ours=Measure.of_rate(ours.times(case.name), case.work),
        peer=peer.name,
        theirs=Measure.of_rate(measured, case.work) if measured else None,
        goal=case.goal,
        note=peer.note if isinstance(peer, Missing) else "",
    )


BENCHMARK = Benchmark(
    name="dnn",
    title="Neural-network primitives",
    explanation="dnnl_primitive_execute and dnnl_stream_wait from C, in f32 unless the case names "
    "another type of the source, through our library and through oneDNN's own for CPUs, each with "
    "the layouts that it prefers. GB/s counts what is read and what is written, once each. The "
    "libraries take turns every few executions.",
    plan=plan,
)
