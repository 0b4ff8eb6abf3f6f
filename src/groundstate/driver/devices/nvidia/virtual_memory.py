"""Virtual memory of a GPU: reserved addresses, and pages that lie behind them.

native/nvidia/virtual.c asks the CUDA driver. Its pages are larger than those of the host, 2 MiB.
"""

from __future__ import annotations

import ctypes

from groundstate import ze
from groundstate.driver.api import Failure
from groundstate.driver.native import _call, _check


def page_size(device: int) -> int:
    """Bytes of a page of a GPU. Fails if its memory cannot be mapped."""
    size: int = _call("gs_gpu_page_size", device)
    if not size:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "NVIDIA's driver has no virtual memory for this GPU; update it",
        )
    return size


class GpuAddresses:
    """Addresses that a GPU and the host have reserved."""

    def __init__(self, device: int, size: int, wish: int) -> None:
        self.device = device
        self.size = size
        self.start: int = _call("gs_gpu_reserve", device, self.size, wish)
        if not self.start:
            raise Failure(
                ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                f"no {size} bytes of addresses are free in a row",
            )

    def close(self) -> None:
        """Gives the addresses back; nothing is mapped there any more."""
        _call("gs_gpu_unreserve", self.device, self.start, self.size)


class GpuPages:
    """Physical memory of a GPU."""

    def __init__(self, device: int, size: int) -> None:
        self.page = page_size(device)
        if size % self.page:
            raise Failure(
                ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
                f"{size} bytes are not whole pages of {self.page} bytes",
            )
        made = ctypes.c_void_p()
        _check("gs_gpu_pages_new", device, self.page, size // self.page, ctypes.byref(made))
        self.handle = made.value or 0

    def close(self) -> None:
        """Frees the pages; none is mapped."""
        _call("gs_gpu_pages_end", self.handle)

    def check(self, *places: int) -> None:
        """Refuses addresses, sizes and offsets that are not multiples of a page."""
        for place in places:
            if place % self.page:
                raise Failure(
                    ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
                    f"{place:#x} is no multiple of {self.page}, the size of the GPU's pages",
                )

    def map(self, start: int, size: int, offset: int, access: int) -> None:
        """Has the pages from an offset on lie behind addresses."""
        first = offset // self.page
        _check("gs_gpu_pages_map", self.handle, start, size, first, access)

    def protect(self, start: int, size: int, access: int) -> None:
        """Changes what may be done with mapped pages."""
        _check("gs_gpu_pages_protect", self.handle, start, size, access)

    def unmap(self, start: int, size: int) -> None:
        """Takes mapped pages from their addresses."""
        _call("gs_gpu_pages_unmap", self.handle, start, size)
