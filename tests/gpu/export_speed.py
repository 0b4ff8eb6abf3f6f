"""Writes the kernels of the benchmarks as PTX into a folder, to be timed on a GPU.

    python -m tests.gpu.export_speed build/gpu-speed --sm 90
    python3 build/gpu-speed/speed.py build/gpu-speed

Sizes and groups are those at which CUDA C by nvcc -O3 was measured on an H200; its figures are
shown beside ours. The folder needs nothing but libcuda.so.1 and NumPy on the machine with the GPU.
"""

from __future__ import annotations

import argparse
import json
import shutil
import struct
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.kernels.cases import SOURCES
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program.ptx_program import compile_ptx

MEGA = 1 << 20
GROUP = (256, 1, 1)
Argument = tuple[str, Any]


@dataclass(frozen=True)
class Timed:
    """One kernel: what is launched, and how much work that is.

    `work` is what `unit` counts per nanosecond, so that work / time is in the unit."""

    name: str
    kernel: str
    items: tuple[int, int, int]
    group: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    work: float
    unit: str
    nvcc: float
    """What CUDA C reached."""


def filled(size: int) -> Argument:
    """A buffer in which each byte is 0x3c."""
    return ("buffer", {"bytes": size, "content": "filled"})


def spread(size: int) -> Argument:
    """A buffer of random numbers of 24 bits."""
    return ("buffer", {"bytes": size, "content": "random"})


def number(value: int) -> Argument:
    return ("value", struct.pack("<i", value).hex())


def local(size: int) -> Argument:
    return ("local", size)


N = 64 * MEGA
A, WIDE = filled(4 * N), (N, 1, 1)
EDGE = 8192
GRID = filled(4 * EDGE * EDGE)
MATRIX, ORDER = filled(4 * 4096 * 4096), 4096
BODIES = 65536
PRODUCT = 2.0 * ORDER**3

TIMED = (
    Timed("vector add", "vector_add", WIDE, GROUP, (A, A, A), 12.0 * N, "GB/s", 3387),
    Timed("four sines", "sine_map", WIDE, GROUP, (A, A), N, "Gitem/s", 200.0),
    Timed("reduction", "reduction", WIDE, GROUP, (A, A, local(1024)), 4.0 * N, "GB/s", 884),
    Timed("scan", "scan", WIDE, GROUP, (A, A, local(1024)), 8.0 * N, "GB/s", 1515),
    Timed("histogram", "histogram", WIDE, GROUP, (spread(4 * N), filled(1024)), N, "Gitem/s", 3.9),
    Timed("one bin", "histogram", WIDE, GROUP, (A, filled(1024)), N, "Gitem/s", 1.4),
    Timed(
        *("Mandelbrot", "mandelbrot", (8192, 4096, 1), (16, 16, 1)),
        (filled(4 * 8192 * 4096), number(8192), number(4096), number(256)),
        *(1e3 * 8192 * 4096, "Mpixel/s", 36284),
    ),
    Timed(
        *("SGEMM, naive", "sgemm_naive", (ORDER, ORDER, 1), (32, 8, 1)),
        (MATRIX, MATRIX, MATRIX, number(ORDER)),
        *(PRODUCT, "GFLOP/s", 5840),
    ),
    Timed(
        *("SGEMM, tiled", "sgemm_tiled", (ORDER, ORDER, 1), (16, 16, 1)),
        (MATRIX, MATRIX, MATRIX, number(ORDER)),
        *(PRODUCT, "GFLOP/s", 8152),
    ),
    Timed(
        *("n-body", "nbody", (BODIES, 1, 1), GROUP),
        (filled(16 * BODIES), filled(16 * BODIES), number(BODIES)),
        *(float(BODIES) * BODIES, "Gpair/s", 638.9),
    ),
    Timed(
        *("stencil", "stencil", (EDGE, EDGE, 1), (64, 4, 1)),
        (GRID, GRID, number(EDGE), number(EDGE)),
        *(8.0 * EDGE * EDGE, "GB/s", 2221),
    ),
    Timed(
        *("transpose", "transpose", (EDGE, EDGE, 1), (16, 16, 1)),
        (GRID, GRID, number(EDGE)),
        *(8.0 * EDGE * EDGE, "GB/s", 2091),
    ),
)


def main() -> int:
    """Writes the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sm", type=int, default=90)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    described = []
    for case in TIMED:
        (path,) = SOURCES.rglob(f"{case.kernel}.cl")
        module = compile_ptx(compile_opencl(path.read_text(encoding="utf-8")), sm=args.sm)
        (args.folder / f"{case.kernel}.ptx").write_text(module.text)
        kernel = asdict(module.kernels[case.kernel])
        described.append(asdict(case) | {"kernel": kernel, "ptx": f"{case.kernel}.ptx"})
    (args.folder / "speed.json").write_text(json.dumps(described))
    for name in ("run.py", "speed.py"):
        shutil.copy(Path(__file__).parent / name, args.folder / name)
    print(f"{len(described)} kernels in {args.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
