"""Reorders: the same elements in another layout or type."""

from __future__ import annotations

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import relayout, values
from groundstate.dnn.kernels.epilogue import Epilogue, Quantized
from groundstate.dnn.kernels.pointwise import Pointwise, lie_alike
from groundstate.dnn.kernels.text import Kernel, in_double
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Arg


def reorder(source: Descriptor, target: Descriptor, attributes: Attributes) -> list[Launch]:
    """`target = source`, with scales and zero points on both sides."""
    plain = not (attributes.scales or attributes.zero_points or attributes.post_ops)
    double = in_double(source.data_type, target.data_type)
    real = values.real(double)
    if plain and not lie_alike(target, [source]) and relayout.digits(source, target) is not None:
        return [_relayout(source, target, real)]
    if plain and source.data_type == target.data_type:
        return _copy(source, target)
    kernel = Kernel("reorder")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.output(Arg.DST, target.data_type, "target")
    scale, zero_point = (
        Quantized(kernel, Arg.SRC, used[Arg.SRC], source.dims, base) if Arg.SRC in used else None
        for used, base in (
            (attributes.scales, Arg.ATTR_SCALES),
            (attributes.zero_points, Arg.ATTR_ZERO_POINTS),
        )
    )
    epilogue = Epilogue(kernel, attributes, target, double=double)
    grid = Pointwise(kernel, target, "target", [source], coordinates=not plain)
    loaded = values.load(source.data_type, "source", grid.index(source), to=real)
    kernel.line(f"{real} acc = {loaded};")
    if zero_point is not None:
        kernel.line(f"acc -= {zero_point.at(grid.names, real)};")
    if scale is not None:
        kernel.line(f"acc *= {scale.at(grid.names, real)};")
    kernel.extend(epilogue.lines(grid.names, "target", grid.index(target)))
    return grid.launches(Arg.DST)


def _relayout(source: Descriptor, target: Descriptor, real: str) -> Launch:
    """Another layout, and perhaps another type."""
    kernel = Kernel("reorder")
    if source.data_type == target.data_type:
        kind = values.bits_type(source.data_type)
        source, target = source.with_type(kind), target.with_type(kind)
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.output(Arg.DST, target.data_type, "target")
    return relayout.copy(kernel, source, target, real)


def _copy(source: Descriptor, target: Descriptor) -> list[Launch]:
    """Elements of one type are copied bit by bit."""
    kernel = Kernel("reorder")
    kind = values.bits_type(source.data_type)
    kernel.input(Arg.SRC, kind, "source")
    kernel.output(Arg.DST, kind, "target")
    from_bits, to_bits = source.with_type(kind), target.with_type(kind)
    grid = Pointwise(kernel, to_bits, "target", [from_bits])
    kernel.line(f"target[{grid.index(to_bits)}] = source[{grid.index(from_bits)}];")
    return grid.launches(Arg.DST)
