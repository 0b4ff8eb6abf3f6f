// The atomic functions of OpenCL C 2.0, with orders and scopes, and those of floating-point numbers.

kernel void fetch(global const int *in, global atomic_int *out, global atomic_uint *bits) {
    int v = in[get_global_id(0)];
    atomic_fetch_add(&out[0], v & 4095);
    atomic_fetch_sub_explicit(&out[1], v & 63, memory_order_relaxed);
    atomic_fetch_min_explicit(&out[2], v, memory_order_relaxed, memory_scope_device);
    atomic_fetch_max_explicit(&out[3], v, memory_order_acq_rel, memory_scope_all_svm_devices);
    atomic_fetch_or_explicit(&bits[0], 1u << (v & 31), memory_order_relaxed, memory_scope_device);
    atomic_fetch_xor(&bits[1], (uint)v);
    atomic_fetch_and(&bits[2], ~(1u << (v & 15)));
}

kernel void compare_exchange(global const int *in, global atomic_int *total) {
    int add = in[get_global_id(0)] & 255;
    int expected = atomic_load_explicit(total, memory_order_relaxed, memory_scope_device);
    while (!atomic_compare_exchange_weak_explicit(total, &expected, expected + add, memory_order_acq_rel,
                                                  memory_order_relaxed, memory_scope_device))
        ;
}

kernel void hand_over(global const int *in, global int *out) {
    local atomic_int ready;
    local int message;
    size_t l = get_local_id(0);
    if (l == 0)
        atomic_init(&ready, 0);
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        message = in[get_global_id(0)] * 3;
        atomic_store_explicit(&ready, 1, memory_order_release, memory_scope_work_group);
    }
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    int seen = atomic_load_explicit(&ready, memory_order_acquire, memory_scope_work_group);
    out[get_global_id(0)] = seen ? message + (int)l : -1;
}

kernel void flags(global atomic_flag *flag, global atomic_int *winners) {
    if (!atomic_flag_test_and_set(flag))
        atomic_fetch_add(winners, 1);
}

kernel void float_sum(global const int *in, global atomic_float *out) {
    // Sums of small whole numbers, so that the order does not matter.
    float v = (float)(in[get_global_id(0)] & 15);
    atomic_fetch_add_explicit(&out[0], v, memory_order_relaxed, memory_scope_device);
    atomic_fetch_max_explicit(&out[1], v, memory_order_relaxed, memory_scope_device);
    atomic_fetch_min_explicit(&out[2], v, memory_order_relaxed, memory_scope_device);
}
