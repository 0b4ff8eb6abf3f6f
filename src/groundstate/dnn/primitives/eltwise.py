"""Eltwise: a function of each element."""

from __future__ import annotations

from groundstate.dnn import elementwise
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.kernels import eltwise
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import Binary
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Algorithm, Arg, DataType, PrimitiveKind, PropKind, Query

_TYPES = {
    DataType.f32,
    DataType.f16,
    DataType.bf16,
    DataType.f64,
    DataType.s32,
    DataType.s8,
    DataType.u8,
}
_FLOATS = _TYPES - {DataType.s32, DataType.s8, DataType.u8}


class _Eltwise(PrimitiveDescriptor):
    kind = PrimitiveKind.eltwise

    def _set_parameters(self, algorithm: Algorithm, alpha: float, beta: float) -> None:
        self.algorithm, self.alpha, self.beta = algorithm, alpha, beta
        self.parameters |= {
            Query.alg_kind: algorithm,
            Query.alpha_f32: alpha,
            Query.beta_f32: beta,
        }


@creates("dnnl_eltwise_forward_primitive_desc_create")
class EltwiseForward(_Eltwise):
    """`dst = f(src)`."""

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        alg_kind: int,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        alpha: float = 0.0,
        beta: float = 0.0,
        attr: Attributes | None = None,
    ) -> None:
        if prop_kind not in (PropKind.forward_training, PropKind.forward_inference):
            invalid("a forward operation is for training or for inference")
        super().__init__(engine, attr, PropKind(prop_kind))
        if src_desc is None or dst_desc is None:
            invalid("source and destination are needed")
        algorithm = elementwise.checked(alg_kind, alpha, beta, src_desc.data_type)
        require(not src_desc.is_any, "the layout of the source must be known")
        require(src_desc.dims == dst_desc.dims, "source and destination have one shape")
        checked_types(_TYPES, src_desc, dst_desc)
        self.attributes.allow(post_ops=(Binary,))
        dst = dst_desc.like(src_desc) if dst_desc.is_any else dst_desc
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, src_desc)
        self.add_output(Arg.DST, dst)
        self._set_parameters(algorithm, alpha, beta)

    def make_plan(self) -> Plan:
        """A launch that writes the padding of blocks, too."""
        src, dst = self.arguments[Arg.SRC], self.arguments[Arg.DST]
        if dst.elements == 0:
            return Plan()
        return Plan(
            eltwise.forward(self.algorithm, self.alpha, self.beta, src, dst, self.attributes)
        )


@creates("dnnl_eltwise_backward_primitive_desc_create")
class EltwiseBackward(_Eltwise):
    """`diff_src = diff_dst * f'(src)`, or of `dst` where the derivative is made of that."""

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        diff_src_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        data_desc: Descriptor | None,
        alpha: float = 0.0,
        beta: float = 0.0,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_data)
        if data_desc is None or diff_src_desc is None or diff_dst_desc is None:
            invalid("the data and both derivatives are needed")
        algorithm = elementwise.checked(alg_kind, alpha, beta)
        require(algorithm != Algorithm.eltwise_round, "rounding has no derivative")
        same = data_desc.dims == diff_src_desc.dims == diff_dst_desc.dims
        require(same, "the data and both derivatives have one shape")
        checked_types(_FLOATS, data_desc, diff_src_desc, diff_dst_desc)
        support(self.prop_kind == PropKind.backward_data, "only derivatives of the data")
        self.attributes.allow()
        self.hint = hint_fwd_pd
        data = self._data_layout(data_desc)
        arg = Arg.DST if elementwise.uses_result(algorithm) else Arg.SRC
        self.add_input(arg, data)
        above = diff_dst_desc.like(data) if diff_dst_desc.is_any else diff_dst_desc
        self.add_input(Arg.DIFF_DST, above)
        below = diff_src_desc.like(above) if diff_src_desc.is_any else diff_src_desc
        self.add_output(Arg.DIFF_SRC, below)
        self._set_parameters(algorithm, alpha, beta)

    def _data_layout(self, data: Descriptor) -> Descriptor:
        if not data.is_any:
            return data
        if self.hint is not None and Arg.SRC in self.hint.arguments:
            return data.like(self.hint.arguments[Arg.SRC])
        return data.dense()

    def make_plan(self) -> Plan:
        """A launch that writes the padding of blocks, too."""
        arg = Arg.DST if elementwise.uses_result(self.algorithm) else Arg.SRC
        data, below = self.arguments[arg], self.arguments[Arg.DIFF_SRC]
        if below.elements == 0:
            return Plan()
        above = self.arguments[Arg.DIFF_DST]
        return Plan(eltwise.backward(self.algorithm, self.alpha, self.beta, data, below, above))
