// Atomic functions. What is left in memory does not depend on the order of the work-items.

kernel void count(global const int *in, global int *counters) {
    size_t i = get_global_id(0);
    if (in[i] > 0)
        atomic_inc(&counters[0]);
    atomic_add(&counters[1], in[i] & 1023);
    atomic_sub(&counters[2], in[i] & 511);
    if (in[i] % 7 == 0)
        atomic_dec(&counters[3]);
}

kernel void histogram(global const uint *in, global uint *bins) {
    atomic_add(&bins[in[get_global_id(0)] % 32], 1u);
}

kernel void extremes(global const int *in, global int *signed_out, global uint *unsigned_out) {
    size_t i = get_global_id(0);
    atomic_min(&signed_out[0], in[i]);
    atomic_max(&signed_out[1], in[i]);
    atomic_min(&unsigned_out[0], (uint)in[i]);
    atomic_max(&unsigned_out[1], (uint)in[i]);
}

kernel void masks(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    atomic_or(&out[0], 1u << (in[i] % 32));
    atomic_and(&out[1], ~(1u << (in[i] % 27)));
    atomic_xor(&out[2], in[i]);
}

kernel void compare_exchange_add(global const int *in, global int *total) {
    int add = in[get_global_id(0)] & 255;
    int old = *total, seen;
    while ((seen = atomic_cmpxchg(total, old, old + add)) != old)
        old = seen;
}

kernel void exchange(global int *slots, global float *floats, global int *out) {
    size_t i = get_global_id(0);
    out[2 * i] = atomic_xchg(&slots[i], (int)i * 3);
    out[2 * i + 1] = (int)atomic_xchg(&floats[i], (float)i * 0.5f);
}

kernel void tickets(global int *next, global int *out) {
    int ticket = atomic_inc(next);
    atomic_add(&out[ticket], 1);
}

kernel void local_counters(global const int *in, global int *out) {
    local int low, high;
    if (get_local_id(0) == 0) {
        low = 0x7fffffff;
        high = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_min(&low, in[get_global_id(0)]);
    atomic_add(&high, in[get_global_id(0)] & 0xff);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        out[2 * get_group_id(0)] = low;
        out[2 * get_group_id(0) + 1] = high;
    }
}

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

kernel void wide(global const long *in, global long *out) {
    size_t i = get_global_id(0);
    atom_add(&out[0], in[i]);
    atom_min(&out[1], in[i]);
    atom_max(&out[2], in[i]);
    atom_xor(&out[3], in[i]);
}
