"""Images: texels of a format, in one to three dimensions, for kernels to read, sample and write."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from groundstate import ze
from groundstate.core.enums import ExternalMemoryType
from groundstate.core.handle import OwnedHandle, Resource
from groundstate.core.image_format import ImageFormat
from groundstate.core.memory import Memory, Shape, shape_of

if TYPE_CHECKING:
    import numpy

    from groundstate.core.commands import Region
    from groundstate.core.context import Context
    from groundstate.core.device import Device
    from groundstate.core.operand import Operand

ImageKind = Literal["1d", "1d_array", "2d", "2d_array", "3d", "buffer"]

_KINDS: tuple[ImageKind, ...] = get_args(ImageKind)
"""In the order of the API's values."""

_AXES: dict[ImageKind, tuple[str, ...]] = {
    "1d": ("width",),
    "1d_array": ("arraylevels", "width"),
    "2d": ("height", "width"),
    "2d_array": ("arraylevels", "height", "width"),
    "3d": ("depth", "height", "width"),
    "buffer": ("width",),
}
"""What the extents of each kind mean."""

_BY_DIMENSIONS: tuple[ImageKind, ...] = ("1d", "2d", "3d")


@dataclass(frozen=True)
class ImageMemory:
    """How large the memory of an image is, and how far its rows and slices are apart."""

    size_bytes: int
    row_pitch_bytes: int
    slice_pitch_bytes: int


