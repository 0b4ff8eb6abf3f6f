"""The instructions that read, write and ask about images."""

from __future__ import annotations

from collections.abc import Callable

from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.images.handles import for_each_handle
from groundstate.compiler.codegen.images.sampling import Shape, read, sample
from groundstate.compiler.codegen.images.texel_writes import write
from groundstate.compiler.codegen.images.views import (
    FIRST_CHANNEL_ORDER,
    FIRST_CHANNEL_TYPE,
    SAMPLER_OFFSET,
    View,
)
from groundstate.compiler.codegen.memory.layout import load
from groundstate.compiler.codegen.routines import Results, splat
from groundstate.compiler.codegen.values import Lanes, Value
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.lowered_checks import AXES
from groundstate.compiler.ir.type_rules import scalar_type
from groundstate.compiler.math.vec import Vec, element
from groundstate.compiler.spirv.types import Float, Image, Int, SampledImage, Type, Vector


def _shape(node: Node) -> Shape:
    image = node.operands[0].type
    image = image.image if isinstance(image, SampledImage) else image
    assert isinstance(image, Image)
    return Shape(AXES[image.dim], bool(image.arrayed))


def _parts(value: Value) -> list[Lanes]:
    parts = value if isinstance(value, list) else [value]
    return [each for each in parts if isinstance(each, Lanes)]


class _Access:
    """One access to an image: for all lanes, or once if it is the same for all."""

    def __init__(self, emitter: Emitter, node: Node) -> None:
        self.emitter = emitter
        self.text = emitter.text
        self.shape = _shape(node)
        values = [emitter.get(each) for each in node.operands]
        self.varies = emitter.width > 1 and any(
            part.stride != 0 for value in values for part in _parts(value)
        )

    def vec(self, value: Lanes) -> Vec:
        """A value as a vector, or as a scalar if nothing varies."""
        if not self.varies:
            return Vec(self.text, value.type, value.name)
        return Vec(self.text, self.text.vector_type(value.type), self.text.as_vector(value))

    def place(self, node: Node) -> list[Vec]:
        """The coordinates, of which there may be more than needed."""
        parts = _parts(self.emitter.get(node))[: self.shape.coordinates]
        found = [self.vec(part) for part in parts]
        if element(found[0].t) in ("half", "double"):
            return [each.to_float("float") for each in found]
        return [each if element(each.t) == "float" else each.to_int(32) for each in found]

    def mask(self) -> Vec:
        """All bits set in the lanes that are active."""
        t = self.text.vector_type("i32") if self.varies else "i32"
        if not self.varies or self.emitter.mask is None:
            return Vec(self.text, t, "").constant(-1)
        return Vec(self.text, self.text.vector_type("i1"), self.emitter.mask).to_int(32)

    def with_handles(self, nodes: list[Node], write: Callable[..., Results]) -> Results:
        """What a writer gives for a mask and some handles, which are scalars."""
        handles = [self.emitter.scalar(node) for node in nodes]
        if self.emitter.width == 1 or all(each.stride == 0 for each in handles):
            return write(self.mask(), *(Vec(self.text, "ptr", each.name) for each in handles))
        vectors = [self.vec(each) for each in handles]
        return for_each_handle(self.emitter, self.mask(), vectors, write)

    def define(self, node: Node, texel: tuple[Vec, ...]) -> None:
        """Gives a node the channels that it asks for, in its own type."""
        vector = isinstance(node.type, Vector)
        part: Type = node.type.element if isinstance(node.type, Vector) else node.type
        count = node.type.count if isinstance(node.type, Vector) else 1
        parts: list[Value] = []
        for channel in texel[:count]:
            name = _resized(channel, part).name
            parts.append(Lanes(scalar_type(part), name, None if self.varies else 0))
        self.emitter.define(node, parts if vector else parts[0])


def _resized(value: Vec, wanted: Type) -> Vec:
    """A channel of 32 bits as another type."""
    if isinstance(wanted, Float):
        return value.to_float(scalar_type(wanted))
    assert isinstance(wanted, Int)
    return value.to_int(wanted.width)


def _kind(type_: Type) -> str:
    """What channels are read and written as: floats, or 32-bit integers."""
    part = type_.element if isinstance(type_, Vector) else type_
    return "float" if isinstance(part, Float) else "i32"


