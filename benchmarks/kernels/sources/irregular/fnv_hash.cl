__kernel void fnv_hash(__global const uchar *content, __global const int *starts, __global uint *hashes)
{
    int word = get_global_id(0), end = starts[word + 1];
    uint hash = 2166136261u;
    for (int k = starts[word]; k < end; k++) {
        hash ^= content[k];
        hash *= 16777619u;
    }
    hashes[word] = hash;
}
