"""One small kernel for each built-in function of OpenCL C and each kind of type it takes.

A row is a group of functions, the expression that calls one, and the types to try: `$f` is the
function, `$t` the type, `$e` its element type, `$n` its number of elements, `$s`, `$u`, `$i`, `$r`
the signed, unsigned, int and relational types of the same shape. `x`, `y` and `z` are global
pointers to the type, `k` to $i, `v` a variable.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from string import Template

FLOATS = ["float", "float3", "float4", "float16", "double", "double2", "half", "half8"]
INTEGERS = ["char", "uchar16", "short8", "ushort", "int", "int4", "uint", "uint3", "long", "ulong2"]
FLOAT_VECTORS = ["float4", "double2", "half8"]
INTEGER_VECTORS = ["char4", "uchar16", "short8", "ushort3", "int4", "uint3", "long2", "ulong8"]
INTEGER_SCALARS = ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"]
SCALARS = [*INTEGER_SCALARS, "float", "double", "half"]
WIDE = ["int", "uint", "long", "ulong", "float", "double"]

UNARY_MATH = (
    "acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erf erfc exp "
    "exp2 exp10 expm1 fabs floor lgamma log log2 log10 log1p logb rint round rsqrt sin sinh sinpi "
    "sqrt tan tanh tanpi tgamma trunc degrees radians sign"
)
BINARY_MATH = (
    "atan2 atan2pi copysign fdim fmax fmin fmod hypot maxmag minmag nextafter pow powr remainder "
    "step max min"
)
NATIVE = (
    "native_cos native_exp native_exp2 native_exp10 native_log native_log2 native_log10 "
    "native_recip native_rsqrt native_sin native_sqrt native_tan half_cos half_exp half_exp2 "
    "half_exp10 half_log half_log2 half_log10 half_recip half_rsqrt half_sin half_sqrt half_tan"
)
COMPARISONS = (
    "isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered "
    "isunordered"
)

ROWS: list[tuple[str, str, list[str]]] = [
    (UNARY_MATH, "$t r = $f(*x)", FLOATS),
    (BINARY_MATH, "$t r = $f(*x, *y)", FLOATS),
    ("fma mad clamp mix smoothstep", "$t r = $f(*x, *y, *z)", FLOATS),
    ("fmax fmin max min", "$t r = $f(*x, y->s0)", FLOAT_VECTORS),
    ("clamp", "$t r = $f(*x, y->s0, z->s1)", FLOAT_VECTORS + INTEGER_VECTORS),
    ("mix", "$t r = $f(*x, *y, z->s1)", FLOAT_VECTORS),
    ("step", "$t r = $f(x->s1, *y)", FLOAT_VECTORS),
    ("smoothstep", "$t r = $f(x->s1, y->s0, *z)", FLOAT_VECTORS),
    ("max min", "$t r = $f(*x, y->s0)", INTEGER_VECTORS),
    ("fract modf sincos", "$t v; $t r = $f(*x, &v) + v + $f(*x, y)", FLOATS),
    ("frexp lgamma_r", "$i v; $t r = $f(*x, &v) + $f(*y, k); *k += v", FLOATS),
    ("remquo", "$i v; $t r = $f(*x, *y, &v) + $f(*y, *x, k); *k += v", FLOATS),
    ("ldexp pown rootn", "$t r = $f(*x, *k)", FLOATS),
    ("ldexp", "$t r = $f(*x, 3)", FLOATS),
    ("ilogb", "$i r = $f(*x)", FLOATS),
    ("nan", "$t r = $f(as_$u(*x))", FLOATS),
    (NATIVE, "$t r = $f(*x)", ["float", "float4"]),
    ("native_divide native_powr half_divide half_powr", "$t r = $f(*x, *y)", ["float", "float4"]),
    (COMPARISONS, "$r r = $f(*x, *y)", FLOATS),
    ("isfinite isinf isnan isnormal signbit", "$r r = $f(*x)", FLOATS),
    ("dot distance", "$e r = $f(*x, *y)", ["float", "float3", "double2", "float4"]),
    ("length", "$e r = $f(*x)", ["float", "float3", "double2", "half2"]),
    ("normalize", "$t r = $f(*x)", ["float", "float3", "double2", "half4"]),
    ("fast_distance", "$e r = $f(*x, *y)", ["float", "float3"]),
    ("fast_length", "$e r = $f(*x)", ["float", "float4"]),
    ("fast_normalize", "$t r = $f(*x)", ["float", "float2"]),
    ("cross", "$t r = $f(*x, *y)", ["float3", "float4", "double3", "half4"]),
    ("popcount clz ctz", "$t r = $f(*x)", INTEGERS),
    ("abs", "$u r = $f(*x)", INTEGERS),
    ("abs_diff", "$u r = $f(*x, *y)", INTEGERS),
    ("add_sat sub_sat hadd rhadd max min mul_hi rotate", "$t r = $f(*x, *y)", INTEGERS),
    ("clamp mad_hi mad_sat bitselect", "$t r = $f(*x, *y, *z)", INTEGERS),
    ("mad24", "$t r = $f(*x, *y, *z)", ["int", "uint4"]),
    ("mul24", "$t r = $f(*x, *y)", ["int4", "uint"]),
    ("bitfield_insert", "$t r = $f(*x, *y, 3u, 4u)", INTEGERS),
    ("bitfield_extract_signed", "$s r = $f(*x, 3u, 4u)", INTEGERS),
    ("bitfield_extract_unsigned", "$u r = $f(*x, 3u, 4u)", INTEGERS),
    ("bit_reverse", "$t r = $f(*x)", INTEGERS),
    ("any all", "int r = $f(*x)", ["char", "short4", "int3", "long16", "int"]),
    ("select", "$t r = $f(*x, *y, as_$s(*z)) + $f(*x, *y, as_$u(*z))", FLOATS + INTEGERS),
    ("bitselect", "$t r = $f(*x, *y, *z)", FLOATS),
    ("vload2 vload3 vload4 vload8 vload16", "auto r = $f(1, x)", SCALARS),
    ("shuffle", "$t r = $f(*x, as_$u(*y))", ["char16", "int4", "float8", "double2", "half4"]),
    ("shuffle2", "$t r = $f(*x, *y, as_$u(*z))", ["uchar8", "uint4", "float2", "long4"]),
    ("vload_half", "float r = $f(1, x)", ["half"]),
    (
        "vload_half2 vload_half3 vload_half16 vloada_half3 vloada_half4",
        "auto r = $f(1, x)",
        ["half"],
    ),
    (
        "atomic_add atomic_sub atomic_xchg atomic_min atomic_max",
        "$t r = $f(x, *y)",
        ["int", "uint"],
    ),
    ("atomic_and atomic_or atomic_xor", "$t r = $f(x, *y)", ["int", "uint"]),
    ("atomic_inc atomic_dec atom_inc atom_dec", "$t r = $f(x)", ["int", "uint"]),
    ("atom_add atom_sub atom_xchg atom_min atom_max", "$t r = $f(x, *y)", ["int", "long", "ulong"]),
    ("atom_and atom_or atom_xor", "$t r = $f(x, *y)", ["uint", "long", "ulong"]),
    ("atomic_cmpxchg", "$t r = $f(x, *y, *z)", ["int", "uint"]),
    ("atom_cmpxchg", "$t r = $f(x, *y, *z)", ["int", "ulong"]),
    ("atomic_xchg", "$t r = $f(x, *y)", ["float"]),
    (
        "atomic_fetch_add atomic_fetch_sub atomic_fetch_min atomic_fetch_max atomic_exchange",
        "$t r = $f((global atomic_$t *)x, *y)",
        WIDE,
    ),
    (
        "atomic_fetch_add_explicit atomic_fetch_sub_explicit atomic_fetch_min_explicit "
        "atomic_fetch_max_explicit atomic_exchange_explicit",
        "$t r = $f((global atomic_$t *)x, *y, memory_order_relaxed) + "
        "$f((atomic_$t *)x, *y, memory_order_acq_rel, memory_scope_work_group)",
        WIDE,
    ),
    (
        "atomic_fetch_and atomic_fetch_or atomic_fetch_xor",
        "$t r = $f((global atomic_$t *)x, *y)",
        ["int", "uint", "long", "ulong"],
    ),
    ("atomic_load", "$t r = $f((global atomic_$t *)x)", WIDE),
    (
        "atomic_load_explicit",
        "$t r = $f((global atomic_$t *)x, memory_order_acquire, memory_scope_device)",
        WIDE,
    ),
    ("atomic_store atomic_init", "$t r = *y; $f((global atomic_$t *)x, *y)", WIDE),
    (
        "atomic_store_explicit",
        "$t r = *y; $f((global atomic_$t *)x, *y, memory_order_release, memory_scope_sub_group)",
        WIDE,
    ),
    (
        "atomic_compare_exchange_strong atomic_compare_exchange_weak",
        "$t v = *y; int r = $f((global atomic_$t *)x, &v, *z); *y = v",
        WIDE,
    ),
    (
        "atomic_compare_exchange_strong_explicit atomic_compare_exchange_weak_explicit",
        "$t v = *y; int r = $f((global atomic_$t *)x, &v, *z, memory_order_acq_rel, "
        "memory_order_relaxed, memory_scope_device); *y = v",
        WIDE,
    ),
    ("atomic_flag_test_and_set", "int r = $f((global atomic_flag *)x)", ["int"]),
    ("atomic_flag_clear", "int r = 0; $f((global atomic_flag *)x)", ["int"]),
    (
        "get_global_id get_local_id get_group_id get_global_size get_local_size get_num_groups "
        "get_global_offset get_enqueued_local_size",
        "size_t r = $f(0) + $f(2) + $f(*x)",
        ["uint"],
    ),
    (
        "get_global_linear_id get_local_linear_id get_work_dim get_sub_group_size "
        "get_max_sub_group_size get_num_sub_groups get_enqueued_num_sub_groups get_sub_group_id "
        "get_sub_group_local_id sub_group_elect",
        "size_t r = $f()",
        ["uint"],
    ),
    (
        "get_sub_group_eq_mask get_sub_group_ge_mask get_sub_group_gt_mask get_sub_group_le_mask "
        "get_sub_group_lt_mask",
        "uint4 r = $f()",
        ["uint"],
    ),
    (
        "barrier work_group_barrier sub_group_barrier mem_fence read_mem_fence write_mem_fence "
        "intel_work_group_barrier_arrive intel_work_group_barrier_wait",
        "int r = 0; $f(CLK_LOCAL_MEM_FENCE); $f(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)",
        ["int"],
    ),
    (
        "work_group_barrier sub_group_barrier",
        "int r = 0; $f(CLK_LOCAL_MEM_FENCE, memory_scope_device)",
        ["int"],
    ),
    (
        "atomic_work_item_fence",
        "int r = 0; $f(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device)",
        ["int"],
    ),
    ("prefetch", "int r = 0; $f(x, 4)", ["int", "float4"]),
    (
        "async_work_group_copy",
        "local $t l[64]; event_t v = $f(l, x, 64, 0); v = $f(y, l, 64, v); "
        "wait_group_events(1, &v); $t r = l[3]",
        ["int", "float4", "uchar", "double"],
    ),
    (
        "async_work_group_strided_copy",
        "local $t l[64]; event_t v = $f(l, x, 32, 2, 0); wait_group_events(1, &v); $t r = l[3]",
        ["int", "float4"],
    ),
    (
        " ".join(
            f"{group}_group_{operation}_{function}"
            for group in ("work", "sub")
            for operation in ("reduce", "scan_inclusive", "scan_exclusive")
            for function in ("add", "min", "max")
        ),
        "$t r = $f(*x)",
        [*WIDE, "half"],
    ),
    ("work_group_broadcast", "$t r = $f(*x, 1) + $f(*x, 1, 2) + $f(*x, 1, 2, 3)", WIDE),
    ("sub_group_broadcast", "$t r = $f(*x, 1)", [*SCALARS, "float2", "uchar16"]),
    ("work_group_all work_group_any sub_group_all sub_group_any", "int r = $f(*x)", ["int"]),
    ("sub_group_non_uniform_all sub_group_non_uniform_any", "int r = $f(*x)", ["int"]),
    ("sub_group_non_uniform_all_equal", "int r = $f(*x)", SCALARS),
    (
        " ".join(
            f"sub_group_non_uniform_{operation}_{function}"
            for operation in ("reduce", "scan_inclusive", "scan_exclusive")
            for function in ("add", "mul", "min", "max")
        ),
        "$t r = $f(*x)",
        SCALARS,
    ),
    (
        "sub_group_non_uniform_reduce_and sub_group_non_uniform_reduce_or "
        "sub_group_non_uniform_scan_inclusive_xor",
        "$t r = $f(*x)",
        INTEGER_SCALARS,
    ),
    ("sub_group_non_uniform_reduce_logical_and", "int r = $f(*x)", ["int"]),
    (
        "sub_group_clustered_reduce_add sub_group_clustered_reduce_max",
        "$t r = $f(*x, 4)",
        SCALARS,
    ),
    (
        "sub_group_shuffle sub_group_shuffle_xor sub_group_shuffle_up sub_group_shuffle_down "
        "sub_group_rotate sub_group_non_uniform_broadcast intel_sub_group_shuffle "
        "intel_sub_group_shuffle_xor",
        "$t r = $f(*x, 2)",
        SCALARS,
    ),
    ("intel_sub_group_shuffle_down intel_sub_group_shuffle_up", "$t r = $f(*x, *y, 2u)", SCALARS),
    ("sub_group_broadcast_first", "$t r = $f(*x)", SCALARS),
    ("sub_group_ballot", "uint4 r = $f(*x)", ["int"]),
    (
        "sub_group_inverse_ballot sub_group_ballot_bit_count sub_group_ballot_inclusive_scan "
        "sub_group_ballot_exclusive_scan sub_group_ballot_find_lsb sub_group_ballot_find_msb",
        "uint r = $f(*x)",
        ["uint4"],
    ),
    ("sub_group_ballot_bit_extract", "int r = $f(*x, 3)", ["uint4"]),
    ("intel_sub_group_block_read intel_sub_group_block_read4", "auto r = $f(x)", ["uint"]),
    ("intel_sub_group_block_read_us2 intel_sub_group_block_read_us", "auto r = $f(x)", ["ushort"]),
    ("intel_sub_group_block_read_uc16", "auto r = $f(x)", ["uchar"]),
    ("intel_sub_group_block_read_ul8", "auto r = $f(x)", ["ulong"]),
    ("intel_sub_group_block_write", "int r = 0; $f(x, *y)", ["uint"]),
    ("get_fence", "int r = $f((int *)x)", ["int"]),
    ("to_global to_local to_private", "int r = $f(*k ? (int *)x : &v) != 0", ["int"]),
    ("dot", "$e r = $f(*x, *y)", ["half2", "double4"]),
    ("dot_4x8packed_ss_int dot_4x8packed_us_int", "int r = $f(*x, *y)", ["uint"]),
    ("dot_acc_sat_4x8packed_uu_uint", "uint r = $f(*x, *y, *z)", ["uint"]),
]


def calls() -> Iterator[tuple[str, str]]:
    """The name of each function and type, and the body of a kernel that calls it."""
    for names, expression, types in ROWS:
        for name, kind in itertools.product(names.split(), types):
            yield f"{name}({kind})", _kernel(Template(expression), name, kind)
    yield from conversions()


def conversions() -> Iterator[tuple[str, str]]:
    """Every conversion between the scalar types, and some between vectors."""
    for source, target, count in itertools.product(SCALARS, SCALARS, ("", "3", "16")):
        saturations = [""] if target in ("float", "double", "half") else ["", "_sat"]
        roundings = ["", "_rte", "_rtz", "_rtp", "_rtn"] if not count else ["", "_rtp"]
        for saturation, rounding in itertools.product(saturations, roundings):
            name = f"convert_{target}{count}{saturation}{rounding}"
            body = Template(f"{target}{count} r = $f(*x)")
            yield f"{name}({source}{count})", _kernel(body, name, source + count)


def _kernel(expression: Template, function: str, kind: str) -> str:
    """The parameters and body of a kernel, from `(` to the end."""
    element, count = re.fullmatch(r"([a-z]+)(\d*)", kind).groups()  # type: ignore[union-attr]
    bare = element.removeprefix("u")
    signed = {"float": "int", "double": "long", "half": "short"}.get(bare, bare)
    types = {
        "f": function,
        "t": kind,
        "e": element,
        "n": count,
        "s": signed + count,
        "u": f"u{signed}{count}",
        "i": "int" + count,
        "r": (signed if count else "int") + count,
    }
    body = expression.substitute(types)
    if "auto r" in body:
        called, number = re.search(r"(\w+?)(\d*)\(", body).groups()  # type: ignore[union-attr]
        result = ("float" if "half" in called else element) + number
        body = body.replace("auto r", f"{result} r")
    declared = "int v = 1; " if "&v" in body and " v;" not in body and " v " not in body else ""
    result = re.search(r"(\w+) r = ", body)[1]  # type: ignore[index]
    parameters = f"global {kind} *x, global {kind} *y, global {kind} *z, global {types['i']} *k"
    return f"({parameters}, global {result} *out) {{ {declared}{body}; *out = r; }}"
