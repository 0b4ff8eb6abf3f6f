__kernel void histogram(__global const uint *numbers, __global uint *counts)
{
    atomic_inc(&counts[numbers[get_global_id(0)] & 255]);
}
