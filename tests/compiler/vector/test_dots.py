"""Products of packed numbers are exact, by whichever instructions a machine has for them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.light_dataclass import replace
from groundstate.compiler.opencl.frontend import compile_opencl
from groundstate.compiler.program import Program
from groundstate.compiler.target import Target
from groundstate.compiler.target.host import host, on_this_machine
from tests.compiler.runner import run

STEPS, ITEMS = 37, 64
SOURCE = """
int __groundstate_dot_s16(uint, uint, int) __attribute__((const));
float __groundstate_dot_bf16(uint, uint, float) __attribute__((const));
#define SUM(name, type, dot) \
    kernel void name(global const uint *a, global const uint *b, global type *c) { \
        int i = get_global_id(0); \
        type one = c[i], all = c[i + 64]; \
        for (int k = 0; k < 37; k++) { \
            uint left = a[k], right = b[64 * k + i]; \
            one = dot(left, right, one); \
            all = dot(right, b[64 * k + (i ^ 1)], all); \
        } \
        c[i] = one; \
        c[i + 64] = all; \
    }
#define ADD_ss(a, b, c) c + dot_4x8packed_ss_int(a, b)
#define ADD_uu(a, b, c) (int)((uint)c + dot_4x8packed_uu_uint(a, b))
#define ADD_su(a, b, c) c + dot_4x8packed_su_int(a, b)
#define ADD_us(a, b, c) c + dot_4x8packed_us_int(a, b)
SUM(ss, int, ADD_ss)
SUM(uu, int, ADD_uu)
SUM(su, int, ADD_su)
SUM(us, int, ADD_us)
SUM(shorts, int, __groundstate_dot_s16)
SUM(bfloats, float, __groundstate_dot_bf16)
kernel void alone(global const uint *a, global const uint *b, global int *c) {
    int i = get_global_id(0);
    int dot = dot_4x8packed_ss_int(a[i % 37], b[i]);
    c[i] = dot + 1;
    c[i + 64] = dot;
}
"""
Words = NDArray[np.uint32]
Whole = np.int8 | np.uint8 | np.int16
SIGNS: dict[str, tuple[type[Whole], type[Whole]]] = {
    "ss": (np.int8, np.int8),
    "uu": (np.uint8, np.uint8),
    "su": (np.int8, np.uint8),
    "us": (np.uint8, np.int8),
}


@cache
def spirv() -> bytes:
    return compile_opencl(SOURCE, options=["-cl-std=CL3.0"])


@cache
def program(kind: str) -> Program:
    """For this machine, for one without instructions for bytes, or without any."""
    target = host()
    if kind != "all":
        target = replace(target, byte_dots={}, bfloat_dots={})
    if kind == "none":
        target = replace(target, short_dots={})
    return Program(spirv(), target=target)


def words(seed: int, count: int, kind: type[Whole]) -> Words:
    """Random numbers with the extremes among them, packed."""
    random = np.random.default_rng(seed)
    limits = np.iinfo(kind)
    numbers = random.integers(limits.min, limits.max + 1, 4 * count // limits.dtype.itemsize)
    numbers[: len(numbers) // 2] = random.choice([limits.min, limits.max], len(numbers) // 2)
    return random.permutation(numbers).astype(kind).view(np.uint32)


def sums(a: Words, b: Words, kinds: tuple[type[Whole], type[Whole]]) -> NDArray[np.int64]:
    """What the kernels add up: with the same left operand for all, and with the neighbour's."""
    left, right = a.view(kinds[0]).reshape(STEPS, 1, -1), b.view(kinds[1])
    rows = right.reshape(STEPS, ITEMS, -1).astype(np.int64)
    first = b.view(kinds[0]).reshape(STEPS, ITEMS, -1)
    neighbours = rows[:, np.arange(ITEMS) ^ 1]
    one = (left.astype(np.int64) * rows).sum(axis=(0, 2))
    return np.concatenate([one, (first.astype(np.int64) * neighbours).sum(axis=(0, 2))])


