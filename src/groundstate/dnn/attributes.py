"""Attributes: what a primitive does besides its operation, and how.

Scales and zero points describe quantised tensors, by their argument. Post-operations are applied to
the result, in order, before it is written. The setters hold the rules of the C API.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

from groundstate.dnn.descriptor import Descriptor, type_of
from groundstate.dnn.errors import DnnError, invalid, require
from groundstate.dnn.post_ops import PostOps
from groundstate.dnn.types import (
    AccumulationMode,
    Arg,
    DataType,
    FpmathMode,
    QuantizationMode,
    RoundingMode,
    ScratchpadMode,
    Status,
)

_SCALE_TYPES = frozenset(
    {DataType.f32, DataType.bf16, DataType.f16, DataType.e8m0, DataType.f8_e4m3}
)
_ZERO_POINT_TYPES = frozenset({DataType.s32, DataType.s8, DataType.u8, DataType.s4, DataType.u4})
Kind = TypeVar("Kind", bound=IntEnum)

_ZERO_POINT_ARGUMENTS = frozenset(
    {Arg.SRC, Arg.SRC_2, Arg.WEIGHTS, Arg.WEIGHTS_1, Arg.WEIGHTS_2, Arg.DST}
)
_SCALED_ARGUMENTS = _ZERO_POINT_ARGUMENTS | {
    Arg.SRC_1,
    *(Arg.ATTR_POST_OP_DW | arg for arg in (Arg.SRC, Arg.WEIGHTS, Arg.DST)),
}
_GROUPED_ARGUMENTS = frozenset({Arg.SRC, Arg.WEIGHTS, Arg.WEIGHTS_1, Arg.WEIGHTS_2})


@dataclass(frozen=True)
class Quantization:
    """The scales or the zero points of one argument."""

    mask: int
    """Bit `d` is set if there is a value for each index of dimension `d`; 0 is one for all."""
    data_type: DataType
    groups: tuple[int, ...] = ()
    """How many indices of the last dimensions share a value."""
    on_host: bool = False
    mode: QuantizationMode = QuantizationMode.static_sazp


@dataclass(frozen=True)
class Dropout:
    """Where dropout takes its mask and its seed from."""

    mask: Descriptor
    seed_type: DataType
    use_offset: bool
    use_host_scalars: bool


@dataclass
class Attributes:
    """The attributes of a primitive.

    >>> chosen = Attributes()
    >>> chosen.set_scales(Arg.SRC, 0)
    >>> chosen.scales[Arg.SRC].data_type.name
    'f32'
    """

    scales: dict[int, Quantization] = field(default_factory=dict)
    zero_points: dict[int, Quantization] = field(default_factory=dict)
    precomputed_reductions: dict[int, Quantization] = field(default_factory=dict)
    post_ops: PostOps = field(default_factory=PostOps)
    fpmath: FpmathMode = FpmathMode.strict
    apply_to_int: bool = False
    accumulation: AccumulationMode = AccumulationMode.strict
    deterministic: bool = False
    scratchpad: ScratchpadMode = ScratchpadMode.library
    rounding: dict[int, RoundingMode] = field(default_factory=dict)
    dropout: Dropout | None = None
    rnn_data: tuple[float, float] = (1.0, 0.0)
    """Scale and shift of quantised recurrent layers."""
    rnn_weights: tuple[int, tuple[float, ...]] = (0, (1.0,))
    rnn_projection: tuple[int, tuple[float, ...]] = (0, (1.0,))

    def clone(self) -> Attributes:
        """A copy that later changes do not reach."""
        return copy.deepcopy(self)

    def set_scales(
        self,
        arg: int,
        mask: int,
        groups: Sequence[int] = (),
        data_type: DataType | str | int = DataType.f32,
        *,
        on_host: bool = False,
        mode: int = QuantizationMode.static_sazp,
    ) -> None:
        """The argument has scales: one for all (mask 0), or one for each index of dimensions."""
        element = type_of(data_type)
        require(element in _SCALE_TYPES, f"scales cannot be of type {element.name}")
        fine = element in (DataType.e8m0, DataType.f8_e4m3)
        require(mask > 0 or not fine, f"{element.name} is for one scale in each group")
        known = arg in _SCALED_ARGUMENTS or (arg > 0 and arg & Arg.MULTIPLE_SRC)
        require(bool(known), f"argument {arg} cannot have scales")
        require(mode in set(QuantizationMode) - {0}, f"there is no quantisation mode {mode}")
        _check_groups(arg, mask, groups, on_host)
        self.scales[arg] = Quantization(
            mask, element, tuple(groups), on_host, QuantizationMode(mode)
        )

    def set_zero_points(
        self,
        arg: int,
        mask: int,
        groups: Sequence[int] = (),
        data_type: DataType | str | int = DataType.s32,
        *,
        on_host: bool = False,
    ) -> None:
        """The argument has zero points, which count as zero in it."""
        element = type_of(data_type)
        require(element in _ZERO_POINT_TYPES, f"zero points cannot be of type {element.name}")
        tiny = element in (DataType.s4, DataType.u4)
        require(mask > 0 or not tiny, f"{element.name} is for one zero point in each group")
        require(arg in _ZERO_POINT_ARGUMENTS, f"argument {arg} cannot have zero points")
        usual = element == DataType.s32 and not groups
        require(usual or arg in _GROUPED_ARGUMENTS, "zero points of this argument are one s32 each")
        _check_groups(arg, mask, groups, on_host)
        self.zero_points[arg] = Quantization(mask, element, tuple(groups), on_host)

    def set_precomputed_reductions(
        self, arg: int, mask: int, groups: Sequence[int], data_type: DataType | str | int
    ) -> None:
        """The sums of an argument's elements come with it."""
        element = type_of(data_type)
        require(element == DataType.s32, "precomputed reductions are of type s32")
        require(arg in (Arg.SRC, Arg.WEIGHTS), "only the source and the weights are reduced")
        _check_groups(arg, mask, groups, False)
        self.precomputed_reductions[arg] = Quantization(mask, element, tuple(groups))

    def set_fpmath(self, mode: int, apply_to_int: bool = False) -> None:
        """With how much precision floating-point data may be treated inside."""
        self.fpmath, self.apply_to_int = _member(FpmathMode, mode), bool(apply_to_int)

    def set_accumulation(self, mode: int) -> None:
        """In which type sums are kept."""
        self.accumulation = _member(AccumulationMode, mode)

    def set_scratchpad(self, mode: int) -> None:
        """Who brings the memory that a primitive needs meanwhile."""
        self.scratchpad = _member(ScratchpadMode, mode)

    def set_rounding(self, arg: int, mode: int) -> None:
        """How an argument is rounded when it is written."""
        chosen = _member(RoundingMode, mode)
        outputs = {Arg.DST, Arg.DIFF_SRC, Arg.DIFF_WEIGHTS}
        known = chosen == RoundingMode.environment or arg in outputs
        require(known, "stochastic rounding is for what is written")
        self.rounding[arg] = chosen

    def allow(
        self,
        *,
        scales: Sequence[int] = (),
        zero_points: Sequence[int] = (),
        post_ops: Sequence[type] = (),
    ) -> None:
        """Unimplemented if an attribute is set that the primitive does not know."""
        _allow_arguments("scales", self.scales, scales)
        _allow_arguments("zero points", self.zero_points, zero_points)
        for step in self.post_ops:
            if not isinstance(step, tuple(post_ops)):
                _refuse(f"a post-operation of kind {step.kind.name}")
        if self.precomputed_reductions:
            _refuse("precomputed reductions")
        if self.dropout is not None:
            _refuse("dropout")
        if RoundingMode.stochastic in self.rounding.values():
            _refuse("stochastic rounding")
        if self.accumulation in (AccumulationMode.s32, AccumulationMode.f16):
            _refuse(f"accumulation in {self.accumulation.name}")


def _allow_arguments(what: str, used: dict[int, Quantization], known: Sequence[int]) -> None:
    for arg, values in used.items():
        if arg not in known:
            _refuse(f"{what} of argument {arg}")
        if values.mode != QuantizationMode.static_sazp:
            _refuse(f"{what} that are computed on the way")


def _refuse(what: str) -> None:
    raise DnnError(Status.unimplemented, f"this primitive does not know {what}")


def _check_groups(arg: int, mask: int, groups: Sequence[int], on_host: bool) -> None:
    require(arg >= 0 and mask >= 0, "argument and mask are not negative")
    require(len(groups) in (0, 2), "there are groups in the last two dimensions or none")
    require(all(size > 0 for size in groups), "groups have at least one element")
    require(not groups or mask > 0, "groups need a mask")
    require(not on_host or (mask == 0 and not groups), "the host passes one value for all")


def _member(kind: type[Kind], value: int) -> Kind:
    try:
        return kind(value)
    except ValueError:
        invalid(f"there is no {kind.__name__} {value}")
