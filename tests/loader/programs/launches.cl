/* The kernels of launches.c. */
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

/* Each work-item writes where it is, so that a missing one and one that ran twice are seen. */
kernel void mark(global uint *seen) {
    size_t width = get_global_size(0), height = get_global_size(1);
    size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);
    size_t z = get_global_id(2) - get_global_offset(2);
    atomic_add(&seen[(z * height + y) * width + x], 1 + get_local_linear_id());
}

kernel void offsets(global uint *out) {
    size_t i = get_global_linear_id();
    out[3 * i] = get_global_id(0);
    out[3 * i + 1] = get_global_id(1);
    out[3 * i + 2] = get_global_id(2);
}

/* Counts the last work-items of a range that has too many to count. */
kernel void last(global ulong *count, ulong from) {
    ulong id = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
    if (id >= from)
        atom_add(count, id);
}

/* Each group waits for all others. */
kernel void meet(global atomic_int *arrived, global uint *out) {
    if (get_local_id(0) == 0) {
        atomic_fetch_add(arrived, 1);
        while (atomic_load(arrived) < (int)get_num_groups(0)) {}
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = get_global_id(0);
}

typedef struct { int a; double b; } pair;
kernel void take(global double *out, pair p, float f, local uint *scratch, uchar c) {
    scratch[get_local_id(0)] = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = p.a + p.b + f + c + scratch[get_local_size(0) - 1 - get_local_id(0)];
}

kernel void spin(global uint *out, uint rounds) {
    uint value = get_global_id(0);
    for (uint i = 0; i < rounds; i++)
        value = value * 1664525 + 1013904223;
    out[get_global_id(0)] = value;
}

/* Counts the calls that fail. */
kernel void talk(global uint *failed) {
    if (printf("line %010u of many, each as long as all the others\n", (uint)get_global_id(0)) != 0)
        atomic_inc(failed);
}
