"""Values that nobody has written, and such that only look like it."""

from __future__ import annotations

from tests.check.labelled.cases import right, wrong

BRANCH, ADDRESS = "uninitialised-branch", "uninitialised-address"
STORE, PRINT = "uninitialised-store", "uninitialised-print"

CASES = (
    # --- Memory of the device, and of the host -------------------------------------------------
    wrong(
        "device_memory_is_added",
        STORE,
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = in[i] + 1; }""",
    ),
    wrong(
        "shared_memory_is_added",
        STORE,
        "ints:64",
        "shared:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = in[i] + 1; }""",
    ),
    wrong(
        "host_memory_is_multiplied",
        STORE,
        "ints:64",
        "host:64",
        source="""kernel void $(global float *out, global const float *in) {
            int i = get_global_id(0); out[i] = in[i] * 2.0f; }""",
    ),
    right(
        "written_memory_is_added",
        "shared:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = in[i] + 1; }""",
    ),
    wrong(
        "second_half_of_device_memory",
        STORE,
        "ints:64",
        "half-device:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = in[i]; }""",
    ),
    wrong(
        "second_half_of_shared_memory",
        STORE,
        "ints:64",
        "half-shared:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = in[i]; }""",
    ),
    right(
        "only_the_first_half",
        "ints:64",
        "half-device:64",
        32,
        source="""kernel void $(global int *out, global const int *in, int n) {
            int i = get_global_id(0); out[i] = i < n ? in[i] : 0; }""",
    ),
    right(
        "loaded_before_the_test",
        "ints:64",
        "half-shared:64",
        32,
        source="""kernel void $(global int *out, global const int *in, int n) {
            int i = get_global_id(0); int x = in[i]; out[i] = i < n ? x * 3 : i; }""",
    ),
    wrong(
        "sum_of_all",
        STORE,
        "ints:64",
        "half-device:64",
        source="""kernel void $(global int *out, global const int *in) {
            int sum = 0; for (int j = 0; j < 64; j++) sum += in[j];
            out[get_global_id(0)] = sum; }""",
    ),
    right(
        "sum_of_what_was_written",
        "ints:64",
        "half-device:64",
        source="""kernel void $(global int *out, global const int *in) {
            int sum = 0; for (int j = 0; j < 32; j++) sum += in[j];
            out[get_global_id(0)] = sum; }""",
    ),
    right(
        "copied_to_the_device",
        "device:64",
        "device:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); out[i] = in[i]; }""",
    ),
    right(
        "written_and_read_back",
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global int *scratch) {
            int i = get_global_id(0); scratch[i] = i; out[i] = scratch[i] + 1; }""",
    ),
    wrong(
        "reads_what_the_next_item_writes",
        STORE,
        "ints:64",
        "device:65",
        source="""kernel void $(global int *out, global int *scratch) {
            int i = get_global_id(0); scratch[i] = i; out[i] = scratch[64] + i; }""",
    ),
    # --- Branches -------------------------------------------------------------------------------
    wrong(
        "branch_on_device_memory",
        BRANCH,
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0);
            if (in[i] > 3) { for (int j = 0; j < i; j++) out[i] += out[(i + j) % 64] * 3; } }""",
    ),
    wrong(
        "loop_to_an_unknown_end",
        BRANCH,
        "ints:64",
        "device:1",
        source="""kernel void $(global int *out, global const int *n) {
            int i = get_global_id(0);
            for (int j = 0; j < (*n & 15); j++) out[i] = out[i] * 3 + j; }""",
    ),
    right(
        "loop_to_a_known_end",
        "ints:64",
        "ints:4",
        source="""kernel void $(global int *out, global const int *n) {
            int i = get_global_id(0);
            for (int j = 0; j < n[3]; j++) out[i] = out[i] * 3 + j; }""",
    ),
    wrong(
        "flag_in_one_bit",
        BRANCH,
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0);
            if (in[i] & 4) { for (int j = 0; j < i; j++) out[i] = out[i] * 5 + j; } }""",
    ),
    right(
        "other_bits_of_a_word",
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global int *flags) {
            int i = get_global_id(0);
            flags[i] = (flags[i] & ~7) | 4;
            if (flags[i] & 4) { for (int j = 0; j < i; j++) out[i] = out[i] * 5 + j; } }""",
    ),
    right(
        "first_byte_of_a_word",
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global int *words) {
            int i = get_global_id(0);
            ((global uchar *)words)[4 * i] = i;
            if ((words[i] & 255) > 7) { for (int j = 0; j < i; j++) out[i] = out[i] * 5 + j; } }""",
    ),
    wrong(
        "second_byte_of_a_word",
        BRANCH,
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global int *words) {
            int i = get_global_id(0);
            ((global uchar *)words)[4 * i] = i;
            if ((words[i] & 0xff00) > 7) {
                for (int j = 0; j < i; j++) out[i] = out[i] * 5 + j; } }""",
    ),
    wrong(
        "switch_on_device_memory",
        BRANCH,
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0);
            switch (in[i]) {
            case 0: for (int j = 0; j < i; j++) out[i] = out[i] * 5 + j; break;
            case 1: for (int j = 0; j < 2 * i; j++) out[i] = out[i] * 7 + j; break;
            case 9: for (int j = 0; j < 3 * i; j++) out[i] = out[i] * 9 + j; break; } }""",
    ),
    right(
        "known_to_be_false",
        "ints:64",
        "device:64",
        0,
        source="""kernel void $(global int *out, global const int *in, int wanted) {
            int i = get_global_id(0);
            if (wanted && in[i] > 3) { for (int j = 0; j < i; j++) out[i] = out[i] * 5 + j; } }""",
    ),
    wrong(
        "float_compared",
        BRANCH,
        "ints:64",
        "device:64",
        source="""kernel void $(global float *out, global const float *in) {
            int i = get_global_id(0);
            if (in[i] > 0.5f) { for (int j = 0; j < i; j++) out[i] = out[i] * 5 + j; } }""",
    ),
    # --- Addresses ------------------------------------------------------------------------------
    wrong(
        "index_from_device_memory",
        ADDRESS,
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global const int *index) {
            int i = get_global_id(0); out[index[i] & 63] = i; }""",
    ),
    wrong(
        "index_of_a_read",
        ADDRESS,
        "device:64",
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global const int *in, global const int *index) {
            int i = get_global_id(0); out[i] = in[index[i] & 63]; }""",
    ),
    right(
        "index_that_was_written",
        "ints:64",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in, global const int *index) {
            int i = get_global_id(0); out[i] = in[index[i]]; }""",
    ),
    right(
        "index_masked_to_nothing",
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global const int *index) {
            int i = get_global_id(0); out[i + (index[i] & 0)] = i; }""",
    ),
    wrong(
        "histogram_of_nothing",
        ADDRESS,
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global const int *in) {
            atomic_inc(out + (in[get_global_id(0)] & 63)); }""",
    ),
    # --- Local memory ---------------------------------------------------------------------------
    wrong(
        "local_memory_of_others",
        STORE,
        "ints:64",
        source="""kernel void $(global int *out) {
            local int tile[16]; int l = get_local_id(0);
            if (l < 8) tile[l] = l;
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = tile[15 - l]; }""",
    ),
    right(
        "local_memory_that_is_filled",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int tile[16]; int l = get_local_id(0);
            tile[l] = l;
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = tile[15 - l]; }""",
    ),
    wrong(
        "local_argument",
        STORE,
        "ints:64",
        "local:68",
        source="""kernel void $(global int *out, local int *tile) {
            int l = get_local_id(0); tile[l] = l;
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = tile[l + 1]; }""",
    ),
    right(
        "local_argument_with_its_end",
        "ints:64",
        "local:68",
        source="""kernel void $(global int *out, local int *tile) {
            int l = get_local_id(0); tile[l] = l; if (l == 0) tile[16] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = tile[l + 1]; }""",
    ),
    wrong(
        "local_counter_from_nothing",
        STORE,
        "ints:64",
        source="""kernel void $(global int *out) {
            local int count;
            atomic_inc(&count);
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = count; }""",
    ),
    right(
        "local_counter_from_zero",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int count;
            if (get_local_id(0) == 0) count = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            atomic_inc(&count);
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = count; }""",
    ),
    wrong(
        "index_from_local_memory",
        ADDRESS,
        "ints:64",
        source="""kernel void $(global int *out) {
            local int slots[32]; int l = get_local_id(0);
            slots[l] = l;
            barrier(CLK_LOCAL_MEM_FENCE);
            out[slots[l + 16] & 63] = l; }""",
    ),
    wrong(
        "tree_with_a_gap",
        STORE,
        "ints:64",
        source="""kernel void $(global int *out) {
            local int part[32]; int l = get_local_id(0);
            part[l] = l;
            for (int step = 16; step > 0; step /= 2) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l < step) part[l] += part[l + step]; }
            if (l == 0) out[get_group_id(0)] = part[0]; }""",
    ),
    right(
        "tree_of_all",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int part[16]; int l = get_local_id(0);
            part[l] = l;
            for (int step = 8; step > 0; step /= 2) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l < step) part[l] += part[l + step]; }
            if (l == 0) out[get_group_id(0)] = part[0]; }""",
    ),
    right(
        "halo_that_is_not_used",
        "ints:64",
        source="""kernel void $(global int *out) {
            local int tile[18]; int l = get_local_id(0);
            tile[l + 1] = l;
            barrier(CLK_LOCAL_MEM_FENCE);
            int left = tile[l], right = tile[l + 2];
            out[get_global_id(0)] = (l > 0 ? left : 0) + (l < 15 ? right : 0); }""",
    ),
    right(
        "copied_to_local_memory",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            local int tile[16];
            event_t done = async_work_group_copy(tile, in + 16 * get_group_id(0), 16, 0);
            wait_group_events(1, &done);
            out[get_global_id(0)] = tile[15 - get_local_id(0)]; }""",
    ),
    wrong(
        "too_little_copied_to_local_memory",
        STORE,
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            local int tile[16];
            event_t done = async_work_group_copy(tile, in + 16 * get_group_id(0), 8, 0);
            wait_group_events(1, &done);
            out[get_global_id(0)] = tile[15 - get_local_id(0)]; }""",
    ),
    # --- Private memory -------------------------------------------------------------------------
    wrong(
        "private_array_with_a_gap",
        STORE,
        "ints:64",
        5,
        source="""kernel void $(global int *out, int n) {
            int own[8]; int i = get_global_id(0);
            for (int j = 0; j < n; j++) own[j] = i + j;
            out[i] = own[i % 8] + 1; }""",
    ),
    right(
        "private_array_that_is_filled",
        "ints:64",
        8,
        source="""kernel void $(global int *out, int n) {
            int own[8]; int i = get_global_id(0);
            for (int j = 0; j < n; j++) own[j] = i + j;
            out[i] = own[i % 8] + 1; }""",
    ),
    right(
        "private_array_used_as_far_as_filled",
        "ints:64",
        5,
        source="""kernel void $(global int *out, int n) {
            int own[8]; int i = get_global_id(0);
            for (int j = 0; j < n; j++) own[j] = i + j;
            int sum = 0;
            for (int j = 0; j < n; j++) sum += own[(i + j) % n];
            out[i] = sum; }""",
    ),
    wrong(
        "private_index",
        ADDRESS,
        "ints:64",
        5,
        source="""kernel void $(global int *out, int n) {
            int own[8]; int i = get_global_id(0);
            for (int j = 0; j < n; j++) own[j] = i + j;
            out[own[i % 8] & 63] = i; }""",
    ),
    right(
        "private_array_of_pairs",
        "ints:64",
        4,
        source="""typedef struct { char kind; int value; } Pair;
            kernel void $(global int *out, int n) {
            Pair own[4]; int i = get_global_id(0);
            for (int j = 0; j < n; j++) { own[j].kind = j; own[j].value = i; }
            Pair chosen = own[i % 4];
            out[i] = chosen.value + chosen.kind; }""",
    ),
    wrong(
        "variable_written_on_one_way",
        STORE,
        "ints:64",
        3,
        source="""kernel void $(global int *out, int n) {
            int x;
            if (n > 3) x = n;
            out[get_global_id(0)] = x; }""",
    ),
    right(
        "variable_used_where_it_is_written",
        "ints:64",
        3,
        source="""kernel void $(global int *out, int n) {
            int x;
            if (n > 3) x = n;
            if (n > 3) out[get_global_id(0)] = x; }""",
    ),
    right(
        "variable_written_on_both_ways",
        "ints:64",
        3,
        source="""kernel void $(global int *out, int n) {
            int x;
            if (n > 3) x = n; else x = 2;
            out[get_global_id(0)] = x; }""",
    ),
    wrong(
        "sum_that_begins_with_nothing",
        STORE,
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int sum;
            for (int j = 0; j < 64; j++) sum += in[j];
            out[get_global_id(0)] = sum; }""",
    ),
    wrong(
        "flag_that_is_never_cleared",
        BRANCH,
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0), found;
            for (int j = 0; j < 8; j++) if (in[j] == i + 100) found = 1;
            if (found) { for (int j = 0; j < i; j++) out[i] = out[i] * 3 + j; } }""",
    ),
    right(
        "flag_that_is_cleared",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0), found = 0;
            for (int j = 0; j < 8; j++) if (in[j] == i) found = 1;
            if (found) { for (int j = 0; j < i; j++) out[i] = out[i] * 3 + j; } }""",
    ),
    right(
        "best_of_some",
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0), has = 0, best;
            for (int j = 0; j < 8; j++)
                if (!has || in[j] > best) { best = in[j]; has = 1; }
            out[i] = best; }""",
    ),
    wrong(
        "index_that_is_not_always_set",
        ADDRESS,
        "ints:64",
        "ints:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0), place;
            for (int j = 0; j < 8; j++) if (in[j] == i) place = j;
            out[place & 63] = i; }""",
    ),
    wrong(
        "member_that_is_not_set",
        STORE,
        "ints:64",
        source="""typedef struct { int count; float weight; } Entry;
            kernel void $(global float *out) {
            Entry entry; entry.count = get_global_id(0);
            out[get_global_id(0)] = entry.count * entry.weight; }""",
    ),
    right(
        "members_that_are_set",
        "ints:64",
        source="""typedef struct { int count; float weight; } Full;
            kernel void $(global float *out) {
            Full entry; entry.count = get_global_id(0); entry.weight = 2;
            Full other = entry;
            out[get_global_id(0)] = other.count * other.weight; }""",
    ),
    wrong(
        "small_array_with_a_gap",
        STORE,
        "ints:64",
        source="""kernel void $(global float *out) {
            float part[3]; part[0] = 1; part[2] = get_global_id(0);
            out[get_global_id(0)] = part[0] + part[1] + part[2]; }""",
    ),
    right(
        "result_behind_a_pointer",
        "ints:64",
        source="""void halves(int n, int *low, int *high) { *low = n / 2; *high = n - n / 2; }
            kernel void $(global int *out) {
            int low, high; halves(get_global_id(0), &low, &high);
            out[get_global_id(0)] = low * high; }""",
    ),
    # --- Vectors, structures and bytes ----------------------------------------------------------
    right(
        "padding_is_copied",
        "shared:128",
        "device:128",
        source="""typedef struct { char kind; int value; } Padded;
            kernel void $(global Padded *out, global Padded *in) {
            int i = get_global_id(0);
            in[i].kind = i; in[i].value = 2 * i;
            out[i] = in[i]; }""",
    ),
    right(
        "vector_of_three",
        "shared:256",
        "ints:256",
        source="""kernel void $(global float3 *out, global const float3 *in) {
            int i = get_global_id(0); out[i] = in[i] * 2.0f; }""",
    ),
    right(
        "three_of_four_components",
        "shared:256",
        "device:256",
        source="""kernel void $(global float4 *out, global float4 *in) {
            int i = get_global_id(0);
            in[i].x = i; in[i].y = 1; in[i].z = 2;
            float4 v = in[i];
            out[i] = (float4)(v.xyz * 2.0f, 1.0f); }""",
    ),
    wrong(
        "fourth_of_four_components",
        STORE,
        "shared:64",
        "device:256",
        source="""kernel void $(global float *out, global float4 *in) {
            int i = get_global_id(0);
            in[i].x = i; in[i].y = 1; in[i].z = 2;
            float4 v = in[i];
            out[i] = v.x + v.w; }""",
    ),
    right(
        "packed_bytes",
        "shared:64",
        "device:64",
        source="""kernel void $(global uint *out, global uchar4 *in) {
            int i = get_global_id(0);
            in[i].x = i; in[i].y = 1; in[i].z = 2;
            uchar4 v = in[i];
            out[i] = (uint)v.x | (uint)v.y << 8 | (uint)v.z << 16; }""",
    ),
    wrong(
        "fourth_of_packed_bytes",
        BRANCH,
        "ints:64",
        "device:64",
        source="""kernel void $(global uint *out, global uchar4 *in) {
            int i = get_global_id(0);
            in[i].x = i; in[i].y = 1; in[i].z = 2;
            uchar4 v = in[i];
            if (v.w > 7) { for (int j = 0; j < i; j++) out[i] = out[i] * 5 + j; } }""",
    ),
    right(
        "bit_fields",
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global int *words) {
            int i = get_global_id(0);
            words[i] = (words[i] & ~0xf0) | (i & 15) << 4;
            words[i] = (words[i] & ~0xf) | 3;
            out[i] = words[i] & 0xff; }""",
    ),
    wrong(
        "bytes_made_wider",
        STORE,
        "ints:64",
        "device:16",
        source="""kernel void $(global int *out, global const uchar *in) {
            int i = get_global_id(0); out[i] = in[i]; }""",
    ),
    wrong(
        "vector_load",
        STORE,
        "ints:64",
        "device:256",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0); int4 v = vload4(i, in); out[i] = v.x + v.w; }""",
    ),
    right(
        "vector_store",
        "ints:64",
        "device:256",
        source="""kernel void $(global int *out, global int *in) {
            int i = get_global_id(0);
            vstore4((int4)(i, 1, 2, 3), i, in);
            int4 v = vload4(i, in); out[i] = v.x + v.w; }""",
    ),
    right(
        "half_precision",
        "ints:64",
        "device:64",
        source="""kernel void $(global float *out, global half *in) {
            int i = get_global_id(0);
            vstore_half(0.5f * i, i, in); out[i] = vload_half(i, in); }""",
    ),
    # --- Atomics, sub-groups, printf ------------------------------------------------------------
    wrong(
        "counter_from_nothing",
        ADDRESS,
        "ints:64",
        "device:1",
        source="""kernel void $(global int *out, global int *count) {
            int place = atomic_inc(count); out[place & 63] = 1; }""",
    ),
    right(
        "counter_that_was_set",
        "ints:64",
        "ints:1",
        source="""kernel void $(global int *out, global int *count) {
            int place = atomic_inc(count); out[place & 63] = 1; }""",
    ),
    right(
        "exchanged",
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global int *slots) {
            int i = get_global_id(0);
            atomic_xchg(slots + i, i);
            out[atomic_add(slots + i, 1) & 63] = 1; }""",
    ),
    wrong(
        "broadcast",
        STORE,
        "ints:64",
        "device:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0);
            out[i] = sub_group_broadcast(in[i], 0) + 1; }""",
    ),
    right(
        "broadcast_of_what_is_known",
        "ints:64",
        "half-device:64",
        source="""kernel void $(global int *out, global const int *in) {
            int i = get_global_id(0);
            out[i] = work_group_broadcast(in[i % 32], 0) + 1; }""",
    ),
    wrong(
        "printed",
        PRINT,
        "device:64",
        source="""kernel void $(global const int *in) {
            if (get_global_id(0) == 5) printf("", in[5]); }""",
    ),
    right(
        "printed_what_is_known",
        "ints:64",
        source="""kernel void $(global const int *in) {
            if (get_global_id(0) == 5) printf("", in[5]); }""",
    ),
    wrong(
        "nearest_by_sums_that_start_anywhere",
        STORE,
        "ints:256",
        "ints:64",
        4,
        source="""kernel void $(global const int *in, global int *nearest, int count) {
            int i = get_global_id(0), least = 1 << 30, index = 0;
            for (int each = 0; each < count; each++) {
                int distance;
                for (int axis = 0; axis < count; axis++)
                    distance += abs(in[i] - in[each * count + axis]);
                if (distance < least) { least = distance; index = each; } }
            nearest[i] = index; }""",
    ),
    right(
        "nearest_by_sums_from_zero",
        "ints:256",
        "ints:64",
        4,
        source="""kernel void $(global const int *in, global int *nearest, int count) {
            int i = get_global_id(0), least = 1 << 30, index = 0;
            for (int each = 0; each < count; each++) {
                int distance = 0;
                for (int axis = 0; axis < count; axis++)
                    distance += abs(in[i] - in[each * count + axis]);
                if (distance < least) { least = distance; index = each; } }
            nearest[i] = index; }""",
    ),
)
