"""Accesses outside of memory, and such that only look like it."""

from __future__ import annotations

from tests.check.labelled.cases import right, wrong

CASES = (
    # --- Global memory --------------------------------------------------------------------------
    wrong(
        "write_behind",
        "out-of-bounds-write",
        "ints:64",
        source="kernel void $(global int *out) { out[get_global_id(0) + 1] = 1; }",
    ),
    right(
        "write_last",
        "ints:65",
        source="kernel void $(global int *out) { out[get_global_id(0) + 1] = 1; }",
    ),
    wrong(
        "read_behind",
        "out-of-bounds-read",
        "ints:64",
        "ints:63",
        source="""kernel void $(global int *out, global const int *in) {
            out[get_global_id(0)] = in[get_global_id(0)]; }""",
    ),
    right(
        "read_guarded",
        "ints:64",
        "ints:63",
        63,
        source="""kernel void $(global int *out, global const int *in, int n) {
            int i = get_global_id(0); if (i < n) out[i] = in[i]; }""",
    ),
    wrong(
        "guard_off_by_one",
        "out-of-bounds-read",
        "ints:64",
        "ints:63",
        63,
        source="""kernel void $(global int *out, global const int *in, int n) {
            int i = get_global_id(0); if (i <= n) out[i] = in[i]; }""",
    ),
    wrong(
        "read_before",
        "out-of-bounds-read",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = in[i - 1]; }""",
    ),
    right(
        "read_before_in_the_middle",
        "ints:64",
        "ints:66+2",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = in[i - 2]; }""",
    ),
    right(
        "clamped_neighbours",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0);
            out[i] = in[max(i - 1, 0)] + in[min(i + 1, 63)]; }""",
    ),
    wrong(
        "unclamped_neighbour",
        "out-of-bounds-read",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0);
            out[i] = in[max(i - 1, 0)] + in[i + 1]; }""",
    ),
    wrong(
        "far_away",
        "out-of-bounds-write",
        "ints:64",
        1 << 30,
        source="""kernel void $(global int *out, int far) {
            if (get_global_id(0) == 7) out[get_global_id(0) + far] = 1; }""",
    ),
    wrong(
        "into_another_allocation",
        "out-of-bounds-write",
        "ints:1024",
        "ints:1024",
        source="""kernel void $(global int *one, global int *other) {
            long distance = other - one;
            one[distance + get_global_id(0)] = 1; }""",
    ),
    right(
        "from_one_to_the_other",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *one, global int *other) {
            global int *chosen = get_global_id(0) % 2 ? one : other;
            chosen[get_global_id(0)] = 1; }""",
    ),
    wrong(
        "chosen_too_short",
        "out-of-bounds-write",
        "ints:64",
        "ints:32",
        source="""kernel void $(global int *one, global int *other) {
            global int *chosen = get_global_id(0) % 2 ? one : other;
            chosen[get_global_id(0)] = 1; }""",
    ),
    wrong(
        "loop_too_long",
        "out-of-bounds-read",
        "ints:64",
        "ints:64",
        65,
        source="""kernel void $(global int *out, global const int *in, int n) {
            int sum = 0; for (int j = 0; j < n; j++) sum += in[j];
            out[get_global_id(0)] = sum; }""",
    ),
    right(
        "loop_as_long",
        "ints:64",
        "ints:64",
        64,
        source="""kernel void $(global int *out, global const int *in, int n) {
            int sum = 0; for (int j = 0; j < n; j++) sum += in[j];
            out[get_global_id(0)] = sum; }""",
    ),
    wrong(
        "strided_loop_too_long",
        "out-of-bounds-read",
        "ints:64",
        "ints:1000",
        1024,
        source="""kernel void $(global int *out, global const int *in, int n) {
            int sum = 0;
            for (int j = get_global_id(0); j < n; j += get_global_size(0)) sum += in[j];
            out[get_global_id(0)] = sum; }""",
    ),
    right(
        "strided_loop",
        "ints:64",
        "ints:1000",
        1000,
        source="""kernel void $(global int *out, global const int *in, int n) {
            int sum = 0;
            for (int j = get_global_id(0); j < n; j += get_global_size(0)) sum += in[j];
            out[get_global_id(0)] = sum; }""",
    ),
    wrong(
        "gathered_outside",
        "out-of-bounds-read",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = in[(in[i] * 37) % 65]; }""",
    ),
    right(
        "gathered_inside",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = in[(in[i] * 37) % 64]; }""",
    ),
    wrong(
        "scattered_outside",
        "out-of-bounds-write",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[in[i] == 63 ? 64 : in[63 - i]] = i; }""",
    ),
    right(
        "scattered_inside",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[in[63 - i]] = i; }""",
    ),
    wrong(
        "atomic_outside",
        "out-of-bounds-atomic",
        "ints:8",
        source="kernel void $(global int *bins) { atomic_add(bins + get_global_id(0) % 9, 1); }",
    ),
    right(
        "atomic_inside",
        "ints:8",
        source="kernel void $(global int *bins) { atomic_add(bins + get_global_id(0) % 8, 1); }",
    ),
    wrong(
        "vector_over_the_end",
        "out-of-bounds-read",
        "ints:64",
        "ints:62",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); if (i < 16) vstore4(vload4(i, in), i, out); }""",
    ),
    right(
        "vectors_to_the_end",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); if (i < 16) vstore4(vload4(i, in), i, out); }""",
    ),
    right(
        "three_at_the_end",
        "ints:192",
        "ints:192",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); vstore3(vload3(i, in), i, out); }""",
    ),
    wrong(
        "structure_over_the_end",
        "out-of-bounds-write",
        "ints:130",
        source="""typedef struct { int a, b, c; } three;
        kernel void $(global three *out) {
            int i = get_global_id(0); if (i < 44) out[i].c = i; }""",
    ),
    right(
        "structures_to_the_end",
        "ints:132",
        source="""typedef struct { int a, b, c; } triple;
        kernel void $(global triple *out) {
            int i = get_global_id(0); if (i < 44) out[i].c = i; }""",
    ),
    wrong(
        "negative_as_unsigned",
        "out-of-bounds-write",
        "ints:64",
        source="""kernel void $(global int *out) {
            uint i = get_global_id(0); out[i - 1] = 1; }""",
    ),
    right(
        "wraps_on_purpose",
        "ints:64",
        source="""kernel void $(global int *out) {
            uint i = get_global_id(0); out[(i - 1) % 64] = 1; }""",
    ),
    wrong(
        "transposed_sizes",
        "out-of-bounds-write",
        "ints:32",
        4,
        8,
        source="""kernel void $(global int *out, int width, int height) {
            int i = get_global_id(0); if (i >= 32) return;
            int x = i % width, y = i / width;
            out[x * width + y + height * 3] = i; }""",
    ),
    right(
        "transposed",
        "ints:32",
        4,
        8,
        source="""kernel void $(global int *out, int width, int height) {
            int i = get_global_id(0); if (i >= 32) return;
            int x = i % width, y = i / width; out[x * height + y] = i; }""",
    ),
    wrong(
        "only_one_item",
        "out-of-bounds-write",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); out[i == 37 ? 64 : i] = i; }""",
    ),
    right(
        "pointer_walks_to_the_end",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int sum = 0;
            for (global const int *at = in; at != in + 64; at++) sum += *at;
            out[get_global_id(0)] = sum; }""",
    ),
    wrong(
        "pointer_walks_over_the_end",
        "out-of-bounds-read",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int sum = 0;
            for (global const int *at = in; at <= in + 64; at++) sum += *at;
            out[get_global_id(0)] = sum; }""",
    ),
    right(
        "pointer_goes_backwards",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int sum = 0;
            for (global const int *at = in + 64; at != in;) sum += *--at;
            out[get_global_id(0)] = sum; }""",
    ),
    right(
        "bytes_of_words",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            global const uchar *bytes = (global const uchar *)in;
            out[get_global_id(0)] = bytes[4 * get_global_id(0) + 3]; }""",
    ),
    right(
        "as_a_number_and_back",
        "ints:64",
        source="""kernel void $(global int *out) {
            ulong at = (ulong)out + 4 * get_global_id(0); *(global int *)at = 1; }""",
    ),
    wrong(
        "as_a_number_and_outside",
        "out-of-bounds-write",
        "ints:63",
        source="""kernel void $(global int *out) {
            ulong at = (ulong)out + 4 * get_global_id(0); *(global int *)at = 1; }""",
    ),
    right(
        "never_called_outside",
        "ints:64",
        0,
        source="""kernel void $(global int *out, int never) {
            out[get_global_id(0)] = 1; if (never) out[get_global_id(0) + 1000000] = 1; }""",
    ),
    right(
        "nothing_of_an_unused_null",
        "ints:64",
        "null",
        source="""kernel void $(global int *out, global int *maybe) {
            int i = get_global_id(0); out[i] = maybe ? maybe[i] : i; }""",
    ),
    # --- Null, freed, misaligned ----------------------------------------------------------------
    wrong(
        "through_null",
        "null-read",
        "ints:64",
        "null",
        source="""kernel void $(global int *out, global const int *in) {
            out[get_global_id(0)] = in[get_global_id(0)]; }""",
    ),
    wrong(
        "far_behind_null",
        "null-write",
        "ints:64",
        source="""kernel void $(global int *out) {
            global int *nothing = 0; int i = get_global_id(0);
            nothing[i * 4096] = i; out[i] = i; }""",
    ),
    wrong(
        "far_behind_a_null_in_memory",
        "null-read",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0);
            global const int *none = (global const int *)(ulong)(in[i] - i);
            out[i] = none[(i + 1) * 4096]; }""",
    ),
    wrong(
        "write_where_no_memory_is",
        "wild-write",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); out[i] = i;
            if (i == 5) *(global int *)(0x87654320ul + out[i]) = 42; }""",
    ),
    wrong(
        "read_where_no_memory_is",
        "wild-read",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0);
            global const int *at = (global const int *)(0x1234ul << 32);
            out[i] = at[i]; }""",
    ),
    right(
        "null_that_nobody_follows",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); global int *none = 0;
            global int *chosen = i < 64 ? out : none; chosen[i] = i; }""",
    ),
    wrong(
        "to_null",
        "null-write",
        "null",
        source="kernel void $(global int *out) { if (get_global_id(0) == 3) out[0] = 1; }",
    ),
    wrong(
        "after_free",
        "use-after-free-write",
        "freed:64",
        source="kernel void $(global int *out) { out[get_global_id(0)] = 1; }",
    ),
    wrong(
        "read_after_free",
        "use-after-free-read",
        "ints:64",
        "freed:64",
        source="""kernel void $(global int *out, global const int *in) {
            out[get_global_id(0)] = in[0]; }""",
    ),
    wrong(
        "misaligned",
        "misaligned-write",
        "bytes:260+1",
        source="kernel void $(global int *to) { int i = get_global_id(0); if (i < 60) to[i] = 1; }",
    ),
    wrong(
        "misaligned_vector",
        "misaligned-read",
        "ints:64",
        "ints:72+1",
        source="""kernel void $(global int *out, global const int4 *in) {
            int i = get_global_id(0); if (i < 16) out[i] = in[i].x + in[i].w; }""",
    ),
    right(
        "unaligned_on_purpose",
        "ints:64",
        "ints:72+1",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); if (i >= 16) return;
            int4 v = vload4(i, in); out[i] = v.x + v.w; }""",
    ),
    # --- Local memory ---------------------------------------------------------------------------
    wrong(
        "local_behind",
        "out-of-bounds-write",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int tile[16]; int l = get_local_id(0);
            tile[l + 1] = l; barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = tile[l]; }""",
    ),
    right(
        "local_with_border",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int tile[18]; int l = get_local_id(0);
            tile[l + 1] = l; if (l == 0) tile[0] = tile[17] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = tile[l] + tile[l + 2]; }""",
    ),
    wrong(
        "local_border_forgotten",
        "out-of-bounds-read",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int tile[17]; int l = get_local_id(0);
            tile[l + 1] = l; if (l == 0) tile[0] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = tile[l] + tile[l + 2]; }""",
    ),
    wrong(
        "local_argument_behind",
        "out-of-bounds-write",
        "ints:64",
        "local:60",
        source="""kernel void $(global int *out, local int *tile) {
            int l = get_local_id(0); tile[l] = l; barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = l ? tile[l - 1] : 0; }""",
    ),
    right(
        "local_argument",
        "ints:64",
        "local:64",
        source="""kernel void $(global int *out, local int *tile) {
            int l = get_local_id(0); tile[l] = l; barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = tile[15 - l]; }""",
    ),
    wrong(
        "local_into_another",
        "out-of-bounds-write",
        "ints:64",
        "local:64",
        "local:64",
        source="""kernel void $(global int *out, local int *one, local int *other) {
            int l = get_local_id(0); other[l] = 0; one[l] = 0; barrier(CLK_LOCAL_MEM_FENCE);
            one[l + 32] = l; barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = other[l]; }""",
    ),
    right(
        "local_tree",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            local int sums[16]; int l = get_local_id(0);
            sums[l] = in[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);
            for (int step = 8; step > 0; step /= 2) {
                if (l < step) sums[l] += sums[l + step];
                barrier(CLK_LOCAL_MEM_FENCE); }
            if (l == 0) out[get_group_id(0)] = sums[0]; }""",
    ),
    wrong(
        "local_tree_too_wide",
        "out-of-bounds-read",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            local int sums[16]; int l = get_local_id(0);
            sums[l] = in[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);
            for (int step = 8; step > 0; step /= 2) {
                int other = sums[l + step]; barrier(CLK_LOCAL_MEM_FENCE);
                if (l < step) sums[l] += other;
                barrier(CLK_LOCAL_MEM_FENCE); }
            if (l == 0) out[get_group_id(0)] = sums[0]; }""",
    ),
    wrong(
        "local_histogram",
        "out-of-bounds-atomic",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            local int bins[8]; int l = get_local_id(0);
            if (l < 8) bins[l] = 0; barrier(CLK_LOCAL_MEM_FENCE);
            atomic_inc(bins + in[get_global_id(0)] / 8 + (in[get_global_id(0)] == 63));
            barrier(CLK_LOCAL_MEM_FENCE);
            if (l < 8) atomic_add(out + l, bins[l]); }""",
    ),
    # --- Private and program-scope memory -------------------------------------------------------
    wrong(
        "private_or_null",
        "null-read",
        "ints:64",
        source="""float *$_chosen(float *p, int i) { return i ? p : 0; }
        kernel void $(global int *out) {
            float x = 7;
            float *p = $_chosen(&x, out[get_global_id(0)]);
            out[get_global_id(0)] = *p; }""",
    ),
    wrong(
        "private_behind",
        "out-of-bounds-read",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int table[8]; int i = get_global_id(0);
            for (int j = 0; j < 8; j++) table[j] = in[(i + j) % 64];
            out[i] = table[in[i] % 9]; }""",
    ),
    right(
        "private_inside",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int table[8]; int i = get_global_id(0);
            for (int j = 0; j < 8; j++) table[j] = in[(i + j) % 64];
            out[i] = table[in[i] % 8]; }""",
    ),
    wrong(
        "private_write_before",
        "out-of-bounds-write",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int table[8] = {0}; int i = get_global_id(0);
            table[in[i] % 8 - 1] = i; int sum = 0;
            for (int j = 0; j < 8; j++) sum += table[j] * in[j];
            out[i] = sum; }""",
    ),
    right(
        "constant_table",
        "ints:64",
        "ints:64",
        source="""constant int table_right[4] = {3, 1, 4, 1};
        kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = table_right[in[i] & 3]; }""",
    ),
    wrong(
        "constant_table_too_short",
        "out-of-bounds-read",
        "ints:64",
        "ints:64",
        source="""constant int table_wrong[4] = {3, 1, 4, 1};
        kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = table_wrong[in[i] % 5]; }""",
    ),
    right(
        "function_with_pointer",
        "ints:64",
        "ints:64",
        source="""__attribute__((noinline)) void add_right(int *where, int what) { *where += what; }
        kernel void $(global int *out, global const int *in) {
            int sums[2] = {0, 0}; int i = get_global_id(0);
            for (int j = 0; j < 4; j++) add_right(sums + (in[i] + j) % 2, j);
            out[i] = sums[0] * 100 + sums[1]; }""",
    ),
    wrong(
        "function_with_pointer_outside",
        "out-of-bounds-write",
        "ints:64",
        "ints:64",
        source="""__attribute__((noinline)) void add_wrong(int *where, int what) { *where = what; }
        kernel void $(global int *out, global const int *in) {
            int sums[2] = {0, 0}; int i = get_global_id(0);
            for (int j = 0; j < 4; j++) add_wrong(sums + (in[i] + j) % 3, j);
            out[i] = sums[0] * 100 + sums[1]; }""",
    ),
    right(
        "structure_by_value",
        "ints:64",
        source="""typedef struct { int a[4]; } four;
        int pick(four f, int i) { return f.a[i]; }
        kernel void $(global int *out) {
            four f = {{1, 2, 3, 4}}; int i = get_global_id(0); out[i] = pick(f, i & 3); }""",
    ),
    right(
        "overlapping_copies",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            local int tile[16];
            event_t done = async_work_group_copy(tile, in + 16 * get_group_id(0), 16, 0);
            wait_group_events(1, &done);
            out[get_global_id(0)] = tile[15 - get_local_id(0)]; }""",
    ),
    wrong(
        "copied_too_much",
        "out-of-bounds-read",
        "ints:64",
        "ints:60",
        source="""kernel void $(global int *out, global const int *in) {
            local int tile[16];
            event_t done = async_work_group_copy(tile, in + 16 * get_group_id(0), 16, 0);
            wait_group_events(1, &done);
            out[get_global_id(0)] = tile[15 - get_local_id(0)]; }""",
    ),
)
