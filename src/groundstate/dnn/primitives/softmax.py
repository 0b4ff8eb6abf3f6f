"""Softmax and its logarithm."""

from __future__ import annotations

from groundstate.dnn import checks
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import require, support
from groundstate.dnn.kernels import grid, softmax
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import Binary, Eltwise
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Algorithm, Arg, DataType, PrimitiveKind, PropKind, Query

_FLOATS = frozenset({DataType.f32, DataType.f16, DataType.bf16, DataType.f64})
_BYTES = frozenset({DataType.s8, DataType.u8})


class _Softmax(PrimitiveDescriptor):
    kind = PrimitiveKind.softmax

    def _settle(self, alg_kind: int, axis: int, shape: Descriptor) -> None:
        known = alg_kind in (Algorithm.softmax_accurate, Algorithm.softmax_log)
        require(known, f"{alg_kind} is not a softmax")
        require(0 <= axis < shape.ndims, f"there is no dimension {axis}")
        self.axis, self.logarithm = axis, alg_kind == Algorithm.softmax_log
        self.parameters |= {Query.alg_kind: Algorithm(alg_kind), Query.axis_s32: axis}


@creates("dnnl_softmax_forward_primitive_desc_create")
class SoftmaxForward(_Softmax):
    """`dst = exp(src) / sum(exp(src))` along an axis, or the logarithm of that."""

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        alg_kind: int,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        softmax_axis: int,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, checks.forward_kind(prop_kind))
        src, dst = checks.endpoints(src_desc, dst_desc)
        self._settle(alg_kind, softmax_axis, dst)
        checked_types(_FLOATS | _BYTES, src, dst)
        support(src.dims == dst.dims, "source and destination have one shape")
        bytes_involved = bool({src.data_type, dst.data_type} & _BYTES)
        scaled = (Arg.SRC, Arg.DST) if bytes_involved else ()
        self.attributes.allow(scales=scaled, post_ops=(Binary, Eltwise))
        for scale in self.attributes.scales.values():
            support(scale.mask == 0, "scales that vary along a dimension")
        dst = checks.settled(dst, src)
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, src)
        self.add_output(Arg.DST, dst)

    def make_plan(self) -> Plan:
        """One launch, and zeros behind the blocks."""
        src, dst = self.arguments[Arg.SRC], self.arguments[Arg.DST]
        if dst.elements == 0:
            return Plan()
        launch = softmax.forward(src, dst, self.axis, self.logarithm, self.attributes)
        return Plan([launch, *grid.zero_padding(Arg.DST, dst)])


@creates("dnnl_softmax_backward_primitive_desc_create")
class SoftmaxBackward(_Softmax):
    """The derivative, made of the result."""

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        diff_src_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        softmax_axis: int,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_data)
        result = checks.needed(dst_desc, "the result")
        below, above = checks.derivatives(diff_src_desc, diff_dst_desc)
        self._settle(alg_kind, softmax_axis, result)
        checks.known_layout(result, "the result")
        checked_types(_FLOATS, result, below, above)
        same = result.dims == below.dims == above.dims
        support(same, "the result and both derivatives have one shape")
        self.attributes.allow()
        self.hint = hint_fwd_pd
        self.add_input(Arg.DST, result)
        above = checks.settled(above, result)
        self.add_input(Arg.DIFF_DST, above)
        self.add_output(Arg.DIFF_SRC, checks.settled(below, above))

    def make_plan(self) -> Plan:
        """One launch, and zeros behind the blocks."""
        result, below = self.arguments[Arg.DST], self.arguments[Arg.DIFF_SRC]
        if below.elements == 0:
            return Plan()
        above = self.arguments[Arg.DIFF_DST]
        launch = softmax.backward(result, above, below, self.axis, self.logarithm)
        return Plan([launch, *grid.zero_padding(Arg.DIFF_SRC, below)])
