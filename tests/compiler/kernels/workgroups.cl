// The functions of a whole work-group.

kernel void group_reduce(global const int *in, global int *out) {
    int v = in[get_global_id(0)];
    int sum = work_group_reduce_add(v), low = work_group_reduce_min(v), high = work_group_reduce_max(v);
    if (get_local_id(0) == 0) {
        out[3 * get_group_id(0)] = sum;
        out[3 * get_group_id(0) + 1] = low;
        out[3 * get_group_id(0) + 2] = high;
    }
}

kernel void group_scan(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    out[3 * i] = work_group_scan_inclusive_add(in[i]);
    out[3 * i + 1] = work_group_scan_exclusive_add(in[i]);
    out[3 * i + 2] = work_group_scan_inclusive_max(in[i]);
}

kernel void group_broadcast(global const float *in, global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[i] - work_group_broadcast(in[i], get_local_size(0) / 2);
}

kernel void group_votes(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    out[i] = work_group_any(in[i] % 61 == 0) + 2 * work_group_all(in[i] % 61 != 1);
}

kernel void group_scan_in_loop(global const int *in, global int *out, int rounds) {
    size_t i = get_global_id(0);
    int v = in[i] & 7;
    for (int n = 0; n < rounds; n++)
        v = work_group_scan_inclusive_add(v) & 1023;
    out[i] = v;
}
