__kernel void divergent_loop(__global const uint *start, __global const int *steps, __global uint *last)
{
    int i = get_global_id(0);
    uint state = start[i];
    for (int step = 0; step < steps[i]; step++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
    }
    last[i] = state;
}
