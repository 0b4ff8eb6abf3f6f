"""What a kernel of the driver was last given."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from operator import index
from threading import Lock
from typing import Any

from groundstate import ze
from groundstate.core.api import NULL, check, size
from groundstate.core.handle import Resource
from groundstate.core.kernel_arguments import CONSTANTS, Argument, Encoded, Encoder, Local
from groundstate.core.last_arguments import LastArguments, remember

_NOTHING = object()

Extent = int | Sequence[int]
"""Along x, or along x and y, or all three."""


def extent(size: Extent, *, missing: int = 1, what: str = "a size") -> tuple[int, int, int]:
    """A size along three axes; those that are not given are 1.

    >>> extent(5), extent((4, 2))
    ((5, 1, 1), (4, 2, 1))
    """
    try:
        given = [*map(index, size if isinstance(size, Iterable) else (size,))]
    except TypeError:
        raise TypeError(
            f"{what} is a whole number or up to three of them, not {size!r:.60}"
        ) from None
    if not 1 <= len(given) <= 3:
        raise ValueError(f"{what} has one to three numbers, not {len(given)}")
    if not all(0 <= each < 1 << 32 for each in given):
        raise ValueError(f"{what} is at least 0 and less than 2**32 along each axis, not {size!r}")
    x, y, z = (*given, missing, missing)[:3]
    return x, y, z


class KernelState:
    """What the driver's kernel was last given, so that a launch sets only what has changed."""

    def __init__(self) -> None:
        self.lock = Lock()
        """Held from setting the first argument until the launch is appended."""
        self.group: tuple[int, int, int] | None = None
        self.offset = (0, 0, 0)
        # As they were given: most launches come with the same objects again.
        self.group_given: object = _NOTHING
        self.grid_given: object = _NOTHING
        self.offset_given: object = 0
        self.encoder: Encoder | None = None
        self.encoded: list[Encoded | None] = []
        self.last: LastArguments | None = None
        """Known if the last launch came with the same values as the one before it, and nothing was
        set since."""
        self._counts = ze.ze_group_count_t()
        self.counts = ctypes.byref(self._counts)
        """The number of groups, as a prepared argument."""
        self._integer = ctypes.c_uint64()
        self._integer_place = ctypes.byref(self._integer)

    def remember(self, kernel: Resource, arguments: tuple[Any, ...]) -> None:
        """The launch that was just made may be the next one, too."""
        built_in = kernel.api.built_in
        if built_in is None or _NOTHING in (self.grid_given, self.group_given):
            return
        place = ctypes.addressof(self._counts)
        launch = (kernel.value, place, self.grid_given, self.group_given, arguments)
        self.last = remember(built_in, launch, CONSTANTS, kernel)

    def forget(self) -> None:
        """Something is about to be set: nobody may repeat the last launch meanwhile."""
        if self.last is not None:
            self.last.end()
            self.last = None

    def set_group(self, kernel: Resource, size: Extent) -> None:
        """Sets the number of work-items in a group."""
        self.forget()
        wanted = extent(size, what="the size of a group")
        if wanted != self.group:
            kernel.api.call("zeKernelSetGroupSize", kernel.value, *wanted)
            self.group = wanted
        self.group_given = _remembered(size)

    def set_grid(self, grid: Extent) -> None:
        """Sets the number of groups."""
        self.forget()
        counts = self._counts
        counts.groupCountX, counts.groupCountY, counts.groupCountZ = extent(
            grid, what="the number of groups"
        )
        self.grid_given = _remembered(grid)

    def set_offset(self, kernel: Resource, offset: Extent) -> None:
        """Sets what is added to the global ids."""
        self.forget()
        wanted = extent(offset, missing=0, what="offset")
        if wanted != self.offset:
            kernel.api.call("zeKernelSetGlobalOffsetExp", kernel.value, *wanted)
            self.offset = wanted
        self.offset_given = _remembered(offset)

    def set_arguments(
        self, kernel: Resource, arguments: Sequence[Argument], encoded: list[Encoded]
    ) -> None:
        """Sets the arguments that are not what they were."""
        self.forget()
        if not self.encoded:
            self.encoded = [None] * len(encoded)
        last = self.encoded
        for place, new in enumerate(encoded):
            if type(new) is not type(last[place]) or new != last[place]:
                self._set_argument(kernel, arguments[place], new)
                last[place] = new

    def _set_argument(self, kernel: Resource, argument: Argument, value: Encoded) -> None:
        number, width = argument.prepared
        content: Any = self._integer_place
        if type(value) is int:
            self._integer.value = value
        elif type(value) is bytes:
            content = value
            if len(value) != argument.size_bytes:
                width = size(len(value))
        else:
            assert isinstance(value, Local)
            content, width = NULL, size(value.size_bytes)
        call = kernel.api.direct.zeKernelSetArgumentValue
        if result := call(kernel.argument, number, width, content):
            check(result, "zeKernelSetArgumentValue", kernel.api)


def _remembered(size: Extent) -> object:
    """A size to compare the next one with, unless it is something that can change meanwhile."""
    return size if type(size) in (int, tuple) else _NOTHING
