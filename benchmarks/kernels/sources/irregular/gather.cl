__kernel void gather(__global const float *table, __global const int *index, __global float *result)
{
    int i = get_global_id(0);
    result[i] = table[index[i]];
}
