"""Reduction: a sum, a maximum, a norm... over some dimensions."""

from __future__ import annotations

import math

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require
from groundstate.dnn.kernels import grid, reduction
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import Binary, Eltwise, Sum
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Algorithm, Arg, DataType, FormatKind, PrimitiveKind, Query

_FLOATS = (DataType.f32, DataType.bf16, DataType.f16)
_TYPES = frozenset({*_FLOATS, DataType.f64, DataType.s32, DataType.s8, DataType.u8})


@creates("dnnl_reduction_primitive_desc_create")
class Reduction(PrimitiveDescriptor):
    """`dst` has dimensions of 1 where `src` is reduced."""

    kind = PrimitiveKind.reduction

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        p: float = 0.0,
        eps: float = 0.0,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr)
        if src_desc is None or dst_desc is None:
            invalid("source and destination are needed")
        known = Algorithm.reduction_max <= alg_kind <= Algorithm.reduction_norm_lp_power_p_sum
        require(known, f"{alg_kind} is not a reduction")
        self.algorithm, self.p, self.eps = Algorithm(alg_kind), p, eps
        if "norm" in self.algorithm.name:
            require(p >= 1 and not math.isinf(p), "a norm's power is at least 1")
            require(src_desc.data_type in _FLOATS, "norms are for f32, bf16 and f16")
        self._check_shapes(src_desc, dst_desc)
        checked_types(_TYPES, src_desc, dst_desc)
        self.attributes.allow(post_ops=(Sum, Eltwise, Binary))
        dst = dst_desc.like(src_desc) if dst_desc.is_any else dst_desc
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, src_desc)
        self.add_output(Arg.DST, dst)
        self.parameters |= {
            Query.alg_kind: self.algorithm,
            Query.p_f32: p,
            Query.epsilon_f32: eps,
        }

    @staticmethod
    def _check_shapes(src: Descriptor, dst: Descriptor) -> None:
        require(src.is_blocked, "the layout of the source must be known")
        usable = dst.kind in (FormatKind.blocked, FormatKind.any)
        require(usable, "the destination is a dense tensor")
        require(src.ndims == dst.ndims, "source and destination have as many dimensions")
        for dim, (before, after) in enumerate(zip(src.dims, dst.dims, strict=True)):
            require(after in (1, before), f"dimension {dim} is neither kept nor reduced to 1")
        require(src.dims != dst.dims, "there is nothing to reduce")

    def make_plan(self) -> Plan:
        """One launch or two, and zeros behind the blocks."""
        src, dst = self.arguments[Arg.SRC], self.arguments[Arg.DST]
        if dst.elements == 0:
            return Plan()
        plan = reduction.reduce(self.algorithm, self.p, self.eps, src, dst, self.attributes)
        plan.launches += grid.zero_padding(Arg.DST, dst)
        return plan
