kernel void spin(volatile global int *flag, global int *out) {
    local int shared[8];
    int i = get_global_id(0);
    shared[get_local_id(0)] = i * 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    while (flag[0] != 0)
        ;
    out[i] = shared[get_local_id(0)] + 1;
}

kernel void stray(ulong nowhere, global int *out) {
    int i = get_global_id(0);
    if (i == 3)
        *(global int *)nowhere = 5;
    out[i] = i;
}
