"""Products of 8-bit integers and bfloats beside those of f32, in each way that a device has.

    python -m benchmarks.packed_products keep build/packed_products.zip --cores 16
    python -m benchmarks.packed_products run build/packed_products.zip

A machine without a compiler for OpenCL C takes the SPIR-V that another one has kept; `--cores` says
how many that machine has, because kernels depend on it. Results are compared with NumPy's: those of
integers have to be the same. There is no peer; `python -m benchmarks dnn` has oneDNN.
"""

from __future__ import annotations

import argparse
import json
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import groundstate.dnn as dnn
from groundstate.dnn import programs
from groundstate.dnn.kernels import products
from groundstate.dnn.kernels.gemm import Tile

Array = NDArray[Any]
MODES = {
    "f32": ("f32", "f32", frozenset[str]()),
    "u8, as floats": ("u8", "s8", frozenset[str]()),
    "u8, pairs": ("u8", "s8", frozenset({"s16"})),
    "u8, VNNI": ("u8", "s8", frozenset({"u8s8"})),
    "u8, tiles": ("u8", "s8", frozenset({"u8s8", "tiles"})),
    "s8, VNNI": ("s8", "s8", frozenset({"u8s8"})),
    "s8, tiles": ("s8", "s8", frozenset({"u8s8", "tiles"})),
    "bf16, as floats": ("bf16", "bf16", frozenset[str]()),
    "bf16, pairs": ("bf16", "bf16", frozenset({"bf16"})),
    "bf16, tiles": ("bf16", "bf16", frozenset({"bf16", "tiles"})),
}
"""Types of source and weights, and the instructions that are used."""
LIMITS = {"f32": (-64, 64), "bf16": (-64, 64), "u8": (0, 256), "s8": (-128, 128)}
KINDS = {"f32": "f4", "bf16": "f4", "u8": "u1", "s8": "i1"}
SECONDS, FEWEST = 0.5, 10


@dataclass(frozen=True)
class Case:
    """One problem: what it is called, its sizes, and how much work it is."""

    title: str
    make: Callable[[dnn.Engine, str, str], Any]
    src: tuple[int, ...]
    weights: tuple[int, ...]
    work: float
    expected: Callable[[Array, Array], Array]


def _matmul(rows: int, columns: int, depth: int) -> Case:
    def make(engine: dnn.Engine, one: str, two: str) -> Any:
        tagged = dnn.Descriptor.tagged
        return dnn.create(
            "matmul",
            engine,
            tagged((rows, depth), one, "ab"),
            tagged((depth, columns), two, "any"),
            None,
            tagged((rows, columns), "f32", "ab"),
        )

    title = f"matmul {rows} x {columns} x {depth}"
    work = 2.0 * rows * columns * depth
    return Case(title, make, (rows, depth), (depth, columns), work, np.matmul)


def _convolution(inputs: int, outputs: int, size: int, kernel: int) -> Case:
    image, weights = (1, inputs, size, size), (outputs, inputs, kernel, kernel)
    pad = kernel // 2

    def make(engine: dnn.Engine, one: str, two: str) -> Any:
        tagged = dnn.Descriptor.tagged
        return dnn.create(
            "convolution_forward",
            engine,
            dnn.PropKind.forward_inference,
            dnn.Algorithm.convolution_direct,
            tagged(image, one, "acdb"),
            tagged(weights, two, "any"),
            None,
            tagged((1, outputs, size, size), "f32", "acdb"),
            (1, 1),
            (0, 0),
            (pad, pad),
            (pad, pad),
        )

    def expected(src: Array, factors: Array) -> Array:
        padded = np.pad(src, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (2, 3))
        rows = windows.transpose(0, 2, 3, 1, 4, 5).reshape(size * size, -1)
        found: Array = rows @ factors.reshape(outputs, -1).T
        return found.T.reshape(1, outputs, size, size)

    work = 2.0 * size * size * inputs * outputs * kernel * kernel
    title = f"convolution {kernel}x{kernel}, {size}x{size}, {inputs} to {outputs}"
    return Case(title, make, image, weights, work, expected)


CASES = (
    _matmul(1024, 1024, 1024),
    _matmul(512, 3072, 768),
    _matmul(4096, 4096, 4096),
    _matmul(333, 100, 200),
    _convolution(64, 64, 56, 3),
    _convolution(256, 256, 14, 3),
    _convolution(64, 256, 56, 1),
)
LARGE = 1e11
"""Of these only the time is taken, without a comparison."""


