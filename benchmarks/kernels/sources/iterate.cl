/* A fixed amount of arithmetic for each work-item, and next to no memory. */
__kernel void iterate(__global float *results)
{
    size_t i = get_global_id(0);
    float start = (float)(i & 1023) / 1024.0f, x = start;
    for (int step = 0; step < 64; step++)
        x = 0.5f * x + start;
    results[i] = x;
}
