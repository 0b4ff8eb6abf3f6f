"""Kernels whose groups copy asynchronously: until when a copy goes on, and whether all work-items
ask for the same one."""

from __future__ import annotations

from tests.check.labelled.cases import Case
from tests.check.labelled.races import LOCAL_RACE, labelled

COPY, UNAWAITED, UNKNOWN = "divergent-copy", "unawaited-copy", "unknown-event"

RACES: tuple[Case, ...] = (
    labelled(
        """kernel void waits_without_a_copy(global int *out) {
    event_t none = 0;
    wait_group_events(1, &none);
    out[get_global_id(0)] = 1;
}""",
        UNKNOWN,
    ),
    labelled(
        """kernel void copies_in_some_groups_only(global int *a, global int *out, local int *t) {
    event_t done = 0;
    if (get_group_id(0) != 2) done = async_work_group_copy(t, a, 64, 0);
    wait_group_events(1, &done);
    out[get_global_id(0)] = get_group_id(0) != 2 ? t[get_local_id(0)] : 0;
}""",
        UNKNOWN,
    ),
    labelled(
        """kernel void barrier_ends_no_copy(global int *a, global int *out, local int *t) {
    event_t done = async_work_group_copy(t, a, 64, 0);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    out[get_global_id(0)] = t[63 - get_local_id(0)];
    wait_group_events(1, &done);
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void waits_for_the_other_copy(global int *a, global int *out, local int *t) {
    event_t first = async_work_group_copy(t, a, 64, 0);
    event_t second = async_work_group_copy(t + 64, a + 64, 64, 0);
    wait_group_events(1, &first);
    out[get_global_id(0)] = t[get_local_id(0)] + t[64 + get_local_id(0)];
    wait_group_events(1, &second);
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void waits_for_one_of_two(global int *a, global int *out, local int *t) {
    event_t done[2];
    done[0] = async_work_group_copy(t, a, 64, 0);
    done[1] = async_work_group_copy(t + 64, a + 64, 64, 0);
    wait_group_events(1, done);
    out[get_global_id(0)] = t[64 + get_local_id(0)];
    wait_group_events(1, done + 1);
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void two_copies_to_one_place(global int *a, global int *b, local int *t) {
    event_t first = async_work_group_copy(t, a, 64, 0);
    event_t second = async_work_group_copy(t + 32, b, 64, 0);
    wait_group_events(1, &first);
    wait_group_events(1, &second);
}""",
        LOCAL_RACE,
    ),
    labelled(
        """kernel void ends_before_its_copy(global int *out, local int *t) {
    t[get_local_id(0)] = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    async_work_group_copy(out + 64 * get_group_id(0), t, 64, 0);
}""",
        UNAWAITED,
    ),
    labelled(
        """kernel void two_buffers_in_turn(global int *a, global int *out, local int *t) {
    event_t done[2];
    int sum = 0, l = get_local_id(0);
    done[0] = async_work_group_copy(t, a, 64, 0);
    for (int k = 0; k < 4; k++) {
        if (k < 3)
            done[(k + 1) % 2] = async_work_group_copy(t + 64 * ((k + 1) % 2), a + 64 * k, 64, 0);
        wait_group_events(1, &done[k % 2]);
        sum += t[64 * (k % 2) + 63 - l];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = sum;
}"""
    ),
    labelled(
        """kernel void copies_with_one_event(global int *a, global int *out, local int *t) {
    event_t done = async_work_group_copy(t, a, 32, 0);
    async_work_group_copy(t + 32, a + 32, 32, done);
    wait_group_events(1, &done);
    out[get_global_id(0)] = t[63 - get_local_id(0)];
}"""
    ),
    labelled(
        """kernel void as_many_waits_as_copies(global int *a, global int *out, local int *t) {
    event_t done[4];
    for (int k = 0; k < 4; k++)
        done[k] = async_work_group_copy(t + 16 * k, a + 16 * k, 16, 0);
    wait_group_events(a[4], done);
    out[get_global_id(0)] = t[63 - get_local_id(0)];
}"""
    ),
    labelled(
        """kernel void other_half_while_it_is_copied(global int *a, global int *out, local int *t) {
    uint l = get_local_id(0);
    event_t done = async_work_group_copy(t, a, 64, 0);
    t[64 + l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = t[64 + (l ^ 1)];
    wait_group_events(1, &done);
    out[get_global_id(0)] = sum + t[l ^ 1];
}"""
    ),
)

TOGETHER: tuple[Case, ...] = (
    labelled(
        """kernel void copy_of_one_work_item(global int *a, global int *out, local int *t) {
    event_t done = async_work_group_copy(t, a, 64, 0);
    if (get_local_id(0) == 0)
        done = async_work_group_copy(t + 64, a, 64, done);
    wait_group_events(1, &done);
    out[get_global_id(0)] = t[get_local_id(0)];
}""",
        COPY,
    ),
    labelled(
        """kernel void copy_without_the_last(global int *a, local int *t) {
    if (get_local_id(0) < 63) {
        event_t done = async_work_group_copy(t, a, 64, 0);
    }
}""",
        COPY,
    ),
    labelled(
        """kernel void own_sources(global int *a, global int *out, local int *t) {
    event_t done = async_work_group_copy(t, a + get_local_id(0), 64, 0);
    wait_group_events(1, &done);
    out[get_global_id(0)] = t[get_local_id(0)];
}""",
        COPY,
    ),
    labelled(
        """kernel void own_counts(global int *a, global int *out, local int *t) {
    int count = get_local_id(0) < 32 ? 64 : 32;
    event_t done = async_work_group_copy(t, a, count, 0);
    wait_group_events(1, &done);
    out[get_global_id(0)] = t[get_local_id(0)];
}""",
        COPY,
    ),
    labelled(
        """kernel void once_more_by_some(global int *a, global int *out, local int *t) {
    int rounds = get_local_id(0) < 8 ? 3 : 2;
    for (int k = 0; k < rounds; k++)
        async_work_group_copy(t + 64 * k, a + 64 * k, 64, 0);
    out[get_global_id(0)] = rounds;
}""",
        COPY,
    ),
    labelled(
        """kernel void copy_by_whole_groups(global int *a, global int *out, local int *t) {
    if (get_group_id(0) % 2) {
        event_t done = async_work_group_copy(t, a + 64 * get_group_id(0), 64, 0);
        wait_group_events(1, &done);
        out[get_global_id(0)] = t[get_local_id(0)];
    }
}"""
    ),
    labelled(
        """kernel void counts_of_groups(global int *a, global int *out, local int *t) {
    int count = a[get_group_id(0)] + 32;
    for (int k = 0; k < 2; k++) {
        event_t done = async_work_group_copy(t, a + 4 * k, count, 0);
        wait_group_events(1, &done);
        out[get_global_id(0)] = t[get_local_id(0) % 32];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}"""
    ),
    labelled(
        """kernel void same_by_another_way(global int *a, global int *out, local int *t) {
    global int *from = a + (get_local_id(0) < 32 ? 16 : 8 + get_local_size(0) / 8);
    event_t done = async_work_group_copy(t, from, 64, 0);
    wait_group_events(1, &done);
    out[get_global_id(0)] = t[get_local_id(0)];
}"""
    ),
)
