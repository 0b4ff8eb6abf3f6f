"""Functions of one element, forwards and backwards."""

from __future__ import annotations

from groundstate.dnn import elementwise
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import values
from groundstate.dnn.kernels.epilogue import Epilogue
from groundstate.dnn.kernels.pointwise import Pointwise
from groundstate.dnn.kernels.text import Kernel, in_double
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Algorithm, Arg


def forward(
    algorithm: Algorithm,
    alpha: float,
    beta: float,
    source: Descriptor,
    target: Descriptor,
    attributes: Attributes,
) -> list[Launch]:
    """`target = f(source)`, then the post-operations."""
    double = in_double(source.data_type, target.data_type)
    real = values.real(double)
    kernel = Kernel("eltwise_forward")
    kernel.input(Arg.SRC, source.data_type, "source", in_place=True)
    kernel.output(Arg.DST, target.data_type, "target")
    epilogue = Epilogue(kernel, attributes, target, double=double)
    wanted = len(attributes.post_ops) > 0
    grid = Pointwise(kernel, target, "target", [source], coordinates=wanted)
    loaded = values.load(source.data_type, "source", grid.index(source), to=real)
    kernel.line(f"const {real} s = {loaded};")
    text = elementwise.forward_text(algorithm, "s", alpha, beta, double=double)
    kernel.line(f"{real} acc = {text};")
    kernel.extend(epilogue.lines(grid.names, "target", grid.index(target)))
    return grid.launches(Arg.DST)


def backward(
    algorithm: Algorithm,
    alpha: float,
    beta: float,
    data: Descriptor,
    diff_source: Descriptor,
    diff_target: Descriptor,
) -> list[Launch]:
    """`diff_source = diff_target * f'(data)`."""
    double = in_double(data.data_type, diff_source.data_type)
    real = values.real(double)
    kernel = Kernel("eltwise_backward")
    from_result = elementwise.uses_result(algorithm)
    kernel.input(Arg.DST if from_result else Arg.SRC, data.data_type, "data")
    kernel.input(Arg.DIFF_DST, diff_target.data_type, "above", in_place=True)
    kernel.output(Arg.DIFF_SRC, diff_source.data_type, "target")
    grid = Pointwise(kernel, diff_source, "target", [data, diff_target])
    s = values.load(data.data_type, "data", grid.index(data), to=real)
    d = values.load(diff_target.data_type, "above", grid.index(diff_target), to=real)
    kernel.line(f"const {real} s = {s}, d = {d};")
    text = elementwise.backward_text(algorithm, "d", "s", alpha, beta, double=double)
    kernel.line(
        values.store(diff_source.data_type, "target", grid.index(diff_source), text, of=real)
    )
    return grid.launches(Arg.DIFF_SRC)
