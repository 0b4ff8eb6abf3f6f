"""Views of images and their planes, images in memory of the program, bindless and sRGB images."""

import ctypes

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.images.images import (
    create,
    create_view,
    describe,
    download,
    failure,
    format_of,
    image,
    upload,
    view_of,
)
from tests.driver.support import Bench, view


def view_failure(bench: Bench, description: ze.ze_image_desc_t, of: int) -> int:
    made = ctypes.c_void_p()
    result = int(
        ze.zeImageViewCreateExt(
            bench.context, bench.device, ctypes.byref(description), of, ctypes.byref(made)
        )
    )
    assert result != ze.ZE_RESULT_SUCCESS
    return result


# --- Views ----------------------------------------------------------------------------------------


def test_view_shows_same_texels_in_other_format(bench: Bench) -> None:
    commands, handle = bench.immediate(), image(bench, "2D", (16, 8), "8_8_8_8")
    description = describe("2D", (16, 8), format_of("32", "FLOAT", "r001"))
    seen = create_view(bench, description, handle)
    values = np.random.default_rng(1).random((8, 16), np.float32)
    upload(bench, commands, seen, values)
    assert np.array_equal(download(bench, commands, handle, values), values)
    assert view_of(seen).texels == view_of(handle).texels
    assert (view_of(seen).kind, view_of(handle).kind) == (5, 0)


def test_the_older_function_does_the_same(bench: Bench) -> None:
    handle = image(bench, "2D", (16, 8))
    description = describe("2D", (16, 8), format_of("16_16"))
    seen = bench._made(
        ze.zeImageDestroy,
        ze.zeImageViewCreateExp,
        bench.context,
        bench.device,
        ctypes.byref(description),
        handle,
    )
    assert view_of(seen).texels == view_of(handle).texels


def test_a_view_of_a_part_keeps_the_pitches(bench: Bench) -> None:
    texels = np.arange(3 * 8 * 16, dtype=np.uint32).reshape(3, 8, 16)
    commands, handle = bench.immediate(), image(bench, "3D", (16, 8, 3))
    upload(bench, commands, handle, texels)
    corner = create_view(bench, describe("2DARRAY", (5, 4, 2), format_of("32")), handle)
    assert view_of(corner).extents == (5, 4, 1, 2)
    assert np.array_equal(download(bench, commands, corner, texels[:2, :4, :5]), texels[:2, :4, :5])
    slice_ = create_view(bench, describe("2D", (16, 8), format_of("32")), handle)
    assert np.array_equal(download(bench, commands, slice_, texels[0]), texels[0])


def test_a_view_of_a_view(bench: Bench) -> None:
    handle = image(bench, "2D", (16, 8))
    first = create_view(bench, describe("2D", (8, 8), format_of("16_16")), handle)
    second = create_view(bench, describe("2D", (4, 8), format_of("32")), first)
    assert view_of(second).texels == view_of(handle).texels
    assert view_of(second).row_pitch == 64


def test_a_view_outlives_its_image(bench: Bench) -> None:
    texels = np.random.default_rng(2).integers(0, 256, (256, 256, 4), np.uint8)
    commands, handle = bench.immediate(), image(bench, "2D", (256, 256))
    seen = create_view(bench, describe("2D", (256, 256), format_of("32")), handle)
    upload(bench, commands, handle, texels)
    bench.end(handle)
    others = [image(bench, "2D", (256, 256)) for _ in range(3)]
    assert view_of(seen).texels not in {view_of(other).texels for other in others}
    assert np.array_equal(download(bench, commands, seen, texels), texels)


def test_a_view_may_not_reach_over_the_edges(bench: Bench) -> None:
    handle = image(bench, "2DARRAY", (16, 8, 2))
    for extents in ((17, 8, 2), (16, 9, 2), (16, 8, 3)):
        description = describe("2DARRAY", extents, format_of("32"))
        assert view_failure(bench, description, handle) == ze.ZE_RESULT_ERROR_INVALID_SIZE


def test_a_view_has_texels_of_the_same_size(bench: Bench) -> None:
    handle = image(bench, "2D", (16, 8))
    description = describe("2D", (16, 8), format_of("16_16_16_16"))
    result = view_failure(bench, description, handle)
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT


def test_view_of_image_in_other_context_refused(bench: Bench, driver: int) -> None:
    handle = image(bench, "2D", (16, 8))
    other = Bench(driver, bench.device)
    description = describe("2D", (16, 8), format_of("32"))
    assert view_failure(other, description, handle) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    other.close()


# --- Planes ---------------------------------------------------------------------------------------