class Image(OwnedHandle):
    """Texels that kernels read, sample and write.

    The extents are those of a NumPy array without its channels: `(height, width)`; the kind of the
    image follows from their number, unless `kind` says that the first one counts the layers of an
    array. `upload` and `download` copy and wait; `CommandList.copy_image` does neither.

    >>> import groundstate as gs, numpy
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     image = gs.Image(context, (2, 3), "rg8uint")
    ...     image.upload(numpy.arange(12, dtype="uint8"))
    ...     image.download()[1].tolist()
    [[6, 7], [8, 9], [10, 11]]
    """

    def __init__(
        self,
        context: Context,
        extents: Shape,
        format: str | ImageFormat = "rgba8unorm",
        kind: ImageKind | None = None,
        *,
        device: Device | None = None,
        writable: bool = True,
        cached: bool = True,
    ) -> None:
        """Makes an image; what its texels are is not defined before they are written.

        An image that is not `writable` is for kernels that only read it.
        """
        description = _describe(extents, format, kind, writable=writable, cached=cached)
        self._create(context, device, description)

    def _create(self, context: Context, device: Device | None, description: _Description) -> None:
        chosen = context.choose_device(device)
        handle = context.api.create(
            "zeImageCreate", context.handle, chosen.handle, ctypes.byref(description.struct)
        )
        self._start(context, chosen, description, handle, context.resource)

    def _start(
        self,
        context: Context,
        device: Device,
        description: _Description,
        handle: int,
        keeps: object,
    ) -> None:
        self.context = context
        self.device = device
        self.extents = description.extents
        self.format = description.format
        self.kind: ImageKind = description.kind
        self._resource = Resource(context.api, handle, ("zeImageDestroy", (handle,)), keeps)

    def _describe(self) -> str:
        return f"{self.kind} {self.format} {self.extents}"

    @classmethod
    def in_memory(
        cls,
        memory: Memory,
        extents: Shape,
        format: str | ImageFormat = "rgba8unorm",
        kind: ImageKind | None = None,
        *,
        row_pitch_bytes: int | None = None,
        slice_pitch_bytes: int = 0,
    ) -> Self:
        """An image whose texels are memory of a context: both see what the other writes.

        Rows are as far apart as `row_pitch_bytes` says, or as the driver asks for.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     memory = context.alloc_shared((2, 64))
        ...     image = gs.Image.in_memory(memory, (2, 5), "r8uint")
        ...     image.upload(bytes(range(10)))
        ...     memory.numpy()[1, :5].tolist()
        [5, 6, 7, 8, 9]
        """
        where = ze.ze_image_pitched_exp_desc_t(ptr=memory.address)
        chained = (where, *_pitches(row_pitch_bytes, slice_pitch_bytes))
        made = cls.__new__(cls)
        made._create(memory.context, memory.device, _describe(extents, format, kind, *chained))
        made.resource.keeps = (memory.context.resource, memory.resource)
        return made

    @classmethod
    def import_fd(
        cls,
        context: Context,
        fd: int,
        extents: Shape,
        format: str | ImageFormat = "rgba8unorm",
        kind: ImageKind | None = None,
        *,
        type: ExternalMemoryType = ExternalMemoryType.OPAQUE_FD,
        row_pitch_bytes: int | None = None,
        slice_pitch_bytes: int = 0,
        device: Device | None = None,
    ) -> Self:
        """An image whose texels are a file of memory, without gaps or with the pitches given.

        The descriptor stays the caller's, who may close it.
        """
        request = ze.ze_external_memory_import_fd_t(flags=type, fd=fd)
        pitches = _pitches(row_pitch_bytes, slice_pitch_bytes)
        made = cls.__new__(cls)
        made._create(context, device, _describe(extents, format, kind, request, *pitches))
        return made

    def export_fd(self, type: ExternalMemoryType = ExternalMemoryType.OPAQUE_FD) -> int:
        """A file descriptor for the texels, which anybody can map; the caller closes it.

        `memory_properties()` says how they lie.

        >>> import groundstate as gs, os
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     image = gs.Image(context, (2, 3), "r8uint")
        ...     image.upload(b"texels")
        ...     fd = image.export_fd()
        ...     again = gs.Image.import_fd(context, fd, (2, 3), "r8uint")
        ...     os.pread(fd, 6, 0), again.download().tobytes()
        ...     os.close(fd)
        (b'texels', b'texels')
        """
        request = ze.ze_external_memory_export_fd_t(flags=type, fd=-1)
        properties = ze.ze_image_allocation_ext_properties_t(pNext=ctypes.addressof(request))
        where = (self.context.handle, self.handle)
        self.api.call("zeImageGetAllocPropertiesExt", *where, ctypes.byref(properties))
        return int(request.fd)

    def view(
        self,
        format: str | ImageFormat | None = None,
        extents: Shape | None = None,
        kind: ImageKind | None = None,
        *,
        plane: int | None = None,
    ) -> Image:
        """The same texels in another format or as another kind of image; or one plane of several.

        >>> import groundstate as gs
        >>> with gs.Context(gs.devices()[0]) as context:
        ...     picture = gs.Image(context, (4, 8), "nv12")
        ...     chroma = picture.view("rg8unorm", (2, 4), plane=1)
        ...     chroma.shape
        (2, 4, 2)
        """
        chained: list[ctypes.Structure] = []
        if plane is not None:
            chained.append(ze.ze_image_view_planar_ext_desc_t(planeIndex=plane))
        if extents is None:
            extents, kind = self.extents, kind or self.kind
        description = _describe(extents, format or self.format, kind, *chained)
        handle = self.api.create(
            "zeImageViewCreateExt",
            self.context.handle,
            self.device.handle,
            ctypes.byref(description.struct),
            self.handle,
        )
        made = Image.__new__(Image)
        made._start(self.context, self.device, description, handle, self.resource)
        return made

    # --- Contents ---------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array with all texels: the extents, and the channels if several."""
        components = self.format.components
        return self.extents if components == 1 else (*self.extents, components)

    def upload(self, source: Operand, region: Region | None = None) -> None:
        """Writes texels from memory, an array or a buffer, and waits until that is done.

        An array holds the elements of the format's `dtype`, without gaps. A region counts texels.
        """
        from groundstate.core.command_list import CommandList

        with CommandList.immediate(self.context, self.device) as commands:
            commands.copy_image(self, source, region)

    def download(self, region: Region | None = None) -> numpy.ndarray[Any, numpy.dtype[Any]]:
        """All texels, or those of a region, as a NumPy array."""
        from groundstate.core.command_list import CommandList

        try:
            import numpy
        except ImportError:
            raise ImportError("NumPy is not installed: pip install numpy") from None
        array = numpy.empty(self._region_shape(region), self.format.dtype.typestr)
        with CommandList.immediate(self.context, self.device) as commands:
            commands.copy_image(array, self, region)
        return array

    def _region_shape(self, region: Region | None) -> tuple[int, ...]:
        """The shape of an array for the texels of a region."""
        if region is None:
            return self.shape
        sides = (region.depth, region.height, region.width)[-len(self.extents) :]
        return (*sides, *self.shape[len(self.extents) :])

    def region_bytes(self, region: Region | None = None) -> int:
        """How many bytes the texels of a region are, or those of the whole image."""
        return math.prod(self._region_shape(region)) * self.format.dtype.itemsize_bytes

    # --- Questions --------------------------------------------------------------------------------

    @staticmethod
    def is_supported(
        device: Device,
        extents: Shape,
        format: str | ImageFormat = "rgba8unorm",
        kind: ImageKind | None = None,
    ) -> bool:
        """Asks the driver whether the device has such images.

        >>> import groundstate as gs
        >>> device = gs.devices()[0]
        >>> gs.Image.is_supported(device, (4, 4)), gs.Image.is_supported(device, (1, 1 << 30))
        (True, False)
        """
        support = ze.ze_image_format_support_ext_properties_t()
        properties = ze.ze_image_properties_t(pNext=ctypes.addressof(support))
        description = _describe(extents, format, kind)
        device.api.call(
            "zeImageGetProperties",
            device.handle,
            ctypes.byref(description.struct),
            ctypes.byref(properties),
        )
        return bool(support.supported)

    def memory_properties(self) -> ImageMemory:
        """Asks the driver about the memory behind the image."""
        kind = ze.ze_image_memory_properties_exp_t
        found = self.api.struct(kind, "zeImageGetMemoryPropertiesExp", self.handle)
        return ImageMemory(found.size, found.rowPitch, found.slicePitch)

    @property
    def device_offset(self) -> int:
        """What a kernel needs to use the image without its being an argument: bindless."""
        offset = ctypes.c_uint64()
        self.api.call("zeImageGetDeviceOffsetExp", self.handle, ctypes.byref(offset))
        return offset.value

    def make_resident(self) -> None:
        """Keeps the image where the device reaches it at once, until `evict`."""
        where = (self.context.handle, self.device.handle)
        self.api.call("zeContextMakeImageResident", *where, self.handle)

    def evict(self) -> None:
        """Takes back `make_resident`."""
        self.api.call("zeContextEvictImage", self.context.handle, self.device.handle, self.handle)


