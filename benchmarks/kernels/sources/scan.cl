/* Running sums within each group: in each step, everybody adds the sum from twice as far away. */
__kernel void scan(__global const int *numbers, __global int *sums, __local int *partial)
{
    int i = get_local_id(0);
    int sum = numbers[get_global_id(0)];
    partial[i] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = 1; distance < get_local_size(0); distance *= 2) {
        int before = i >= distance ? partial[i - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += before;
        partial[i] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums[get_global_id(0)] = sum;
}
