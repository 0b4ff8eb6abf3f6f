// Where a work-item is: ids, sizes, offsets, in one to three dimensions.

kernel void ids3(global ulong *out) {
    size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1),
           z = get_global_id(2) - get_global_offset(2);
    size_t i = (z * get_global_size(1) + y) * get_global_size(0) + x;
    out[4 * i] = get_global_id(0) | get_global_id(1) << 16 | get_global_id(2) << 32;
    out[4 * i + 1] = get_local_id(0) | get_local_id(1) << 16 | get_local_id(2) << 32;
    out[4 * i + 2] = get_group_id(0) | get_group_id(1) << 16 | get_group_id(2) << 32;
    out[4 * i + 3] = get_num_groups(0) | get_num_groups(1) << 16 | get_num_groups(2) << 32 |
                     (ulong)get_work_dim() << 48;
}

kernel void sizes(global ulong *out) {
    size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    out[2 * i] = get_global_size(0) | get_global_size(1) << 16 | get_global_size(2) << 32;
    out[2 * i + 1] = get_local_size(0) | get_local_size(1) << 16 | get_local_size(2) << 32;
}

kernel void dimension_argument(global ulong *out, int base) {
    size_t i = get_global_id(0);
    uint d = (base + (uint)i) % 4;
    out[i] = get_global_id(d) * 100 + get_local_size(d) * 10 + get_num_groups(d);
}

kernel __attribute__((reqd_work_group_size(8, 2, 1))) void required_size(global int *out) {
    local int shared[2][8];
    int x = get_local_id(0), y = get_local_id(1);
    shared[y][x] = x * 10 + y;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = shared[1 - y][7 - x];
}
