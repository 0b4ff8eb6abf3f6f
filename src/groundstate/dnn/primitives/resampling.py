"""Resampling: the source as an image of another size, by the nearest element or between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from groundstate.dnn import checks
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require
from groundstate.dnn.kernels import grid, resampling
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import Binary, Eltwise, Sum
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Algorithm, Arg, FormatKind, PrimitiveKind, PropKind, Query

_ALGORITHMS = (Algorithm.resampling_nearest, Algorithm.resampling_linear)


class _Resampling(PrimitiveDescriptor):
    kind = PrimitiveKind.resampling

    def _settle(
        self,
        alg_kind: int,
        factors: Sequence[float] | None,
        src: Descriptor | None,
        dst: Descriptor | None,
    ) -> tuple[Descriptor, Descriptor]:
        """Checks algorithm and shapes; factors are only needed if there is no destination."""
        require(alg_kind in _ALGORITHMS, f"{alg_kind} is not an algorithm of resampling")
        source = checks.needed(src, "the source")
        require(source.ndims in (3, 4, 5), "resampling is for 3 to 5 dimensions")
        require(not source.has_runtime, "all sizes must be known")
        target = self._scaled(source, factors) if dst is None else dst
        require(not target.has_runtime, "all sizes must be known")
        require(source.ndims == target.ndims, "source and destination have as many dimensions")
        require(source.dims[:2] == target.dims[:2], "batch and channels stay the same")
        checks.usable(source, target)
        self.algorithm = Algorithm(alg_kind)
        true = [
            to / size if size else 0.0
            for size, to in zip(source.dims[2:], target.dims[2:], strict=True)
        ]
        self.parameters |= {Query.alg_kind: self.algorithm, Query.factors: tuple(true)}
        return source, target

    @staticmethod
    def _scaled(source: Descriptor, factors: Sequence[float] | None) -> Descriptor:
        if factors is None:
            invalid("factors are needed if there is no destination")
        space = source.dims[2:]
        scaled = zip(space, factors[: len(space)], strict=True)
        dims = (*source.dims[:2], *(int(size * factor) for size, factor in scaled))
        require(all(size >= 0 for size in dims), "factors are positive")
        return replace(source, dims=dims, padded_dims=dims, kind=FormatKind.any)


@creates("dnnl_resampling_forward_primitive_desc_create")
class ResamplingForward(_Resampling):
    """`dst` is `src` in another size."""

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        alg_kind: int,
        factors: Sequence[float] | None,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, checks.forward_kind(prop_kind))
        src, dst = self._settle(alg_kind, factors, src_desc, dst_desc)
        checks.known_layout(src, "the source")
        checked_types(checks.FLOATS | checks.WHOLE, src, dst)
        self.attributes.allow(post_ops=(Binary, Eltwise, Sum))
        dst = checks.settled(dst, src)
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, src)
        self.add_output(Arg.DST, dst)

    def make_plan(self) -> Plan:
        """One launch, and zeros behind the blocks."""
        src, dst = self.arguments[Arg.SRC], self.arguments[Arg.DST]
        if dst.elements == 0 or src.elements == 0:
            return Plan()
        launch = resampling.forward(self.algorithm, src, dst, self.attributes)
        return Plan([launch, *grid.zero_padding(Arg.DST, dst)])


@creates("dnnl_resampling_backward_primitive_desc_create")
class ResamplingBackward(_Resampling):
    """`diff_src` gets what each element contributed to."""

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        factors: Sequence[float] | None,
        diff_src_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, PropKind.backward_data)
        below, above = self._settle(alg_kind, factors, diff_src_desc, diff_dst_desc)
        checked_types(checks.FLOATS, below, above)
        self.attributes.allow()
        self.hint = hint_fwd_pd
        forward = hint_fwd_pd.arguments if hint_fwd_pd is not None else {}
        above = checks.settled(above, forward.get(Arg.DST, above))
        self.add_input(Arg.DIFF_DST, above)
        self.add_output(Arg.DIFF_SRC, checks.settled(below, forward.get(Arg.SRC, above)))

    def make_plan(self) -> Plan:
        """One launch, and zeros behind the blocks."""
        below, above = self.arguments[Arg.DIFF_SRC], self.arguments[Arg.DIFF_DST]
        if below.elements == 0:
            return Plan()
        launch = resampling.backward(self.algorithm, below, above)
        return Plan([launch, *grid.zero_padding(Arg.DIFF_SRC, below)])
