"""Copies between images and memory and between images, against NumPy's slices."""

import ctypes
from typing import Any

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.images.images import (
    Array,
    create,
    describe,
    download,
    format_of,
    image,
    region,
    upload,
)
from tests.driver.support import (
    COPY_ORDINAL,
    Bench,
    close_list,
    finish,
    finish_queue,
    handles,
    is_signalled,
    submit,
)

KINDS = {
    "1D": (37,),
    "1DARRAY": (37, 6),
    "2D": (37, 23),
    "2DARRAY": (19, 11, 6),
    "3D": (19, 11, 6),
    "BUFFER": (37 * 4,),
}
"""Extents from x on. The width of a buffer is in bytes, of which a texel here has four."""


def shape_of(type_: str) -> tuple[int, ...]:
    """The shape of an array that holds an image: x last."""
    extents = KINDS[type_]
    return (37,) if type_ == "BUFFER" else extents[::-1]


def random_texels(shape: tuple[int, ...], seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, 1 << 32, shape, np.uint32)


def random_part(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """A region somewhere in an image, and the slices of an array that it stands for."""
    first = [int(rng.integers(0, extent)) for extent in shape]
    count = [
        int(rng.integers(1, extent - start + 1)) for start, extent in zip(first, shape, strict=True)
    ]
    slices = tuple(slice(start, start + n) for start, n in zip(first, count, strict=True))
    pad = 3 - len(shape)
    origin = [*first[::-1], *[0] * pad]
    extent = [*count[::-1], *[1] * pad]
    return region(*origin, *extent), slices


@pytest.mark.parametrize("type_", KINDS)
@pytest.mark.parametrize("ordinal", [0, COPY_ORDINAL])
def test_an_image_keeps_what_was_copied_into_it(bench: Bench, type_: str, ordinal: int) -> None:
    texels = random_texels(shape_of(type_))
    commands = bench.immediate(ordinal=ordinal)
    handle = image(bench, type_, KINDS[type_])
    upload(bench, commands, handle, texels)
    assert np.array_equal(download(bench, commands, handle, texels), texels)


@pytest.mark.parametrize("type_", KINDS)
def test_regions_of_an_image(bench: Bench, type_: str) -> None:
    rng = np.random.default_rng(7)
    shape = shape_of(type_)
    commands, handle = bench.immediate(), image(bench, type_, KINDS[type_])
    expected = random_texels(shape)
    upload(bench, commands, handle, expected)
    for seed in range(30):
        part, slices = random_part(rng, shape)
        fresh = random_texels(expected[slices].shape, seed)
        upload(bench, commands, handle, fresh, part)
        expected[slices] = fresh
        part, slices = random_part(rng, shape)
        found = download(bench, commands, handle, expected[slices], part)
        assert np.array_equal(found, expected[slices])
    assert np.array_equal(download(bench, commands, handle, expected), expected)


@pytest.mark.parametrize("type_", KINDS)
def test_regions_from_image_to_image(bench: Bench, type_: str) -> None:
    rng = np.random.default_rng(8)
    shape = shape_of(type_)
    commands = bench.immediate(in_order=True)
    handles_, arrays = [], []
    for seed in range(2):
        handles_.append(image(bench, type_, KINDS[type_]))
        arrays.append(random_texels(shape, seed))
        upload(bench, commands, handles_[-1], arrays[-1])
    for _ in range(30):
        count = [int(rng.integers(1, extent + 1)) for extent in shape]
        parts, slices = [], []
        for _ in range(2):
            first = [int(rng.integers(0, e - n + 1)) for e, n in zip(shape, count, strict=True)]
            pad = 3 - len(shape)
            parts.append(region(*first[::-1], *[0] * pad, *count[::-1], *[1] * pad))
            slices.append(tuple(slice(f, f + n) for f, n in zip(first, count, strict=True)))
        check(ze.zeCommandListAppendImageCopyRegion(commands, *handles_, *parts, None, 0, None))
        arrays[0][slices[0]] = arrays[1][slices[1]]
    finish(commands)
    assert np.array_equal(download(bench, commands, handles_[0], arrays[0]), arrays[0])


@pytest.mark.parametrize("type_", KINDS)
def test_a_whole_image_into_another(bench: Bench, type_: str) -> None:
    texels = random_texels(shape_of(type_))
    commands = bench.list()
    source, target = image(bench, type_, KINDS[type_]), image(bench, type_, KINDS[type_])
    at_once = bench.immediate()
    upload(bench, at_once, source, texels)
    check(ze.zeCommandListAppendImageCopy(commands, target, source, None, 0, None))
    queue = bench.queue()
    submit(queue, close_list(commands))
    finish_queue(queue)
    assert np.array_equal(download(bench, at_once, target, texels), texels)


@pytest.mark.parametrize("name", ["8", "8_8_8", "16_16_16", "32_32_32", "32_32_32_32"])
def test_texels_of_every_size(bench: Bench, name: str) -> None:
    texel_bytes = {"8": 1, "8_8_8": 3, "16_16_16": 6, "32_32_32": 12, "32_32_32_32": 16}[name]
    texels = np.random.default_rng(2).integers(0, 256, (9, 13, texel_bytes), np.uint8)
    commands, handle = bench.immediate(), image(bench, "2D", (13, 9), name)
    upload(bench, commands, handle, texels)
    part = download(bench, commands, handle, texels[2:7, 3:11], region(3, 2, 0, 8, 5, 1))
    assert np.array_equal(part, texels[2:7, 3:11])


def test_large_image_is_copied_in_parallel(bench: Bench) -> None:
    """So large that it is written past the cache, from any address on."""
    texels = random_texels((2100, 2300))
    commands, handle = bench.immediate(), image(bench, "2D", (2300, 2100))
    upload(bench, commands, handle, texels)
    inner = texels[10:2090, 3:2298]
    part = region(3, 10, 0, 2295, 2080, 1)
    assert np.array_equal(download(bench, commands, handle, inner, part), inner)
    assert np.array_equal(download(bench, commands, handle, texels), texels)


def test_region_ignores_axes_that_image_lacks(bench: Bench) -> None:
    texels = random_texels((4, 4))
    commands, handle = bench.immediate(), image(bench, "2D", (4, 4))
    upload(bench, commands, handle, texels, region(0, 0, 1, 4, 4, 7))
    assert np.array_equal(download(bench, commands, handle, texels), texels)


# --- Pitches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "row", "slice_", "strides"),
    [
        ("1D", 0, 0, (4,)),
        ("1D", 999, 999, (4,)),
        ("1DARRAY", 0, 160, (160, 4)),
        ("1DARRAY", 160, 0, (160, 4)),
        ("2D", 160, 0, (160, 4)),
        ("2D", 0, 0, (148, 4)),
        ("2D", 160, 5, (160, 4)),
        ("2DARRAY", 0, 0, (836, 76, 4)),
        ("2DARRAY", 80, 0, (880, 80, 4)),
        ("2DARRAY", 80, 1000, (1000, 80, 4)),
        ("3D", 80, 1000, (1000, 80, 4)),
        ("3D", 0, 1000, (1000, 76, 4)),
    ],
)
def test_memory_with_gaps(
    bench: Bench, type_: str, row: int, slice_: int, strides: tuple[int, ...]
) -> None:
    shape = shape_of(type_)
    texels = random_texels(shape)
    size = shape[0] * strides[0] if len(shape) > 1 else shape[0] * 4
    source, target = bench.random_bytes(size, 3), bench.random_bytes(size, 4)
    untouched = target.copy()
    inside = np.lib.stride_tricks.as_strided(source.view(np.uint32), shape, strides)
    inside[...] = texels
    commands, handle = bench.immediate(in_order=True), image(bench, type_, KINDS[type_])
    check(
        ze.zeCommandListAppendImageCopyFromMemoryExt(
            commands, handle, source.ctypes.data, None, row, slice_, None, 0, None
        )
    )
    check(
        ze.zeCommandListAppendImageCopyToMemoryExt(
            commands, target.ctypes.data, handle, None, row, slice_, None, 0, None
        )
    )
    finish(commands)
    expected = untouched.copy()
    np.lib.stride_tricks.as_strided(expected.view(np.uint32), shape, strides)[...] = texels
    assert np.array_equal(target, expected), "texels where they belong, and nothing in the gaps"
    assert np.array_equal(download(bench, commands, handle, texels), texels)


