"""Local response normalisation: elements are divided by what their neighbours amount to."""

from __future__ import annotations

from groundstate.dnn import checks
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import require, support
from groundstate.dnn.kernels import grid, lrn
from groundstate.dnn.plan import Plan
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Algorithm, Arg, PrimitiveKind, PropKind, Query


class _Lrn(PrimitiveDescriptor):
    kind = PrimitiveKind.lrn

    def _settle(
        self, alg_kind: int, src: Descriptor, local_size: int, numbers: tuple[float, float, float]
    ) -> None:
        known = (Algorithm.lrn_across_channels, Algorithm.lrn_within_channel)
        require(alg_kind in known, f"{alg_kind} is not an algorithm of this normalisation")
        require(local_size >= 0, "the number of neighbours is negative")
        require(src.ndims >= 2, "there is a batch and there are channels")
        support(local_size > 0, "there must be a neighbour")
        support(src.ndims <= 5, "this normalisation is for at most 5 dimensions")
        self.algorithm = Algorithm(alg_kind)
        alpha, beta, k = numbers
        self.response = lrn.Response(
            self.algorithm == Algorithm.lrn_across_channels, local_size, alpha, beta, k
        )
        self.attributes.allow()
        self.parameters |= {
            Query.alg_kind: self.algorithm,
            Query.local_size_s64: local_size,
            Query.alpha_f32: alpha,
            Query.beta_f32: beta,
            Query.k_f32: k,
        }


@creates("dnnl_lrn_forward_primitive_desc_create")
class LrnForward(_Lrn):
    """`dst = src / (k + alpha / n * sum of squares) ** beta`."""

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        alg_kind: int,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        local_size: int,
        alpha: float,
        beta: float,
        k: float,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, checks.forward_kind(prop_kind))
        src, dst = checks.endpoints(src_desc, dst_desc)
        checks.usable(src, dst)
        checks.same_shape(src, dst, "source and destination")
        self._settle(alg_kind, src, local_size, (alpha, beta, k))
        checked_types(checks.FLOATS, src, dst)
        self.add_input(Arg.SRC, src)
        self.add_output(Arg.DST, checks.settled(dst, src))

    def make_plan(self) -> Plan:
        """One launch, and zeros behind the blocks."""
        src, dst = self.arguments[Arg.SRC], self.arguments[Arg.DST]
        if dst.elements == 0:
            return Plan()
        return Plan([lrn.forward(self.response, src, dst), *grid.zero_padding(Arg.DST, dst)])


@creates("dnnl_lrn_backward_primitive_desc_create")
class LrnBackward(_Lrn):
    """The derivative of the source, which each element has through its neighbours, too."""

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        diff_src_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        src_desc: Descriptor | None,
        local_size: int,
        alpha: float,
        beta: float,
        k: float,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_data)
        below, above = checks.derivatives(diff_src_desc, diff_dst_desc)
        src = checks.needed(src_desc, "the source")
        checks.usable(below, above, src)
        checks.same_shapes(below, above, src)
        self._settle(alg_kind, src, local_size, (alpha, beta, k))
        checked_types(checks.FLOATS, below, above, src)
        self.hint = hint_fwd_pd
        self.add_gradient(Arg.SRC, src, above, below)

    def make_plan(self) -> Plan:
        """The sums first, then what depends on those of the neighbours."""
        src, below = self.arguments[Arg.SRC], self.arguments[Arg.DIFF_SRC]
        if below.elements == 0:
            return Plan()
        plan = Plan()
        offset = plan.scratch(4 * src.elements)
        plan.launches += [
            lrn.sums(self.response, src, offset),
            lrn.backward(self.response, src, self.arguments[Arg.DIFF_DST], below, offset),
            *grid.zero_padding(Arg.DIFF_SRC, below),
        ]
        return plan
