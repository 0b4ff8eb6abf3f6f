"""Reorder: the same elements in another layout or type."""

from __future__ import annotations

from collections.abc import Mapping

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.kernels import reorder
from groundstate.dnn.kernels.values import C_TYPES, INTEGERS
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import Sum
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Arg, PrimitiveKind


@creates("dnnl_reorder_primitive_desc_create")
class Reorder(PrimitiveDescriptor):
    """`dst = src`."""

    kind = PrimitiveKind.reorder

    def __init__(
        self,
        src_desc: Descriptor | None,
        src_engine: Engine | None,
        dst_desc: Descriptor | None,
        dst_engine: Engine | None = None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(src_engine, attr)
        if src_desc is None or dst_desc is None or dst_engine is None:
            invalid("source and destination with their engines are needed")
        support(dst_engine is src_engine, "reorders between engines")
        support(src_desc.sparse is None and dst_desc.sparse is None, "reorders of sparse tensors")
        require(not src_desc.is_any, "the layout of the source must be known")
        require(not dst_desc.is_any, "the layout of the destination must be known")
        require(src_desc.dims == dst_desc.dims, "source and destination have one shape")
        self._check_quantization(src_desc, dst_desc)
        checked_types(C_TYPES, src_desc, dst_desc, may_be_open=True)
        both = (Arg.SRC, Arg.DST)
        self.attributes.allow(scales=both, zero_points=both, post_ops=(Sum,))
        self.add_input(Arg.SRC, src_desc)
        self.add_output(Arg.DST, dst_desc)

    def _check_quantization(self, src: Descriptor, dst: Descriptor) -> None:
        for arg, tensor in ((Arg.SRC, src), (Arg.DST, dst)):
            whole = tensor.data_type in INTEGERS
            there = arg in self.attributes.zero_points
            require(whole or not there, "zero points are for integers")
        scales = self.attributes.scales
        if Arg.SRC in scales and scales[Arg.SRC].groups:
            groups, mask = scales[Arg.SRC].groups, scales[Arg.SRC].mask
            fits = all(size % group == 0 for size, group in zip(src.dims[-2:], groups, strict=True))
            require(fits, "groups of scales do not fill the dimensions")
            require(mask >> (src.ndims - 2) == 3, "the mask does not cover the groups")
        if Arg.DST in scales:
            require(not scales[Arg.DST].groups, "scales of the destination have no groups")

    def with_sizes(self, tensors: Mapping[int, Descriptor]) -> Reorder:
        """The reorder of a tensor whose sizes were open."""
        src, dst = tensors.get(Arg.SRC), tensors.get(Arg.DST)
        return Reorder(src, self.engine, dst, self.engine, self.attributes_with_sizes)

    def make_plan(self) -> Plan:
        """A launch that writes the padding of blocks, too."""
        src, dst = self.arguments.get(Arg.SRC), self.arguments.get(Arg.DST)
        if src is None or dst is None or dst.elements == 0:
            return Plan()
        return Plan(reorder.reorder(src, dst, self.attributes))
