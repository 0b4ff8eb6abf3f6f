__kernel void binary_search(__global const uint *table, int entries, __global const uint *keys,
                            __global int *positions)
{
    int i = get_global_id(0);
    uint key = keys[i];
    int low = 0, high = entries - 1, found = -1;
    while (low <= high) {
        int middle = (low + high) / 2;
        uint entry = table[middle];
        if (entry == key) {
            found = middle;
            break;
        }
        if (entry < key)
            low = middle + 1;
        else
            high = middle - 1;
    }
    positions[i] = found;
}
