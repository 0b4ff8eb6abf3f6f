"""Every built-in function becomes instructions: nothing is imported, and all of it is valid."""

from __future__ import annotations

import re

import pytest

from groundstate.compiler.opencl.frontend import compile_opencl
from tests.compiler.opencl.builtin_calls import calls
from tests.compiler.opencl.frontend_support import disassemble, imports, opcodes, validate

AT_ONCE = 60
CALLS = list(calls())
GROUPS = [CALLS[start : start + AT_ONCE] for start in range(0, len(CALLS), AT_ONCE)]


@pytest.mark.needs_compiler
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0][0])
def test_functions(group: list[tuple[str, str]]) -> None:
    source = "\n".join(f"kernel void k{n}{kernel}" for n, (_, kernel) in enumerate(group))
    spirv = compile_opencl(source)
    validate(spirv)
    assert imports(disassemble(spirv)) == []


def body(source: str) -> str:
    """The disassembled module of a kernel with a pointer to each of the usual types."""
    parameters = "global int *i, global float *f, global long *l, global uint *u, local int *s"
    return disassemble(compile_opencl(f"kernel void k({parameters}) {{ {source} }}"))


def operands(text: str, opcode: str) -> list[str]:
    """The operands of the only instruction of that name, constants as their numbers."""
    numbers = dict(re.findall(r"(%\w+) = OpConstant %\w+ (\S+)", text))
    numbers |= dict.fromkeys(re.findall(r"(%\w+) = OpConstantNull", text), "0")
    (found,) = re.findall(rf"{opcode} (.*)", text)
    return [numbers.get(word, word) for word in found.split()]


def test_splat_of_loaded_vector_element_is_valid() -> None:
    """LLVM would load it as a vector of one element, which SPIR-V does not have."""
    parameters = "global float4 *x, global float4 *out"
    validate(compile_opencl(f"kernel void k({parameters}) {{ *out = (float4)(x->s0); }}"))


# --- Conversions: saturation and rounding end up where they belong --------------------------------


def test_saturation_of_a_signed_source_is_signed() -> None:
    text = body("*i = convert_char_sat(*i);")
    assert " s_max " in text or " s_clamp " in text
    assert "OpSatConvertUToS" not in text


def test_rounding_to_float_is_a_decoration() -> None:
    text = body("*f = convert_float_rtz(*l);")
    assert "FPRoundingMode RTZ" in text
    assert "OpConvertSToF" in opcodes(text)
    assert "OpFunctionCall" not in opcodes(text)


def test_rounding_to_integer_is_done_first() -> None:
    text = body("*i = convert_int_rtn(*f);")
    assert opcodes(text).count("OpConvertFToS") == 1
    assert " floor " in text


# --- Atomic functions: orders and scopes ----------------------------------------------------------

DEVICE, WORK_GROUP, SUB_GROUP = "1", "2", "3"
RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE, SEQUENTIALLY_CONSISTENT = "0", "2", "4", "8", "16"


@pytest.mark.parametrize(
    ("call", "opcode", "scope", "semantics"),
    [
        ("atomic_add(i, 1)", "OpAtomicIAdd", DEVICE, RELAXED),
        ("atomic_min(s, 1)", "OpAtomicSMin", WORK_GROUP, RELAXED),
        ("atomic_max(u, 1u)", "OpAtomicUMax", DEVICE, RELAXED),
        ("atomic_fetch_add(A, 1)", "OpAtomicIAdd", DEVICE, SEQUENTIALLY_CONSISTENT),
        ("atomic_fetch_or_explicit(A, 1, memory_order_acquire)", "OpAtomicOr", DEVICE, ACQUIRE),
        (
            "atomic_fetch_min_explicit(A, 1, memory_order_release, memory_scope_work_group)",
            "OpAtomicSMin",
            WORK_GROUP,
            RELEASE,
        ),
        (
            "atomic_load_explicit(A, memory_order_relaxed, memory_scope_sub_group)",
            "OpAtomicLoad",
            SUB_GROUP,
            RELAXED,
        ),
        (
            "atomic_exchange_explicit(A, 2, memory_order_acq_rel, memory_scope_all_svm_devices)",
            "OpAtomicExchange",
            "0",
            ACQUIRE_RELEASE,
        ),
    ],
)
def test_atomic(call: str, opcode: str, scope: str, semantics: str) -> None:
    text = body(f"i[1] = {call.replace('A', '(global atomic_int *)i')};")
    _, _, *found = operands(text, opcode)
    assert found[:2] == [scope, semantics]


def test_atomics_on_known_memory_are_not_generic() -> None:
    text = body("atomic_fetch_add((global atomic_int *)i + 5, 1);")
    assert "OpPtrCastToGeneric" not in opcodes(text)


def test_expected_value_need_not_be_in_memory() -> None:
    text = body("int e = *i; i[1] = atomic_compare_exchange_weak((global atomic_int *)i, &e, 7);")
    assert "OpAtomicCompareExchange" in opcodes(text)
    assert not re.search(r"OpVariable .* Function", text)


# --- Barriers and fences --------------------------------------------------------------------------

LOCAL, GLOBAL = 0x100, 0x200


