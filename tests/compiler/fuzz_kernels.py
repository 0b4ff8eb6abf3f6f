"""Runs random kernels with one lane, with several, from another compiler's SPIR-V, and on PoCL.

    python -m tests.compiler.fuzz_kernels --count 2000
    python -m tests.compiler.fuzz_kernels --seed 77 --count 1 --show
    python -m tests.compiler.fuzz_kernels --count 500 --peer Intel

Kernel number n is made from the seed n. All must leave the same bits in memory. Each batch runs in
a process of its own, so that a crash or an endless loop is a failure like any other.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.progress import track

from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from tests.compiler import random_kernels, runner, second_compiler
from tests.compiler.kernels import Array
from tests.compiler.peer_pocl import POCL, Peer

WIDTHS = (8, 4, 8, 16, 8, 32)
GROUPS = ((1, 1), (5, 1), (16, 1), (33, 1), (64, 1), (8, 4), (3, 7))
GROUP_COUNT = 4
BATCH = 8
CPU_LIMIT_S = 600
"""For a batch: it tells an endless loop from a busy machine."""
STANDARD = "CL1.2"


def source(seeds: Sequence[int]) -> str:
    """Kernels k0, k1, ... of some seeds."""
    kernels = [random_kernels.Generator(seed).kernel(f"k{seed}") for seed in seeds]
    return random_kernels.PRELUDE + "\n".join(kernels)


def group_of(seed: int) -> tuple[int, int]:
    return GROUPS[seed % len(GROUPS)]


def buffers(seed: int) -> list[Array]:
    """Input, output and counters before a launch."""
    generator = np.random.default_rng(seed)
    given = generator.integers(0, 1 << 32, random_kernels.IN_WORDS, dtype=np.uint32)
    given[::2] >>= generator.integers(0, 32, len(given[::2]), dtype=np.uint32)
    x, y = group_of(seed)
    out = np.zeros(GROUP_COUNT * x * y * random_kernels.OUT_WORDS, np.uint32)
    counters = np.full(random_kernels.COUNTERS, 12345, np.uint32)
    return [given, out, counters]


def mode_of(seed: int) -> int:
    return (seed * 2654435761) >> 7 & 0xFF


def run_ours(program: Program, seed: int, width: int) -> list[Array]:
    """What a kernel leaves in its buffers."""
    x, y = group_of(seed)
    arrays = buffers(seed)
    local = runner.Local(4 * x * y)
    mode = np.uint32(mode_of(seed))
    runner.run(
        program, f"k{seed}", (GROUP_COUNT, 1, 1), (x, y, 1), *arrays, mode, local, width=width
    )
    return arrays


def run_peer(peer: Peer, seed: int) -> list[Array]:
    """The same on another implementation, built from the source by its own compiler."""
    program = peer.cl.Program(peer.context, source([seed])).build([f"-cl-std={STANDARD}", "-w"])
    return run_on_peer(peer, program, seed)


def run_on_peer(peer: Peer, program: Any, seed: int) -> list[Array]:
    """What the kernel of a program that the peer has built leaves in its buffers."""
    cl = peer.cl
    x, y = group_of(seed)
    arrays = buffers(seed)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    memory = [cl.Buffer(peer.context, flags, hostbuf=array) for array in arrays]
    kernel = cl.Kernel(program, f"k{seed}")
    kernel.set_args(*memory, np.uint32(mode_of(seed)), cl.LocalMemory(4 * x * y))
    cl.enqueue_nd_range_kernel(peer.queue, kernel, (GROUP_COUNT * x, y), (x, y))
    for array, device in zip(arrays, memory, strict=True):
        cl.enqueue_copy(peer.queue, array, device)
    peer.queue.finish()
    return arrays


def ask_peer(name: str, seed: int) -> list[Array] | None:
    """What the peer makes of a kernel, or None if it crashes on it."""
    done = subprocess.run(command("answer", seed, 1, name), capture_output=True, check=False)
    arrays = buffers(seed)
    if done.returncode != 0:
        return None
    words = np.frombuffer(done.stdout, np.uint32)
    ends = np.cumsum([array.size for array in arrays])
    return np.split(words, ends[:-1])


def compare(seed: int, who: str, expected: list[Array], found: list[Array]) -> list[str]:
    """A sentence for the first place in which two results differ."""
    for name, a, b in zip(("in", "out", "counters"), expected, found, strict=True):
        wrong = np.nonzero(a != b)[0]
        if len(wrong):
            at = int(wrong[0])
            return [
                f"seed {seed}: {who}: {name}[{at}] is {b[at]}, not {a[at]} ({len(wrong)} wrong)"
            ]
    return []


def widths_of(seed: int) -> tuple[int, int]:
    """Two numbers of lanes: neighbours in `WIDTHS`."""
    place = seed % len(WIDTHS)
    return WIDTHS[place - 1], WIDTHS[place]


def check(seeds: Sequence[int], peer: str = "") -> list[str]:
    """What differs among all ways to run some kernels. One lane from our SPIR-V is the measure."""
    text = source(seeds)
    program = Program(compile_opencl(text, options=[f"-cl-std={STANDARD}", "-w"]))
    other = Program(second_compiler.compile_opencl(text, STANDARD, "plain"))
    found = []
    for seed in seeds:
        print(f"seed {seed}", file=sys.stderr, flush=True)
        expected = run_ours(program, seed, 1)
        widths = widths_of(seed)
        for width in widths:
            found += compare(seed, f"{width} lanes", expected, run_ours(program, seed, width))
        wide = run_ours(other, seed, widths[0])
        found += compare(seed, f"{second_compiler.TRANSLATOR}'s SPIR-V", expected, wide)
        theirs = ask_peer(peer, seed) if peer else None
        if theirs is not None:
            found += compare(seed, peer, expected, theirs)
    return found


def command(part: str, seed: int, count: int, peer: str) -> list[str]:
    """How to start this program for a part of its work."""
    module = [sys.executable, "-m", "tests.compiler.fuzz_kernels", f"--{part}"]
    return [*module, "--peer", peer, "--seed", str(seed), "--count", str(count)]


def check_in_child(seeds: range, peer: str) -> list[str]:
    """The same in a process of its own; a crash is a sentence too."""
    words = command("child", seeds.start, len(seeds), peer)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout.splitlines()
    said = done.stderr.strip().splitlines() or ["no word"]
    places = [line for line in said if line.startswith("seed ")] or [f"seeds {seeds}"]
    return [*done.stdout.splitlines(), f"{places[-1]}: status {done.returncode}: {said[-1]}"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compiler.fuzz_kernels")
    parser.add_argument("--count", type=int, default=200, help="how many kernels")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--peer", default=POCL, help="the OpenCL platform to compare with")
    parser.add_argument("--show", action="store_true", help="print the source, run nothing")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + args.count)
    if args.show:
        print(source(seeds))
        return 0
    if args.answer:
        answer = run_peer(Peer(args.peer), args.seed)
        sys.stdout.buffer.write(b"".join(array.tobytes() for array in answer))
        return 0
    if args.child:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
        print("\n".join(check(seeds, peer=args.peer)))
        return 0
    failures = 0
    for start in track(range(args.seed, seeds.stop, BATCH), description=f"{args.count} kernels"):
        for line in check_in_child(range(start, min(start + BATCH, seeds.stop)), args.peer):
            failures += 1
            print(line, flush=True)
    print(f"{args.count} kernels from seed {args.seed}: {failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
