"""Arithmetic with undefined or infinite results, and such that only looks like it."""

from __future__ import annotations

from tests.check.labelled.cases import right, wrong

LARGEST = 2**31 - 1

CASES = (
    # --- Divisions ------------------------------------------------------------------------------
    wrong(
        "divide_by_zero",
        "division-by-zero",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); out[i] = 100 / (i - 37); }""",
    ),
    right(
        "divide_by_others",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); out[i] = 100 / (i + 1); }""",
    ),
    wrong(
        "unsigned_rest_by_zero",
        "division-by-zero",
        "ints:64",
        source="""kernel void $(global uint *out) {
            uint i = get_global_id(0); out[i] = 100u % out[i]; }""",
    ),
    right(
        "divide_where_it_can_be",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); if (out[i] != 0) out[i] = 100 / out[i]; }""",
    ),
    right(
        "choose_the_quotient",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); out[i] = out[i] ? 100 % out[i] : -1; }""",
    ),
    wrong(
        "divide_a_vector",
        "division-by-zero",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0) / 4;
            int4 given = vload4(i, out); out[0] = ((int4)(7) / given).w + (7 / given).x; }""",
    ),
    wrong(
        "divide_longs",
        "division-by-zero",
        "ints:64",
        "ints:128",
        source="""kernel void $(global int *out, global const long *in) {
            int i = get_global_id(0); out[i] = (int)(77L / (in[i] >> 33)); }""",
    ),
    wrong(
        "least_by_minus_one",
        "signed-overflow",
        "ints:64",
        -1,
        source="""kernel void $(global int *out, int by) {
            int i = get_global_id(0); out[i] = (int)(0x80000000u + i) / by; }""",
    ),
    right(
        "others_by_minus_one",
        "ints:64",
        -1,
        source="""kernel void $(global int *out, int by) {
            int i = get_global_id(0); out[i] = (int)(0x80000001u + i) / by; }""",
    ),
    # --- Sums and products ----------------------------------------------------------------------
    wrong(
        "sum_too_large",
        "signed-overflow",
        "ints:64",
        LARGEST - 62,
        source="""kernel void $(global int *out, int more) {
            int i = get_global_id(0); out[i] = i + more; }""",
    ),
    right(
        "sum_just_fits",
        "ints:64",
        LARGEST - 63,
        source="""kernel void $(global int *out, int more) {
            int i = get_global_id(0); out[i] = i + more; }""",
    ),
    right(
        "unsigned_sum_wraps",
        "ints:64",
        -1,
        source="""kernel void $(global uint *out, uint more) {
            uint i = get_global_id(0); out[i] = i + more; }""",
    ),
    wrong(
        "difference_too_small",
        "signed-overflow",
        "ints:64",
        -LARGEST,
        source="""kernel void $(global int *out, int less) {
            int i = get_global_id(0); out[i] = i - less; }""",
    ),
    wrong(
        "product_too_large",
        "signed-overflow",
        "ints:64",
        1 << 26,
        source="""kernel void $(global int *out, int by) {
            int i = get_global_id(0); out[i] = i * by; }""",
    ),
    right(
        "hash_of_unsigned_products",
        "ints:64",
        source="""kernel void $(global uint *out) {
            uint i = get_global_id(0);
            out[i] = (i * 2654435761u) ^ (i << 13) ^ (i * i * 7919u); }""",
    ),
    right(
        "product_in_a_wider_type",
        "ints:64",
        1 << 26,
        source="""kernel void $(global int *out, int by) {
            int i = get_global_id(0); out[i] = (int)(((long)i * by) >> 32); }""",
    ),
    wrong(
        "negated_least",
        "signed-overflow",
        "ints:64",
        -LARGEST - 1,
        source="""kernel void $(global int *out, int least) {
            int i = get_global_id(0); out[i] = -(least ^ i); }""",
    ),
    right(
        "absolute_value_by_function",
        "ints:64",
        source="""kernel void $(global uint *out) {
            int i = get_global_id(0); int x = as_int((uint)i << 26); out[i] = abs(x); }""",
    ),
    wrong(
        "factorial_in_a_loop",
        "signed-overflow",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0), f = 1;
            for (int k = 2; k <= (i & 15); k++) f *= out[k];
            out[i] = f; }""",
    ),
    right(
        "short_sums_are_sums_of_ints",
        "ints:64",
        source="""kernel void $(global short *out) {
            int i = get_global_id(0); out[i] = (short)(out[i] + 32767); }""",
    ),
    right(
        "sum_that_nobody_uses",
        "ints:64",
        LARGEST,
        source="""kernel void $(global int *out, int more) {
            int i = get_global_id(0); int sum = i + more; out[i] = i == 0 ? sum : i; }""",
    ),
    right(
        "saturated_sum",
        "ints:64",
        LARGEST,
        source="""kernel void $(global int *out, int more) {
            int i = get_global_id(0); out[i] = add_sat(i, more); }""",
    ),
    wrong(
        "sum_of_longs",
        "signed-overflow",
        "ints:64",
        LARGEST,
        source="""kernel void $(global int *out, int more) {
            long i = get_global_id(0);
            long high = (long)more << 32;
            out[i] = (int)((high + 0xffffffffL + (i >> 3)) >> 32); }""",
    ),
    # --- Shifts ---------------------------------------------------------------------------------
    right(
        "shift_that_opencl_masks",
        "ints:64",
        source="""kernel void $(global uint *out) {
            uint i = get_global_id(0); out[i] = 1u << i; }""",
    ),
    # --- Conversions ----------------------------------------------------------------------------
    wrong(
        "float_too_large_for_int",
        "out-of-range-conversion",
        "ints:64",
        1 << 26,
        source="""kernel void $(global int *out, int by) {
            int i = get_global_id(0); out[i] = (int)((float)i * (float)by); }""",
    ),
    right(
        "float_saturated",
        "ints:64",
        1 << 26,
        source="""kernel void $(global int *out, int by) {
            int i = get_global_id(0); out[i] = convert_int_sat((float)i * (float)by); }""",
    ),
    wrong(
        "negative_to_unsigned",
        "out-of-range-conversion",
        "ints:64",
        source="""kernel void $(global uint *out) {
            int i = get_global_id(0); out[i] = (uint)(62.0f - (float)i); }""",
    ),
    right(
        "fraction_below_zero_is_cut_off",
        "ints:64",
        source="""kernel void $(global uint *out) {
            int i = get_global_id(0); out[i] = (uint)(62.25f - (float)i); }""",
    ),
    wrong(
        "float_too_large_for_byte",
        "out-of-range-conversion",
        "bytes:64",
        source="""kernel void $(global uchar *out) {
            int i = get_global_id(0); out[i] = (uchar)((float)i * 4.1f); }""",
    ),
    right(
        "largest_byte",
        "bytes:64",
        source="""kernel void $(global uchar *out) {
            int i = get_global_id(0); out[i] = (uchar)((float)i * 4.06f); }""",
    ),
    wrong(
        "double_to_int_just_too_large",
        "out-of-range-conversion",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); out[i] = (int)(2147483585.0 + i); }""",
    ),
    right(
        "double_to_int_just_fits",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); out[i] = (int)(2147483584.9 + i); }""",
    ),
    wrong(
        "rounded_out_of_range",
        "out-of-range-conversion",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); out[i] = convert_int_rte(2147483584.6 + i); }""",
    ),
    wrong(
        "vector_to_shorts",
        "out-of-range-conversion",
        "ints:64",
        1 << 15,
        source="""kernel void $(global short *out, int big) {
            int i = get_global_id(0) / 4;
            float4 f = (float4)(1, 2, big, 4); vstore4(convert_short4(f), i, out); }""",
    ),
    right(
        "conversion_chosen_by_range",
        "ints:64",
        1 << 26,
        source="""kernel void $(global int *out, int by) {
            int i = get_global_id(0); float x = (float)i * (float)by;
            out[i] = x < 1e9f ? (int)x : 1000000000; }""",
    ),
    # --- Floating-point numbers -----------------------------------------------------------------
    wrong(
        "one_over_zero",
        "infinite-result",
        "ints:64",
        source="""kernel void $(global float *out) {
            int i = get_global_id(0); out[i] = 1.0f / (float)(i - 5); }""",
    ),
    right(
        "one_over_more_than_zero",
        "ints:64",
        source="""kernel void $(global float *out) {
            int i = get_global_id(0); out[i] = 1.0f / ((float)i + 1e-6f); }""",
    ),
    right(
        "reciprocal_chosen",
        "ints:64",
        source="""kernel void $(global float *out) {
            int i = get_global_id(0); float x = (float)(i - 5);
            out[i] = x != 0 ? 1.0f / x : 0; }""",
    ),
    wrong(
        "zero_over_zero",
        "nan-result",
        "ints:64",
        0,
        source="""kernel void $(global float *out, int zero) {
            out[get_global_id(0)] = (float)(zero * 1) / (float)zero; }""",
    ),
    wrong(
        "root_of_a_negative",
        "nan-result",
        "ints:64",
        source="""kernel void $(global float *out) {
            int i = get_global_id(0); out[i] = sqrt((float)(i - 1)); }""",
    ),
    wrong(
        "logarithm_of_zero",
        "infinite-result",
        "ints:64",
        source="""kernel void $(global float *out) {
            int i = get_global_id(0); out[i] = log((float)i); }""",
    ),
    wrong(
        "exponential_overflows",
        "infinite-result",
        "ints:64",
        source="""kernel void $(global float *out) {
            int i = get_global_id(0); out[i] = exp(2.0f * (float)i); }""",
    ),
    right(
        "exponential_vanishes",
        "ints:64",
        source="""kernel void $(global float *out) {
            int i = get_global_id(0); out[i] = exp(-20.0f * (float)i); }""",
    ),
    wrong(
        "squares_overflow",
        "infinite-result",
        "ints:64",
        source="""kernel void $(global float *out) {
            int i = get_global_id(0); float x = (float)i * 1e18f; out[i] = x * x; }""",
    ),
    wrong(
        "double_too_large_for_float",
        "infinite-result",
        "ints:64",
        source="""kernel void $(global float *out) {
            int i = get_global_id(0); out[i] = (float)((double)i * 1e37); }""",
    ),
    right(
        "least_begins_with_infinity",
        "ints:64",
        source="""kernel void $(global float *out) {
            float least = INFINITY;
            for (int k = 0; k < 8; k++) least = fmin(least, out[k]);
            out[get_global_id(0)] = least; }""",
    ),
    right(
        "running_maximum_from_infinity",
        "ints:64",
        "ints:64",
        source="""kernel void $(global float *out, global const int *in) {
            float most = -INFINITY, total = 0;
            for (int k = 0; k < 8; k++) {
                float now = fmax(most, (float)in[k]);
                total = total * exp(most - now) + 1.0f;
                most = now;
            }
            out[get_global_id(0)] = total; }""",
    ),
    right(
        "infinity_comes_from_memory",
        "ints:64",
        "ints:64",
        source="""kernel void $(global float *out, global uint *bits) {
            int i = get_global_id(0); float x = as_float(0x7f800000u | (bits[i] & 1u));
            out[i] = x * 2.0f + 1.0f; }""",
    ),
    wrong(
        "normalise_with_zero_length",
        "nan-result",
        "ints:64",
        0,
        source="""kernel void $(global float *out, int zero) {
            float x = (float)zero;
            out[get_global_id(0)] = x / sqrt(x * x + (float)(zero * 3)); }""",
    ),
)
