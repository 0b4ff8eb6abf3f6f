"""Softmax and its logarithm along an axis, forwards and backwards."""

from __future__ import annotations

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import values
from groundstate.dnn.kernels.epilogue import Epilogue, Quantized
from groundstate.dnn.kernels.rows import Rows
from groundstate.dnn.kernels.text import Kernel, in_double
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Arg, DataType


def forward(
    source: Descriptor, target: Descriptor, axis: int, logarithm: bool, attributes: Attributes
) -> Launch:
    """`target = exp(source) / sum(exp(source))`, or the logarithm of that.

    The greatest element of a row is subtracted first. Exponentials are kept in the target between
    the passes where it holds them without a loss.
    """
    double = in_double(source.data_type, target.data_type)
    real = values.real(double)
    kernel = Kernel("softmax_forward")
    kernel.input(Arg.SRC, source.data_type, "source", in_place=True)
    kernel.output(Arg.DST, target.data_type, "target")
    scale = None
    if Arg.SRC in attributes.scales:
        used = attributes.scales[Arg.SRC]
        scale = Quantized(kernel, Arg.SRC, used, source.dims, Arg.ATTR_SCALES)
    keeps = not logarithm and target.data_type in (DataType.f32, DataType.f64)
    keeps = keeps and not attributes.post_ops.steps
    epilogue = Epilogue(kernel, attributes, target, double=double, cached=keeps)
    rows = Rows(kernel, source.dims, axis, source, target)
    element = values.load(source.data_type, "source", rows.index(source), to=real)
    place = rows.index(target)
    kernel.line(f"{real} top = -INFINITY, total = 0;")
    rows.along(f"top = fmax(top, {element});")
    kernel.line(rows.combine("max", "top"))
    kept = [f"target[{place}] = e;"] if keeps else []
    rows.along(f"const {real} e = exp({element} - top);", *kept, "total += e;")
    kernel.line(rows.combine("add", "total"))
    kernel.line(f"const {real} last = {'log(total)' if logarithm else '1 / total'};")
    if logarithm:
        result = f"{element} - top - last"
    elif keeps:
        result = f"target[{place}] * last"
    else:
        result = f"exp({element} - top) * last"
    factor = "" if scale is None else f" * {scale.at(rows.names, real)}"
    finish = epilogue.lines(rows.names, "target", place)
    rows.along(f"{real} acc = ({result}){factor};", *finish)
    return rows.launch()


def backward(
    result: Descriptor,
    diff_target: Descriptor,
    diff_source: Descriptor,
    axis: int,
    logarithm: bool,
) -> Launch:
    """The derivative, made of the result."""
    double = in_double(result.data_type, diff_source.data_type)
    real = values.real(double)
    kernel = Kernel("softmax_backward")
    kernel.input(Arg.DST, result.data_type, "result")
    kernel.input(Arg.DIFF_DST, diff_target.data_type, "above", in_place=True)
    kernel.output(Arg.DIFF_SRC, diff_source.data_type, "target")
    rows = Rows(kernel, result.dims, axis, result, diff_target, diff_source)
    r = values.load(result.data_type, "result", rows.index(result), to=real)
    d = values.load(diff_target.data_type, "above", rows.index(diff_target), to=real)
    kernel.line(f"{real} total = 0;")
    rows.along(f"total += {d if logarithm else f'{d} * {r}'};")
    kernel.line(rows.combine("add", "total"))
    value = f"{d} - exp({r}) * total" if logarithm else f"{r} * ({d} - total)"
    stored = values.store(diff_source.data_type, "target", rows.index(diff_source), value, of=real)
    rows.along(stored)
    return rows.launch()
