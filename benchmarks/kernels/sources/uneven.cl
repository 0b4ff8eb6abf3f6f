__kernel void uneven(__global const int *steps, __global float *result)
{
    int count = steps[get_group_id(0)];
    float start = get_local_id(0) / (float)get_local_size(0);
    float x = start;
    for (int k = 0; k < count; k++)
        x = 0.5f * x + start;
    result[get_global_id(0)] = x;
}
