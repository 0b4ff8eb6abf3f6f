/* The mean of each inner point and its four neighbours. */
__kernel void stencil(__global const float *from, __global float *to, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
        return;
    int i = y * width + x;
    to[i] = 0.2f * (from[i] + from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
}