PLANES = {
    "NV12": [("8", (9, 7)), ("8_8", (5, 4))],
    "P010": [("16", (9, 7)), ("16_16", (5, 4))],
    "P012": [("16", (9, 7)), ("16_16", (5, 4))],
    "P016": [("16", (9, 7)), ("16_16", (5, 4))],
    "P216": [("16", (9, 7)), ("16_16", (5, 7))],
    "I420": [("8", (9, 7)), ("8", (5, 4)), ("8", (5, 4))],
    "YV12": [("8", (9, 7)), ("8", (5, 4)), ("8", (5, 4))],
    "422H": [("8", (9, 7)), ("8", (5, 7)), ("8", (5, 7))],
    "422V": [("8", (9, 7)), ("8", (9, 4)), ("8", (9, 4))],
    "444P": [("8", (9, 7))] * 3,
    "RGBP": [("8", (9, 7))] * 3,
    "BRGP": [("8", (9, 7))] * 3,
}
"""The planes of an image of 9 x 7 pixels."""


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("name", PLANES)
def test_planes_hold_their_own_texels(bench: Bench, name: str, older: bool) -> None:
    commands, layers = bench.immediate(), 3
    handle = create(bench, describe("2DARRAY", (9, 7, layers), format_of(name)))
    rng = np.random.default_rng(3)
    written = []
    for index, (layout, (width, height)) in enumerate(PLANES[name]):
        kind = ze.ze_image_view_planar_exp_desc_t if older else ze.ze_image_view_planar_ext_desc_t
        plane = describe(
            "2DARRAY", (width, height, layers), format_of(layout), kind(planeIndex=index)
        )
        seen = create_view(bench, plane, handle)
        texel_bytes = view_of(seen).texel_bytes
        texels = rng.integers(0, 256, (layers, height, width, texel_bytes), np.uint8)
        upload(bench, commands, seen, texels)
        written.append((seen, texels))
    for seen, texels in written:
        assert np.array_equal(download(bench, commands, seen, texels), texels)


def test_nv12_has_luma_plane_then_chroma_plane(bench: Bench) -> None:
    handle = create(bench, describe("2D", (8, 4), format_of("NV12")))
    chroma = describe(
        "2D", (4, 2), format_of("8_8"), ze.ze_image_view_planar_ext_desc_t(planeIndex=1)
    )
    seen, whole = view_of(create_view(bench, chroma, handle)), view_of(handle)
    assert seen.texels == whole.texels + 32
    assert seen.row_pitch == whole.row_pitch == 8
    assert whole.slice_pitch == 48


def test_what_a_view_of_a_plane_may_not_be(bench: Bench) -> None:
    handle = create(bench, describe("2D", (8, 4), format_of("NV12")))

    def result(layout: str, extents: tuple[int, int], index: int | None) -> int:
        chained = [] if index is None else [ze.ze_image_view_planar_ext_desc_t(planeIndex=index)]
        return view_failure(bench, describe("2D", extents, format_of(layout), *chained), handle)

    assert result("8", (8, 4), 2) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert result("8", (4, 2), 1) == ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT
    assert result("8_8", (5, 2), 1) == ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert result("8", (8, 4), None) == ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT
    assert "ze_image_view_planar_ext_desc_t" in last_error()


def test_the_only_plane_of_an_image_is_the_image(bench: Bench) -> None:
    handle = image(bench, "2D", (8, 4), "8")
    plane = ze.ze_image_view_planar_ext_desc_t(planeIndex=0)
    seen = create_view(bench, describe("2D", (8, 4), format_of("8"), plane), handle)
    assert view_of(seen).texels == view_of(handle).texels
    plane.planeIndex = 1
    description = describe("2D", (8, 4), format_of("8"), plane)
    assert view_failure(bench, description, handle) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


# --- Pitched images -------------------------------------------------------------------------------


def pitch_for(bench: Bench, width: int, height: int, texel_bytes: int) -> int:
    pitch = ctypes.c_size_t()
    check(
        ze.zeMemGetPitchFor2dImage(
            bench.context, bench.device, width, height, texel_bytes, ctypes.byref(pitch)
        )
    )
    return pitch.value


def test_an_image_in_memory_of_the_program(bench: Bench) -> None:
    pitch = pitch_for(bench, 37, 5, 4)
    memory = bench.local(pitch * 5)
    pitched = ze.ze_image_pitched_exp_desc_t(ptr=memory)
    handle = create(bench, describe("2D", (37, 5), format_of("8_8_8_8"), pitched))
    texels = np.random.default_rng(4).integers(0, 1 << 32, (5, 37), np.uint32)
    commands = bench.immediate()
    upload(bench, commands, handle, texels)
    rows = view(memory, pitch * 5).reshape(5, pitch)[:, : 37 * 4]
    assert np.array_equal(np.ascontiguousarray(rows).view(np.uint32), texels)
    assert np.array_equal(download(bench, commands, handle, texels), texels)
    assert view_of(handle).texels == memory
    bench.end(handle)
    rows[:] = 0  # the memory is still there