def _numbers(kind: str, shape: tuple[int, ...], seed: int) -> Array:
    random = np.random.default_rng(seed)
    return random.integers(*LIMITS[kind], shape).astype(KINDS[kind])


def _solve(case: Case, engine: dnn.Engine, mode: str, *, timed: bool) -> tuple[float, str]:
    """How many operations a nanosecond has, and whether the result is right."""
    one, two, _ = MODES[mode]
    described = case.make(engine, one, two)
    src, weights = _numbers(one, case.src, 1), _numbers(two, case.weights, 2)
    stream = dnn.Stream(engine)
    verdict = "not compared"
    if case.work < LARGE:
        result = dnn.run(described, stream, {dnn.Arg.SRC: src, dnn.Arg.WEIGHTS: weights})
        wanted = case.expected(src.astype("f8"), weights.astype("f8"))
        same = np.array_equal(result[dnn.Arg.DST], wanted.astype("f4"))
        near = np.allclose(result[dnn.Arg.DST], wanted, rtol=1e-4, atol=1)
        verdict = "exact" if same else ("near" if near else "WRONG")
    given = {
        arg: dnn.memory_of(stream, array, described.arguments[arg])
        for arg, array in ((dnn.Arg.SRC, src), (dnn.Arg.WEIGHTS, weights))
    }
    given[dnn.Arg.DST] = dnn.Memory(engine, described.arguments[dnn.Arg.DST])
    primitive = dnn.Primitive(described)
    best, end, count = float("inf"), time.perf_counter() + SECONDS, 0
    while timed and (count < FEWEST or time.perf_counter() < end):
        begin = time.perf_counter()
        primitive.execute(stream, given)
        stream.wait()
        best, count = min(best, time.perf_counter() - begin), count + 1
    return case.work / best / 1e9, verdict


def _with_tile(tile: Tile) -> None:
    products.tile_of = lambda engine: tile  # type: ignore[assignment]


def keep(path: Path, cores: int) -> None:
    """Compiles everything, and keeps the SPIR-V."""
    kept: dict[str, bytes] = {}
    compiled = programs.spirv_of

    def remembered(source: str, options: tuple[str, ...] = ()) -> bytes:
        found = compiled(source, options)
        kept[_key(source, options)] = found
        return found

    programs.spirv_of = remembered
    engine = dnn.Engine.create()
    for mode, (_, _, dots) in MODES.items():
        _with_tile(Tile(32, 12, products.GROUPS_OF_CORE * cores, dots))
        for case in CASES:
            _solve(case, engine, mode, timed=False)
        print(f"{mode}: {len(kept)} programs", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("cores", str(cores))
        for key, spirv in kept.items():
            file.writestr(key, spirv)


def _key(source: str, options: tuple[str, ...]) -> str:
    return sha256("\0".join((source, *options)).encode()).hexdigest()


def run(path: Path | None) -> None:
    """Measures every case in every way that the device has."""
    engine = dnn.Engine.create()
    cores = products.tile_of(engine).groups // products.GROUPS_OF_CORE
    if path is not None:
        compiled = programs.spirv_of
        with zipfile.ZipFile(path) as file:
            cores = int(file.read("cores"))
            kept = {name: file.read(name) for name in file.namelist()}

        def taken(source: str, options: tuple[str, ...] = ()) -> bytes:
            return kept.get(_key(source, options)) or compiled(source, options)

        programs.spirv_of = taken
    print(engine.name, "has", ", ".join(sorted(engine.dots)), flush=True)
    rows = []
    for case in CASES:
        for mode, (_, _, dots) in MODES.items():
            if not dots <= engine.dots:
                continue
            _with_tile(Tile(32, 12, products.GROUPS_OF_CORE * cores, dots))
            rate, verdict = _solve(case, engine, mode, timed=True)
            rows.append({"case": case.title, "mode": mode, "rate": rate, "verdict": verdict})
            print(f"{case.title:40} {mode:16} {rate:9.1f} GFLOP/s  {verdict}", flush=True)
    print(json.dumps(rows))


def main() -> None:
    """Keeps SPIR-V, or measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("action", choices=("keep", "run"))
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--cores", type=int, default=16)
    options = parser.parse_args()
    if options.action == "run":
        run(options.file)
    elif options.file is None:
        parser.error("keep needs a file")
    else:
        keep(options.file, options.cores)


if __name__ == "__main__":
    main()
