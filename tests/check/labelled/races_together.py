"""Kernels whose sub-groups and groups access memory together: blocks, and copies that go on while
the work-items do."""

from __future__ import annotations

from tests.check.labelled.cases import Case
from tests.check.labelled.races import GLOBAL_RACE, LOCAL_RACE, labelled

CASES: tuple[Case, ...] = (
    labelled(
        """kernel void used_before_the_wait(global int *a, global int *out, local int *t) {
    event_t done = async_work_group_copy(t, a, 64, 0);
    out[get_global_id(0)] = t[get_local_id(0)];
    wait_group_events(1, &done);
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void copied_before_all_wrote(global int *a, global int *out, local int *t) {
    t[get_local_id(0)] = a[get_global_id(0)];
    event_t done = async_work_group_copy(out + 64 * get_group_id(0), t, 64, 0);
    wait_group_events(1, &done);
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void next_tile_while_this_is_read(global int *a, global int *out, local int *t) {
    int sum = 0;
    for (int k = 0; k < 4; k++) {
        event_t done = async_work_group_copy(t, a + 64 * k, 64, 0);
        wait_group_events(1, &done);
        sum += t[63 - get_local_id(0)];
    }
    out[get_global_id(0)] = sum;
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void result_changed_while_it_is_copied(global int *out, local int *t) {
    t[get_local_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t done = async_work_group_copy(out + 64 * get_group_id(0), t, 64, 0);
    t[get_local_id(0)] = 2;
    wait_group_events(1, &done);
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void groups_copy_to_one_place(global int *out, local int *t) {
    t[get_local_id(0)] = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t done = async_work_group_copy(out, t, 64, 0);
    wait_group_events(1, &done);
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void strides_that_meet(global int *out, local int *t) {
    t[get_local_id(0)] = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t done = async_work_group_strided_copy(out + 4 * get_group_id(0), t, 64, 4, 0);
    wait_group_events(1, &done);
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """kernel void a_tile_for_all(global int *a, global int *out, local int *t) {
    event_t done = async_work_group_copy(t, a + 64 * get_group_id(0), 64, 0);
    wait_group_events(1, &done);
    out[get_global_id(0)] = t[63 - get_local_id(0)];
}""",
    ),
    labelled(
        """kernel void two_tiles_in_turn(global int *a, global int *out) {
    local int t[2][64];
    event_t done = async_work_group_copy(t[0], a, 64, 0);
    int sum = 0;
    for (int k = 0; k < 4; k++) {
        wait_group_events(1, &done);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k < 3) done = async_work_group_copy(t[(k + 1) % 2], a + 64 * (k + 1), 64, 0);
        sum += t[k % 2][63 - get_local_id(0)];
    }
    out[get_global_id(0)] = sum;
}""",
    ),
    labelled(
        """kernel void results_of_each_group(global int *out, local int *t) {
    t[get_local_id(0)] = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t done = async_work_group_copy(out + 64 * get_group_id(0), t, 64, 0);
    wait_group_events(1, &done);
    out[64 * get_group_id(0) + 63 - get_local_id(0)] += 1;
}""",
    ),
    labelled(
        """kernel void strides_between_each_other(global int *out, local int *t) {
    t[get_local_id(0)] = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t done = async_work_group_strided_copy(out + get_group_id(0), t, 64, 4, 0);
    wait_group_events(1, &done);
}""",
    ),
    labelled(
        """kernel void read_while_it_is_copied(global int *a, global int *out, local int *t) {
    event_t done = async_work_group_copy(t, a, 64, 0);
    int own = a[get_local_id(0)];
    wait_group_events(1, &done);
    out[get_global_id(0)] = own + t[get_local_id(0)];
}""",
    ),
    labelled(
        """#pragma OPENCL EXTENSION cl_intel_subgroups : enable
kernel void blocks_of_all_groups_in_one(global uint *out) {
    intel_sub_group_block_write(out, get_global_id(0));
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """#pragma OPENCL EXTENSION cl_intel_subgroups : enable
kernel void blocks_that_others_read(global uint *a, global uint *out) {
    uint n = get_sub_group_size(), at = get_global_id(0) / n * n;
    intel_sub_group_block_write(a + at, get_global_id(0));
    out[get_global_id(0)] = a[get_global_size(0) - 1 - get_global_id(0)];
}""",
        GLOBAL_RACE,
    ),
    labelled(
        """#pragma OPENCL EXTENSION cl_intel_subgroups : enable
kernel void a_block_for_each(global uint *a, global uint *out) {
    uint n = get_sub_group_size(), at = get_global_id(0) / n * n;
    intel_sub_group_block_write(out + at, intel_sub_group_block_read(a + at) + 1);
    out[get_global_id(0)] += 1;
}""",
    ),
    labelled(
        """#pragma OPENCL EXTENSION cl_intel_subgroups : enable
kernel void two_rows_for_each(global uint *a, global uint *out) {
    uint n = get_sub_group_size(), at = get_global_id(0) / n * n * 2;
    intel_sub_group_block_write2(out + at, intel_sub_group_block_read2(a + at));
    out[at + get_sub_group_local_id()] += 1;
    out[at + n + get_sub_group_local_id()] += 1;
}""",
    ),
)
