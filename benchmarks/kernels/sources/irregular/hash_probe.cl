__kernel void hash_probe(__global const uint *keys, __global const int *values, int bits,
                         __global const uint *wanted, __global int *found)
{
    int i = get_global_id(0);
    uint key = wanted[i], mask = (1u << bits) - 1, slot = (key * 2654435761u) >> (32 - bits);
    int value = -1;
    while (keys[slot] != 0) {
        if (keys[slot] == key) {
            value = values[slot];
            break;
        }
        slot = (slot + 1) & mask;
    }
    found[i] = value;
}
