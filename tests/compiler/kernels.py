"""The kernels in `kernels/*.cl`: what to pass to each, how to launch it, what to expect.

A `Case` says all that is needed to run a kernel on any implementation of OpenCL or Level Zero
and to compare what it leaves in memory with another's. `CASES` lists them; `arguments` makes the
data, the same on every call; `differences` compares two results.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent / "kernels"

Array = NDArray[Any]
Fill = Callable[[np.random.Generator], Array]


@dataclass(frozen=True)
class Buffer:
    """Memory that the kernel reads or writes; all of it is compared afterwards."""

    fill: Fill


@dataclass(frozen=True)
class Local:
    """Local memory of so many bytes for each work-item of a group."""

    bytes_per_item: int


@dataclass(frozen=True)
class Value:
    """An argument passed by value: the bytes of a NumPy scalar or array."""

    data: Array


Argument = Buffer | Local | Value


@dataclass(frozen=True)
class Case:
    """One kernel and one way to launch it."""

    file: str
    name: str
    arguments: tuple[Argument, ...]
    size: tuple[int, ...]
    group: tuple[int, ...]
    offset: tuple[int, ...] = ()
    ulp: float = 0.0
    """How far floats may be apart; 0 means equal to the last bit."""
    needs: frozenset[str] = frozenset()
    """What the implementation must have beyond OpenCL C 1.2; see `FEATURES`."""
    prints: str = ""
    """What it prints."""
    expect: Callable[..., dict[int, Array]] | None = None
    """Of the arguments before the launch, what buffers must hold after it, by their place."""

    @property
    def identity(self) -> str:
        sizes = "x".join(map(str, self.size))
        return f"{self.file}-{self.name}-{sizes}"

    @property
    def standard(self) -> str:
        """The language it is written in."""
        return "CL3.0" if self.needs & {"cl2", "subgroups", "float_atomics"} else "CL1.2"

    @property
    def source(self) -> str:
        return read(self.file)

    @property
    def group_items(self) -> int:
        """How many work-items a group has."""
        return int(np.prod(self.group))


FEATURES = {
    "cl2": "OpenCL C 2.0: its atomic functions, generic pointers, variables of the program",
    "collectives": "work_group_reduce_add and its like",
    "subgroups": "cl_khr_subgroups",
    "subgroup_extensions": "ballot, shuffles, non-uniform and clustered functions",
    "float_atomics": "cl_ext_float_atomics",
    "int64_atomics": "cl_khr_int64_base_atomics and cl_khr_int64_extended_atomics",
}


@cache
def read(file: str) -> str:
    """The source in `kernels/`."""
    return (FOLDER / f"{file}.cl").read_text()


def arguments(case: Case) -> list[Array | Local]:
    """The arguments of a case, the same each time: arrays to put in buffers, and local memory."""
    random = np.random.default_rng(zlib.crc32(case.identity.encode()))
    made: list[Array | Local] = []
    for argument in case.arguments:
        if isinstance(argument, Buffer):
            made.append(argument.fill(random))
        elif isinstance(argument, Value):
            made.append(argument.data)
        else:
            made.append(argument)
    return made


def differences(case: Case, ours: dict[int, Array], theirs: dict[int, Array]) -> list[str]:
    """Where two results of a case are further apart than they may be, one sentence for each
    buffer."""
    found = []
    for place in sorted(ours.keys() & theirs.keys()):
        wrong = _wrong(ours[place], theirs[place], case.ulp)
        if wrong.any():
            at = int(np.argmax(wrong))
            found.append(
                f"{case.identity}: argument {place} differs in {int(wrong.sum())} of {wrong.size} "
                f"elements, first at {at}: {ours[place].ravel()[at]} "
                f"and {theirs[place].ravel()[at]}"
            )
    return found


def _wrong(a: Array, b: Array, ulp: float) -> Array:
    a, b = a.ravel(), b.ravel()
    if a.dtype.kind != "f" or not ulp:
        if a.dtype.kind == "f":
            return np.asarray((a != b) & ~(np.isnan(a) & np.isnan(b)))
        return np.asarray(a != b)
    with np.errstate(all="ignore"):
        largest = np.maximum(np.abs(a), np.abs(b))
        allowed = ulp * np.spacing(np.where(np.isfinite(largest), largest, 1)).astype(np.float64)
        near = np.abs(a.astype(np.float64) - b.astype(np.float64)) <= allowed
    return np.asarray(~(near | (a == b) | (np.isnan(a) & np.isnan(b))))


# --- Data -----------------------------------------------------------------------------------------


def random(dtype: str, count: int, low: float | None = None, high: float | None = None) -> Buffer:
    """Random numbers: over the whole range of an integer, or from `low` to below `high`."""
    kind = np.dtype(dtype)

    def fill(generator: np.random.Generator) -> Array:
        if kind.kind == "f":
            return generator.uniform(
                -100 if low is None else low, 100 if high is None else high, count
            ).astype(kind)
        limits = np.iinfo(kind)
        least = limits.min if low is None else int(low)
        most = limits.max if high is None else int(high) - 1
        return generator.integers(least, most, count, dtype=kind, endpoint=True)

    return Buffer(fill)


def special(dtype: str, count: int) -> Buffer:
    """Random floats with infinities, NaN, zeros, subnormals and equal neighbours among them."""

    def fill(generator: np.random.Generator) -> Array:
        values = generator.uniform(-2, 2, count).astype(dtype)
        odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-40], dtype)
        values[::3] = generator.choice(odd, len(values[::3]))
        return values

    return Buffer(fill)


def zeros(dtype: str, count: int) -> Buffer:
    """Memory for results."""
    return Buffer(lambda generator: np.zeros(count, dtype))


def given(dtype: str, values: Iterable[float]) -> Buffer:
    """These values."""
    data = np.array(list(values), dtype)
    return Buffer(lambda generator: data.copy())


def sorted_numbers(dtype: str, count: int) -> Buffer:
    """Random numbers in ascending order."""
    inner = random(dtype, count)
    return Buffer(lambda generator: np.sort(inner.fill(generator)))


def value(dtype: str, number: float) -> Value:
    """A scalar argument."""
    return Value(np.array(number, dtype))


def int_(number: int) -> Value:
    """An argument of type int."""
    return value("i4", number)


def structure(fields: list[tuple[Any, ...]], count: int, high: int = 1000) -> Buffer:
    """Structures whose fields hold small random numbers, padding zero."""
    kind = np.dtype(fields, align=True)

    def fill(generator: np.random.Generator) -> Array:
        data = np.zeros(count, kind)
        for name in kind.names or ():
            _fill_field(data, name, generator, high)
        return data

    return Buffer(fill)


def packed(kind: np.dtype[Any], count: int) -> Buffer:
    """Structures without padding, whose fields hold small random numbers."""

    def fill(generator: np.random.Generator) -> Array:
        data = np.zeros(count, kind)
        for name in kind.names or ():
            data[name] = generator.integers(-100, 100, count)
        return data

    return Buffer(fill)


def _fill_field(data: Array, name: str, generator: np.random.Generator, high: int) -> None:
    field = data[name]
    for inner in field.dtype.names or ():
        _fill_field(field, inner, generator, high)
    if field.dtype.names is None:
        limit = min(high, 100) if field.dtype.itemsize == 1 else high
        field[...] = generator.integers(0, limit, field.shape).astype(field.dtype)
