"""Layer, batch and group normalisation: mean 0 and variance 1, then a scale and a shift."""

from __future__ import annotations

from dataclasses import dataclass

from groundstate.dnn import checks
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import require, support
from groundstate.dnn.kernels import grid, normalization
from groundstate.dnn.kernels.normalization import Norm, Sharing
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import Binary, Eltwise
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Arg, DataType, PrimitiveKind, PropKind, Query
from groundstate.dnn.types import NormalizationFlags as Flags

_COMMON = Flags.use_global_stats | Flags.use_scale | Flags.use_shift


@dataclass(frozen=True)
class Variant:
    """One of the three: its name, what it is called in the API, and which flags it knows."""

    name: str
    kind: PrimitiveKind
    flags: Flags
    ranks: range


LAYER = Variant("layer", PrimitiveKind.layer_normalization, _COMMON | Flags.rms_norm, range(2, 6))
BATCH = Variant(
    "batch",
    PrimitiveKind.batch_normalization,
    _COMMON | Flags.fuse_norm_relu | Flags.fuse_norm_add_relu,
    range(2, 13),
)
GROUP = Variant("group", PrimitiveKind.group_normalization, _COMMON, range(2, 13))


class _Normalization(PrimitiveDescriptor):
    """What the three have in common, in both directions."""

    variant: Variant
    weights_type: DataType = DataType.f32

    def _set(self, src: Descriptor, epsilon: float, flags: int, groups: int) -> None:
        """Checks flags, rank and groups."""
        variant = self.variant
        require(
            src.ndims in variant.ranks, f"{variant.name} normalisation of {src.ndims} dimensions"
        )
        require(flags & ~int(variant.flags) == 0, f"there are unknown flags in {flags:#x}")
        if variant is GROUP:
            channels = src.dims[1]
            fits = 0 < groups <= channels and channels % groups == 0
            require(fits, f"{channels} channels do not make {groups} groups")
        support(not flags & Flags.fuse_norm_add_relu, "a sum before the ReLU is not supported")
        support(src.ndims <= 5, "normalisations are for at most 5 dimensions")
        self.flags, self.epsilon, self.groups = Flags(flags), epsilon, groups
        self.parameters |= {Query.epsilon_f32: epsilon, Query.flags: flags}
        if variant is GROUP:
            self.parameters[Query.group_size_s64] = groups

    def _norm(self, source: Descriptor, statistics: Descriptor) -> Norm:
        flags = self.flags
        return Norm(
            Sharing(self.variant.name, source, self.groups),
            statistics,
            self.epsilon,
            given=bool(flags & Flags.use_global_stats),
            scaled=bool(flags & Flags.use_scale),
            shifted=bool(flags & Flags.use_shift),
            centred=not flags & Flags.rms_norm,
            relu=bool(flags & Flags.fuse_norm_relu),
            weights=self.weights_type,
        )

    def _statistics(self, src: Descriptor, stat: Descriptor | None) -> Descriptor:
        if self.variant is LAYER:
            if stat is None or stat.is_zero or stat.is_any:
                return Descriptor.plain(src.dims[:-1])
            return stat
        shape = (src.dims[1],) if self.variant is BATCH else (src.dims[0], self.groups)
        return Descriptor.plain(shape)

    def _add_weights(self, src: Descriptor) -> Descriptor:
        shape = (src.dims[-1] if self.variant is LAYER else src.dims[1],)
        weights = Descriptor.plain(shape, self.weights_type)
        if self.flags & Flags.use_scale:
            self.add_input(Arg.SCALE, weights)
        return weights

    def _workspace(self, src: Descriptor) -> Descriptor:
        """Which elements the ReLU let through."""
        return src.with_type(DataType.u8)

    def _zeros(self, *args: int) -> Plan:
        """If nothing is normalised, what is written besides is zero."""
        wanted = [arg for arg in args if arg in self.outputs and self.arguments[arg].elements]
        return Plan([grid.zeros(arg, self.arguments[arg]) for arg in wanted])


