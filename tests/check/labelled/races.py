"""Kernels with races and barriers that not all reach, and others that only look like it.

Allocations have 4096 numbers, which count up to 255 and start over, and local memory has 1024.
"""

from __future__ import annotations

from tests.check.labelled.cases import Case, Extent

LOCAL_RACE, GLOBAL_RACE = "race-in-local-memory", "race-in-global-memory"
BARRIER = "divergent-barrier"


def labelled(source: str, kind: str = "", groups: Extent = 4, size: Extent = 64) -> Case:
    """A case that is named by its kernel, and gets what that takes."""
    name, _, parameters = source.split("kernel void ")[1].partition("(")
    taken = parameters.split(")")[0].split(",")
    arguments = tuple("local:4096" if "local" in each else "ints:4096" for each in taken)
    return Case(name, kind, arguments, source, groups, size)


WRONG = (
    # --- Local memory ---
    labelled(
        """kernel void tree_without_barrier(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s > 0; s /= 2)
        if (l < s) t[l] += t[l + s];
    if (l == 0) out[get_group_id(0)] = t[0];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void tree_without_first_barrier(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = a[get_global_id(0)];
    for (uint s = get_local_size(0) / 2; s > 0; s /= 2) {
        if (l < s) t[l] += t[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = t[0];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void transpose_without_barrier(global int *a, global int *out) {
    local int tile[8][9];
    uint x = get_local_id(0), y = get_local_id(1);
    tile[y][x] = a[y * 8 + x];
    out[x * 8 + y] = tile[x][y];
}""",
        LOCAL_RACE,
        1,
        (8, 8),
    ),
    labelled(
        """kernel void tile_used_again(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0), n = get_local_size(0);
    int sum = 0;
    for (uint k = 0; k < 4; k++) {
        t[l] = a[k * n + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += t[n - 1 - l];
    }
    out[get_global_id(0)] = sum;
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void halves_off_by_one(global int *out, local int *t) {
    uint l = get_local_id(0), half_ = get_local_size(0) / 2;
    t[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l <= half_) t[l] += t[l + half_];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[l];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void wrong_fence(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = a[l];
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[get_global_id(0)] = t[l ^ 1];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void local_counter(global int *a, global int *out, local int *t) {
    if (get_local_id(0) == 0) t[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (a[get_local_id(0)] % 3 == 0) t[0] += 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[0];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void histogram_not_cleared_yet(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = 0;
    atomic_inc((volatile local int *)&t[a[l] % 7]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[l];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void broadcast_without_barrier(global int *a, global int *out, local int *t) {
    if (get_local_id(0) == 0) t[0] = a[get_group_id(0)] + 5;
    out[get_global_id(0)] = t[0];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void bytes_without_barrier(global int *a, global int *out) {
    local uchar t[64];
    uint l = get_local_id(0);
    t[l] = a[l];
    out[get_global_id(0)] = t[(l + 1) % 64];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void scan_in_place(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = 1; d < get_local_size(0); d *= 2) {
        if (l >= d) t[l] += t[l - d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = t[l];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void barrier_of_subgroup_only(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = a[l];
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[(l + get_sub_group_size()) % get_local_size(0)];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void lockstep_without_barrier(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = a[l] + get_sub_group_local_id();
    out[get_global_id(0)] = t[l ^ 1];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void vectors_overlap(global int *out, local int *t) {
    uint l = get_local_id(0);
    vstore4((int4)(l), 0, t + l);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[l];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void longs_without_barrier(global int *a, global int *out) {
    local long t[64];
    uint l = get_local_id(0);
    t[l] = a[l];
    out[get_global_id(0)] = t[(l + 1) % 64];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void small_group_without_barrier(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = a[l];
    out[get_global_id(0)] = t[4 - l];
}""",
        LOCAL_RACE,
        2,
        5,
    ),
    labelled(
        """kernel void along_three_axes(global int *a, global int *out, local int *t) {
    uint l = get_local_linear_id();
    t[l] = a[l];
    out[get_global_linear_id()] = t[get_local_id(2) * 8 + get_local_id(1) * 4];
}""",
        LOCAL_RACE,
        (2, 1, 1),
        (4, 2, 2),
    ),
    labelled(
        """kernel void through_any_pointer(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    int *p = a[0] == 0 ? (int *)t : (int *)out;
    p[l] = l;
    a[1024 + get_global_id(0)] = p[l ^ 1];
}""",
        LOCAL_RACE,
    ),
    # --- Global memory ---
    labelled(
        """kernel void shorts_shifted(global int *a) {
    global short *shorts = (global short *)a;
    shorts[get_global_id(0)] = shorts[get_global_id(0) + 1];
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void rows_too_short(global int *out) {
    uint x = get_global_id(0), y = get_global_id(1);
    out[y * 14 + x] = x + 100 * y;
}""",
        GLOBAL_RACE,
        (2, 2),
        (8, 8),
    ),
    labelled(
        """kernel void two_axes_one_index(global int *out) {
    out[get_global_id(0)] = get_global_id(1);
}""",
        GLOBAL_RACE,
        (2, 2),
        (8, 8),
    ),
    labelled(
        """kernel void shift_in_place(global int *a) {
    uint i = get_global_id(0);
    a[i] = a[i + 1];
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void halo_of_neighbours(global int *a, global int *out) {
    uint l = get_local_id(0), n = get_local_size(0), first = get_group_id(0) * n;
    out[first + l] = a[first + l];
    if (l == 0) out[first + n] = -a[first + n] - 1;
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void global_counter(global int *a, global int *out) {
    if (a[get_global_id(0)] % 5 == 0) out[0] += 1;
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void histogram(global int *a, global int *out) {
    out[a[get_global_id(0)] % 16]++;
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void all_write_their_number(global int *out) {
    out[get_local_id(0)] = get_group_id(0);
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void global_scratch_with_local_fence(global int *a, global int *out) {
    uint l = get_local_id(0), i = get_global_id(0);
    out[i] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[i] = out[i ^ 1];
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void last_group_without_order(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    if (l == 0) {
        out[get_group_id(0) + 1] = a[get_group_id(0)] + 7;
        t[0] = atomic_fetch_add_explicit((volatile global atomic_int *)&a[3840], 1,
                                         memory_order_relaxed, memory_scope_device);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t[0] == get_num_groups(0) - 1 && l == 0) {
        int sum = 0;
        for (uint g = 0; g < get_num_groups(0); g++) sum += out[g + 1];
        out[0] = sum;
    }
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void released_too_early(global int *a, global int *out) {
    global atomic_int *flag = (global atomic_int *)&a[3840];
    if (get_global_id(0) == 0) {
        atomic_store_explicit(flag, 1, memory_order_release, memory_scope_device);
        out[0] = 42;
    } else if (get_global_id(0) == 64) {
        while (atomic_load_explicit(flag, memory_order_acquire, memory_scope_device) != 1) {}
        out[1] = out[0];
    }
}""",
        GLOBAL_RACE,
        2,
    ),
    labelled(
        """kernel void plain_flag(global int *a, global int *out) {
    if (get_global_id(0) == 0) { out[0] = 42; out[1] = 1; }
    else if (get_local_id(0) == 0 && out[1] == 1) out[2 + get_group_id(0)] = out[0];
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void atomic_and_plain(global int *out) {
    if (get_local_id(0) == 0) atomic_inc((volatile global int *)&out[0]);
    if (get_global_id(0) == 100) out[1] = out[0];
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void atomics_of_the_group(global int *out) {
    atomic_fetch_add_explicit((global atomic_int *)&out[0], 1, memory_order_relaxed,
                              memory_scope_work_group);
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void columns_overlap(global int *out) {
    uint i = get_global_id(0);
    for (uint k = 0; k < 5; k++) out[i * 4 + k] = i;
}""",
        GLOBAL_RACE,
    ),
    # --- Barriers ---
    labelled(
        """kernel void some_return(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    if (a[l] % 64 >= 60) return;
    t[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[0];
}""",
        BARRIER,
    ),
    labelled(
        """kernel void barrier_in_branch(global int *out, local int *t) {
    uint l = get_local_id(0);
    if (l < 32) { t[l] = l; barrier(CLK_LOCAL_MEM_FENCE); out[get_global_id(0)] = t[l ^ 1]; }
}""",
        BARRIER,
    ),
    labelled(
        """kernel void two_barriers(global int *out, local int *t) {
    uint l = get_local_id(0);
    if (l % 2) { t[l] = l; barrier(CLK_LOCAL_MEM_FENCE); }
    else { t[l] = 2; barrier(CLK_LOCAL_MEM_FENCE); }
    out[get_global_id(0)] = t[l];
}""",
        BARRIER,
    ),
    labelled(
        """kernel void loop_of_different_length(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    for (int k = 0; k < 3 + a[l] % 2; k++) { t[l] = k; barrier(CLK_LOCAL_MEM_FENCE); }
    out[get_global_id(0)] = t[l];
}""",
        BARRIER,
    ),
    labelled(
        """kernel void last_subgroup_skips(global int *out, local int *t) {
    uint l = get_local_id(0);
    if (get_sub_group_id() + 1 < get_num_sub_groups()) barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = l;
}""",
        BARRIER,
    ),
    labelled(
        """kernel void past_the_end(global int *a, global int *out, local int *t) {
    uint i = get_global_id(0), l = get_local_id(0);
    if (i >= 250) return;
    t[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = t[l / 2];
}""",
        BARRIER,
    ),
)

