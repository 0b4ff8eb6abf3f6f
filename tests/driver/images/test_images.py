"""Images: creating them in every format and size, and what can be asked of them."""

import ctypes
from typing import Any

import numpy as np
import pytest

from groundstate import standin, ze
from tests.conftest import check, last_error
from tests.driver.images.images import (
    RGBA,
    TYPES,
    View,
    create,
    describe,
    failure,
    format_of,
    image,
    layout,
    upload,
    view_of,
)
from tests.driver.support import Bench, copy, finish, is_signalled

FIXED = TYPES[:4]
ALLOWED: dict[str, tuple[str, ...]] = {
    "8": FIXED, "8_8": FIXED, "8_8_8_8": FIXED, "8_8_8": FIXED,
    "16": TYPES, "16_16": TYPES, "16_16_16_16": TYPES, "16_16_16": TYPES,
    "32": TYPES, "32_32": TYPES, "32_32_32_32": TYPES, "32_32_32": TYPES,
    "10_10_10_2": TYPES, "11_11_10": ("FLOAT",),
    "5_6_5": ("UNORM",), "5_5_5_1": ("UNORM",), "4_4_4_4": ("UNORM",),
}  # fmt: skip
"""The table of the programming guide, and the layouts that came later."""

KINDS = {"1D": (7,), "1DARRAY": (7, 3), "2D": (7, 5), "2DARRAY": (7, 5, 3), "3D": (7, 5, 3)}

MEDIA = ("Y8", "Y16", "400P", "AYUV", "Y410", "Y416")
PLANAR = ("NV12", "P010", "P012", "P016", "P216", "I420", "YV12", "422H", "422V", "444P", "RGBP",
          "BRGP")  # fmt: skip
REFUSED = ("YUYV", "VYUY", "YVYU", "UYVY", "YUY2", "Y210", "Y216", "P8", "A8P8", "IA44", "AI44")


def properties_of(bench: Bench, description: ze.ze_image_desc_t) -> tuple[int, bool]:
    """The filters, and whether the format is supported, asked without creating an image."""
    support = ze.ze_image_format_support_ext_properties_t()
    properties = ze.ze_image_properties_t(pNext=ctypes.addressof(support))
    check(
        ze.zeImageGetProperties(bench.device, ctypes.byref(description), ctypes.byref(properties))
    )
    return int(properties.samplerFilterFlags), bool(support.supported)


# --- Formats ------------------------------------------------------------------------------------


def test_tables_cover_every_layout_of_the_api() -> None:
    known = {layout(name) for name in (*ALLOWED, *MEDIA, *PLANAR, *REFUSED)}
    assert known == {int(each) for each in ze.ze_image_format_layout_t if each < 0x7FFFFFFF}


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", ALLOWED)
def test_layout_supports_types_named_by_guide(bench: Bench, name: str, type_: str) -> None:
    description = describe("2D", (4, 4), format_of(name, type_))
    filters, supported = properties_of(bench, description)
    assert supported == (type_ in ALLOWED[name])
    if not supported:
        assert filters == 0
        assert failure(bench, description) == ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT
        return
    point, linear = ze.ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT, ze.ZE_IMAGE_SAMPLER_FILTER_FLAG_LINEAR
    assert filters == (point if type_ in ("UINT", "SINT") else point | linear)
    create(bench, description)


def bits_of(name: str) -> dict[str, tuple[int, int]]:
    """Where each component lies: first bit and number of bits. Written out for these tests."""
    odd = {
        "10_10_10_2": {"r": (0, 10), "g": (10, 10), "b": (20, 10), "a": (30, 2)},
        "11_11_10": {"r": (0, 11), "g": (11, 11), "b": (22, 10)},
        "5_6_5": {"b": (0, 5), "g": (5, 6), "r": (11, 5)},
        "5_5_5_1": {"b": (0, 5), "g": (5, 5), "r": (10, 5), "a": (15, 1)},
        "4_4_4_4": {"b": (0, 4), "g": (4, 4), "r": (8, 4), "a": (12, 4)},
    }
    if name in odd:
        return odd[name]
    sizes = [int(size) for size in name.split("_")]
    return {RGBA[i]: (i * size, size) for i, size in enumerate(sizes)}


