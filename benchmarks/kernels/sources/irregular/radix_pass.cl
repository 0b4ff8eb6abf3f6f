#define DIGITS 16
#define KEYS 64

__kernel void radix_pass(__global const uint *keys, __global const uint *places, __global uint *sorted, int shift,
                         __local uint *next)
{
    int mover = get_global_id(0), me = get_local_id(0), beside = get_local_size(0);
    for (int digit = 0; digit < DIGITS; digit++)
        next[digit * beside + me] = places[digit * get_global_size(0) + mover];
    for (int k = 0; k < KEYS; k++) {
        uint key = keys[mover * KEYS + k];
        uint digit = (key >> shift) & (DIGITS - 1);
        sorted[next[digit * beside + me]++] = key;
    }
}
