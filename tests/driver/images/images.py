"""Images for driver tests: short ways to make them, and to look at what kernels would be given."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from groundstate import ze
from tests.conftest import check
from tests.driver.support import Bench, finish

Array = npt.NDArray[Any]

RGBA = "rgba"
LETTERS = {"r": 0, "g": 1, "b": 2, "a": 3, "0": 4, "1": 5, "x": 6, "d": 7}
TYPES = ("UINT", "SINT", "UNORM", "SNORM", "FLOAT")


def layout(name: str) -> int:
    return int(getattr(ze, f"ZE_IMAGE_FORMAT_LAYOUT_{name}"))


def format_of(layout_name: str, type_: str = "UINT", swizzle: str = RGBA) -> ze.ze_image_format_t:
    return ze.ze_image_format_t(
        layout(layout_name),
        getattr(ze, f"ZE_IMAGE_FORMAT_TYPE_{type_}"),
        *(LETTERS[letter] for letter in swizzle),
    )


def describe(
    type_: str,
    extents: tuple[int, ...],
    format_: ze.ze_image_format_t,
    *chained: ctypes.Structure,
    **fields: Any,
) -> ze.ze_image_desc_t:
    """A descriptor; `extents` counts from x on, layers last."""
    axes = {"1D": "w", "1DARRAY": "wl", "2D": "wh", "2DARRAY": "whl", "3D": "whd", "BUFFER": "w"}
    names = {"w": "width", "h": "height", "d": "depth", "l": "arraylevels"}
    given = {names[axis]: extent for axis, extent in zip(axes[type_], extents, strict=True)}
    description = ze.ze_image_desc_t(
        type=getattr(ze, f"ZE_IMAGE_TYPE_{type_}"), format=format_, **given, **fields
    )
    previous: Any = description
    for each in chained:
        previous.pNext = ctypes.addressof(each)
        previous = each
    description.chained = chained
    return description


def create(bench: Bench, description: ze.ze_image_desc_t) -> int:
    return bench._made(
        ze.zeImageDestroy,
        ze.zeImageCreate,
        bench.context,
        bench.device,
        ctypes.byref(description),
    )


def image(
    bench: Bench, type_: str, extents: tuple[int, ...], layout_name: str = "8_8_8_8", **more: Any
) -> int:
    format_ = format_of(layout_name, more.pop("format_type", "UINT"), more.pop("swizzle", RGBA))
    return create(bench, describe(type_, extents, format_, **more))


def create_view(bench: Bench, description: ze.ze_image_desc_t, of: int) -> int:
    return bench._made(
        ze.zeImageDestroy,
        ze.zeImageViewCreateExt,
        bench.context,
        bench.device,
        ctypes.byref(description),
        of,
    )


def failure(bench: Bench, description: ze.ze_image_desc_t) -> int:
    """What creating the image answers; it must not succeed."""
    made = ctypes.c_void_p()
    result = int(
        ze.zeImageCreate(bench.context, bench.device, ctypes.byref(description), ctypes.byref(made))
    )
    assert result != ze.ZE_RESULT_SUCCESS
    return result


def region(*values: int) -> Any:
    """Origin and extent, as the API takes them."""
    return ctypes.byref(ze.ze_image_region_t(*values))


def upload(bench: Bench, commands: int, to: int, array: Array, part: Any = None) -> None:
    """Copies an array into an image and waits."""
    source = np.ascontiguousarray(array)
    check(
        ze.zeCommandListAppendImageCopyFromMemory(
            commands, to, source.ctypes.data, part, None, 0, None
        )
    )
    finish(commands)


def download(bench: Bench, commands: int, source: int, like: Array, part: Any = None) -> Array:
    """What an image, or a region of it, holds: an array of the shape and type of another."""
    result = np.zeros_like(like, order="C")
    check(
        ze.zeCommandListAppendImageCopyToMemory(
            commands, result.ctypes.data, source, part, None, 0, None
        )
    )
    finish(commands)
    return result


class Channel(ctypes.Structure):
    """gs_texel_channel of docs/reference/images.md."""

    word: int
    shift: int
    bits: int
    source: int
    _fields_ = tuple((name, ctypes.c_uint8) for name in ("word", "shift", "bits", "source"))


class View(ctypes.Structure):
    """gs_image_view of docs/reference/images.md."""

    _fields_ = (
        ("texels", ctypes.c_void_p),
        *((name, ctypes.c_uint32) for name in ("width", "height", "depth", "layers")),
        ("row_pitch", ctypes.c_uint64),
        ("slice_pitch", ctypes.c_uint64),
        ("texel_bytes", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("reading", Channel * 4),
        ("writing", Channel * 4),
        *(
            (name, ctypes.c_uint32)
            for name in ("channel_type", "channel_order", "is_srgb", "samples")
        ),
        ("sampler", ctypes.c_uint64),
    )

    @property
    def extents(self) -> tuple[int, int, int, int]:
        return self.width, self.height, self.depth, self.layers


def view_of(handle: int) -> View:
    """What a kernel would read of an image."""
    offset = ctypes.c_uint64()
    check(ze.zeImageGetDeviceOffsetExp(handle, ctypes.byref(offset)))
    return View.from_address(offset.value)
