"""Large kernels, to measure how long they take to compile: their OpenCL C, and the same in NumPy.

A kernel is a list of random statements on three floats and two integers. The floats stay small, so
that roundings do not grow and the results can be compared.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.kernels.cases import Array, Case

STATEMENTS = 238
"""About a thousand instructions of SPIR-V."""
MODULE_KERNELS, MODULE_STATEMENTS = 400, 115
"""About 5 MB of SPIR-V."""
ITEMS, GROUP = 4096, 256
REACH = 128
"""How far beyond its own element a work-item reads."""

State = dict[str, Any]


@dataclass(frozen=True)
class Statement:
    """One kind of statement: as OpenCL C, and as a change of a state of NumPy arrays.

    In the text, A, B and C stand for the three floats in some order and N for a number below 100.
    """

    weight: int
    text: str
    change: Callable[[State, str, str, str, int], None]


def _mix(state: State, a: str, b: str, c: str, number: int) -> None:
    state[a] = state[b] * F(0.5) + state[c] * F(0.25) + F(number) * F(0.01)


def _pull(state: State, a: str, b: str, c: str, number: int) -> None:
    state[a] = state[a] * F(0.75) - state[b] * F(0.125)


def _choose(state: State, a: str, b: str, c: str, number: int) -> None:
    state[a] = np.where(state[b] < state[c], state[b], F(number) * F(0.01))


def _scramble(state: State, a: str, b: str, c: str, number: int) -> None:
    state["k0"] = state["k0"] * np.int32(number) + (state["k1"] ^ np.int32(number))
    state["k1"] = state["k0"] >> np.int32(3)


def _read(state: State, a: str, b: str, c: str, number: int) -> None:
    state[a] = state[a] * F(0.5) + state["from"][number : number + ITEMS]


def _gather(state: State, a: str, b: str, c: str, number: int) -> None:
    state[a] = state[a] * F(0.5) + state["from"][(state["k0"] ^ np.int32(number)) & 1023]


def _loop(state: State, a: str, b: str, c: str, number: int) -> None:
    for j in range(number % 7 + 2):
        state[a] = state[a] * F(0.5) + state["from"][j]


def _branch(state: State, a: str, b: str, c: str, number: int) -> None:
    taken = state[b] > F(number) * F(0.01)
    state[a] = np.where(taken, state[a] * F(0.5) + state[c] * F(0.5), state[a])
    state["k1"] = np.where(taken, state["k1"], state["k1"] + np.int32(number))


F = np.float32
KINDS = (
    Statement(6, "A = B * 0.5f + C * 0.25f + N * 0.01f;", _mix),
    Statement(6, "A = A * 0.75f - B * 0.125f;", _pull),
    Statement(2, "A = B < C ? B : N * 0.01f;", _choose),
    Statement(3, "k0 = k0 * N + (k1 ^ N); k1 = k0 >> 3;", _scramble),
    Statement(3, "A = A * 0.5f + from[i + N];", _read),
    Statement(1, "A = A * 0.5f + from[(k0 ^ N) & 1023];", _gather),
    Statement(1, "for (int j = 0; j < N % 7 + 2; j++) A = A * 0.5f + from[j];", _loop),
    Statement(
        2, "if (B > N * 0.01f) { A = A * 0.5f + C * 0.5f; to[i] = A; } else k1 += N;", _branch
    ),
)


def _statements(count: int, seed: int) -> Iterator[tuple[Statement, str, str, str, int]]:
    chance = random.Random(seed)
    for kind in chance.choices(KINDS, [kind.weight for kind in KINDS], k=count):
        a, b, c = chance.sample(("x0", "x1", "x2"), 3)
        yield kind, a, b, c, chance.randrange(1, 100)


def large_source(name: str, count: int = STATEMENTS, seed: int = 1) -> str:
    """The kernel as OpenCL C."""
    lines = [
        f"__kernel void {name}(__global const float *from, __global float *to)",
        "{",
        "    int i = get_global_id(0), k0 = i, k1 = i >> 1;",
        "    float x0 = from[i], x1 = from[i + 1], x2 = from[i + 2];",
    ]
    for kind, a, b, c, number in _statements(count, seed):
        names = {"A": a, "B": b, "C": c, "N": str(number)}
        lines.append("    " + "".join(names.get(letter, letter) for letter in kind.text))
    return "\n".join([*lines, "    to[i] = x0 + x1 + x2 + (k0 & 15) + (k1 & 15);", "}", ""])


def large_result(given: list[Any], count: int = STATEMENTS, seed: int = 1) -> Array:
    """What the kernel computes, by NumPy."""
    source, index = given[0], np.arange(ITEMS, dtype=np.int32)
    state: State = {"from": source, "k0": index, "k1": index >> 1}
    state |= {f"x{each}": source[each : each + ITEMS] for each in range(3)}
    for kind, a, b, c, number in _statements(count, seed):
        kind.change(state, a, b, c, number)
    floats = state["x0"] + state["x1"] + state["x2"]
    return np.asarray(floats + (state["k0"] & 15) + (state["k1"] & 15), np.float32)


def large_module() -> str:
    """OpenCL C of many kernels, no two of them alike."""
    kernels = (
        large_source(f"kernel_{each}", MODULE_STATEMENTS, each) for each in range(MODULE_KERNELS)
    )
    return "\n".join(kernels)


@dataclass(frozen=True)
class LargeCase(Case):
    """A case whose source is not a file."""

    @property
    def source(self) -> str:
        """The OpenCL C of the kernel."""
        return large_source(self.name)


def _arguments() -> list[Any]:
    numbers = np.random.default_rng(5).random(ITEMS + REACH, dtype=np.float32)
    return [numbers, np.zeros(ITEMS, np.float32)]


LARGE = LargeCase(
    "large",
    "kernel of 1,000 instructions",
    (ITEMS,),
    (GROUP,),
    _arguments,
    1,
    large_result,
    work=ITEMS,
    unit="G items/s",
    tolerance=1e-5,
    strays=0.01,
)