RIGHT = (
    labelled("""kernel void tree(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s > 0; s /= 2) {
        if (l < s) t[l] += t[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = t[0];
}"""),
    labelled(
        """kernel void transpose(global int *a, global int *out) {
    local int tile[8][9];
    uint x = get_local_id(0), y = get_local_id(1);
    tile[y][x] = a[y * 8 + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[x * 8 + y] = tile[x][y];
}""",
        "",
        1,
        (8, 8),
    ),
    labelled("""kernel void tiles(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0), n = get_local_size(0);
    int sum = 0;
    for (uint k = 0; k < 4; k++) {
        t[l] = a[k * n + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += t[n - 1 - l];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = sum;
}"""),
    labelled("""kernel void disjoint_halves(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0), half_ = get_local_size(0) / 2;
    t[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < half_) t[l] = t[l] + t[l + half_];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[l];
}"""),
    labelled("""kernel void two_buffers(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0), n = get_local_size(0);
    local int *from = t, *to = t + n;
    from[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = 1; d < n; d *= 2) {
        to[l] = l >= d ? from[l] + from[l - d] : from[l];
        barrier(CLK_LOCAL_MEM_FENCE);
        local int *swap = from; from = to; to = swap;
    }
    out[get_global_id(0)] = from[l];
}"""),
    labelled("""kernel void same_value(global int *a, global int *out) {
    if (a[get_global_id(0)] % 3 == 0) out[0] = 1;
}"""),
    labelled("""kernel void same_value_read_back(global int *a, global int *out, local int *t) {
    t[0] = a[5];
    out[get_global_id(0)] = t[0];
}"""),
    labelled("""kernel void same_value_in_local(global int *a, global int *out, local int *t) {
    t[get_local_id(0) / 8] = 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[0];
}"""),
    labelled("""kernel void own_elements(global int *a) {
    uint i = get_global_id(0);
    a[i] = a[i] * 2 + 1;
    a[i] += 3;
}"""),
    labelled("""kernel void neighbouring_bytes(global int *a, global int *out) {
    local uchar t[64];
    global uchar *bytes = (global uchar *)out;
    uint l = get_local_id(0);
    t[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    bytes[get_global_id(0)] = t[63 - l];
}"""),
    labelled("""kernel void neighbouring_shorts(global int *a, global int *out) {
    global ushort *shorts = (global ushort *)out;
    shorts[get_global_id(0)] += a[get_global_id(0)];
}"""),
    labelled("""kernel void bits_of_words(global int *a, global int *out) {
    uint i = get_global_id(0);
    atomic_or((volatile global int *)&out[i / 32], 1 << (i % 32));
}"""),
    labelled("""kernel void atomic_counter(global int *a, global int *out) {
    if (a[get_global_id(0)] % 5 == 0) atomic_inc((volatile global int *)&out[0]);
}"""),
    labelled("""kernel void atomic_append(global int *a, global int *out) {
    uint at = atomic_inc((volatile global uint *)&a[3840]);
    out[at] = get_global_id(0);
}"""),
    labelled("""kernel void histogram_in_local(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc((volatile local int *)&t[a[l] % 7]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t[l] != 0) atomic_add((volatile global int *)&out[l], t[l]);
}"""),
    labelled("""kernel void last_group(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    if (l == 0) {
        out[get_group_id(0) + 1] = a[get_group_id(0)] + 7;
        t[0] = atomic_fetch_add_explicit((volatile global atomic_int *)&a[3840], 1,
                                         memory_order_acq_rel, memory_scope_device);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t[0] == get_num_groups(0) - 1 && l == 0) {
        int sum = 0;
        for (uint g = 0; g < get_num_groups(0); g++) sum += out[g + 1];
        out[0] = sum;
    }
}"""),
    labelled("""kernel void last_group_reads_all(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0), n = get_local_size(0);
    out[get_global_id(0)] = a[l];
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (l == 0)
        t[0] = atomic_fetch_add_explicit((volatile global atomic_int *)&a[3840], 1,
                                         memory_order_acq_rel, memory_scope_device);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (t[0] == get_num_groups(0) - 1)
        for (uint g = 0; g < get_num_groups(0); g++) a[n + l] += out[g * n + n - 1 - l];
}"""),
    labelled("""kernel void last_group_with_fences(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    if (l == 0) {
        out[get_group_id(0) + 1] = a[get_group_id(0)] + 7;
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device);
        t[0] = atomic_inc((volatile global int *)&a[3840]);
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acquire, memory_scope_device);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t[0] == get_num_groups(0) - 1 && l == 0)
        for (uint g = 0; g < get_num_groups(0); g++) out[0] += out[g + 1];
}"""),
    labelled(
        """kernel void double_checked_flag(global int *a, global int *out) {
    volatile global atomic_int *flag = (volatile global atomic_int *)&a[0];
    if (get_local_id(0) == 0) {
        if (atomic_load_explicit(flag, memory_order_acquire, memory_scope_device) != 2) {
            int none = 0;
            if (atomic_compare_exchange_strong_explicit(
                    flag, &none, 1, memory_order_acquire, memory_order_acquire,
                    memory_scope_device)) {
                out[0] = 42;
                atomic_store_explicit(flag, 2, memory_order_release, memory_scope_device);
            }
        }
        while (atomic_load_explicit(flag, memory_order_acquire, memory_scope_device) != 2) {}
        out[1 + get_group_id(0)] = out[0];
    }
}"""
    ),
    labelled("""kernel void handed_on(global int *a, global int *out) {
    uint g = get_group_id(0);
    if (get_local_id(0) != 0) return;
    volatile global atomic_int *turn = (volatile global atomic_int *)&a[0];
    while (atomic_load_explicit(turn, memory_order_acquire, memory_scope_device) != (int)g) {}
    out[0] = out[0] * 3 + g;
    atomic_store_explicit(turn, g + 1, memory_order_release, memory_scope_device);
}"""),
    labelled("""kernel void look_back(global int *a, global int *out) {
    uint g = get_group_id(0);
    if (get_local_id(0) != 0) return;
    volatile global atomic_int *ready = (volatile global atomic_int *)&a[1024];
    int before = 0;
    if (g > 0) {
        while (atomic_load_explicit(&ready[g - 1], memory_order_acquire,
                                    memory_scope_device) != -1) {}
        before = out[g - 1];
    }
    out[g] = before + a[g];
    atomic_store_explicit(&ready[g], -1, memory_order_release, memory_scope_device);
    if (g == 3) a[3000] = out[0];
}"""),
    labelled("""kernel void subgroup_exchange(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0), n = get_sub_group_size();
    uint first = l - get_sub_group_local_id();
    t[l] = a[l];
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    int other = t[first + n - 1 - get_sub_group_local_id()];
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = other;
    out[get_global_id(0)] = t[l];
}"""),
    labelled("""kernel void subgroup_reduction(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    int sum = sub_group_reduce_add(a[get_global_id(0)]);
    if (get_sub_group_local_id() == 0) t[get_sub_group_id()] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        for (uint k = 1; k < get_num_sub_groups(); k++) sum += t[k];
        out[get_group_id(0)] = sum;
    }
}"""),
    labelled("""kernel void group_reduction(global int *a, global int *out) {
    int sum = work_group_reduce_add(a[get_global_id(0)]);
    int before = work_group_scan_exclusive_add(a[get_global_id(0)]);
    out[get_global_id(0)] = sum - before;
}"""),
    labelled("""kernel void global_scratch(global int *a, global int *out) {
    uint i = get_global_id(0);
    out[i] = a[i];
    barrier(CLK_GLOBAL_MEM_FENCE);
    a[i] = out[i ^ 1];
}"""),
    labelled("""kernel void lock(global int *a, global int *out) {
    if (get_local_id(0) != 0) return;
    volatile global atomic_int *lock = (volatile global atomic_int *)&a[0];
    int free_ = 0;
    while (!atomic_compare_exchange_strong_explicit(lock, &free_, 1, memory_order_acquire,
                                                    memory_order_relaxed, memory_scope_device))
        free_ = 0;
    out[0] += get_group_id(0);
    atomic_store_explicit(lock, 0, memory_order_release, memory_scope_device);
}"""),
    labelled("""kernel void barrier_in_uniform_if(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = l;
    if (a[get_group_id(0)] % 2 == 0) {
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] = t[l ^ 1];
    }
}"""),
    labelled("""kernel void whole_groups_return(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    if (get_group_id(0) > 1) return;
    t[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[l ^ 1];
}"""),
    labelled("""kernel void loop_of_one_length(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    for (int k = 0; k < 2 + a[get_group_id(0)]; k++) {
        t[(l + k) % get_local_size(0)] = k;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = t[l];
}"""),
    labelled("""kernel void copied_by_the_group(global int *a, global int *out, local int *t) {
    event_t done = async_work_group_copy(t, a, get_local_size(0), 0);
    wait_group_events(1, &done);
    out[get_global_id(0)] = t[get_local_size(0) - 1 - get_local_id(0)];
}"""),
    labelled("""kernel void copied_tile(global int *a, global int *out) {
    local int tile[64];
    event_t done = async_work_group_copy(tile, a + 64 * get_group_id(0), 64, 0);
    wait_group_events(1, &done);
    out[get_global_id(0)] = tile[63 - get_local_id(0)];
}"""),
    labelled("""typedef struct { int x, y; } pair;
kernel void members_of_two(global int *a) {
    global pair *pairs = (global pair *)a;
    uint i = get_global_id(0);
    if (i % 2) pairs[i / 2].x = i; else pairs[i / 2].y += i;
}"""),
    labelled(
        """kernel void rows(global int *out, global int *a) {
    uint x = get_global_id(0), y = get_global_id(1);
    out[y * 16 + x] = a[x] + 100 * y;
    out[y * 16 + x] += 1;
}""",
        "",
        (2, 2),
        (8, 8),
    ),
    labelled(
        """kernel void small_group(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    t[l] = a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[4 - l];
}""",
        "",
        2,
        5,
    ),
    labelled("""kernel void any_pointer(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    int own[4] = {1, 2, 3, 4};
    int *p = a[0] == 0 ? (int *)t : (int *)out;
    int *q = a[l] % 2 ? own : p + l;
    p[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    q[0] += 1;
    a[1024 + get_global_id(0)] = p[l] + own[l % 4];
}"""),
    labelled("""kernel void interleaved_columns(global int *out) {
    uint i = get_global_id(0), n = get_global_size(0);
    for (uint k = 0; k < 4; k++) out[k * n + i] = i;
}"""),
    labelled("""kernel void vectors_of_three(global int *a, global int *out) {
    uint i = get_global_id(0);
    vstore3((int3)(a[i], 1, 2), i, out);
}"""),
    labelled("""kernel void private_arrays(global int *a, global int *out) {
    int mine[16];
    for (int k = 0; k < 16; k++) mine[k] = a[k] + get_local_id(0);
    out[get_global_id(0)] = mine[a[get_local_id(0)] % 16];
}"""),
    labelled("""kernel void first_item_prepares(global int *a, global int *out, local int *t) {
    if (get_local_id(0) == 0) { t[0] = a[get_group_id(0)]; t[1] = t[0] + 1; }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = t[0] + t[1];
}"""),
)

SAME_VALUE = (
    labelled(
        """kernel void same_value_by_option(global int *a, global int *out) {
    if (a[get_global_id(0)] % 3 == 0) out[0] = 1;
}""",
        GLOBAL_RACE,
    ),
)

CASES = (*(each for each in WRONG if each.kind != BARRIER), *RIGHT)
BARRIERS = (*(each for each in WRONG if each.kind == BARRIER), *RIGHT)
