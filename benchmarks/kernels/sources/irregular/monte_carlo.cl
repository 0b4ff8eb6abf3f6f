uint shifted(uint state)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ (state << 5);
}

float fraction(uint state)
{
    return (state >> 8) * 0x1p-24f;
}

__kernel void monte_carlo(__global const uint *seeds, __global const float *squares, int samples, __global float *sums)
{
    int i = get_global_id(0), accepted = 0;
    uint state = seeds[i];
    float sum = 0.0f;
    while (accepted < samples) {
        state = shifted(state);
        float x = 2.0f * fraction(state) - 1.0f;
        state = shifted(state);
        float y = 2.0f * fraction(state) - 1.0f;
        if (x * x + y * y < squares[i]) {
            sum += x;
            accepted++;
        }
    }
    sums[i] = sum;
}
