"""Forms in which SYCL compilers write things that OpenCL C compilers write otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from groundstate.compiler.program import Program
from tests.compiler.instructions.instruction_support import Shape, check, each_item, module
from tests.compiler.runner import program_of, run


def test_builtin_component_through_typed_chain() -> None:
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


def test_builtin_component_through_byte_offset() -> None:
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


def test_builtin_component_by_variable_index() -> None:
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


def known(name: str, result: str, parameters: list[str]) -> dict[str, str]:
    """A function `%known` that a module only declares, as arguments for `check`."""
    lines = [f"%p{index} = OpFunctionParameter %{kind}" for index, kind in enumerate(parameters)]
    kinds = " ".join(f"%{kind}" for kind in parameters)
    return {
        "before": f'OpDecorate %known LinkageAttributes "{name}" Import',
        "declarations": f"%type.of.known = OpTypeFunction %{result} {kinds}",
        "functions": "\n".join(
            [f"%known = OpFunction %{result} None %type.of.known", *lines, "OpFunctionEnd"]
        ),
    }


def check_known(
    name: str,
    inputs: list[tuple[str, NDArray[Any]]],
    output: str,
    expected: NDArray[Any],
    *more: str,
) -> None:
    """Calls a function that the module only declares, with the inputs and some constants."""
    kinds = [kind for kind, _ in inputs] + [each.split(":")[0] for each in more]
    arguments = [f"%{each}" for each in ("a", "b")[: len(inputs)] + more]
    body = f"%r = OpFunctionCall %{output} %known {' '.join(arguments)}"
    check(body, inputs, output, expected, **known(name, output, kinds))


NUMBERS = np.array([0, 1, 5, 2**31, 2**32 - 1, 77, 2**31 - 1, 12345678] * 11, np.uint32)
OTHERS = np.roll(NUMBERS, 3)
FLOATS = np.array([0.0, -0.0, 1.5, -np.inf, np.nan, 1e-42, -3.25, np.inf] * 11, np.float32)
WIDE = NUMBERS.astype(np.uint64)
INTRINSICS = {
    "llvm.usub.sat.i32": np.where(NUMBERS > OTHERS, NUMBERS - OTHERS, 0),
    "llvm.uadd.sat.i32": np.minimum(WIDE + OTHERS, 2**32 - 1),
    "llvm.smax.i32": np.maximum(NUMBERS.view(np.int32), OTHERS.view(np.int32)).view(np.uint32),
    "llvm.umin.i32": np.minimum(NUMBERS, OTHERS),
}


@pytest.mark.parametrize("name", INTRINSICS)
def test_intrinsic_of_llvm_by_name(name: str) -> None:
    inputs = [("u32", NUMBERS), ("u32", OTHERS)]
    check_known(name, inputs, "u32", INTRINSICS[name].astype(np.uint32))


def test_funnel_shift_by_name() -> None:
    pairs = WIDE << np.uint64(32) | OTHERS
    expected = (pairs << np.uint64(7) >> np.uint64(32)).astype(np.uint32)
    check_known("llvm.fshl.i32", [("u32", NUMBERS), ("u32", OTHERS)], "u32", expected, "u32:7")


def test_intrinsic_with_a_flag_by_name() -> None:
    expected = np.array([32 - int(each).bit_length() for each in NUMBERS], np.uint32)
    check_known("llvm.ctlz.i32", [("u32", NUMBERS)], "u32", expected, "bool:true")


def test_classes_of_numbers_by_name() -> None:
    not_a_number_or_negative = 0x003 | 0x004 | 0x008
    expected = (np.isnan(FLOATS) | np.isneginf(FLOATS) | (FLOATS == -3.25)).astype(np.uint8)
    check_known(
        "llvm.is.fpclass.f32",
        [("f32", FLOATS)],
        "bool",
        expected,
        f"u32:{not_a_number_or_negative}",
    )


POSITIVE = np.array([0.25, 1.0, 2.0, 10.0, 1e-3, 7.5, 123.0, 0.5] * 11, np.float32)
EXACT = POSITIVE.astype(np.float64)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_Z3logf", np.log(EXACT)),
        ("_Z4sqrtf", np.sqrt(EXACT)),
        ("_Z3powff", EXACT ** np.roll(EXACT, 3)),
        ("_Z3maxff", np.maximum(EXACT, np.roll(EXACT, 3))),
    ],
)
def test_call_of_opencl_function_by_mangled_name(name: str, expected: NDArray[np.float64]) -> None:
    """As numba-dpex calls them."""
    inputs = [("f32", POSITIVE), ("f32", np.roll(POSITIVE, 3))][: 1 + name.endswith("ff")]
    body = f"%r = OpFunctionCall %f32 %known {'%a %b' if len(inputs) == 2 else '%a'}"
    declared = known(name, "f32", ["f32"] * len(inputs))
    check(body, inputs, "f32", expected, ulp=16.0, **declared)


def test_vector_ldexp_by_its_mangled_name() -> None:
    numbers = np.stack([POSITIVE, POSITIVE[::-1]], axis=1)
    exponents = np.stack([NUMBERS % 5, OTHERS % 5], axis=1)
    inputs = [("v2f32", numbers), ("v2u32", exponents)]
    expected = np.ldexp(numbers, exponents.astype(np.int32))
    check_known("_Z5ldexpDv2_fDv2_i", inputs, "v2f32", expected)


@pytest.mark.parametrize(
    ("name", "result", "parameters"),
    [
        ("_Z3logd", "u32", ["u32"]),
        ("_Z3logd", "f64", ["f32"]),
        ("_Z3logd", "f64", ["f64", "f64"]),
        ("_Z6sincosd", "f64", ["f64"]),
        ("_Z5ldexpff", "f32", ["f32", "f32"]),
        ("_Z3fogd", "f64", ["f64"]),
        ("_Z99logd", "f64", ["f64"]),
    ],
)
def test_other_functions_stay_imports(name: str, result: str, parameters: list[str]) -> None:
    arguments = " ".join(f"%{each}:1" for each in parameters)
    body = f"%r = OpFunctionCall %{result} %known {arguments}"
    declared = known(name, result, parameters)
    functions = declared.pop("functions")
    spirv = module(each_item([body], [], [result], functions), **declared)
    assert Program(spirv).imports == (name,)


def test_intrinsic_of_llvm_for_vectors() -> None:
    first = np.stack([NUMBERS, OTHERS], axis=1)
    second = np.stack([OTHERS, NUMBERS], axis=1)
    expected = np.where(first > second, first - second, 0).astype(np.uint32)
    check_known("llvm.usub.sat.v2i32", [("v2u32", first), ("v2u32", second)], "v2u32", expected)


def test_bfloat16_conversions_through_pointer() -> None:
    """Widening is exact; narrowing takes the nearest, and an even one of two."""
    bits = np.array(
        [0x0000, 0x3FC0, 0xBF80, 0x7F80, 0x0001, 0x4049, 0xC2F7, 0x8000] * 11, np.uint16
    )
    exact = (bits.astype(np.uint32) << 16).view(np.float32)
    for name, given, kind, expected, output in (
        ("__devicelib_ConvertBF16ToFINTEL", bits, "u16", exact, "f32"),
        ("__devicelib_ConvertFToBF16INTEL", exact, "f32", bits, "u16"),
    ):
        check(
            f"%generic = OpPtrCastToGeneric %a*{kind} %at.a\n"
            f"%r = OpFunctionCall %{output} %known %generic",
            [(kind, given)],
            output,
            expected,
            **known(name, output, [f"a*{kind}"]),
        )


def imports_of(*calls: str) -> tuple[str, ...]:
    """What a program of one module still needs that declares three functions and calls some."""
    names = ("llvm.umin.i32", "elsewhere", "unused")
    functions = "\n".join(
        f"""
        %{name} = OpFunction %u32 None %type.of.known
        %{name}.a = OpFunctionParameter %u32
        %{name}.b = OpFunctionParameter %u32
        OpFunctionEnd
        """
        for name in ("f0", "f1", "f2")
    )
    body = "\n".join(
        f"%r{index} = OpFunctionCall %u32 %{name} %u32:1 %u32:2" for index, name in enumerate(calls)
    )
    spirv = module(
        f"""
        %type.of.known = OpTypeFunction %u32 %u32 %u32
        %type.of.kernel = OpTypeFunction %void
        {functions}
        %kernel = OpFunction %void None %type.of.kernel
        %entry = OpLabel
        {body}
        OpReturn
        OpFunctionEnd
        """,
        before="\n".join(
            f'OpDecorate %f{index} LinkageAttributes "{name}" Import'
            for index, name in enumerate(names)
        ),
    )
    return Program(spirv).imports


def test_module_imports_unknown_functions_called() -> None:
    assert imports_of() == ()
    assert imports_of("f0") == ()
    assert imports_of("f0", "f1") == ("elsewhere",)


def test_definition_pointer_types_override_import() -> None:
    """The caller has pointers to pairs; the function behind the import has pointers to numbers."""
    user = module(
        each_item(["%r = OpFunctionCall %u32 %known %at.a"], ["v2u32"], ["u32"])
        + known("of.a.pair", "u32", ["g*v2u32"])["functions"],
        declarations="%type.of.known = OpTypeFunction %u32 %g*v2u32",
        before='OpDecorate %known LinkageAttributes "of.a.pair" Import',
    )
    owner = module(
        """
        %first.second = OpFunction %u32 None %type.of.known
        %at = OpFunctionParameter %g*u32
        %entry = OpLabel
        %first = OpLoad %u32 %at Aligned 4
        %next = OpPtrAccessChain %g*u32 %at %u64:1
        %second = OpLoad %u32 %next Aligned 4
        %ten = OpIMul %u32 %first %u32:10
        %sum = OpIAdd %u32 %ten %second
        OpReturnValue %sum
        OpFunctionEnd
        """,
        kernels=(),
        declarations="%type.of.known = OpTypeFunction %u32 %g*u32",
        before='OpDecorate %first.second LinkageAttributes "of.a.pair" Export',
    )
    program = Program.link([Program(user), Program(owner)])
    pairs = np.arange(96, dtype=np.uint32).reshape(48, 2)
    for width in (1, 8, 16):
        found = np.zeros(48, np.uint32)
        run(program, "kernel", (3, 1, 1), (16, 1, 1), pairs, found, width=width)
        assert found.tolist() == (pairs[:, 0] * 10 + pairs[:, 1]).tolist()


@pytest.mark.parametrize("width", [8, 16, 32])
@pytest.mark.parametrize("kind", ["f32", "u32", "f64"])
def test_shuffle_by_indices_of_all_lanes(kind: str, width: int) -> None:
    """Sub-groups as large as a vector register, and larger."""
    spirv = module(
        each_item(["%r = OpSubgroupShuffleINTEL %" + kind + " %a %b"], [kind, "u32"], [kind]),
        capabilities=("SubgroupShuffleINTEL",),
        extensions=("SPV_INTEL_subgroups",),
    )
    values = np.arange(64).astype({"f32": np.float32, "u32": np.uint32, "f64": np.float64}[kind])
    which = np.random.default_rng(7).integers(0, width, 64).astype(np.uint32)
    found = np.zeros_like(values)
    run(Program(spirv), "kernel", (1, 1, 1), (64, 1, 1), values, which, found, width=width)
    first_lane = np.arange(64) // width * width
    assert found.tolist() == values[first_lane + which].tolist()


@pytest.mark.parametrize(
    ("body", "waits"),
    [
        ("for (int k = 0; k < n; k++) x += in[k];", False),
        ("if (n > 3) atomic_add(in, 1);", False),
        ("while (atomic_load_explicit((atomic_int *)in, memory_order_relaxed) < n) x++;", True),
        ("while (*(volatile global int *)in < n) x++;", True),
    ],
)
def test_only_loops_that_see_others_may_wait(body: str, waits: bool) -> None:
    source = f"kernel void f(global int *in, int n) {{ int x = 0; {body} in[1] = x; }}"
    program = program_of(source)
    assert program.signature("f").may_wait == waits
    assert program.compile("f", (16, 1, 1)).may_wait == waits
