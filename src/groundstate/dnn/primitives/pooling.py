"""Pooling: the maximum or the average of a window that moves over the source."""

from __future__ import annotations

import math

from groundstate.dnn import checks
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.checks import Sizes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.kernels import grid, pooling
from groundstate.dnn.kernels.pooling import Window
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import Binary, Eltwise
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Algorithm, Arg, DataType, PrimitiveKind, PropKind, Query

_ALGORITHMS = (
    Algorithm.pooling_max,
    Algorithm.pooling_avg_include_padding,
    Algorithm.pooling_avg_exclude_padding,
)


class _Pooling(PrimitiveDescriptor):
    kind = PrimitiveKind.pooling

    def _settle(
        self,
        alg_kind: int,
        src: Descriptor,
        dst: Descriptor,
        strides: Sizes,
        kernel: Sizes,
        dilation: Sizes,
        padding_l: Sizes,
        padding_r: Sizes,
    ) -> None:
        """Checks algorithm, shapes and the window, which are the same in both directions."""
        if strides is None or kernel is None or padding_l is None or dilation is None:
            invalid("strides, kernel, dilation and padding are needed")
        require(alg_kind in _ALGORITHMS, f"{alg_kind} is not an algorithm of pooling")
        checks.usable(src, dst)
        require(src.ndims in (3, 4, 5), "pooling is for 3 to 5 dimensions")
        require(dst.ndims == src.ndims, "source and destination have as many dimensions")
        require(src.dims[:2] == dst.dims[:2], "batch and channels stay the same")
        count = src.ndims - 2
        after = padding_l if padding_r is None else padding_r
        self.algorithm = Algorithm(alg_kind)
        parts = (kernel, strides, dilation, padding_l, after)
        self.window = Window(*(checks.for_axes(part, count) for part in parts))
        for dim in range(count):
            self._check_dimension(dim, src.dims[2 + dim], dst.dims[2 + dim])
        checked_types(checks.FLOATS | checks.WHOLE, src, dst)
        self.parameters |= {
            Query.alg_kind: self.algorithm,
            Query.strides: self.window.strides,
            Query.kernel: self.window.kernel,
            Query.dilations: self.window.dilation,
            Query.padding_l: self.window.before,
            Query.padding_r: self.window.after,
        }

    def _check_dimension(self, dim: int, source: int, target: int) -> None:
        window = self.window
        stride, dilation = window.strides[dim], window.dilation[dim]
        before, after = window.before[dim], window.after[dim]
        reach = window.reach(dim)
        require(stride > 0, f"stride {dim} is not positive")
        require(dilation >= 0, f"dilation {dim} is negative")
        require(before >= 0, f"the padding before dimension {dim} is negative")
        require(after + stride >= 0, f"the padding after dimension {dim} is too small")
        room = source - reach + before + after
        fits = math.trunc(room / stride) + 1 == target
        require(fits, f"dimension {dim} of the destination does not fit to window and source")
        if self.algorithm == Algorithm.pooling_avg_exclude_padding:
            inside = before < reach and after < reach and dilation < source
            require(inside, "a window that lies in the padding has no average without it")

    def _workspace(self, target: Descriptor) -> Descriptor:
        """Where the maxima were."""
        small = math.prod(self.window.kernel) <= 255
        return target.with_type(DataType.u8 if small else DataType.s32)


@creates("dnnl_pooling_forward_primitive_desc_create")
class PoolingForward(_Pooling):
    """`dst` has an element for each place of the window."""

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        alg_kind: int,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        strides: Sizes,
        kernel: Sizes,
        dilation: Sizes,
        padding_l: Sizes,
        padding_r: Sizes,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, checks.forward_kind(prop_kind))
        src, dst = checks.endpoints(src_desc, dst_desc)
        self._settle(alg_kind, src, dst, strides, kernel, dilation, padding_l, padding_r)
        whole = src.data_type in checks.BYTES and dst.data_type in checks.BYTES
        same = src.data_type == dst.data_type or DataType.f32 in (src.data_type, dst.data_type)
        support(whole or same, f"pooling of {src.data_type.name} to {dst.data_type.name}")
        self.attributes.allow(post_ops=(Binary, Eltwise))
        dst = checks.settled(dst, src)
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, src)
        self.add_output(Arg.DST, dst)
        training = self.prop_kind == PropKind.forward_training
        if training and self.algorithm == Algorithm.pooling_max:
            self.add_output(Arg.WORKSPACE, self._workspace(dst))

    def make_plan(self) -> Plan:
        """One launch, and zeros behind the blocks."""
        src, dst = self.arguments[Arg.SRC], self.arguments[Arg.DST]
        if dst.elements == 0:
            return Plan()
        launch = pooling.forward(
            self.algorithm,
            self.window,
            src,
            dst,
            self.arguments.get(Arg.WORKSPACE),
            self.attributes,
        )
        return Plan([launch, *grid.zero_padding(Arg.DST, dst)])


@creates("dnnl_pooling_backward_primitive_desc_create")
class PoolingBackward(_Pooling):
    """`diff_src` gets what the windows that an element was in pass on to it."""

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        diff_src_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        strides: Sizes,
        kernel: Sizes,
        dilation: Sizes,
        padding_l: Sizes,
        padding_r: Sizes,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_data)
        below, above = checks.derivatives(diff_src_desc, diff_dst_desc)
        self._settle(alg_kind, below, above, strides, kernel, dilation, padding_l, padding_r)
        checked_types(checks.FLOATS, below, above)
        self.attributes.allow()
        self.hint = hint_fwd_pd
        forward = hint_fwd_pd.arguments if hint_fwd_pd is not None else {}
        above = checks.settled(above, forward.get(Arg.DST, above))
        self.add_input(Arg.DIFF_DST, above)
        self.add_output(Arg.DIFF_SRC, checks.settled(below, forward.get(Arg.SRC, above)))
        if self.algorithm == Algorithm.pooling_max:
            self.add_input(Arg.WORKSPACE, forward.get(Arg.WORKSPACE, self._workspace(above)))

    def make_plan(self) -> Plan:
        """One launch, and zeros behind the blocks."""
        below, above = self.arguments[Arg.DIFF_SRC], self.arguments[Arg.DIFF_DST]
        if below.elements == 0:
            return Plan()
        launch = pooling.backward(
            self.algorithm, self.window, below, above, self.arguments.get(Arg.WORKSPACE)
        )
        return Plan([launch, *grid.zero_padding(Arg.DIFF_SRC, below)])
