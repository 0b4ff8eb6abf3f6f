"""Operations on two tensors, either of which may be broadcast."""

from __future__ import annotations

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.kernels import values
from groundstate.dnn.kernels.epilogue import Epilogue, Quantized, binary_text
from groundstate.dnn.kernels.pointwise import Pointwise
from groundstate.dnn.kernels.text import Kernel, in_double
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Algorithm, Arg, DataType

_SOURCES = (Arg.SRC_0, Arg.SRC_1)


def binary(
    algorithm: Algorithm,
    sources: list[Descriptor],
    condition: Descriptor | None,
    target: Descriptor,
    attributes: Attributes,
) -> list[Launch]:
    """`target = one op two`, then the post-operations."""
    double = in_double(target.data_type, *(source.data_type for source in sources))
    real = values.real(double)
    kernel = Kernel("binary")
    for arg, source, name in zip(_SOURCES, sources, "ab", strict=True):
        kernel.input(arg, source.data_type, f"source_{name}", in_place=arg == Arg.SRC_0)
    if condition is not None:
        kernel.input(Arg.SRC_2, condition.data_type, "choice")
    kernel.output(Arg.DST, target.data_type, "target")
    scales = [
        Quantized(kernel, arg, attributes.scales[arg], source.dims, Arg.ATTR_SCALES)
        if arg in attributes.scales
        else None
        for arg, source in zip(_SOURCES, sources, strict=True)
    ]
    epilogue = Epilogue(kernel, attributes, target, double=double)
    tensors = [*sources, *([] if condition is None else [condition])]
    wanted = len(attributes.post_ops) > 0
    grid = Pointwise(kernel, target, "target", tensors, coordinates=wanted)
    for source, scale, name in zip(sources, scales, "ab", strict=True):
        place = grid.index(source, broadcast=True)
        loaded = values.load(source.data_type, f"source_{name}", place, to=real)
        scaled = "" if scale is None else f" * {scale.at(grid.names, real)}"
        kernel.line(f"const {real} {name} = {loaded}{scaled};")
    choice = ""
    if condition is not None:
        place = grid.index(condition, broadcast=True)
        choice = values.load(condition.data_type, "choice", place, to="int")
    kernel.line(f"{real} acc = {binary_text(algorithm, 'a', 'b', choice, double=double)};")
    kernel.extend(epilogue.lines(grid.names, "target", grid.index(target)))
    return grid.launches(Arg.DST)


TYPES = frozenset(
    {
        *(DataType.f32, DataType.f16, DataType.bf16, DataType.f64),
        *(DataType.s32, DataType.s8, DataType.u8),
    }
)