@pytest.mark.parametrize(
    ("type_", "extents", "row", "slice_"),
    [
        ("2D", (5, 3), 48, 0),
        ("2D", (5, 3), 48, 144),
        ("2DARRAY", (5, 3, 2), 32, 128),
        ("3D", (5, 3, 2), 32, 96),
        ("1DARRAY", (5, 4), 32, 64),
    ],
)
def test_pitches_that_the_program_chooses(
    bench: Bench, type_: str, extents: tuple[int, ...], row: int, slice_: int
) -> None:
    memory = bench.local(4096)
    chained = (
        ze.ze_image_pitched_exp_desc_t(ptr=memory),
        ze.ze_custom_pitch_exp_desc_t(rowPitch=row, slicePitch=slice_),
    )
    handle = create(bench, describe(type_, extents, format_of("32"), *chained))
    texels = np.arange(np.prod(extents), dtype=np.uint32).reshape(extents[::-1])
    commands = bench.immediate()
    upload(bench, commands, handle, texels)
    outer = slice_ or row * extents[1]
    strides = (row, 4) if type_ == "2D" else (outer, row, 4) if len(extents) == 3 else (outer, 4)
    words = view(memory, 4096).view(np.uint32)
    assert np.array_equal(np.lib.stride_tricks.as_strided(words, extents[::-1], strides), texels)


@pytest.mark.parametrize(
    ("row", "slice_"), [(0, 0), (16, 0), (24, 0), (40, 0), (32, 80), (32, 100)]
)
def test_pitches_that_do_not_fit(bench: Bench, row: int, slice_: int) -> None:
    chained = (
        ze.ze_image_pitched_exp_desc_t(ptr=bench.local(4096)),
        ze.ze_custom_pitch_exp_desc_t(rowPitch=row, slicePitch=slice_),
    )
    description = describe("3D", (5, 3, 2), format_of("32"), *chained)
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_SIZE


def test_memory_too_small_for_the_image(bench: Bench) -> None:
    pitched = ze.ze_image_pitched_exp_desc_t(ptr=bench.local(4096))
    description = describe("2D", (16, 64), format_of("32"), pitched)
    create(bench, description)
    description.height = 65
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_SIZE
    pitched.ptr = None
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER


def test_a_buffer_image_over_memory(bench: Bench) -> None:
    memory = bench.shared(256)
    pitched = ze.ze_image_pitched_exp_desc_t(ptr=memory)
    handle = create(bench, describe("BUFFER", (256,), format_of("32_32_32_32"), pitched))
    assert view_of(handle).extents == (16, 1, 1, 0)
    texels = np.arange(64, dtype=np.uint32)
    upload(bench, bench.immediate(), handle, texels)
    assert np.array_equal(view(memory, 256).view(np.uint32), texels)


# --- Bindless and sRGB ----------------------------------------------------------------------------


def test_sampled_bindless_image_has_its_sampler(bench: Bench) -> None:
    sampler = ze.ze_sampler_desc_t(
        addressMode=ze.ZE_SAMPLER_ADDRESS_MODE_REPEAT,
        filterMode=ze.ZE_SAMPLER_FILTER_MODE_LINEAR,
        isNormalized=1,
    )
    bindless = ze.ze_image_bindless_exp_desc_t(
        flags=ze.ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS | ze.ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE
    )
    format_ = format_of("8_8_8_8", "UNORM")
    handle = create(bench, describe("2D", (4, 4), format_, bindless, sampler))
    assert view_of(handle).sampler == 1 | 3 << 1 | 1 << 4
    seen = create_view(bench, describe("2D", (4, 4), format_), handle)
    assert view_of(seen).sampler == 0


def test_a_sampled_image_without_a_sampler(bench: Bench) -> None:
    bindless = ze.ze_image_bindless_exp_desc_t(
        flags=ze.ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS | ze.ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE
    )
    description = describe("2D", (4, 4), format_of("8_8_8_8", "UNORM"), bindless)
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_srgb(bench: Bench) -> None:
    srgb = ze.ze_srgb_ext_desc_t(sRGB=1)
    for swizzle, order in (("rgba", 0x10C1), ("bgra", 0x10C2), ("rgb1", 0x10BF), ("rgbx", 0x10C0)):
        format_ = format_of("8_8_8_8", "UNORM", swizzle)
        found = view_of(create(bench, describe("2D", (4, 4), format_, srgb)))
        assert (found.is_srgb, found.channel_order) == (1, order)
    for layout, type_ in (("8_8_8_8", "UINT"), ("16_16_16_16", "UNORM"), ("5_6_5", "UNORM")):
        description = describe("2D", (4, 4), format_of(layout, type_), srgb)
        assert failure(bench, description) == ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT


def test_an_srgb_view_of_a_linear_image(bench: Bench) -> None:
    handle = image(bench, "2D", (4, 4), format_type="UNORM")
    srgb = ze.ze_srgb_ext_desc_t(sRGB=1)
    seen = create_view(bench, describe("2D", (4, 4), format_of("8_8_8_8", "UNORM"), srgb), handle)
    assert (view_of(seen).is_srgb, view_of(handle).is_srgb) == (1, 0)
