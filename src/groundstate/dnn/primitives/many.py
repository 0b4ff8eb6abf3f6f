"""Sum and concat: many sources, one destination."""

from __future__ import annotations

from collections.abc import Sequence

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.kernels import grid, many
from groundstate.dnn.plan import Plan
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Arg, PrimitiveKind, Query


def _sources(descriptors: Sequence[Descriptor] | None, n: int) -> list[Descriptor]:
    if descriptors is None or n <= 0:
        invalid("there is at least one source")
    found = list(descriptors[:n])
    for source in found:
        support(not source.has_runtime, "dimensions that are not known")
        require(source.ndims == found[0].ndims, "all sources have as many dimensions")
        require(not source.is_any, "the layouts of the sources must be known")
    return found


class _Many(PrimitiveDescriptor):
    """Sources by number."""

    @property
    def sources(self) -> list[Descriptor]:
        """The sources."""
        return [self.arguments[arg] for arg in sorted(self.arguments) if arg >= Arg.MULTIPLE_SRC]

    def descriptor(self, what: int, index: int = 0) -> Descriptor | None:
        """The sources are asked for by number."""
        if what == Query.src_md:
            return super().descriptor(Query.exec_arg_md, Arg.MULTIPLE_SRC + index)
        return super().descriptor(what, index)


@creates("dnnl_sum_primitive_desc_create")
class Sum(_Many):
    """`dst = scales[0] * src[0] + scales[1] * src[1] + ...`."""

    kind = PrimitiveKind.sum

    def __init__(
        self,
        engine: Engine | None,
        dst_desc: Descriptor | None,
        n: int,
        scales: Sequence[float] | None,
        src_descs: Sequence[Descriptor] | None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr)
        sources = _sources(src_descs, n)
        if scales is None:
            invalid("each source has a scale")
        self.scales = [float(scale) for scale in scales[:n]]
        self.attributes.allow()
        dst = sources[0].like(sources[0]) if dst_desc is None else dst_desc
        for source in sources:
            require(source.dims == dst.dims, "all tensors have one shape")
        checked_types(many.TYPES, dst, *sources)
        for number, source in enumerate(sources):
            self.add_input(Arg.MULTIPLE_SRC + number, source)
        self.add_output(Arg.DST, dst.like(sources[0]) if dst.is_any else dst)

    def make_plan(self) -> Plan:
        """A launch that writes the padding of blocks, too."""
        dst = self.arguments[Arg.DST]
        if dst.elements == 0:
            return Plan()
        return Plan(many.weighted_sum(self.sources, self.scales, dst))


@creates("dnnl_concat_primitive_desc_create")
class Concat(_Many):
    """The sources one behind the other along a dimension."""

    kind = PrimitiveKind.concat

    def __init__(
        self,
        engine: Engine | None,
        dst_desc: Descriptor | None,
        n: int,
        concat_dimension: int,
        src_descs: Sequence[Descriptor] | None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr)
        sources = _sources(src_descs, n)
        first, axis = sources[0], concat_dimension
        require(0 <= axis < first.ndims, f"there is no dimension {axis}")
        self.attributes.allow(scales=[Arg.MULTIPLE_SRC + number for number in range(n)])
        for scale in self.attributes.scales.values():
            support(scale.mask == 0, "scales that vary along a dimension")
        dims = list(first.dims)
        dims[axis] = sum(source.dims[axis] for source in sources)
        for source in sources:
            rest = [size for dim, size in enumerate(source.dims) if dim != axis]
            same = rest == [size for dim, size in enumerate(first.dims) if dim != axis]
            require(same, "the sources differ in a dimension that is not the axis")
            require(source.data_type == first.data_type, "all sources are of one type")
        dst = dst_desc or Descriptor.tagged(dims, first.data_type, "any")
        require(dst.dims == tuple(dims), f"the destination must be of {tuple(dims)}")
        checked_types(many.TYPES, dst, *sources)
        self.axis = axis
        for number, source in enumerate(sources):
            self.arguments[Arg.MULTIPLE_SRC + number] = source
        self.add_output(Arg.DST, dst.like(first) if dst.is_any else dst)
        self.parameters[Query.axis_s32] = axis

    def make_plan(self) -> Plan:
        """A launch for each source, then the padding of blocks."""
        dst = self.arguments[Arg.DST]
        if dst.elements == 0:
            return Plan()
        launches = many.concatenated(self.sources, self.axis, dst, self.attributes)
        return Plan([*launches, *grid.zero_padding(Arg.DST, dst)])
