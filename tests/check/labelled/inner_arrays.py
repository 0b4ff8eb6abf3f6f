"""Arrays in structures and in other arrays, and private and constant arrays whose accesses LLVM
optimises away: the source alone says where they end."""

from __future__ import annotations

from tests.check.labelled.cases import Case, right, wrong

READ, WRITE = "out-of-bounds-read", "out-of-bounds-write"

CASES: tuple[Case, ...] = (
    wrong(
        "private_loop_writes_one_too_many",
        WRITE,
        "ints:64",
        source="""kernel void $(global int *out) {
            int a[4], sum = 0;
            for (int i = 0; i <= 4; i++) a[i] = i * out[9];
            for (int i = 0; i < 4; i++) sum += a[i];
            out[get_global_id(0)] = sum; }""",
    ),
    wrong(
        "private_loop_reads_one_too_many",
        READ,
        "ints:64",
        source="""kernel void $(global int *out) {
            int a[4] = {1, 2, 3, 4}, sum = 0;
            for (int i = 0; i <= 4; i++) sum += a[i];
            out[get_global_id(0)] = sum; }""",
    ),
    wrong(
        "constant_loop_reads_one_too_many",
        READ,
        "ints:64",
        source="""constant int $_weights[5] = {1, 4, 6, 4, 1};
        kernel void $(global int *out) {
            int sum = 0;
            for (int i = 0; i <= 5; i++) sum += $_weights[i];
            out[get_global_id(0)] = sum; }""",
    ),
    wrong(
        "member_behind_its_array",
        WRITE,
        "ints:64",
        source="""struct $_s { int a; char b[2]; };
        kernel void $(global int *out) {
            struct $_s s = {-1, {42, 7}};
            s.b[get_local_id(0) % 4] = 1;
            out[get_global_id(0)] = s.b[get_local_id(0) % 2]; }""",
    ),
    wrong(
        "next_member_of_a_global_structure",
        WRITE,
        "ints:64",
        source="""struct $_s { int a[3]; int b; };
        kernel void $(global struct $_s *out) {
            uint i = get_global_id(0); out[i / 4].a[i % 4] = i; }""",
    ),
    wrong(
        "first_column_of_the_next_row",
        READ,
        "ints:64",
        source="""kernel void $(global int *out) {
            local int t[16][16];
            uint l = get_local_id(0);
            for (int i = 0; i < 16; i++) t[i][l] = i;
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = t[3][l + 1]; }""",
    ),
    wrong(
        "column_before_the_first",
        WRITE,
        "ints:64",
        source="""kernel void $(global int *out) {
            local int t[16][16];
            int l = get_local_id(0);
            t[l][l - 1] = out[get_global_id(0)]; }""",
    ),
    wrong(
        "atomic_behind_its_row",
        "out-of-bounds-atomic",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int t[4][8];
            atomic_add(&t[1][get_local_id(0)], out[0]); }""",
    ),
    right(
        "rows_as_one_long_array",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int t[4][16];
            uint l = get_local_id(0);
            for (int i = 0; i < 4; i++) t[0][16 * i + l] = i;
            out[get_global_id(0)] = t[0][l + 48]; }""",
    ),
    right(
        "computed_first_row_as_one_long_array",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int t[4][16];
            t[0 * get_local_id(0)][get_global_id(0)] = out[get_global_id(0)]; }""",
    ),
    right(
        "row_that_is_the_first_as_one_long_array",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int t[2][16];
            int row = out[get_group_id(0)] & 64;
            t[row][get_local_id(0) + 16] = 1;
            out[get_global_id(0)] = t[row + 1][get_local_id(0)]; }""",
    ),
    right(
        "member_rows_as_one_long_array",
        "ints:64",
        source="""struct $_s { int n; int a[4][4]; };
        kernel void $(global int *out) {
            struct $_s s = {1, {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}}};
            out[get_global_id(0)] = s.a[0][get_local_id(0)]; }""",
    ),
    right(
        "pointer_through_all_rows",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int t[4][16];
            local int *p = &t[0][0];
            for (int i = 0; i < 4; i++) p[16 * i + get_local_id(0)] = i;
            out[get_global_id(0)] = p[get_local_id(0) + 48]; }""",
    ),
    right(
        "array_of_any_length_at_the_end",
        "ints:65",
        source="""struct $_s { int n; int a[1]; };
        kernel void $(global struct $_s *out) { out->a[get_global_id(0)] = 1; }""",
    ),
    right(
        "constant_loop_reads_all",
        "ints:64",
        source="""constant int $_weights[5] = {1, 4, 6, 4, 1};
        kernel void $(global int *out) {
            int sum = 0;
            for (int i = 0; i < 5; i++) sum += $_weights[i];
            for (constant int *p = $_weights; p != &$_weights[5]; p++) sum += *p;
            out[get_global_id(0)] = sum; }""",
    ),
    right(
        "address_of_the_end",
        "ints:64",
        source="""kernel void $(global int *out) {
            int a[4] = {1, 2, 3, 4}, sum = 0;
            for (int *p = a; p != &a[4]; p++) sum += *p;
            out[get_global_id(0)] = sum; }""",
    ),
    right(
        "index_tested_before",
        "ints:64",
        source="""kernel void $(global int *out) {
            int a[4] = {1, 2, 3, 4};
            uint l = get_local_id(0);
            out[get_global_id(0)] = l < 4 ? a[l] : 0; }""",
    ),
    right(
        "vectors_by_their_elements",
        "ints:64",
        source="""kernel void $(global float *out) {
            float4 v[4];
            for (int i = 0; i < 4; i++) v[i] = (float4)(i);
            out[get_global_id(0)] = ((float *)v)[get_local_id(0)]; }""",
    ),
    right(
        "tiles_of_rows",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int t[2][17][17];
            uint l = get_local_id(0);
            for (uint i = 0; i < 16; i++) t[i % 2][i][l] = i + l;
            barrier(CLK_LOCAL_MEM_FENCE);
            int sum = 0;
            for (uint i = 0; i < 16; i++) sum += t[i % 2][i][15 - l];
            out[get_global_id(0)] = sum; }""",
    ),
)