@pytest.mark.parametrize(
    ("call", "opcode", "expected"),
    [
        ("barrier(CLK_LOCAL_MEM_FENCE)", "OpControlBarrier", [2, 2, LOCAL | 16]),
        (
            "work_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device)",
            "OpControlBarrier",
            [2, 1, GLOBAL | 16],
        ),
        ("sub_group_barrier(CLK_LOCAL_MEM_FENCE)", "OpControlBarrier", [3, 3, LOCAL | 16]),
        ("mem_fence(CLK_LOCAL_MEM_FENCE)", "OpMemoryBarrier", [2, LOCAL | 8]),
        ("read_mem_fence(CLK_GLOBAL_MEM_FENCE)", "OpMemoryBarrier", [2, GLOBAL | 2]),
        (
            "atomic_work_item_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, "
            "memory_order_release, memory_scope_device)",
            "OpMemoryBarrier",
            [1, LOCAL | GLOBAL | 4],
        ),
    ],
)
def test_barrier(call: str, opcode: str, expected: list[int]) -> None:
    assert [int(word) for word in operands(body(f"{call};"), opcode)] == expected


# --- The rest -------------------------------------------------------------------------------------


def test_async_copy_knows_its_elements() -> None:
    text = body(
        "local float a[64]; event_t e = async_work_group_copy(f, a, 64, 0);"
        "wait_group_events(1, &e);"
    )
    (line,) = [line for line in text.splitlines() if "OpGroupAsyncCopy" in line]
    destination = line.split()[5]
    assert re.search(rf"{destination} = OpBitcast %_ptr_CrossWorkgroup_float ", text)


def test_any_looks_at_the_highest_bit() -> None:
    text = body("i[0] = any(vload4(0, i));")
    assert "OpAny" in opcodes(text)
    assert "OpSLessThan" in opcodes(text)


def test_printf_takes_a_pointer_to_char() -> None:
    source = 'kernel void k(int a) { printf("%d %s\\n", a, "text"); }'
    spirv = compile_opencl(source)
    validate(spirv)
    assert disassemble(spirv).count(" printf ") == 1


@pytest.mark.parametrize("scope", ["device", "work_group", "sub_group"])
def test_clocks(scope: str) -> None:
    # Not validated: spirv-val took this instruction to be one of shaders only, and later did not.
    assert "OpReadClockKHR" in opcodes(body(f"*l = clock_read_{scope}();"))


@pytest.mark.parametrize(
    ("query", "base"),
    [("get_image_channel_order", 0x10B0), ("get_image_channel_data_type", 0x10D0)],
)
def test_image_queries_count_as_opencl_does(query: str, base: int) -> None:
    source = f"kernel void k(read_only image2d_t im, global int *o) {{ *o = {query}(im); }}"
    spirv = compile_opencl(source)
    validate(spirv)
    assert f"OpConstant %uint {base}" in disassemble(spirv)


@pytest.mark.parametrize("image", ["image1d_t", "image2d_t", "image3d_t", "image2d_array_t"])
def test_images(image: str) -> None:
    place = {"image1d_t": "float", "image2d_t": "float2"}.get(image, "float4")
    whole = place.replace("float", "int")
    source = f"""
        constant sampler_t s = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
        kernel void k(read_only {image} a, write_only {image} b, read_write {image} c) {{
            float4 v = read_imagef(a, s, ({place})0.5f) + read_imagef(c, ({whole})1);
            write_imagef(b, ({whole})2, v);
            half4 h = read_imageh(a, s, ({place})0.25f);
            write_imageh(c, ({whole})3, h * (half)get_image_width(b));
            write_imageui(b, ({whole})4, read_imageui(a, ({whole})5));
        }}"""
    spirv = compile_opencl(source)
    text = disassemble(spirv)
    assert imports(text) == []
    assert "OpConstantSampler %spirv_Sampler Repeat 1 Linear" in text


def test_local_arrays_keep_their_size() -> None:
    text = body(
        "local int a[4][8], b[4][8]; local int (*p)[8] = *i > 3 ? a : b;"
        "p[*u & 3][*f > 1] = 5; barrier(CLK_LOCAL_MEM_FENCE); *i = p[1][*l & 7];"
    )
    arrays = re.findall(r"OpVariable (%\w+) Workgroup", text)
    assert len(arrays) == 2
    for pointer in arrays:
        (outer,) = re.findall(rf"{pointer} = OpTypePointer Workgroup (%\w+)", text)
        inner, length = re.findall(rf"{outer} = OpTypeArray (%\w+) (%\w+)", text)[0]
        assert re.search(rf"{length} = OpConstant %uint 4$", text, re.MULTILINE)
        assert re.search(rf"{inner} = OpTypeArray %uint %uint_8", text)


def test_helpers_of_the_back_end_are_not_exported() -> None:
    text = body("uint x = *u; *u = x >> 24 | (x >> 8 & 0xff00) | (x << 8 & 0xff0000) | x << 24;")
    assert "Export" not in text


def test_rotations_are_rotations() -> None:
    text = body("*u = u[1] << (u[2] & 31) | u[1] >> ((32 - u[2]) & 31);")
    assert " rotate " in text
