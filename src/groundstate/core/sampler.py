"""Samplers: how a kernel reads an image between and beyond its texels."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from groundstate import ze
from groundstate.core.enums import AddressMode, FilterMode
from groundstate.core.handle import OwnedHandle, Resource

if TYPE_CHECKING:
    from groundstate.core.context import Context
    from groundstate.core.device import Device


class Sampler(OwnedHandle):
    """How a kernel reads an image: an argument of type `sampler_t`.

    With `normalized`, coordinates from 0 to 1 span the image; without, they count texels.

    >>> import groundstate as gs
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     with gs.Sampler(context, gs.AddressMode.REPEAT, gs.FilterMode.LINEAR) as sampler:
    ...         sampler.address_mode.name
    'REPEAT'
    """

    def __init__(
        self,
        context: Context,
        address_mode: AddressMode = AddressMode.CLAMP,
        filter_mode: FilterMode = FilterMode.NEAREST,
        *,
        normalized: bool = True,
        device: Device | None = None,
    ) -> None:
        self.context = context
        self.device = context.choose_device(device)
        self.address_mode = AddressMode(address_mode)
        self.filter_mode = FilterMode(filter_mode)
        self.normalized = normalized
        description = ze.ze_sampler_desc_t(
            addressMode=self.address_mode, filterMode=self.filter_mode, isNormalized=normalized
        )
        api = context.api
        handle = api.create(
            "zeSamplerCreate", context.handle, self.device.handle, ctypes.byref(description)
        )
        destroy = ("zeSamplerDestroy", (handle,))
        self._resource = Resource(api, handle, destroy, context.resource)

    def _describe(self) -> str:
        coordinates = "normalized" if self.normalized else "in texels"
        return f"{self.address_mode.name} {self.filter_mode.name} {coordinates}"
