"""Many sources, one target: weighted sums, and tensors one behind the other."""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.elementwise import literal
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.epilogue import Quantized
from groundstate.dnn.kernels.pointwise import Pointwise
from groundstate.dnn.kernels.text import Kernel, in_double
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Arg, DataType


def weighted_sum(
    sources: Sequence[Descriptor], scales: Sequence[float], target: Descriptor
) -> list[Launch]:
    """`target = sum of scale * source`."""
    double = in_double(target.data_type, *(source.data_type for source in sources))
    real = values.real(double)
    kernel = Kernel("weighted_sum")
    for number, source in enumerate(sources):
        name = f"source_{number}"
        kernel.input(Arg.MULTIPLE_SRC + number, source.data_type, name, in_place=True)
    kernel.output(Arg.DST, target.data_type, "target")
    grid = Pointwise(kernel, target, "target", sources)
    terms = [
        f"{literal(scale, double)} * "
        + values.load(source.data_type, f"source_{number}", grid.index(source), to=real)
        for number, (source, scale) in enumerate(zip(sources, scales, strict=True))
    ]
    kernel.line(f"const {real} acc = {' + '.join(terms)};")
    kernel.line(values.store(target.data_type, "target", grid.index(target), "acc", of=real))
    return grid.launches(Arg.DST)


def concatenated(
    sources: Sequence[Descriptor], axis: int, target: Descriptor, attributes: Attributes
) -> list[Launch]:
    """One launch for each source, which writes its part; the last one minds the padding."""
    launches: list[Launch] = []
    begin = 0
    for number, source in enumerate(sources):
        if source.elements:
            launches += _part(number, source, axis, begin, target, attributes)
        begin += source.dims[axis]
    return launches


def _part(
    number: int,
    source: Descriptor,
    axis: int,
    begin: int,
    target: Descriptor,
    attributes: Attributes,
) -> list[Launch]:
    arg = Arg.MULTIPLE_SRC + number
    same = source.data_type == target.data_type and arg not in attributes.scales
    source_type, target_type = source.data_type, target.data_type
    if same:
        source_type = target_type = values.bits_type(source.data_type)
    kernel = Kernel("concatenated")
    kernel.input(arg, source_type, "source")
    kernel.output(Arg.DST, target_type, "target")
    scale = None
    if arg in attributes.scales:
        used = attributes.scales[arg]
        scale = Quantized(kernel, arg, used, source.dims, Arg.ATTR_SCALES)
    kind = indexing.index_type(source, target)
    names = [f"x{dim}" for dim in range(source.ndims)]
    kernel.line(f"const {kind} i = get_global_id(0);")
    kernel.line(f"if (i >= {source.elements}) return;")
    order = sorted(range(target.ndims), key=lambda dim: -target.strides[dim])
    dims, sorted_names = [source.dims[dim] for dim in order], [names[dim] for dim in order]
    kernel.extend(indexing.coordinates("i", dims, sorted_names, kind))
    there = [f"({name} + {begin})" if dim == axis else name for dim, name in enumerate(names)]
    place = indexing.offset(target, there)
    loaded = values.load(source_type, "source", indexing.offset(source, names))
    if same:
        kernel.line(f"target[{place}] = source[{indexing.offset(source, names)}];")
    else:
        factor = "" if scale is None else f" * {scale.at(names, 'float')}"
        kernel.line(values.store(target_type, "target", place, f"({loaded}{factor})"))
    return [kernel.launch(items=source.elements)]


TYPES = frozenset(
    {
        *(DataType.f32, DataType.f16, DataType.bf16, DataType.f64),
        *(DataType.s32, DataType.s8, DataType.u8),
    }
)