def run_all(kind: str, kernel: str, a: Words, b: Words, c: NDArray[np.generic], width: int) -> None:
    run(program(kind), kernel, (1, 1, 1), (ITEMS, 1, 1), a, b, c, width=width)


@pytest.mark.parametrize("width", [1, 4, 8, 16, 32])
@pytest.mark.parametrize("kind", ["all", "shorts", "none"])
@pytest.mark.parametrize("signs", SIGNS)
def test_packed_bytes_are_added_exactly(signs: str, kind: str, width: int) -> None:
    a, b = words(1, STEPS, np.int8), words(2, STEPS * ITEMS, np.int8)
    start = np.random.default_rng(3).integers(-(2**31), 2**31, 2 * ITEMS)
    c = start.astype(np.int32)
    run_all(kind, signs, a, b, c, width)
    expected = np.add(start, sums(a, b, SIGNS[signs]))
    np.testing.assert_array_equal(c, expected.astype(np.int32))


@pytest.mark.parametrize("width", [1, 8, 16, 32])
@pytest.mark.parametrize("kind", ["all", "none"])
def test_pairs_of_shorts_are_added_exactly(kind: str, width: int) -> None:
    a, b = words(4, STEPS, np.int16), words(5, STEPS * ITEMS, np.int16)
    c = np.zeros(2 * ITEMS, np.int32)
    run_all(kind, "shorts", a, b, c, width)
    np.testing.assert_array_equal(c, sums(a, b, (np.int16, np.int16)).astype(np.int32))


@pytest.mark.parametrize("width", [1, 8, 16, 32])
@pytest.mark.parametrize("kind", ["all", "none"])
def test_pairs_of_bfloats_are_added(kind: str, width: int) -> None:
    random = np.random.default_rng(6)
    a, b = (random.integers(-128, 128, 2 * n).astype(np.float32) for n in (STEPS, STEPS * ITEMS))
    upper = [(each.view(np.uint32) >> 16).astype(np.uint16).view(np.uint32) for each in (a, b)]
    c = np.zeros(2 * ITEMS, np.float32)
    run_all(kind, "bfloats", upper[0], upper[1], c, width)
    rows = b.reshape(STEPS, ITEMS, 2)
    one = (a.reshape(STEPS, 1, 2) * rows).sum(axis=(0, 2))
    both = (rows * rows[:, np.arange(ITEMS) ^ 1]).sum(axis=(0, 2))
    np.testing.assert_array_equal(c, np.concatenate([one, both]))


@pytest.mark.parametrize("kind", ["all", "none"])
def test_dot_with_two_users_is_computed_once(kind: str) -> None:
    a, b = words(7, STEPS, np.int8), words(8, ITEMS, np.int8)
    c = np.zeros(2 * ITEMS, np.int32)
    run_all(kind, "alone", a, b, c, 16)
    left = a.view(np.int8).reshape(STEPS, 4)[np.arange(ITEMS) % STEPS].astype(np.int32)
    dots = (left * b.view(np.int8).reshape(ITEMS, 4)).sum(axis=1)
    np.testing.assert_array_equal(c, np.concatenate([dots + 1, dots]))


def described(features: str) -> Target:
    return on_this_machine("cpu", features, "x86_64-unknown-linux-gnu")


def test_features_say_which_products_there_are() -> None:
    assert set(described("+avx,+avx2").short_dots) == {4, 8}
    assert set(described("+avx,+avx2,+avxvnni").byte_dots) == {4, 8}
    wide = "+avx,+avx2,+avx512f,+avx512vl,+avx512bw"
    assert set(described(wide).short_dots) == {4, 8, 16}
    assert not described(wide).byte_dots
    assert set(described(f"{wide},+avx512vnni").byte_dots) == {4, 8, 16}
    assert set(described(f"{wide},+avx512bf16").bfloat_dots) == {4, 8, 16}
