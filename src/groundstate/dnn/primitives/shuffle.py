"""Shuffle: the elements along an axis are dealt out to groups."""

from __future__ import annotations

from groundstate.dnn import checks
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import require, support
from groundstate.dnn.kernels import grid, shuffle
from groundstate.dnn.plan import Plan
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Arg, PrimitiveKind, PropKind, Query


class _Shuffle(PrimitiveDescriptor):
    kind = PrimitiveKind.shuffle
    source_arg: int
    target_arg: int

    def _settle(
        self, source: Descriptor, target: Descriptor, shape: Descriptor, axis: int, group: int
    ) -> None:
        """Checks what both directions have in common; the shape is that of the forward source."""
        require(0 <= axis < shape.ndims, f"there is no axis {axis}")
        size = shape.dims[axis]
        require(0 < group <= size, f"a group has 1 to {size} elements, not {group}")
        require(size % group == 0, f"{size} elements do not make groups of {group}")
        checks.usable(source, target)
        checks.same_shape(source, target, "source and destination")
        checked_types(checks.FLOATS | checks.WHOLE, source, target)
        support(source.data_type == target.data_type, "a shuffle does not convert")
        self.attributes.allow()
        self.axis, self.group = axis, group
        self.add_input(self.source_arg, source)
        self.add_output(self.target_arg, target)
        self.parameters |= {Query.axis_s32: axis, Query.group_size_s64: group}

    def make_plan(self) -> Plan:
        """One launch, and zeros behind the blocks."""
        source, target = self.arguments[self.source_arg], self.arguments[self.target_arg]
        if target.elements == 0:
            return Plan()
        rows = self.group if self.is_forward else target.dims[self.axis] // self.group
        launch = shuffle.shuffle(
            source, target, self.axis, rows, (self.source_arg, self.target_arg)
        )
        return Plan([launch, *grid.zero_padding(self.target_arg, target)])


@creates("dnnl_shuffle_forward_primitive_desc_create")
class ShuffleForward(_Shuffle):
    """`dst` has the elements of `src`, dealt out to groups."""

    source_arg, target_arg = Arg.SRC, Arg.DST

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        axis: int,
        group_size: int,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, checks.forward_kind(prop_kind))
        src, dst = checks.endpoints(src_desc, dst_desc)
        self._settle(src, checks.settled(dst, src), src, axis, group_size)


@creates("dnnl_shuffle_backward_primitive_desc_create")
class ShuffleBackward(_Shuffle):
    """`diff_src` has the elements of `diff_dst`, where they came from."""

    source_arg, target_arg = Arg.DIFF_DST, Arg.DIFF_SRC

    def __init__(
        self,
        engine: Engine | None,
        diff_src_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        axis: int,
        group_size: int,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_data)
        below, above = checks.derivatives(diff_src_desc, diff_dst_desc)
        self.hint = hint_fwd_pd
        model = above
        if above.is_any and hint_fwd_pd is not None and Arg.DST in hint_fwd_pd.arguments:
            model = hint_fwd_pd.arguments[Arg.DST]
        above = checks.settled(above, model)
        self._settle(above, checks.settled(below, above), below, axis, group_size)