@pytest.mark.parametrize(("row", "slice_"), [(75, 0), (76, 835), (80, 879)])
def test_pitch_smaller_than_its_span_is_refused(bench: Bench, row: int, slice_: int) -> None:
    commands, handle = bench.immediate(), image(bench, "3D", KINDS["3D"])
    memory = bench.bytes(1 << 16)
    result = ze.zeCommandListAppendImageCopyFromMemoryExt(
        commands, handle, memory.ctypes.data, None, row, slice_, None, 0, None
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert "pitch" in last_error()


# --- Events ---------------------------------------------------------------------------------------


def test_copies_wait_for_events_and_signal_them(bench: Bench) -> None:
    texels = random_texels((64, 64))
    commands, (gate, middle, done) = bench.immediate(), bench.events(3)
    first, second = image(bench, "2D", (64, 64)), image(bench, "2D", (64, 64))
    result = np.zeros_like(texels)
    check(
        ze.zeCommandListAppendImageCopyFromMemory(
            commands, first, texels.ctypes.data, None, middle, 1, handles(gate)
        )
    )
    other = bench.immediate()
    check(ze.zeCommandListAppendImageCopy(other, second, first, done, 1, handles(middle)))
    check(
        ze.zeCommandListAppendImageCopyToMemory(
            other, result.ctypes.data, second, None, None, 1, handles(done)
        )
    )
    assert not is_signalled(middle)
    assert not is_signalled(done)
    check(ze.zeEventHostSignal(gate))
    finish(other)
    assert is_signalled(done)
    assert np.array_equal(result, texels)


# --- What is refused ------------------------------------------------------------------------------


def test_regions_of_one_image_that_overlap(bench: Bench) -> None:
    commands, handle = bench.immediate(), image(bench, "2D", (16, 16))

    def copy(to: Any, source: Any) -> int:
        return int(
            ze.zeCommandListAppendImageCopyRegion(
                commands, handle, handle, to, source, None, 0, None
            )
        )

    overlapping = ze.ZE_RESULT_ERROR_OVERLAPPING_REGIONS
    assert copy(region(0, 0, 0, 8, 8, 1), region(7, 7, 0, 8, 8, 1)) == overlapping
    assert copy(None, None) == overlapping
    check(copy(region(0, 0, 0, 8, 16, 1), region(8, 0, 0, 8, 16, 1)))
    check(copy(region(0, 0, 0, 16, 8, 1), region(0, 8, 0, 16, 8, 1)))
    check(copy(region(0, 0, 0, 8, 8, 1), region(8, 8, 0, 8, 8, 1)))
    finish(commands)


@pytest.mark.parametrize(
    "outside",
    [(1, 0, 0, 16, 1, 1), (0, 16, 0, 1, 1, 1), (0, 9, 0, 1, 8, 1), (17, 0, 0, 0, 1, 1),
     (0xFFFFFFFF, 0, 0, 0xFFFFFFFF, 1, 1)],
)  # fmt: skip
def test_a_region_must_be_inside(bench: Bench, outside: tuple[int, ...]) -> None:
    commands, handle = bench.immediate(), image(bench, "2D", (16, 16))
    memory = bench.bytes(4096)
    result = ze.zeCommandListAppendImageCopyToMemory(
        commands, memory.ctypes.data, handle, region(*outside), None, 0, None
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert "pSrcRegion" in last_error()


@pytest.mark.parametrize("empty", [(0, 0, 0, 0, 0, 0), (3, 4, 0, 0, 5, 1)])
def test_an_empty_region_only_signals(bench: Bench, empty: tuple[int, ...]) -> None:
    commands, done = bench.immediate(), bench.event()
    first, second = image(bench, "2D", (16, 16)), image(bench, "2D", (16, 16))
    memory = bench.bytes(4096, fill=7)
    nothing, address = region(*empty), memory.ctypes.data
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (ze.zeCommandListAppendImageCopyRegion, (first, second, nothing, nothing)),
        (ze.zeCommandListAppendImageCopyToMemory, (address, first, nothing)),
        (ze.zeCommandListAppendImageCopyFromMemory, (first, address, nothing)),
    ]
    for function, arguments in calls:
        check(function(commands, *arguments, done, 0, None))
        check(ze.zeEventHostSynchronize(done, (1 << 64) - 1))
        check(ze.zeEventHostReset(done))
    assert (memory == 7).all()


def test_regions_of_different_extents(bench: Bench) -> None:
    commands, first = bench.immediate(), image(bench, "2D", (16, 16))
    second = image(bench, "2D", (16, 15))
    result = ze.zeCommandListAppendImageCopy(commands, first, second, None, 0, None)
    assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    whole = region(0, 0, 0, 16, 15, 1)
    check(
        ze.zeCommandListAppendImageCopyRegion(commands, first, second, whole, None, None, 0, None)
    )
    finish(commands)


def test_texels_of_different_sizes(bench: Bench) -> None:
    commands, first = bench.immediate(), image(bench, "2D", (16, 16))
    same = image(bench, "2D", (16, 16), "32", format_type="FLOAT")
    check(ze.zeCommandListAppendImageCopy(commands, first, same, None, 0, None))
    other = image(bench, "2D", (16, 16), "16_16_16_16")
    result = ze.zeCommandListAppendImageCopy(commands, first, other, None, 0, None)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    finish(commands)


def test_memory_that_is_too_small(bench: Bench) -> None:
    commands, handle = bench.immediate(), image(bench, "2D", (64, 64))
    memory = bench.local(64 * 64 * 4)
    check(ze.zeCommandListAppendImageCopyToMemory(commands, memory, handle, None, None, 0, None))
    for function in ("ToMemory", "FromMemory"):
        sides = (memory + 16, handle) if function == "ToMemory" else (handle, memory + 16)
        append = getattr(ze, f"zeCommandListAppendImageCopy{function}")
        result = append(commands, *sides, None, None, 0, None)
        assert result == ze.ZE_RESULT_ERROR_INVALID_SIZE
    finish(commands)


def test_null_and_foreign_handles(bench: Bench) -> None:
    commands, handle = bench.immediate(), image(bench, "2D", (4, 4))
    for wrong in (None, commands):
        result = ze.zeCommandListAppendImageCopy(commands, handle, wrong, None, 0, None)
        assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    result = ze.zeCommandListAppendImageCopyFromMemory(commands, handle, None, None, None, 0, None)
    assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER


def test_a_closed_list_takes_no_copies(bench: Bench) -> None:
    commands, handle = bench.list(), image(bench, "2D", (4, 4))
    memory = bench.bytes(64)
    result = ze.zeCommandListAppendImageCopyToMemory(
        close_list(commands), memory.ctypes.data, handle, None, None, 0, None
    )
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


# --- Images of several planes ---------------------------------------------------------------------


def test_planar_images_are_copied_whole(bench: Bench) -> None:
    commands = bench.immediate(in_order=True)
    first, second = (create(bench, describe("2D", (9, 7), format_of("NV12"))) for _ in range(2))
    check(ze.zeCommandListAppendImageCopy(commands, first, second, None, 0, None))
    other = create(bench, describe("2D", (7, 9), format_of("NV12")))
    refused = ze.zeCommandListAppendImageCopy(commands, first, other, None, 0, None)
    assert refused == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    part = region(0, 0, 0, 2, 2, 1)
    refused = ze.zeCommandListAppendImageCopyRegion(
        commands, first, second, part, part, None, 0, None
    )
    assert refused == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    memory = (ctypes.c_uint8 * 256)()
    refused = ze.zeCommandListAppendImageCopyToMemory(commands, memory, first, None, None, 0, None)
    assert refused == ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT
    finish(commands)
