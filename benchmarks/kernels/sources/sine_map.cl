/* Four overtones of a sine, with the accuracy that OpenCL asks of sin(). */
__kernel void sine_map(__global const float *angles, __global float *waves)
{
    size_t i = get_global_id(0);
    float x = angles[i];
    waves[i] = sin(x) + 0.5f * sin(2.0f * x) + 0.25f * sin(4.0f * x) + 0.125f * sin(8.0f * x);
}