@pytest.mark.parametrize("name", ALLOWED)
def test_where_the_channels_of_a_texel_are(bench: Bench, name: str) -> None:
    where = bits_of(name)
    view = view_of(image(bench, "2D", (4, 4), name, format_type=ALLOWED[name][0]))
    assert view.texel_bytes * 8 == sum(bits for _, bits in where.values())
    for channel, letter in enumerate(RGBA):
        reading, writing = view.reading[channel], view.writing[channel]
        if letter in where:
            offset, bits = where[letter]
            assert (reading.word, reading.shift, reading.bits) == (offset // 32, offset % 32, bits)
            assert bytes(reading)[:3] == bytes(writing)[:3]
            assert (reading.source, writing.source) == (0, channel)
        else:
            assert reading.source == (2 if letter == "a" else 1)
            assert (writing.bits, writing.source) == (0, 4)


@pytest.mark.parametrize(
    ("name", "swizzle", "reads", "writes", "order"),
    [
        ("8_8_8_8", "bgra", [2, 1, 0, 3], [2, 1, 0, 3], 0x10B6),
        ("8_8_8_8", "abgr", [3, 2, 1, 0], [3, 2, 1, 0], 0x10C3),
        ("8_8_8_8", "gbar", [1, 2, 3, 0], [3, 0, 1, 2], 0x10B7),
        ("8_8_8_8", "rgb1", [0, 1, 2, "1"], [0, 1, 2, None], 0x10B4),
        ("8_8_8_8", "rgbx", [0, 1, 2, "1"], [0, 1, 2, None], 0x10BC),
        ("8_8_8_8", "01ra", ["0", "1", 0, 3], [2, None, None, 3], 0x10B5),
        ("8", "r001", [0, "0", "0", "1"], [0], 0x10B0),
        ("8", "000a", ["0", "0", "0", 0], [3], 0x10B1),
        ("8", "rrrr", [0, 0, 0, 0], [0], 0x10B8),
        ("8", "rrr1", [0, 0, 0, "1"], [0], 0x10B9),
        ("8", "rgba", [0, "0", "0", "1"], [0], 0x10B0),
        ("8", "d000", [0, "0", "0", "0"], [0], 0x10BD),
        ("8_8", "r00a", [0, "0", "0", 1], [0, 3], 0x10B3),
        ("8_8", "rg01", [0, 1, "0", "1"], [0, 1], 0x10B2),
        ("8_8", "gr01", [1, 0, "0", "1"], [1, 0], 0x10B2),
    ],
)
def test_swizzle_maps_components_to_channels(
    bench: Bench,
    name: str,
    swizzle: str,
    reads: list[int | str],
    writes: list[int | None],
    order: int,
) -> None:
    view = view_of(image(bench, "1D", (4,), name, swizzle=swizzle))
    for channel, expected in zip(view.reading, reads, strict=True):
        if isinstance(expected, str):
            assert channel.source == {"0": 1, "1": 2}[expected]
        else:
            assert (channel.source, channel.shift) == (0, 8 * expected)
    for component, written in enumerate(writes):
        assert view.writing[component].source == (4 if written is None else written)
    assert view.channel_order == order


def test_numbers_that_opencl_has_for_formats(bench: Bench) -> None:
    def type_number(name: str, type_: str) -> int:
        return int(view_of(image(bench, "1D", (4,), name, format_type=type_)).channel_type)

    assert [type_number("8", each) for each in FIXED] == [0x10DA, 0x10D7, 0x10D2, 0x10D0]
    assert [type_number("16", each) for each in TYPES] == [0x10DB, 0x10D8, 0x10D3, 0x10D1, 0x10DD]
    assert [type_number("32", each) for each in TYPES] == [0x10DC, 0x10D9, 0, 0, 0x10DE]
    assert type_number("5_6_5", "UNORM") == 0x10D4
    assert type_number("10_10_10_2", "UNORM") == 0x10E0
    assert type_number("5_5_5_1", "UNORM") == 0


@pytest.mark.parametrize(("name", "number"), [("5_5_5_1", 0x10D5), ("10_10_10_2", 0x10D6)])
@pytest.mark.parametrize("swizzle", ["rgb1", "rgbx"])
def test_rgb_of_four_components_has_number_of_three(
    bench: Bench, name: str, number: int, swizzle: str
) -> None:
    view = view_of(image(bench, "1D", (4,), name, format_type="UNORM", swizzle=swizzle))
    assert view.channel_type == number


def test_kinds_of_texels(bench: Bench) -> None:
    def kind(name: str, type_: str) -> int:
        return int(view_of(image(bench, "1D", (4,), name, format_type=type_)).kind)

    assert [kind("32", each) for each in TYPES] == [0, 1, 2, 3, 5]
    assert kind("16", "FLOAT") == 4
    assert kind("11_11_10", "FLOAT") == kind("10_10_10_2", "FLOAT") == 6


@pytest.mark.parametrize(
    ("field", "value"), [("layout", 46), ("type", 5), ("x", 8), ("w", 0x7FFFFFFF)]
)
def test_a_value_that_no_format_has(bench: Bench, field: str, value: int) -> None:
    format_ = format_of("8_8_8_8")
    setattr(format_, field, value)
    description = describe("2D", (4, 4), format_)
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
    properties = ze.ze_image_properties_t()
    asked = ze.zeImageGetProperties(
        bench.device, ctypes.byref(description), ctypes.byref(properties)
    )
    assert asked == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION


# --- Media formats ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MEDIA)
def test_one_plane_media_ignores_type_and_swizzle(bench: Bench, name: str) -> None:
    description = describe("2D", (4, 4), format_of(name, "FLOAT", "xxxx"))
    assert properties_of(bench, description) == (3, True)
    view = view_of(create(bench, description))
    assert view.kind == 2
    assert view.reading[0].source == 0


@pytest.mark.parametrize("name", PLANAR)
def test_a_planar_format_is_for_two_dimensions(bench: Bench, name: str) -> None:
    for type_, extents in KINDS.items():
        description = describe(type_, extents, format_of(name))
        if type_ in ("2D", "2DARRAY"):
            assert properties_of(bench, description) == (0, True)
            create(bench, description)
        else:
            assert properties_of(bench, description) == (0, False)
            assert failure(bench, description) == ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT


@pytest.mark.parametrize("name", REFUSED)
def test_formats_that_do_not_exist_here_say_so(bench: Bench, name: str) -> None:
    description = describe("2D", (4, 4), format_of(name))
    assert properties_of(bench, description) == (0, False)
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT
    assert "docs/reference/images.md" in last_error()


# --- Sizes --------------------------------------------------------------------------------------


def memory_properties(handle: int) -> tuple[int, int, int]:
    found = ze.ze_image_memory_properties_exp_t()
    check(ze.zeImageGetMemoryPropertiesExp(handle, ctypes.byref(found)))
    return found.size, found.rowPitch, found.slicePitch


@pytest.mark.parametrize(
    ("type_", "extents", "seen", "slices"),
    [
        ("1D", (7,), (7, 1, 1, 0), 1),
        ("1DARRAY", (7, 3), (7, 1, 1, 3), 3),
        ("2D", (7, 5), (7, 5, 1, 0), 1),
        ("2DARRAY", (7, 5, 3), (7, 5, 1, 3), 3),
        ("3D", (7, 5, 3), (7, 5, 3, 0), 3),
        ("BUFFER", (30,), (7, 1, 1, 0), 1),
    ],
)
def test_extents_and_pitches(
    bench: Bench, type_: str, extents: tuple[int, ...], seen: tuple[int, ...], slices: int
) -> None:
    handle = image(bench, type_, extents)
    view = view_of(handle)
    assert view.extents == seen
    assert (view.row_pitch, view.slice_pitch) == (28, 28 * seen[1])
    assert memory_properties(handle) == (28 * seen[1] * slices, 28, 28 * seen[1])


@pytest.mark.parametrize("type_", KINDS)
def test_no_extent_may_be_zero(bench: Bench, type_: str) -> None:
    for axis in range(len(KINDS[type_])):
        extents = tuple(0 if i == axis else 4 for i in range(len(KINDS[type_])))
        description = describe(type_, extents, format_of("8"))
        assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_SIZE


LARGEST = [
    ("1D", (32768,)), ("1DARRAY", (32768, 1)), ("1DARRAY", (1, 4096)), ("2D", (32768, 1)),
    ("2D", (1, 32768)), ("2DARRAY", (1, 1, 4096)), ("3D", (4096, 1, 1)), ("3D", (1, 4096, 1)),
    ("3D", (1, 1, 4096)), ("BUFFER", (1 << 31,)),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "extents"), LARGEST)