@dataclass(frozen=True)
class _Description:
    """A descriptor of the API, and what it was made from."""

    extents: tuple[int, ...]
    format: ImageFormat
    kind: ImageKind
    struct: ze.ze_image_desc_t
    chained: tuple[ctypes.Structure, ...]


def _pitches(row_bytes: int | None, slice_bytes: int) -> tuple[ctypes.Structure, ...]:
    """What is chained to a descriptor for pitches that are not the driver's own."""
    if row_bytes is None:
        return ()
    return (ze.ze_custom_pitch_exp_desc_t(rowPitch=row_bytes, slicePitch=slice_bytes),)


def _describe(
    size: Shape,
    name: str | ImageFormat,
    kind: ImageKind | None,
    *chained: ctypes.Structure,
    writable: bool = True,
    cached: bool = True,
) -> _Description:
    extents, format_ = shape_of(size), ImageFormat.named(name)
    chosen = kind or _kind_of(extents)
    if chosen not in _KINDS:
        raise ValueError(f"{kind!r} is no kind of image; the kinds are {', '.join(_KINDS)}")
    axes = _AXES[chosen]
    if len(axes) != len(extents):
        names = ", ".join("layers" if axis == "arraylevels" else axis for axis in axes)
        raise ValueError(f"the extents of a {chosen} image are ({names}), not {extents}")
    sides = dict(zip(axes, extents, strict=True))
    if chosen == "buffer":
        sides["width"] *= format_.texel_bytes
    flags = writable * ze.ZE_IMAGE_FLAG_KERNEL_WRITE
    flags |= (not cached) * ze.ZE_IMAGE_FLAG_BIAS_UNCACHED
    struct = ze.ze_image_desc_t(
        flags=flags, type=_KINDS.index(chosen), format=format_.struct(), **sides
    )
    links = (*chained, *format_.chained())
    previous: Any = struct
    for link in links:
        previous.pNext = ctypes.addressof(link)
        previous = link
    return _Description(extents, format_, chosen, struct, links)


def _kind_of(extents: tuple[int, ...]) -> ImageKind:
    if not 1 <= len(extents) <= len(_BY_DIMENSIONS):
        raise ValueError(f"an image has one to three dimensions, not {len(extents)}")
    return _BY_DIMENSIONS[len(extents) - 1]
