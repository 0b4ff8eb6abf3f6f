// Sub-group functions. The results do not depend on how large the sub-groups of a device are.

kernel void subgroup_sum(global const int *in, global int *out) {
    local int total;
    if (get_local_id(0) == 0)
        total = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = sub_group_reduce_add(in[get_global_id(0)]);
    if (get_sub_group_local_id() == 0)
        atomic_add(&total, sum);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        out[get_group_id(0)] = total;
}

kernel void subgroup_extremes(global const int *in, global int *out) {
    int v = in[get_global_id(0)];
    atomic_min(&out[0], sub_group_reduce_min(v));
    atomic_max(&out[1], sub_group_reduce_max(v));
}

kernel void subgroup_scan(global const int *in, global int *out) {
    // The exclusive scan, the value and the inclusive scan agree; broadcasting the first gives zero.
    int v = in[get_global_id(0)] & 0xffff;
    int exclusive = sub_group_scan_exclusive_add(v);
    int inclusive = sub_group_scan_inclusive_add(v);
    int first = sub_group_broadcast(exclusive, 0);
    int last = sub_group_broadcast(inclusive, get_sub_group_size() - 1);
    out[get_global_id(0)] = inclusive - exclusive - v + first + (last - sub_group_reduce_add(v));
}

kernel void subgroup_votes(global const int *in, global int *out) {
    int v = in[get_global_id(0)];
    int r = sub_group_any(v == v + 0) + 2 * sub_group_all(v != v + 1);
    r += 4 * sub_group_any(get_sub_group_local_id() == 0);
    out[get_global_id(0)] = r;
}

kernel void subgroup_ids(global int *out) {
    // Number, size and place are consistent with the place in the group.
    uint n = get_num_sub_groups(), id = get_sub_group_id();
    uint place = id * get_max_sub_group_size() + get_sub_group_local_id();
    out[get_global_id(0)] = (place == get_local_id(0)) + 2 * (id < n) +
                            4 * (get_sub_group_local_id() < get_sub_group_size());
}

kernel void subgroup_shuffle(global const int *in, global int *out) {
    uint lane = get_sub_group_local_id(), size = get_sub_group_size();
    int v = in[get_global_id(0)];
    int other = sub_group_shuffle_xor(v, 0) + sub_group_shuffle(v, lane);
    int mirrored = sub_group_shuffle(v, size - 1 - lane);
    out[get_global_id(0)] = other + sub_group_reduce_add(mirrored) - sub_group_reduce_add(v);
}

kernel void subgroup_neighbours(global const int *in, global int *out) {
    uint lane = get_sub_group_local_id(), size = get_sub_group_size();
    size_t i = get_global_id(0);
    int up = sub_group_shuffle_up(in[i], 1), down = sub_group_shuffle_down(in[i], 1);
    out[i] = (lane == 0 || up == in[i - 1]) + 2 * (lane == size - 1 || down == in[i + 1]);
}

kernel void subgroup_ballot(global const int *in, global int *out) {
    int set = in[get_global_id(0)] & 1;
    uint4 votes = sub_group_ballot(set);
    uint before = sub_group_ballot_exclusive_scan(votes);
    int correct = (int)before == sub_group_scan_exclusive_add(set);
    correct += 2 * (sub_group_ballot_bit_count(votes) == (uint)sub_group_reduce_add(set));
    correct += 4 * (sub_group_inverse_ballot(votes) == set);
    correct += 8 * (sub_group_ballot_bit_extract(votes, get_sub_group_local_id()) == set);
    out[get_global_id(0)] = correct;
}

kernel void subgroup_divergent(global const int *in, global int *out) {
    // Counts odd and even items by reductions over the lanes that are in each branch.
    int v = in[get_global_id(0)];
    if (v & 1) {
        int odd = sub_group_non_uniform_reduce_add(1);
        if (sub_group_elect())
            atomic_add(&out[0], odd);
        atomic_xor(&out[1], v);
    } else {
        int rank = sub_group_non_uniform_scan_exclusive_add(1);
        int total = sub_group_non_uniform_reduce_add(1);
        atomic_add(&out[2], rank == total - 1 ? total : 0);
    }
}

kernel void subgroup_clusters(global const int *in, global int *out) {
    out[get_global_id(0)] = sub_group_clustered_reduce_max(in[get_global_id(0)], 4);
}

kernel void subgroup_float_sum(global const int *in, global float *out) {
    float v = (float)(in[get_global_id(0)] & 63);
    float sum = sub_group_reduce_add(v), largest = sub_group_reduce_max(v);
    out[get_global_id(0)] = (sum >= largest && largest >= v) ? v : -1.0f;
}
