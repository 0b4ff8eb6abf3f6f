"""Binary: an operation on two tensors."""

from __future__ import annotations

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import invalid, require, support
from groundstate.dnn.kernels import binary
from groundstate.dnn.plan import Plan
from groundstate.dnn.post_ops import Binary as BinaryStep
from groundstate.dnn.post_ops import Eltwise, Sum, binary_algorithm
from groundstate.dnn.primitive import PrimitiveDescriptor, checked_types, creates
from groundstate.dnn.types import Algorithm, Arg, DataType, FormatKind, PrimitiveKind, Query


@creates("dnnl_binary_primitive_desc_create_v2")
class Binary(PrimitiveDescriptor):
    """`dst = src0 op src1`, or `src2 ? src0 : src1`."""

    kind = PrimitiveKind.binary

    def __init__(
        self,
        engine: Engine | None,
        alg_kind: int,
        src0_desc: Descriptor | None,
        src1_desc: Descriptor | None,
        src2_desc: Descriptor | None,
        dst_desc: Descriptor | None,
        attr: Attributes | None = None,
    ) -> None:
        super().__init__(engine, attr)
        self.algorithm = binary_algorithm(alg_kind)
        if src0_desc is None or src1_desc is None or dst_desc is None:
            invalid("both sources and the destination are needed")
        selects = self.algorithm == Algorithm.binary_select
        require(not selects or src2_desc is not None, "a selection needs its condition")
        self._check_shapes(src0_desc, src1_desc, src2_desc, dst_desc)
        checked_types(binary.TYPES, src0_desc, src1_desc, dst_desc)
        sources = (Arg.SRC_0, Arg.SRC_1)
        self.attributes.allow(scales=sources, post_ops=(Sum, Eltwise, BinaryStep))
        for scale in self.attributes.scales.values():
            support(scale.mask == 0, "scales that vary along a dimension")
        dst = dst_desc.like(src0_desc) if dst_desc.is_any else dst_desc
        self.settle_post_ops(dst)
        self.add_input(Arg.SRC_0, src0_desc)
        self.add_input(Arg.SRC_1, src1_desc.like(src0_desc) if src1_desc.is_any else src1_desc)
        if selects and src2_desc is not None:
            self.add_input(Arg.SRC_2, src2_desc.like(src0_desc) if src2_desc.is_any else src2_desc)
        self.add_output(Arg.DST, dst)
        self.parameters[Query.alg_kind] = self.algorithm

    @staticmethod
    def _check_shapes(
        one: Descriptor, two: Descriptor, choice: Descriptor | None, dst: Descriptor
    ) -> None:
        require(not one.is_any, "the layout of the first source must be known")
        tensors = [one, two, dst, *([] if choice is None else [choice])]
        scalar = FormatKind.host_scalar in {tensor.kind for tensor in tensors}
        require(not scalar, "values of the host are not tensors")
        for tensor in tensors:
            support(not tensor.has_runtime, "dimensions that are not known")
            require(tensor.ndims == dst.ndims, "all tensors have as many dimensions")
        if choice is not None:
            require(choice.data_type == DataType.s8, "the condition is of type s8")
        for dim, size in enumerate(dst.dims):
            sizes = {tensor.dims[dim] for tensor in tensors}
            require(sizes <= {1, size}, f"dimension {dim} cannot be broadcast")
            covered = size in (one.dims[dim], two.dims[dim])
            require(covered, f"no source fills dimension {dim}")

    def make_plan(self) -> Plan:
        """A launch that writes the padding of blocks, too."""
        dst = self.arguments.get(Arg.DST)
        if dst is None or dst.elements == 0:
            return Plan()
        sources = [self.arguments[Arg.SRC_0], self.arguments[Arg.SRC_1]]
        condition = self.arguments.get(Arg.SRC_2)
        return Plan(binary.binary(self.algorithm, sources, condition, dst, self.attributes))


@creates("dnnl_binary_primitive_desc_create")
def binary_of_two(
    engine: Engine | None,
    alg_kind: int,
    src0_desc: Descriptor | None,
    src1_desc: Descriptor | None,
    dst_desc: Descriptor | None,
    attr: Attributes | None = None,
) -> Binary:
    """The operations that need no condition."""
    return Binary(engine, alg_kind, src0_desc, src1_desc, None, dst_desc, attr)