def test_the_largest_extents(bench: Bench, type_: str, extents: tuple[int, ...]) -> None:
    create(bench, describe(type_, extents, format_of("8")))
    axis = max(range(len(extents)), key=lambda i: extents[i])
    larger = tuple(extent + (i == axis) for i, extent in enumerate(extents))
    description = describe(type_, larger, format_of("8"))
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE
    assert properties_of(bench, description) == (0, False)


def test_a_buffer_image_holds_at_least_one_texel(bench: Bench) -> None:
    description = describe("BUFFER", (3,), format_of("32"))
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_SIZE


def test_there_are_no_mipmaps(bench: Bench) -> None:
    description = describe("2D", (4, 4), format_of("8"), miplevels=1)
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


# --- Life ---------------------------------------------------------------------------------------


def used_memory(bench: Bench) -> int:
    """Bytes that the driver has counted against the device."""
    count = ctypes.CDLL(str(standin.library())).gs_device_memory_used
    count.restype, count.argtypes = ctypes.c_uint64, (ctypes.c_void_p,)
    return int(count(bench.device))


def identifier(bench: Bench, handle: int) -> int:
    found = ze.ze_image_allocation_ext_properties_t()
    check(ze.zeImageGetAllocPropertiesExt(bench.context, handle, ctypes.byref(found)))
    return int(found.id)


