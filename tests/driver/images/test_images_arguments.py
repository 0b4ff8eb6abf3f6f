"""Images and samplers as arguments of kernels: what the kernel finds in its argument block."""

import ctypes
from itertools import product

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.images.images import (
    View,
    create,
    create_view,
    describe,
    format_of,
    image,
    view_of,
)
from tests.driver.kernels import KernelBench, launch, set_arguments
from tests.driver.support import Bench, close_list, finish, finish_queue, submit

ADDRESSING = {"NONE": 0, "CLAMP": 1, "CLAMP_TO_BORDER": 2, "REPEAT": 3, "MIRROR": 4}
"""SPIR-V's numbers for the modes of the API."""


def sampler(
    bench: Bench, mode: str = "NONE", filter_: str = "NEAREST", normalized: bool = False
) -> int:
    description = ze.ze_sampler_desc_t(
        addressMode=getattr(ze, f"ZE_SAMPLER_ADDRESS_MODE_{mode}"),
        filterMode=getattr(ze, f"ZE_SAMPLER_FILTER_MODE_{filter_}"),
        isNormalized=normalized,
    )
    return bench._made(
        ze.zeSamplerDestroy,
        ze.zeSamplerCreate,
        bench.context,
        bench.device,
        ctypes.byref(description),
    )


def look(kernels: KernelBench, image_: bytes, sampler_: bytes) -> tuple[View, int]:
    """Launches a kernel that writes down the view and the sampler that it was given."""
    out = kernels.array(14)
    commands = kernels.immediate()
    kernel = kernels.kernel("look", image_, sampler_, out, size=(1, 1, 1))
    launch(commands, kernel, 1)
    finish(commands)
    return View.from_buffer_copy(out.tobytes()), int(out[13])


def handle_bytes(handle: int) -> bytes:
    return handle.to_bytes(8, "little")


@pytest.mark.parametrize("mode", ADDRESSING)
def test_a_kernel_gets_the_flags_of_a_sampler(kernels: KernelBench, mode: str) -> None:
    seen = handle_bytes(image(kernels, "2D", (4, 4)))
    for linear, normalized in product((False, True), repeat=2):
        filter_ = "LINEAR" if linear else "NEAREST"
        made = sampler(kernels, mode, filter_, normalized)
        flags = normalized | ADDRESSING[mode] << 1 | linear << 4
        assert look(kernels, seen, handle_bytes(made))[1] == flags


def test_a_kernel_gets_the_view_of_an_image(kernels: KernelBench) -> None:
    handle = image(kernels, "2DARRAY", (40, 30, 2), "16_16", format_type="FLOAT")
    view, _ = look(kernels, handle_bytes(handle), bytes(8))
    assert bytes(view) == bytes(view_of(handle))
    part = create_view(kernels, describe("2D", (4, 3), format_of("32")), handle)
    view, _ = look(kernels, handle_bytes(part), bytes(8))
    assert view.extents == (4, 3, 1, 0)


def test_kernel_without_image_sees_no_texels(kernels: KernelBench) -> None:
    view, flags = look(kernels, bytes(8), bytes(8))
    assert (view.extents, flags) == ((0, 0, 0, 0), 0)
    kernel = kernels.kernel("look")
    check(ze.zeKernelSetArgumentValue(kernel, 0, 8, None))
    check(ze.zeKernelSetArgumentValue(kernel, 1, 8, None))


def test_what_is_no_image_or_sampler(kernels: KernelBench) -> None:
    kernel, handle, made = kernels.kernel("look"), image(kernels, "1D", (4,)), sampler(kernels)
    for index, wrong in ((0, made), (1, handle), (0, kernel), (1, 12345)):
        result = ze.zeKernelSetArgumentValue(kernel, index, 8, handle_bytes(wrong))
        assert result == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    for size in (0, 4, 16):
        result = ze.zeKernelSetArgumentValue(kernel, 0, size, bytes(16))
        assert result == ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE


def test_multi_plane_image_argument_is_refused(kernels: KernelBench) -> None:
    kernel = kernels.kernel("look")
    handle = create(kernels, describe("2D", (4, 4), format_of("NV12")))
    result = ze.zeKernelSetArgumentValue(kernel, 0, 8, handle_bytes(handle))
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT
    assert "zeImageViewCreateExt" in last_error()


def test_a_sampler_may_go_once_it_was_set(kernels: KernelBench) -> None:
    made = sampler(kernels, "MIRROR", "LINEAR", normalized=True)
    out = kernels.array(14)
    seen = handle_bytes(image(kernels, "2D", (4, 4)))
    kernel = kernels.kernel("look", seen, handle_bytes(made), out, size=(1, 1, 1))
    kernels.end(made)
    commands = kernels.immediate()
    launch(commands, kernel, 1)
    finish(commands)
    assert out[13] == 1 | 4 << 1 | 1 << 4


def test_waiting_launch_keeps_destroyed_image(kernels: KernelBench) -> None:
    gate, out = kernels.event(), kernels.array(14)
    handle = image(kernels, "2D", (40, 30))
    before = bytes(view_of(handle))
    kernel = kernels.kernel("look", handle_bytes(handle), bytes(8), out, size=(1, 1, 1))
    commands = kernels.immediate()
    launch(commands, kernel, 1, waits=[gate])
    kernels.end(handle)
    check(ze.zeEventHostSignal(gate))
    finish(commands)
    assert out[:13].tobytes() == before


def test_list_keeps_image_set_at_recording(kernels: KernelBench) -> None:
    first, second = image(kernels, "2D", (4, 4)), image(kernels, "2D", (5, 5))
    outs = [kernels.array(14), kernels.array(14)]
    kernel = kernels.kernel("look", size=(1, 1, 1))
    commands, queue = kernels.list(), kernels.queue()
    for handle, out in zip((first, second), outs, strict=True):
        set_arguments(kernel, handle_bytes(handle), bytes(8), out)
        launch(commands, kernel, 1)
    submit(queue, close_list(commands))
    finish_queue(queue)
    widths = [View.from_buffer_copy(out.tobytes()).width for out in outs]
    assert widths == [4, 5]


def test_arguments_of_a_launch_with_arguments(kernels: KernelBench) -> None:
    handle, made = image(kernels, "2D", (40, 30)), sampler(kernels, "CLAMP")
    out = kernels.array(14)
    kernel, commands = kernels.kernel("look"), kernels.immediate()
    values = (ctypes.c_void_p * 3)(handle, made, out.ctypes.data)
    pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(values) + 8 * i for i in range(3)))
    one = ze.ze_group_count_t(1, 1, 1)
    size = ze.ze_group_size_t(1, 1, 1)
    check(
        ze.zeCommandListAppendLaunchKernelWithArguments(
            commands, kernel, one, size, pointers, None, None, 0, None
        )
    )
    finish(commands)
    assert out[13] == 1 << 1
    assert out[:13].tobytes() == bytes(view_of(handle))
    assert np.any(out)


def test_bad_samplers(bench: Bench) -> None:
    made = ctypes.c_void_p()
    for fields in ({"addressMode": 5}, {"filterMode": 2}):
        description = ze.ze_sampler_desc_t(**fields)
        result = ze.zeSamplerCreate(
            bench.context, bench.device, ctypes.byref(description), ctypes.byref(made)
        )
        assert result == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
    handle = sampler(bench)
    bench.end(handle)
    assert ze.zeSamplerDestroy(handle) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
