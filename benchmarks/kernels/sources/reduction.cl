/* The sum of each group's numbers, halving the number of summands in each step. */
__kernel void reduction(__global const float *numbers, __global float *sums, __local float *partial)
{
    uint i = get_local_id(0);
    partial[i] = numbers[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_way = get_local_size(0) / 2; half_way > 0; half_way >>= 1) {
        if (i < half_way)
            partial[i] += partial[i + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i == 0)
        sums[get_group_id(0)] = partial[0];
}