def test_an_image_is_device_memory(bench: Bench) -> None:
    before = used_memory(bench)
    handle = image(bench, "2D", (1024, 1024))
    assert used_memory(bench) - before == 4 << 20
    bench.end(handle)
    assert used_memory(bench) == before


def test_each_image_has_an_identifier(bench: Bench) -> None:
    found = {identifier(bench, image(bench, "2D", (4, 4))) for _ in range(5)}
    assert len(found) == 5
    assert 0 not in found


def test_an_image_that_does_not_fit_into_memory(bench: Bench) -> None:
    description = describe("2DARRAY", (32768, 32768, 4096), format_of("32_32_32_32"))
    before = used_memory(bench)
    assert failure(bench, description) in (
        ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
        ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
    )
    assert used_memory(bench) == before


def test_image_may_be_destroyed_while_copy_waits(bench: Bench) -> None:
    texels = np.random.default_rng(5).integers(0, 256, (512, 512, 4), np.uint8)
    commands, gate = bench.immediate(), bench.event()
    handle = image(bench, "2D", (512, 512))
    upload(bench, commands, handle, texels)
    result = np.zeros_like(texels)
    check(
        ze.zeCommandListAppendImageCopyToMemory(
            commands, result.ctypes.data, handle, None, None, 1, (ctypes.c_void_p * 1)(gate)
        )
    )
    view = view_of(handle)
    bench.end(handle)
    others = [image(bench, "2D", (512, 512)) for _ in range(4)]
    for other in others:
        assert view_of(other).texels != view.texels
    assert view.extents == (512, 512, 1, 0), "a kernel that runs now still finds the image"
    check(ze.zeEventHostSignal(gate))
    finish(commands)
    assert np.array_equal(result, texels)


def test_unneeded_image_leaves_an_empty_view(bench: Bench) -> None:
    handle = image(bench, "2D", (8, 8))
    view = view_of(handle)
    bench.end(handle)
    assert view.extents == (0, 0, 0, 0)


def test_a_destroyed_image_is_no_image(bench: Bench) -> None:
    handle = image(bench, "2D", (8, 8))
    bench.end(handle)
    assert ze.zeImageDestroy(handle) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    offset = ctypes.c_uint64()
    asked = ze.zeImageGetDeviceOffsetExp(handle, ctypes.byref(offset))
    assert asked == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE


def test_residency(bench: Bench, driver: int) -> None:
    handle = image(bench, "2D", (8, 8))
    check(ze.zeContextMakeImageResident(bench.context, bench.device, handle))
    check(ze.zeContextEvictImage(bench.context, bench.device, handle))
    other = Bench(driver, bench.device)
    result = ze.zeContextMakeImageResident(other.context, bench.device, handle)
    assert result == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    other.close()


def test_an_image_outlives_its_context(driver: int, device: int) -> None:
    bench = Bench(driver, device)
    handle = image(bench, "2D", (8, 8))
    bench.end(bench.context)
    assert view_of(handle).extents == (8, 8, 1, 0)
    bench.close()


def test_image_properties_fill_garbage_struct(bench: Bench) -> None:
    properties = ze.ze_image_properties_t(stype=0x5A5A5A5A, pNext=0x5A5A5A5A5A5A5A5A)
    description = describe("2D", (4, 4), format_of("8"))
    check(
        ze.zeImageGetProperties(bench.device, ctypes.byref(description), ctypes.byref(properties))
    )
    assert properties.samplerFilterFlags == ze.ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT


def test_texels_stay_put_while_other_commands_run(bench: Bench) -> None:
    commands, done = bench.immediate(), bench.event()
    first = image(bench, "2D", (64, 64))
    before: Any = View.from_buffer_copy(view_of(first))
    source, target = bench.random_bytes(4096), bench.bytes(4096)
    copy(commands, target.ctypes.data, source.ctypes.data, 4096, signal=done)
    finish(commands)
    assert is_signalled(done)
    assert bytes(before) == bytes(view_of(first))
