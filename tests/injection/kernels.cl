kernel void count(global int *total, local int *scratch) {
    int mine[8];
    size_t item = get_local_id(0);
    for (int each = 0; each < 8; ++each)
        mine[each] = each + total[0] * 0;
    scratch[item] = mine[item % 8];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0)
        atomic_add(total, scratch[1]);
}

kernel void say(global int *total) {
    printf("group %d of %s\n", (int)get_group_id(0), "some");
    atomic_inc(total);
}

global int kept = 5;

kernel void meet(global int *total) {
    atomic_add(total, kept);
    while (atomic_add(total, 0) < 5 * (int)get_num_groups(0))
        ;
}