class _Forward(_Normalization):
    def _build(
        self,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        stat_desc: Descriptor | None,
        epsilon: float,
        flags: int,
        groups: int = 1,
    ) -> None:
        src, dst = checks.endpoints(src_desc, dst_desc)
        checks.usable(src, dst)
        checks.same_shape(src, dst, "source and destination")
        self._set(src, epsilon, flags, groups)
        checked_types(checks.FLOATS | checks.BYTES, src, dst)
        self._check_attributes(src, dst)
        dst = checks.settled(dst, src)
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC, src)
        self.add_output(Arg.DST, dst)
        self.statistics = self._statistics(src, stat_desc)
        self._add_statistics()
        weights = self._add_weights(src)
        if self.flags & Flags.use_shift:
            self.add_input(Arg.SHIFT, weights)
        training = self.prop_kind == PropKind.forward_training
        if training and self.flags & Flags.fuse_norm_relu:
            self.add_output(Arg.WORKSPACE, self._workspace(src))

    def _check_attributes(self, src: Descriptor, dst: Descriptor) -> None:
        types = {src.data_type, dst.data_type}
        if self.variant is BATCH:
            support(len(types) == 1, "batch normalisation does not convert")
            given = bool(self.flags & Flags.use_global_stats)
            support(given or not types & checks.BYTES, "integers need statistics that are given")
            self.attributes.allow(post_ops=(Eltwise,))
            return
        scales = (Arg.SRC, Arg.DST) if types & checks.BYTES else ()
        self.attributes.allow(scales=scales, post_ops=(Binary, Eltwise))
        for used in self.attributes.scales.values():
            support(used.mask == 0, "there is one scale for all elements")

    def _add_statistics(self) -> None:
        add = None
        if self.flags & Flags.use_global_stats:
            add = self.add_input
        elif self.prop_kind == PropKind.forward_training:
            add = self.add_output
        if add is not None:
            if not self.flags & Flags.rms_norm:
                add(Arg.MEAN, self.statistics)
            add(Arg.VARIANCE, self.statistics)

    def make_plan(self) -> Plan:
        """One launch, and zeros behind the blocks."""
        src, dst = self.arguments[Arg.SRC], self.arguments[Arg.DST]
        if dst.elements == 0:
            # Without elements a batch leaves its statistics as they were; oneDNN does it like that.
            return Plan() if self.variant is BATCH else self._zeros(Arg.MEAN, Arg.VARIANCE)
        launch = normalization.forward(
            self._norm(src, self.statistics),
            src,
            dst,
            self.attributes,
            keep=Arg.VARIANCE in self.outputs,
            workspace=self.arguments.get(Arg.WORKSPACE),
        )
        return Plan([launch, *grid.zero_padding(Arg.DST, dst)])


class _Backward(_Normalization):
    def _build(
        self,
        diff_src_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        src_desc: Descriptor | None,
        stat_desc: Descriptor | None,
        epsilon: float,
        flags: int,
        hint: PrimitiveDescriptor | None,
        groups: int = 1,
    ) -> None:
        below, above = checks.derivatives(diff_src_desc, diff_dst_desc)
        src = checks.needed(src_desc, "the source")
        checks.usable(below, above, src)
        checks.same_shapes(below, above, src)
        self._set(src, epsilon, flags, groups)
        if self.variant is LAYER and stat_desc is not None and not stat_desc.is_zero:
            require(stat_desc.dims == src.dims[:-1], "there is a statistic for each row")
        checked_types(checks.FLOATS, below, above, src)
        self.attributes.allow()
        self.hint = hint
        src = self.add_gradient(Arg.SRC, src, above, below)
        self.statistics = self._statistics(src, stat_desc)
        if not self.flags & Flags.rms_norm:
            self.add_input(Arg.MEAN, self.statistics)
        self.add_input(Arg.VARIANCE, self.statistics)
        weights = self._add_weights(src)
        if self.prop_kind == PropKind.backward:
            for flag, arg in (
                (Flags.use_scale, Arg.DIFF_SCALE),
                (Flags.use_shift, Arg.DIFF_SHIFT),
            ):
                if self.flags & flag:
                    self.add_output(arg, weights)
        if self.flags & Flags.fuse_norm_relu:
            self.add_input(Arg.WORKSPACE, self._workspace(src))

    def make_plan(self) -> Plan:
        """A launch for the source, and one for the weights if their derivatives are wanted."""
        src, above = self.arguments[Arg.SRC], self.arguments[Arg.DIFF_DST]
        below, workspace = self.arguments[Arg.DIFF_SRC], self.arguments.get(Arg.WORKSPACE)
        if below.elements == 0:
            return self._zeros(Arg.DIFF_SCALE, Arg.DIFF_SHIFT)
        norm = self._norm(src, self.statistics)
        plan = Plan()
        # The weights first: the derivative of the source may take the place of the other one.
        if self.outputs & {Arg.DIFF_SCALE, Arg.DIFF_SHIFT}:
            plan.launches.append(normalization.backward_weights(norm, src, above, workspace))
        plan.launches.append(normalization.backward_source(norm, src, above, below, workspace))
        plan.launches += grid.zero_padding(Arg.DIFF_SRC, below)
        return plan


def _backward_kind(value: int) -> PropKind:
    require(
        value in (PropKind.backward, PropKind.backward_data),
        "a derivative is that of the data, or of the weights, too",
    )
    return PropKind(value)


# --- The functions of the API -----------------------------------------------------------------


@creates("dnnl_layer_normalization_forward_primitive_desc_create")
class LayerNormalizationForward(_Forward):
    """Rows of the last dimension are normalised."""

    kind, variant = PrimitiveKind.layer_normalization, LAYER

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        stat_desc: Descriptor | None,
        epsilon: float,
        flags: int,
        attr: Attributes | None = None,
        weights: DataType = DataType.f32,
    ) -> None:
        super().__init__(engine, attr, checks.forward_kind(prop_kind))
        self.weights_type = weights
        self._build(src_desc, dst_desc, stat_desc, epsilon, flags)


