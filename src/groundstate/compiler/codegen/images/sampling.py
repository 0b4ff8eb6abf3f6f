"""Which texels a coordinate means, and how they are mixed: the formulas of the OpenCL C
specification's "Image addressing and filtering".

Coordinates are brought into the range of an image before they become integers, so that no
coordinate, be it infinite or no number, leads out of it. The sampler is the same for all lanes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import product
from operator import and_, mul

from groundstate.compiler.codegen.images.byte_texels import (
    TO_ONE,
    decode_bytes,
    fetch_pairs,
    is_read,
)
from groundstate.compiler.codegen.images.texels import fetch
from groundstate.compiler.codegen.images.views import (
    ADDRESSING_MASK,
    ADDRESSING_SHIFT,
    CLAMP_TO_BORDER,
    LINEAR,
    MIRRORED,
    NORMALIZED,
    REPEAT,
    View,
)
from groundstate.compiler.codegen.routines import (
    Results,
    at_least,
    at_most,
    by_case,
    call_routine,
    either,
    splat,
)
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.math.vec import Vec, is_float, like

SIZES = ("width", "height", "depth")
PITCHES = ("texel_bytes", "row_pitch", "slice_pitch")


@light_dataclass()
class Shape:
    """The axes of an image."""

    axes: int
    """1 to 3."""
    is_array: bool

    @property
    def coordinates(self) -> int:
        """How many numbers say where a texel is."""
        return self.axes + self.is_array

    def __str__(self) -> str:
        return f"{self.axes}d{'a' if self.is_array else ''}"


class Sampler:
    """The flags of a sampler, as scalars."""

    def __init__(self, flags: Vec) -> None:
        self.flags = flags
        self.addressing = (flags >> ADDRESSING_SHIFT) & ADDRESSING_MASK

    def has(self, flag: int) -> Vec:
        return (self.flags & flag).differs(0)

    def clamps_to_border(self) -> Vec:
        return self.addressing.equals(CLAMP_TO_BORDER)


def sample(shape: Shape, view: Vec, flags: Vec, place: list[Vec], kind: str) -> Results:
    """Reads an image through a sampler; integers are never mixed."""
    coordinate = "f" if is_float(place[0].t) else "i"
    return call_routine(
        f"image.sample.{shape}.{coordinate}.{kind}",
        lambda *given: _sample(shape, View(given[0]), Sampler(given[1]), list(given[2:]), kind),
        view,
        flags,
        *place,
    )


def read(shape: Shape, view: Vec, place: list[Vec], kind: str) -> Results:
    """Reads the texels at whole coordinates; what lies outside has the colour of the border."""

    def write(pointer: Vec, *given: Vec) -> Results:
        inner = View(pointer)
        offsets, inside = whole_place(shape, inner, list(given))
        return fetch(inner, offsets, inside, kind)

    return call_routine(f"image.read.{shape}.{kind}", write, view, *place)


def whole_place(shape: Shape, view: View, place: list[Vec]) -> tuple[Vec, Vec]:
    """Offsets of texels, and which of them are in the image; those of the others are some that
    are."""
    frozen = [each.freeze() for each in place]
    offsets, inside = None, None
    for each, (size, pitch) in zip(frozen, _fields(shape), strict=True):
        limit = view.over(size, each.t)
        there = each.compare("ult", limit)
        step = times_pitch(view, there.choose(each, 0), pitch)
        offsets = step if offsets is None else offsets + step
        inside = there if inside is None else inside & there
    assert offsets is not None
    assert inside is not None
    return offsets, inside.to_int(32)


NOWHERE = -1
"""In place of the offset of a texel that is not accessed."""


def accessed(shape: Shape, view: Vec, place: list[Vec]) -> Vec:
    """The offsets of the texels at whole coordinates, or NOWHERE."""

    def find(pointer: Vec, *given: Vec) -> Results:
        offsets, inside = whole_place(shape, View(pointer), list(given))
        return (inside.differs(0).choose(offsets, NOWHERE),)

    return call_routine(f"image.accessed.{shape}", find, view, *place)[0]


def sampled(shape: Shape, view: Vec, flags: Vec, place: list[Vec], corner: int, mixes: bool) -> Vec:
    """The offsets of one of the texels that a sampler mixes, or NOWHERE: it has a bit of its number
    for each axis, and those that count as nothing are not accessed."""
    coordinate = "f" if is_float(place[0].t) else "i"

    def find(pointer: Vec, flags: Vec, *given: Vec) -> Results:
        sampler = Sampler(flags)
        offsets, inside = _corner(shape, View(pointer), sampler, list(given), corner, mixes)
        return (inside.differs(0).choose(offsets, NOWHERE),)

    name = f"image.sampled.{shape}.{coordinate}.{corner}.{'mixed' if mixes else 'single'}"
    return call_routine(name, find, view, flags, *place)[0]


def _fields(shape: Shape) -> list[tuple[str, str]]:
    """The size and the pitch that belong to each coordinate."""
    fields = list(zip(SIZES, PITCHES, strict=True))[: shape.axes]
    return [*fields, ("layers", "slice_pitch")] if shape.is_array else fields


def times_pitch(view: View, index: Vec, pitch: str) -> Vec:
    """Bytes up to a column, a row or a slice."""
    step = view.get(pitch)
    wide = step if step.t == "i64" else step.zero_extend(64)
    return index.zero_extend(64) * splat(wide, index.t)


# --- Sampling -------------------------------------------------------------------------------------


def _sample(shape: Shape, view: View, sampler: Sampler, place: list[Vec], kind: str) -> Results:
    place, base, everywhere = _begin(shape, view, place)
    if not is_float(place[0].t):
        return _nearest(shape, view, sampler, place, base, everywhere, kind)
    points = [_scaled(view, sampler, size, each) for size, each in zip(SIZES, place, strict=False)]

    def nearest() -> Results:
        whole = [point.floor() for point in points]
        indices = [_to_int(each) for each in whole]
        return _nearest(shape, view, sampler, indices, base, everywhere, kind)

    def linear() -> Results:
        return _linear(shape, view, sampler, points, base, everywhere)

    return either(sampler.has(LINEAR), linear, nearest) if kind == "float" else nearest()


def _begin(shape: Shape, view: View, place: list[Vec]) -> tuple[list[Vec], Vec, Vec]:
    """The coordinates within a layer, the offsets of the layers, and all lanes."""
    place = [each.freeze() for each in place]
    start = view.pointer.text
    everywhere = Vec(start, like(place[0].t, "i32"), "").constant(-1)
    base = Vec(start, like(place[0].t, "i64"), "").constant(0)
    if shape.is_array:
        base = times_pitch(view, _layer(view, place.pop()), "slice_pitch")
    return place, base, everywhere


def _corner(
    shape: Shape, view: View, sampler: Sampler, place: list[Vec], corner: int, mixes: bool
) -> Results:
    """The offsets of one of the texels that are sampled, and where it is one."""
    place, base, everywhere = _begin(shape, view, place)
    if not is_float(place[0].t):
        return _nearest_place(shape, view, sampler, place, base, everywhere)
    points = [_scaled(view, sampler, size, each) for size, each in zip(SIZES, place, strict=False)]

    def nearest() -> Results:
        if corner > 0:
            return base, everywhere.constant(0)
        indices = [_to_int(each.floor()) for each in points]
        return _nearest_place(shape, view, sampler, indices, base, everywhere)

    def linear() -> Results:
        offsets, inside = base, everywhere
        for axis, (size, point) in enumerate(zip(SIZES, points, strict=False)):
            end = _ends(view, sampler, size, point)[corner >> axis & 1]
            offsets = offsets + times_pitch(view, end.index, PITCHES[axis])
            inside = inside & end.inside & end.weight.differs(0.0).to_int(32)
        return offsets, inside

    return either(sampler.has(LINEAR), linear, nearest) if mixes else nearest()


def _layer(view: View, coordinate: Vec) -> Vec:
    """The number of a layer: the nearest that there is."""
    if is_float(coordinate.t):
        last = _to_float(view.get("layers") - 1)
        near = at_least(at_most(coordinate.rint(), splat(last, coordinate.t)), 0.0)
        return _to_int(near)
    last = splat(view.get("layers") - 1, coordinate.t)
    return coordinate.call("smin", last).call("smax", 0)


def _scaled(view: View, sampler: Sampler, size: str, coordinate: Vec) -> Vec:
    """A coordinate in texels, not further outside than it takes to be outside."""
    return call_routine(
        "image.scale",
        lambda flags, extent, s: (_in_texels(Sampler(flags), extent, s),),
        sampler.flags,
        _to_float(view.get(size)),
        coordinate,
        attributes="inlinehint",
    )[0]


def _in_texels(sampler: Sampler, extent: Vec, s: Vec) -> Vec:
    wide = splat(extent, s.t)

    def repeated() -> Results:
        return (at_most(at_least((s - s.floor()) * wide, 0.0), wide),)

    def mirrored() -> Results:
        away = (s - 2.0 * (0.5 * s).rint()).abs()
        return (at_most(at_least(away * wide, 0.0), wide),)

    def clamped() -> Results:
        factor = sampler.has(NORMALIZED).choose(extent, 1.0)
        u = s * splat(factor, s.t)
        return (at_most(at_least(u, -1.0), splat(extent + 1.0, s.t)),)

    cases = {REPEAT: repeated, MIRRORED: mirrored}
    return by_case(sampler.addressing, cases, clamped)[0]


def _wrapped(view: View, sampler: Sampler, size: str, index: Vec) -> tuple[Vec, Vec]:
    """An index into the image, 0 if it is empty, and where the texel is that was meant."""
    extent = view.get(size)
    wide = splat(extent, index.t)
    period = splat(sampler.addressing.equals(REPEAT).choose(extent, 0), index.t)
    there = index.compare("ult", wide) | splat(~sampler.clamps_to_border(), index.t)
    back = (index < 0).choose(index + period, index)
    back = (back >= wide).choose(back - period, back)
    return back.call("smin", splat(extent - 1, index.t)).call("smax", 0), there.to_int(32)


def _nearest(
    shape: Shape,
    view: View,
    sampler: Sampler,
    indices: list[Vec],
    base: Vec,
    everywhere: Vec,
    kind: str,
) -> Results:
    return fetch(view, *_nearest_place(shape, view, sampler, indices, base, everywhere), kind)


def _nearest_place(
    shape: Shape, view: View, sampler: Sampler, indices: list[Vec], base: Vec, everywhere: Vec
) -> tuple[Vec, Vec]:
    """The offsets of texels, and which of them are in the image."""
    offsets, inside = base, everywhere
    for axis in range(shape.axes):
        index, there = _wrapped(view, sampler, SIZES[axis], indices[axis])
        offsets = offsets + times_pitch(view, index, PITCHES[axis])
        inside = inside & there
    return offsets, inside


@light_dataclass()
class _End:
    """One of the two texels between which a coordinate lies along an axis."""

    index: Vec
    inside: Vec
    weight: Vec

    def share_inside(self) -> Vec:
        """The weight, or nothing if there is no texel."""
        return (self.weight.bits() & self.inside).as_float()


def _linear(
    shape: Shape, view: View, sampler: Sampler, points: list[Vec], base: Vec, everywhere: Vec
) -> Results:
    """The two texels along each axis, mixed by how near they are."""
    ends = [_ends(view, sampler, size, at) for size, at in zip(SIZES, points, strict=False)]

    def row_of(corner: Iterable[_End]) -> Vec:
        steps = (times_pitch(view, e.index, PITCHES[axis]) for axis, e in enumerate(corner, 1))
        return sum(steps, base)

    def one_by_one() -> Results:
        texels = []
        for corner in product(*ends[1:]):
            row = row_of(corner)
            for end in ends[0]:
                inside = reduce(and_, [each.inside for each in (end, *corner)])
                texel = fetch(view, row + times_pitch(view, end.index, PITCHES[0]), inside, "float")
                texels.append((texel, [each.weight for each in (end, *corner)]))
        return _mixed(texels)

    def in_pairs() -> Results:
        """Two texels with one load. All channels are zero outside, so what lies there counts as
        nothing."""
        last = splat(view.get("width") - 2, everywhere.t)
        first = ends[0][0].index.call("smin", last)
        picks = [end.index.equals(first) for end in ends[0]]
        texels = []
        for corner in product(*ends[1:]):
            pair = fetch_pairs(view, row_of(corner) + times_pitch(view, first, PITCHES[0]))
            for end, is_first in zip(ends[0], picks, strict=True):
                shares = [each.share_inside() for each in (end, *corner)]
                texels.append((decode_bytes(view, is_first.choose(*pair)), shares))
        return tuple(each * TO_ONE for each in _mixed(texels))

    is_pair = view.get("width").compare("ugt", 1) & sampler.addressing.differs(REPEAT)
    return either(is_read(view) & is_pair, in_pairs, one_by_one)


def _ends(view: View, sampler: Sampler, size: str, point: Vec) -> list[_End]:
    moved = point - 0.5
    whole = moved.floor()
    part, index = moved - whole, _to_int(whole)
    ends = ((index, 1.0 - part), (index + 1, part))
    return [_End(*_wrapped(view, sampler, size, at), weight) for at, weight in ends]


def _mixed(texels: list[tuple[Results, list[Vec]]]) -> Results:
    """The sum of texels, each of which counts as much as the product of its weights."""
    sums: list[Vec] = []
    for texel, weights in texels:
        weight = reduce(mul, weights)
        if sums:
            sums = [each.fma(weight, total) for each, total in zip(texel, sums, strict=True)]
        else:
            sums = [each * weight for each in texel]
    return tuple(sums)


def _to_float(number: Vec) -> Vec:
    return number.int_to_float("float")


def _to_int(number: Vec) -> Vec:
    """Of a whole number that is known to fit."""
    t = like(number.t, "i32")
    return Vec(number.text, t, number.text.emit(f"fptosi {number.t} {number.name} to {t}"))
