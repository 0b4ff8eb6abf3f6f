"""Writes kernels as PTX into a folder, with what to pass to them and what they must leave behind.

    python -m tests.gpu.export build/gpu --sm 90

The results come from the CPU device, or from NumPy where a test has an expectation of its own. The
folder needs nothing but `run.py` and NumPy on the machine with the GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.kernels.cases import SMALL_CASES, Picture
from benchmarks.kernels.cases import Case as Benchmark
from benchmarks.kernels.cases import Local as BenchmarkLocal
from benchmarks.kernels.irregular import SMALL_IRREGULAR_CASES
from groundstate.compiler.errors import BuildError
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program.ptx_program import compile_ptx
from tests.compiler.cases import CASES
from tests.compiler.instructions.instruction_support import Batch, Shape, dtype_of, padded
from tests.compiler.instructions.test_instructions import BATCHES
from tests.compiler.kernels import Case, Local, arguments
from tests.compiler.vector.test_cases import run as run_here
from tests.compiler.vector.test_cases import three

Array = NDArray[Any]
SUBGROUP = 32
WHOLE = (Shape(SUBGROUP, 32), Shape(SUBGROUP, 64))
PARTS = (Shape(SUBGROUP, 11), Shape(SUBGROUP, 16), Shape(SUBGROUP, 44))
"""Groups of whole sub-groups, and of parts of one, of an odd size, and of more than one."""
CANCELLING = {"sine_and_cosine": 1.0}
"""Cases whose results may cancel: an error is measured as if they were at least so large."""
UNEQUAL = 2.0
"""How much further apart two results may be than one from the truth, if both may be wrong."""


@dataclass
class Exported:
    """One launch, as the folder has it. Arguments: a buffer, bytes, or local memory."""

    name: str
    spirv: bytes
    kernel: str
    groups: tuple[int, int, int]
    group_size: tuple[int, int, int]
    arguments: list[Array | bytes | int]
    """An array is a buffer, bytes are a value, a number is local memory of so many bytes."""
    expected: dict[int, Array]
    """By argument: what a buffer holds afterwards."""
    ulp: dict[int, float] = field(default_factory=dict)
    offset: tuple[int, int, int] = (0, 0, 0)
    tolerance: float = 0.0
    """How far a number may be off, as a part of the largest; how many may be further off; and
    whether their order does not matter."""
    strays: float = 0.0
    unordered: bool = False


def of_cases() -> Iterator[Exported]:
    """The kernels of tests/compiler/kernels, beside the CPU."""
    return (of_case(case) for case in CASES if not case.prints)


def of_case(case: Case) -> Exported:
    """One of them."""
    spirv = compile_opencl(case.source, options=[f"-cl-std={case.standard}"])
    given: list[Array | bytes | int] = []
    for argument in arguments(case):
        if isinstance(argument, Local):
            given.append(argument.bytes_per_item * case.group_items)
        elif argument.shape == ():
            given.append(argument.tobytes())
        else:
            given.append(np.ascontiguousarray(argument).copy())
    is_wide = "subgroups" in case.needs or "subgroup_extensions" in case.needs
    found = run_here(case, SUBGROUP if is_wide else None)
    groups = three(tuple(s // g for s, g in zip(case.size, case.group, strict=True)))
    return Exported(
        f"case-{case.identity}",
        spirv,
        case.name,
        groups,
        three(case.group),
        given,
        found,
        dict.fromkeys(found, UNEQUAL * case.ulp),
        three(case.offset, 0),
    )


def of_instructions() -> Iterator[Exported]:
    """Each instruction of SPIR-V, beside NumPy."""
    for batch in BATCHES:
        for shape in shapes_of(batch):
            found = of_batch(batch, shape)
            if found is not None:
                yield found


def shapes_of(batch: Batch) -> tuple[Shape, ...]:
    """How instructions are run: some are defined for whole sub-groups only, or without any."""
    shapes = batch.cases[0].shapes
    if all(shape.width == 1 for shape in shapes):
        return ()
    return WHOLE if all(shape.group % shape.width == 0 for shape in shapes) else PARTS


def of_batch(batch: Batch, shape: Shape) -> Exported | None:
    """Instructions that are tested in one kernel; None if there is not enough data for a group."""
    first = batch.cases[0]
    given: list[Any] = [padded(kind, data) for kind, data in first.inputs]
    groups = len(given[0]) // shape.group if given else 4
    if groups == 0:
        return None
    expected: dict[int, Array] = {}
    ulp: dict[int, float] = {}
    for case in batch.cases:
        place = len(given)
        given.append(np.zeros(groups * shape.group, dtype_of(case.output.replace("bool", "u8"))))
        with np.errstate(all="ignore"):
            wanted = case.wanted(shape)
            expected[place] = padded(case.output, wanted)[: len(given[place])]
        ulp[place] = case.ulp
    name = f"instruction-{batch.name}-{shape.group}"
    sizes = (groups, 1, 1), (shape.group, 1, 1)
    return Exported(name, batch.spirv, "kernel", *sizes, given, expected, ulp)


def of_benchmarks() -> Iterator[Exported]:
    """The kernels of the benchmarks on little data, beside NumPy."""
    for case in {**SMALL_CASES, **SMALL_IRREGULAR_CASES}.values():
        arguments = case.arguments()
        if not any(isinstance(each, Picture) for each in arguments):
            yield _of_benchmark(case, arguments)


def _of_benchmark(case: Benchmark, arguments: list[Any]) -> Exported:
    given: list[Array | bytes | int] = []
    for each in arguments:
        if isinstance(each, BenchmarkLocal):
            given.append(each.size_bytes)
        elif isinstance(each, np.ndarray):
            given.append(np.ascontiguousarray(each))
        else:
            given.append(each.tobytes())
    result = arguments[case.result]
    wanted = np.asarray(case.expected(list(arguments))).astype(result.dtype).reshape(result.shape)
    groups = three(tuple(s // g for s, g in zip(case.items, case.group, strict=True)))
    return Exported(
        f"benchmark-{case.id}",
        compile_opencl(case.source),
        case.name,
        groups,
        three(case.group),
        given,
        {case.result: wanted},
        tolerance=case.tolerance,
        strays=case.strays,
        unordered=case.unordered,
    )


def write(folder: Path, case: Exported, sm: int) -> dict[str, Any]:
    """Writes one launch; returns its description."""
    module = compile_ptx(case.spirv, sm=sm, kernels=[case.kernel])
    kernel = module.kernels[case.kernel]
    number = len(list(folder.glob("*.npz")))
    ptx = f"{hashlib.sha256(module.text.encode()).hexdigest()[:16]}.ptx"
    (folder / ptx).write_text(module.text)
    arrays = {
        f"in{at}": each for at, each in enumerate(case.arguments) if not isinstance(each, int)
    }
    arrays = {
        name: np.frombuffer(each, np.uint8) if isinstance(each, bytes) else each
        for name, each in arrays.items()
    }
    arrays |= {f"out{at}": each for at, each in case.expected.items()}
    np.savez_compressed(folder / f"{number}.npz", **arrays)
    return {
        "name": case.name,
        "ptx": ptx,
        "data": f"{number}.npz",
        "kernel": asdict(kernel),
        "groups": case.groups,
        "group_size": case.group_size,
        "offset": case.offset,
        "kinds": [
            "local" if isinstance(each, int) else "value" if isinstance(each, bytes) else "buffer"
            for each in case.arguments
        ],
        "local": [each if isinstance(each, int) else 0 for each in case.arguments],
        "ulp": case.ulp,
        "tolerance": case.tolerance,
        "strays": case.strays,
        "unordered": case.unordered,
        "least": CANCELLING.get(case.kernel, 0.0),
    }


def main() -> int:
    """Writes the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sm", type=int, default=90)
    args = parser.parse_args()
    shutil.rmtree(args.folder, ignore_errors=True)
    args.folder.mkdir(parents=True)
    described, left_out = [], {}
    for source in (of_benchmarks, of_cases, of_instructions):
        for case in source():
            try:
                described.append(write(args.folder, case, args.sm))
            except BuildError as problem:
                left_out[case.name] = str(problem)
    (args.folder / "cases.json").write_text(json.dumps(described))
    shutil.copy(Path(__file__).parent / "run.py", args.folder / "run.py")
    size = sum(path.stat().st_size for path in args.folder.iterdir())
    print(f"{len(described)} launches, {size / 1e6:.1f} MB in {args.folder}")
    for name, problem in left_out.items():
        print(f"left out: {name}: {problem}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
