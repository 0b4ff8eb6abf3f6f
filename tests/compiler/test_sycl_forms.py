"""Forms in which SYCL compilers write things that OpenCL C compilers write otherwise."""

from __future__ import annotations

import numpy as np

from tests.compiler.instruction_support import Shape, check


def test_component_of_a_builtin_through_a_typed_chain() -> None:
    def local_ids(shape: Shape) -> np.ndarray:
        return np.tile(np.arange(shape.group, dtype=np.uint64), 4)

    check(
        """
        %at = OpInBoundsPtrAccessChain %i*u64 %in:LocalInvocationId %u64:0 %u64:0
        %r = OpLoad %u64 %at Aligned 32
        """,
        [],
        "u64",
        local_ids,
    )


def test_component_of_a_builtin_through_a_step_in_bytes() -> None:
    check(
        """
        %bytes = OpBitcast %i*u8 %in:NumWorkgroups
        %first.byte = OpInBoundsPtrAccessChain %i*u8 %bytes %u64:0
        %first.at = OpBitcast %i*u64 %first.byte
        %first = OpLoad %u64 %first.at Aligned 8
        %third.byte = OpInBoundsPtrAccessChain %i*u8 %bytes %u64:16
        %third.at = OpBitcast %i*u64 %third.byte
        %third = OpLoad %u64 %third.at Aligned 8
        %ten = OpIMul %u64 %first %u64:10
        %r = OpIAdd %u64 %ten %third
        """,
        [],
        "u64",
        lambda shape: np.full(4 * shape.group, 41, np.uint64),
    )


def test_component_of_a_builtin_by_a_variable_index() -> None:
    which = np.array([0, 1, 2, 1, 0, 2, 2, 1] * 11, np.uint32)

    def sizes(shape: Shape) -> np.ndarray:
        return np.where(which == 0, shape.group, 1).astype(np.uint64)

    check(
        """
        %at = OpInBoundsAccessChain %i*u64 %in:WorkgroupSize %a
        %r = OpLoad %u64 %at Aligned 8
        """,
        [("u32", which)],
        "u64",
        sizes,
    )


def test_loop_with_a_hint_before_its_phis() -> None:
    count = np.array([0, 1, 5, 3, 9, 2, 7, 4] * 11, np.uint32)
    check(
        """
        OpBranch %head
        %head = OpLabel
        OpLoopControlINTEL 1
        %k = OpPhi %u32 %u32:0 %entry %next %body
        %total = OpPhi %u32 %u32:0 %entry %sum %body
        %more = OpULessThan %bool %k %a
        OpBranchConditional %more %body %done
        %body = OpLabel
        %next = OpIAdd %u32 %k %u32:1
        %sum = OpIAdd %u32 %total %next
        OpBranch %head
        %done = OpLabel
        %r = OpCopyObject %u32 %total
        """,
        [("u32", count)],
        "u32",
        count * (count + 1) // 2,
        capabilities=["UnstructuredLoopControlsINTEL"],
        extensions=["SPV_INTEL_unstructured_loop_controls"],
    )
