"""Eltwise: a function of each element."""

from __future__ import annotations

from groundstate.dnn import checks, elementwise
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import require, support
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
        super().__init__(engine, attr, checks.forward_kind(prop_kind))
        src, dst = checks.endpoints(src_desc, dst_desc)
        algorithm = elementwise.checked(alg_kind, alpha, beta, src.data_type)
        checks.same_shape(src, dst, "source and destination")
        checked_types(_TYPES, src, dst)
        self.attributes.allow(post_ops=(Binary,))
        dst = checks.settled(dst, src)
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, src)
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
        data = checks.needed(data_desc, "the data")
        below, above = checks.derivatives(diff_src_desc, diff_dst_desc)
        algorithm = elementwise.checked(alg_kind, alpha, beta)
        require(algorithm != Algorithm.eltwise_round, "rounding has no derivative")
        checks.same_shapes(below, above, data)
        checked_types(_FLOATS, data, below, above)
        support(self.prop_kind == PropKind.backward_data, "only derivatives of the data")
        self.attributes.allow()
        self.hint = hint_fwd_pd
        data = self._data_layout(data)
        arg = Arg.DST if elementwise.uses_result(algorithm) else Arg.SRC
        self.add_input(arg, data)
        above = checks.settled(above, data)
        self.add_input(Arg.DIFF_DST, above)
        self.add_output(Arg.DIFF_SRC, checks.settled(below, above))
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
