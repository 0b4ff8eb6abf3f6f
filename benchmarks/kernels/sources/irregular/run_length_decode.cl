__kernel void run_length_decode(__global const int *values, __global const int *starts, __global int *decoded)
{
    int run = get_global_id(0);
    int value = values[run];
    for (int k = starts[run]; k < starts[run + 1]; k++)
        decoded[k] = value;
}
