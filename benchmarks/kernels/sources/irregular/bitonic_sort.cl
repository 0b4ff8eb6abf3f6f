__kernel void bitonic_sort(__global const uint *numbers, __global uint *sorted, __local uint *block)
{
    int me = get_local_id(0), count = get_local_size(0);
    block[me] = numbers[get_global_id(0)];
    for (int size = 2; size <= count; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int other = me ^ stride;
            if (other > me) {
                uint low = block[me], high = block[other];
                if ((low > high) == ((me & size) == 0)) {
                    block[me] = high;
                    block[other] = low;
                }
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    sorted[get_global_id(0)] = block[me];
}
