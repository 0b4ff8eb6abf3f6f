"""Operations of sub-groups in divergent code, and such that only looks divergent.

Sub-groups have 16 work-items, as groups have.
"""

from __future__ import annotations

from tests.check.labelled.cases import right, wrong

DIVERGENT = "divergent-sub-group-operation"
INACTIVE = "inactive-shuffle-source"

CASES = (
    wrong(
        "reduction_without_one",
        DIVERGENT,
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0);
            if (i % 16 != 3) out[i] = sub_group_reduce_add(i); }""",
    ),
    right(
        "reduction_of_zero_for_one",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0);
            int sum = sub_group_reduce_add(i % 16 != 3 ? i : 0);
            if (i % 16 != 3) out[i] = sum; }""",
    ),
    wrong(
        "reduction_after_return",
        DIVERGENT,
        "ints:64",
        61,
        source="""kernel void $(global int *out, int n) {
            int i = get_global_id(0); if (i >= n) return;
            out[i] = sub_group_reduce_max(out[i]); }""",
    ),
    right(
        "reduction_after_whole_subgroups_return",
        "ints:64",
        48,
        source="""kernel void $(global int *out, int n) {
            int i = get_global_id(0); if (i >= n) return;
            out[i] = sub_group_reduce_max(out[i]); }""",
    ),
    wrong(
        "broadcast_in_a_branch",
        DIVERGENT,
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); if (i & 4) out[i] = sub_group_broadcast(i, 4); }""",
    ),
    right(
        "broadcast_in_a_uniform_branch",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0);
            if (get_group_id(0) & 1) out[i] = sub_group_broadcast(i, 4); }""",
    ),
    wrong(
        "vote_in_a_loop_of_own_length",
        DIVERGENT,
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0), n = 0;
            while (n < (i & 7) && sub_group_any(n < 100)) n++;
            out[i] = n; }""",
    ),
    right(
        "vote_ends_a_loop_for_all",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0), n = 0;
            while (sub_group_any(n < (i & 7))) n++;
            out[i] = n; }""",
    ),
    wrong(
        "barrier_of_some",
        DIVERGENT,
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0);
            if (i & 1) sub_group_barrier(CLK_GLOBAL_MEM_FENCE); out[i] = i; }""",
    ),
    right(
        "barrier_of_whole_subgroups",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0);
            if (i & 16) sub_group_barrier(CLK_GLOBAL_MEM_FENCE); out[i] = i; }""",
    ),
    wrong(
        "scan_on_two_ways",
        DIVERGENT,
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0);
            if (i % 3) out[i] = sub_group_scan_inclusive_add(i);
            else out[i] = sub_group_scan_exclusive_add(i) + 1; }""",
    ),
    wrong(
        "shuffle_from_the_left_out",
        INACTIVE,
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0), got = 0;
            if (i % 4) got = sub_group_shuffle(i, get_sub_group_local_id() - 1);
            out[i] = got; }""",
    ),
    right(
        "shuffle_before_the_branch",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0), got = 0;
            int before = sub_group_shuffle(i, (get_sub_group_local_id() - 1) & 15);
            if (i % 4) got = before;
            out[i] = got; }""",
    ),
    wrong(
        "exchange_with_the_left_out",
        INACTIVE,
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); if (i & 1) out[i] = sub_group_shuffle_xor(i, 1); }""",
    ),
    right(
        "exchange_in_pairs_that_are_there",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0); if (i & 2) out[i] = sub_group_shuffle_xor(i, 1); }""",
    ),
    right(
        "reduction_by_shuffles_down",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0), sum = i;
            for (int d = 8; d > 0; d /= 2) sum += sub_group_shuffle_down(sum, d);
            if (get_sub_group_local_id() == 0) out[i] = sum; }""",
    ),
    right(
        "ballot_in_a_branch",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0);
            if (i & 1) out[i] = (int)sub_group_ballot(i & 2).x; }""",
    ),
    right(
        "reduction_of_those_who_are_here",
        "ints:64",
        source="""kernel void $(global int *out) {
            int i = get_global_id(0);
            if (i & 1) out[i] = sub_group_non_uniform_reduce_add(i); }""",
    ),
)
