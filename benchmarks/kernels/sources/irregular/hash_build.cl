__kernel void hash_build(__global const uint *keys, volatile __global uint *table, int bits)
{
    uint key = keys[get_global_id(0)], mask = (1u << bits) - 1, slot = (key * 2654435761u) >> (32 - bits);
    while (1) {
        uint before = atomic_cmpxchg(&table[slot], 0u, key);
        if (before == 0 || before == key)
            break;
        slot = (slot + 1) & mask;
    }
}
