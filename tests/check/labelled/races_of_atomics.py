"""Atomic operations beside plain accesses: who is in a race with whom, and who is not."""

from __future__ import annotations

from tests.check.labelled.cases import Case
from tests.check.labelled.races import GLOBAL_RACE, LOCAL_RACE, labelled

CASES: tuple[Case, ...] = (
    labelled(
        """kernel void fence_too_early(global int *part, global int *count, global int *out) {
    local int is_last;
    uint l = get_local_id(0), g = get_group_id(0);
    if (l == 0) {
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        part[300 + g] = 1 - g;
        is_last = atomic_inc(&count[301]) == 45 + 3; // the fence belongs before this
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_last && l < 4) out[l] = part[300 + l];
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void lock_given_back_without_fence(global int *lock, global int *sum) {
    if (get_local_id(0) == 0) {
        while (atomic_cmpxchg(&lock[0], 0, 1) != 0) {}
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        sum[300] += get_group_id(0) + 1;
        atomic_xchg(&lock[0], 0);
    }
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void count_read_by_last(global int *count, global int *out) {
    atomic_inc(&count[300]);
    if (get_global_id(0) == 63) out[0] = count[300];
}""",
        GLOBAL_RACE,
        1,
    ),
    labelled(
        """kernel void count_read_by_first(global int *count, global int *out) {
    atomic_inc(&count[300]);
    if (get_local_id(0) == 0) out[get_group_id(0)] = count[300];
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void count_in_local_read(global int *out, local int *count) {
    if (get_local_id(0) == 0) count[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&count[0], 2);
    if (get_local_id(0) == 63) out[get_group_id(0)] = count[0];
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void count_cleared_by_first_group(global int *count) {
    if (get_global_id(0) == 0) count[0] = 0;
    barrier(CLK_GLOBAL_MEM_FENCE);
    atomic_inc(&count[0]);
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void groups_count_and_one_reads(global int *count, global int *out) {
    atomic_inc(&count[0]);
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_global_id(0) == 255) out[0] = count[0];
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void exchange_and_plain_write(global int *a) {
    if (get_local_id(0) == 5) a[0] = get_group_id(0) + 9;
    else atomic_cmpxchg(&a[0], 0, 1);
}""",
        GLOBAL_RACE,
        1,
    ),
    labelled("""kernel void count_read_after_barrier(global int *out, local int *count) {
    if (get_local_id(0) == 0) count[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&count[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = count[0];
}"""),
    labelled("""kernel void own_counters_of_groups(global int *count, global int *out) {
    uint group = get_group_id(0);
    if (get_local_id(0) == 0) count[group] = 0;
    barrier(CLK_GLOBAL_MEM_FENCE);
    atomic_inc(&count[group]);
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[get_global_id(0)] = count[group];
}"""),
    labelled("""kernel void turns_taken_by_exchange(global int *out, local int *turn) {
    bool is_done = false;
    int mine = 0;
    if (get_local_id(0) == 0) turn[0] = 0;
    for (int round = 0; round < 64; round++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int before = turn[0];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (!is_done && atomic_cmpxchg(&turn[0], before, before + 1) == before) {
            is_done = true;
            mine = turn[0]; // the others' exchanges only read
        }
    }
    out[get_global_id(0)] = mine;
}"""),
    labelled("""kernel void failed_exchanges_only_read(global int *a, global int *out) {
    atomic_cmpxchg(&a[5], 1000, 7); // it is 5
    out[get_global_id(0)] = a[5];
}"""),
    labelled("""kernel void last_adds_up(global int *part, global int *count, global int *out) {
    local int is_last;
    uint l = get_local_id(0), g = get_group_id(0);
    if (l == 0) {
        part[300 + g] = g;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        is_last = atomic_inc(&count[301]) == 45 + 3;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_last && l < 4) out[l] = part[300 + l];
}"""),
    labelled("""kernel void one_counts(global int *part, global int *count, global int *out) {
    local int is_last;
    uint l = get_local_id(0);
    part[get_global_id(0)] = l;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) is_last = atomic_inc(&count[301]) == 45 + 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_last) out[l] = part[255 - l] + part[l];
}"""),
    labelled("""kernel void lock_given_back_after_a_fence(global int *lock, global int *sum) {
    if (get_local_id(0) == 0) {
        while (atomic_cmpxchg(&lock[0], 0, 1) != 0) {}
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        sum[300] += get_group_id(0) + 1;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        atomic_xchg(&lock[0], 0);
    }
}"""),
    labelled("""kernel void counts_by_atomics_alone(global int *count, global int *out) {
    atomic_inc(&count[0]);
    out[get_global_id(0)] = atomic_add(&count[0], 0);
}"""),
)
