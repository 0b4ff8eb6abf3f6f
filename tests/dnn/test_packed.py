"""Products of packed numbers, by each kind of instruction that a device may have: exact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate import dnn
from groundstate.dnn import Arg, Attributes, Descriptor, PropKind
from groundstate.dnn.kernels import products
from groundstate.dnn.kernels.gemm import Tile

Dims = tuple[int, ...]
DOTS = {
    "VNNI": frozenset({"u8s8", "bf16"}),
    "pairs": frozenset({"s16", "bf16"}),
    "tiles": frozenset({"u8s8", "s16", "bf16", "tiles"}),
}
FUNCTIONS = {"VNNI": "dot_4x8packed_", "pairs": "_dot_s16(", "tiles": "_tiles_"}
PAIRS = [("u8", "s8"), ("s8", "s8"), ("s8", "u8"), ("bf16", "bf16")]
RANGES = {"u8": (0, 256), "s8": (-128, 128), "bf16": (-64, 64)}


@pytest.fixture(scope="module")
def stream() -> Iterator[dnn.Stream]:
    with dnn.Stream(dnn.Engine.create()) as made:
        yield made


@pytest.fixture(params=DOTS)
def dots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The instructions of a device; what this one lacks, its compiler writes in other ways."""
    name = str(request.param)
    monkeypatch.setattr(products, "tile_of", lambda engine: Tile(32, 6, 8, DOTS[name]))
    return name


def numbers(kind: str, dims: Dims, seed: int) -> NDArray[np.float64]:
    """Whole numbers, half of them the extremes."""
    random = np.random.default_rng(seed)
    low, high = RANGES[kind]
    drawn = random.integers(low, high, dims)
    extreme = random.choice([low, high - 1], dims)
    return np.where(random.random(dims) < 0.5, drawn, extreme).astype(np.float64)


def as_type(kind: str, given: NDArray[np.float64]) -> NDArray[np.generic]:
    return given.astype({"u8": np.uint8, "s8": np.int8, "bf16": np.float32}[kind])


def source_of(made: dnn.PrimitiveDescriptor) -> str:
    return "".join(launch.source for launch in made.make_plan().launches)


def result_type(kind: str) -> str:
    return "f32" if kind == "bf16" else "s32"


@pytest.mark.parametrize("tag", ["ab", "any"])
@pytest.mark.parametrize(("one", "two"), PAIRS)
@pytest.mark.parametrize("sizes", [(34, 40, 128), (5, 33, 37)])
def test_matmul_of_packed_numbers(
    stream: dnn.Stream, dots: str, sizes: Dims, one: str, two: str, tag: str
) -> None:
    rows, columns, depth = sizes
    made = dnn.create(
        "matmul",
        stream.engine,
        Descriptor.tagged((rows, depth), one, "ab"),
        Descriptor.tagged((depth, columns), two, tag),
        None,
        Descriptor.tagged((rows, columns), result_type(one), "ab"),
    )
    if one != "bf16" and depth == 128:
        assert FUNCTIONS[dots] in source_of(made)
    a, b = numbers(one, (rows, depth), 1), numbers(two, (depth, columns), 2)
    given = {Arg.SRC: as_type(one, a), Arg.WEIGHTS: as_type(two, b)}
    np.testing.assert_array_equal(dnn.run(made, stream, given)[Arg.DST], a @ b)


@pytest.mark.parametrize(("one", "two"), [("u8", "s8"), ("s8", "s8"), ("bf16", "bf16")])
@pytest.mark.parametrize(
    ("groups", "channels", "outputs"),
    [(1, 3, 35), (1, 32, 35), (2, 3, 35), (2, 32, 35), (3, 4, 1), (3, 2, 1)],
)
def test_convolution_of_packed_numbers(
    stream: dnn.Stream, dots: str, groups: int, channels: int, outputs: int, one: str, two: str
) -> None:
    del dots
    size = 9
    image, kernel = (1, groups * channels, size, size), (outputs, channels, 3, 3)
    weights = (groups, *kernel) if groups > 1 else kernel
    tagged = Descriptor.tagged
    made = dnn.create(
        "convolution_forward",
        stream.engine,
        PropKind.forward_inference,
        dnn.Algorithm.convolution_direct,
        tagged(image, one, "acdb"),
        tagged(weights, two, "any"),
        None,
        tagged((1, groups * outputs, size, size), result_type(one), "acdb"),
        *((1, 1), (0, 0), (1, 1), (1, 1)),
    )
    a, b = numbers(one, image, 1), numbers(two, weights, 2)
    given = {Arg.SRC: as_type(one, a), Arg.WEIGHTS: as_type(two, b)}
    found = dnn.run(made, stream, given)[Arg.DST]
    padded = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    parts = np.split(windows, groups, axis=1)
    each = b.reshape(groups, *kernel)
    expected = [np.einsum("ncxykl,ockl->noxy", part, each[g]) for g, part in enumerate(parts)]
    np.testing.assert_array_equal(found, np.concatenate(expected, axis=1))


@pytest.mark.parametrize("tags", [("acdb", "any"), ("abcd", "abcd")])
@pytest.mark.parametrize(("one", "two"), [("u8", "s8"), ("s8", "s8"), ("bf16", "bf16")])
def test_inner_product_of_packed_numbers(
    stream: dnn.Stream, dots: str, one: str, two: str, tags: tuple[str, str]
) -> None:
    del dots
    src, weights = (19, 8, 3, 4), (40, 8, 3, 4)
    made = dnn.create(
        "inner_product_forward",
        stream.engine,
        PropKind.forward_inference,
        Descriptor.tagged(src, one, tags[0]),
        Descriptor.tagged(weights, two, tags[1]),
        None,
        Descriptor.tagged((19, 40), result_type(one), "ab"),
    )
    a, b = numbers(one, src, 1), numbers(two, weights, 2)
    given = {Arg.SRC: as_type(one, a), Arg.WEIGHTS: as_type(two, b)}
    found = dnn.run(made, stream, given)[Arg.DST]
    np.testing.assert_array_equal(found, np.einsum("nabc,oabc->no", a, b))


@pytest.mark.parametrize("kind", ["s32", "u8"])
def test_zero_point_is_subtracted_from_sums(stream: dnn.Stream, dots: str, kind: str) -> None:
    del dots
    attributes = Attributes()
    attributes.set_zero_points(Arg.SRC, 0, (), dnn.DataType[kind])
    made = dnn.create(
        "matmul",
        stream.engine,
        Descriptor.tagged((20, 64), "u8", "ab"),
        Descriptor.tagged((64, 33), "s8", "any"),
        None,
        Descriptor.tagged((20, 33), "s32", "ab"),
        attributes,
    )
    a, b = numbers("u8", (20, 64), 1), numbers("s8", (64, 33), 2)
    zero = np.array([77], np.int32 if kind == "s32" else np.uint8)
    given = {Arg.SRC: as_type("u8", a), Arg.WEIGHTS: as_type("s8", b)}
    found = dnn.run(made, stream, {**given, Arg.ATTR_ZERO_POINTS | Arg.SRC: zero})[Arg.DST]
    np.testing.assert_array_equal(found, (a - 77) @ b)
