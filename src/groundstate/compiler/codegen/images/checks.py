"""Checks of coordinates that lead out of an image, where that is undefined: reads without a sampler
or with one that has no addressing mode, and writes. instrument/images.py puts them in."""

from __future__ import annotations

from groundstate.compiler.codegen.control.speculation import MOSTLY
from groundstate.compiler.codegen.emitter import Emitter, handles
from groundstate.compiler.codegen.images.operations import _Access
from groundstate.compiler.codegen.images.sampling import SIZES, Sampler
from groundstate.compiler.codegen.images.views import NONE, NORMALIZED, View
from groundstate.compiler.codegen.reports import active_bits, write_report
from groundstate.compiler.codegen.routines import Results, splat
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.math.vec import Vec, is_float, like

SIZE_BITS = 21
"""Of each size in the last word of a record."""
COORDINATES = 3


@handles("CheckImage")
def _check(emitter: Emitter, node: Node) -> None:
    text, access = emitter.text, _Access(emitter, node)
    place = access.place(node.operands[1])
    fields = [*SIZES[: access.shape.axes], *(["layers"] * access.shape.is_array)]

    def of_image(mask: Vec, handle: Vec, sampler: Vec | None = None) -> Results:
        view, flags = View(handle), None
        if sampler is not None:
            number = text.emit(f"ptrtoint ptr {sampler.name} to i64")
            flags = Sampler(Vec(text, "i64", number))
        outside = None
        for each, field in zip(place, fields, strict=True):
            if flags is None or field != "layers":  # a sampler brings layers into range
                beyond = ~_is_inside(each, view, field, flags)
                outside = beyond if outside is None else outside | beyond
        assert outside is not None
        if flags is not None:
            outside = outside & splat(flags.addressing.equals(NONE), outside.t)
        sizes = _packed(view, fields)
        return outside.to_int(32), splat(sizes, like(mask.t, "i64"))

    images = [node.operands[0], *node.operands[2:3]]
    outside, sizes = access.with_handles(images, of_image)
    stride = None if access.varies else 0
    bits = active_bits(emitter, Lanes("i1", outside.differs(0).name, stride))
    rare, after = text.label("rare"), text.label("after")
    none = text.emit(f"icmp eq i64 {bits}, 0")
    text.do(f"br i1 {none}, label %{after}, label %{rare}, !prof {MOSTLY}")
    text.start(rare)
    words = [Lanes("float" if is_float(each.t) else "i32", each.name, stride) for each in place]
    words += [Lanes("i64", "0")] * (COORDINATES - len(words))
    words.append(Lanes("i64", sizes.name, stride))
    write_report(emitter, int(str(node.literals[0])), bits, words)
    text.do(f"br label %{after}")
    text.start(after)


def _is_inside(coordinate: Vec, view: View, field: str, flags: Sampler | None) -> Vec:
    limit = view.over(field, like(coordinate.t, "i32"))
    if not is_float(coordinate.t):
        return coordinate.compare("ult", limit)
    end = limit.int_to_float("float")
    if flags is not None:
        is_normalized = splat(flags.has(NORMALIZED), like(coordinate.t, "i1"))
        end = is_normalized.choose(end.constant(1.0), end)
    return (coordinate >= 0.0) & (coordinate < end)


def _packed(view: View, fields: list[str]) -> Vec:
    """The size along each axis, in one word."""
    total = view.get(fields[0]).zero_extend(64)
    for number, field in enumerate(fields[1:], 1):
        total = total | view.get(field).zero_extend(64) << SIZE_BITS * number
    return total