@handles("SampleImage")
def _sample(emitter: Emitter, node: Node) -> None:
    image, sampler, coordinate = node.operands
    access = _Access(emitter, node)
    place = access.place(coordinate)

    def of_image(mask: Vec, view: Vec, sampler: Vec) -> Results:
        del mask  # whoever is not there may look as well: no coordinate leads out of an image
        flags = Vec(emitter.text, "i64", emitter.text.emit(f"ptrtoint ptr {sampler.name} to i64"))
        return sample(access.shape, view, flags, place, _kind(node.type))

    access.define(node, access.with_handles([image, sampler], of_image))


@handles("ImageRead", "ImageFetch")
def _read(emitter: Emitter, node: Node) -> None:
    image, coordinate = node.operands[:2]
    access = _Access(emitter, node)
    place = access.place(coordinate)

    def of_image(mask: Vec, view: Vec) -> Results:
        del mask
        return read(access.shape, view, place, _kind(node.type))

    access.define(node, access.with_handles([image], of_image))


@handles("ImageWrite")
def _write(emitter: Emitter, node: Node) -> None:
    image, coordinate, value = node.operands[:3]
    access = _Access(emitter, node)
    kind = _kind(value.type)
    texel = [access.vec(part) for part in _parts(emitter.get(value))]
    if kind == "float":
        texel = [each.to_float("float") for each in texel]
    else:
        texel = [each.to_int(32) for each in texel]
    texel += [texel[0].constant(0)] * (4 - len(texel))
    place = access.place(coordinate)

    def of_image(mask: Vec, view: Vec) -> Results:
        write(access.shape, view, place, texel, mask)
        return ()

    access.with_handles([image], of_image)


@handles("Image")
def _image(emitter: Emitter, node: Node) -> None:
    """The image of a pair, which is all that is left of it."""
    emitter.define(node, emitter.get(node.operands[0]))


@handles(
    "ConvertHandleToImageINTEL", "ConvertHandleToSamplerINTEL", "ConvertHandleToSampledImageINTEL"
)
def _from_number(emitter: Emitter, node: Node) -> None:
    """A handle that the program has as a number."""
    value = emitter.scalar(node.operands[0])
    text = emitter.text
    vector = value.stride != 0 and emitter.width > 1
    t = text.vector_type("i64") if vector else "i64"
    given = text.vector_type(value.type) if vector else value.type
    number = Vec(text, given, text.as_vector(value) if vector else value.name)
    wide = number if value.type == "i64" else number.zero_extend(64)
    pointers = text.vector_type("ptr") if vector else "ptr"
    name = text.emit(f"inttoptr {t} {wide.name} to {pointers}")
    emitter.define(node, Lanes("ptr", name, None if vector else 0))


@handles("SamplerOfImage")
def _own_sampler(emitter: Emitter, node: Node) -> None:
    """The sampler that a sampled image brings along."""
    image = emitter.scalar(node.operands[0])
    vector = image.stride != 0 and emitter.width > 1
    name = emitter.text.as_vector(image) if vector else image.name
    t = emitter.text.vector_type("ptr") if vector else "ptr"
    place = emitter.text.emit(f"getelementptr i8, {t} {name}, i64 {SAMPLER_OFFSET}")
    pointer = Lanes("ptr", place, None if vector else 0)
    emitter.define(node, load(emitter, pointer, node.type, 8))


# --- Questions ------------------------------------------------------------------------------------


@handles("ImageQuerySize", "ImageQuerySizeLod")
def _size(emitter: Emitter, node: Node) -> None:
    shape = _shape(node)
    fields = ["width", "height", "depth"][: shape.axes] + ["layers"] * shape.is_array
    _answer(emitter, node, fields)


@handles("ImageQueryFormat", "ImageQueryOrder", "ImageQuerySamples")
def _ask(emitter: Emitter, node: Node) -> None:
    field, start = {
        "ImageQueryFormat": ("channel_type", FIRST_CHANNEL_TYPE),
        "ImageQueryOrder": ("channel_order", FIRST_CHANNEL_ORDER),
        "ImageQuerySamples": ("samples", 0),
    }[node.op]
    _answer(emitter, node, [field], start)


@handles("ImageQueryLevels")
def _levels(emitter: Emitter, node: Node) -> None:
    """An image here has no smaller copies of itself."""
    emitter.define(node, Lanes(scalar_type(node.type), "1"))


def _answer(emitter: Emitter, node: Node, fields: list[str], start: int = 0) -> None:
    """Members of a view, counted from some number."""
    access = _Access(emitter, node)

    def of_image(mask: Vec, view: Vec) -> Results:
        numbers = [View(view).get(field) - start for field in fields]
        return tuple(splat(each, mask.t) for each in numbers)

    access.define(node, access.with_handles(node.operands[:1], of_image))
