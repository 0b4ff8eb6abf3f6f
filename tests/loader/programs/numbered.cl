/* The kernels of numbered.c. None of their order can be changed without changing the outcome. */
kernel void step(global uint *numbers, uint by) {
    size_t i = get_global_id(0);
    numbers[i] = numbers[i] * 3 + by + i;
}

kernel void twist(global uint *numbers, global const uint *others) {
    size_t i = get_global_id(0);
    numbers[i] = rotate(numbers[i], 5u) ^ others[get_global_size(0) - 1 - i];
}
