"""PReLU: negative elements are multiplied with weights that are learned."""

from __future__ import annotations

from groundstate.dnn import checks
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import require
from groundstate.dnn.kernels import grid, prelu
from groundstate.dnn.plan import Plan
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Arg, PrimitiveKind, PropKind


def _check_weights(weights: Descriptor, source: Descriptor) -> None:
    fits = weights.ndims == source.ndims <= 5 and all(
        size in (1, whole) for size, whole in zip(weights.dims, source.dims, strict=True)
    )
    require(fits, f"weights of {weights.dims} cannot be broadcast to {source.dims}")


def _settled_weights(weights: Descriptor, source: Descriptor) -> Descriptor:
    if not weights.is_any:
        return weights
    return weights.like(source) if weights.dims == source.dims else weights.dense()


@creates("dnnl_prelu_forward_primitive_desc_create")
class PreluForward(PrimitiveDescriptor):
    """`dst = src > 0 ? src : src * weights`."""

    kind = PrimitiveKind.prelu

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, checks.forward_kind(prop_kind))
        src, dst = checks.endpoints(src_desc, dst_desc)
        weights = checks.needed(weights_desc, "the weights")
        checks.usable(src, weights, dst)
        _check_weights(weights, src)
        checks.same_shape(src, dst, "source and destination")
        checked_types(checks.FLOATS | checks.WHOLE, src, weights, dst)
        self.attributes.allow()
        self.add_input(Arg.SRC, src)
        self.add_input(Arg.WEIGHTS, _settled_weights(weights, src))
        self.add_output(Arg.DST, checks.settled(dst, src))

    def make_plan(self) -> Plan:
        """One launch, and zeros behind the blocks."""
        dst = self.arguments[Arg.DST]
        if dst.elements == 0:
            return Plan()
        launch = prelu.forward(self.arguments[Arg.SRC], self.arguments[Arg.WEIGHTS], dst)
        return Plan([launch, *grid.zero_padding(Arg.DST, dst)])


@creates("dnnl_prelu_backward_primitive_desc_create")
class PreluBackward(PrimitiveDescriptor):
    """The derivatives of source and weights; those of shared weights are summed up."""

    kind = PrimitiveKind.prelu

    def __init__(
        self,
        engine: Engine | None,
        src_desc: Descriptor | None,
        weights_desc: Descriptor | None,
        diff_src_desc: Descriptor | None,
        diff_weights_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward)
        src = checks.needed(src_desc, "the source")
        weights = checks.needed(weights_desc, "the weights")
        below, above = checks.derivatives(diff_src_desc, diff_dst_desc)
        change = checks.needed(diff_weights_desc, "the derivative of the weights")
        checks.usable(src, weights, below, change, above)
        _check_weights(weights, src)
        checks.same_shapes(below, above, src)
        require(change.dims == weights.dims, "the derivative of the weights has their shape")
        checked_types(checks.FLOATS, src, weights, below, change, above)
        self.attributes.allow()
        self.hint = hint_fwd_pd
        src = self.add_gradient(Arg.SRC, src, above, below)
        self.add_input(Arg.WEIGHTS, _settled_weights(weights, src))
        self.add_output(Arg.DIFF_WEIGHTS, _settled_weights(change, src))

    def make_plan(self) -> Plan:
        """A launch for each derivative."""
        below, change = self.arguments[Arg.DIFF_SRC], self.arguments[Arg.DIFF_WEIGHTS]
        plan = Plan()
        src, above = self.arguments[Arg.SRC], self.arguments[Arg.DIFF_DST]
        if not below.elements:
            # The derivative of shared weights stays as it was, too; oneDNN does it like that.
            return plan
        weights = self.arguments[Arg.WEIGHTS]
        plan.launches += [prelu.backward_source(src, weights, above, below)]
        plan.launches += grid.zero_padding(Arg.DIFF_SRC, below)
        plan.launches += [prelu.backward_weights(src, above, change)]
        plan.launches += grid.zero_padding(Arg.DIFF_WEIGHTS, change)
        return plan