@creates("dnnl_layer_normalization_forward_primitive_desc_create_v2")
def layer_normalization_forward_v2(
    engine: Engine | None,
    prop_kind: int,
    src_desc: Descriptor | None,
    dst_desc: Descriptor | None,
    stat_desc: Descriptor | None,
    scale_shift_data_type: int,
    epsilon: float,
    flags: int,
    attr: Attributes | None = None,
) -> LayerNormalizationForward:
    """With scale and shift of a type of their own."""
    weights = _weights_type(scale_shift_data_type)
    return LayerNormalizationForward(
        engine, prop_kind, src_desc, dst_desc, stat_desc, epsilon, flags, attr, weights
    )


def _weights_type(value: int) -> DataType:
    support(value in checks.FLOATS, "scale and shift are f32, f16 or bf16")
    return DataType(value)


@creates("dnnl_layer_normalization_backward_primitive_desc_create")
class LayerNormalizationBackward(_Backward):
    """The derivatives of a layer normalisation."""

    kind, variant = PrimitiveKind.layer_normalization, LAYER

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        diff_src_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        src_desc: Descriptor | None,
        stat_desc: Descriptor | None,
        epsilon: float,
        flags: int,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
        weights: DataType = DataType.f32,
    ) -> None:
        super().__init__(engine, attr, _backward_kind(prop_kind))
        self.weights_type = weights
        self._build(diff_src_desc, diff_dst_desc, src_desc, stat_desc, epsilon, flags, hint_fwd_pd)


@creates("dnnl_layer_normalization_backward_primitive_desc_create_v2")
def layer_normalization_backward_v2(
    engine: Engine | None,
    prop_kind: int,
    diff_src_desc: Descriptor | None,
    diff_dst_desc: Descriptor | None,
    src_desc: Descriptor | None,
    stat_desc: Descriptor | None,
    diff_scale_shift_data_type: int,
    scale_shift_data_type: int,
    epsilon: float,
    flags: int,
    hint_fwd_pd: PrimitiveDescriptor | None = None,
    attr: Attributes | None = None,
) -> LayerNormalizationBackward:
    """With scale and shift of a type of their own."""
    same = diff_scale_shift_data_type == scale_shift_data_type
    support(same, "scale, shift and their derivatives have one type")
    weights = _weights_type(scale_shift_data_type)
    return LayerNormalizationBackward(
        engine,
        prop_kind,
        diff_src_desc,
        diff_dst_desc,
        src_desc,
        stat_desc,
        epsilon,
        flags,
        hint_fwd_pd,
        attr,
        weights,
    )


@creates("dnnl_batch_normalization_forward_primitive_desc_create")
class BatchNormalizationForward(_Forward):
    """Channels are normalised over the batch."""

    kind, variant = PrimitiveKind.batch_normalization, BATCH

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        epsilon: float,
        flags: int,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, checks.forward_kind(prop_kind))
        self._build(src_desc, dst_desc, None, epsilon, flags)


@creates("dnnl_batch_normalization_backward_primitive_desc_create")
class BatchNormalizationBackward(_Backward):
    """The derivatives of a batch normalisation."""

    kind, variant = PrimitiveKind.batch_normalization, BATCH

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        diff_src_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        src_desc: Descriptor | None,
        epsilon: float,
        flags: int,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, _backward_kind(prop_kind))
        self._build(diff_src_desc, diff_dst_desc, src_desc, None, epsilon, flags, hint_fwd_pd)


@creates("dnnl_group_normalization_forward_primitive_desc_create")
class GroupNormalizationForward(_Forward):
    """Groups of channels of an image are normalised."""

    kind, variant = PrimitiveKind.group_normalization, GROUP

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        src_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        groups: int,
        epsilon: float,
        flags: int,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, checks.forward_kind(prop_kind))
        self._build(src_desc, dst_desc, None, epsilon, flags, groups)


@creates("dnnl_group_normalization_backward_primitive_desc_create")
class GroupNormalizationBackward(_Backward):
    """The derivatives of a group normalisation."""

    kind, variant = PrimitiveKind.group_normalization, GROUP

    def __init__(
        self,
        engine: Engine | None,
        prop_kind: int,
        diff_src_desc: Descriptor | None,
        diff_dst_desc: Descriptor | None,
        src_desc: Descriptor | None,
        groups: int,
        epsilon: float,
        flags: int,
        hint_fwd_pd: PrimitiveDescriptor | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr, _backward_kind(prop_kind))
        self._build(
            diff_src_desc, diff_dst_desc, src_desc, None, epsilon, flags, hint_fwd_pd, groups
        )
