__kernel void tree_traversal(__global const float *splits, __global const int *left, __global const int *right,
                             __global const float *keys, __global int *leaves)
{
    int i = get_global_id(0), node = 0;
    float key = keys[i];
    while (node >= 0)
        node = key < splits[node] ? left[node] : right[node];
    leaves[i] = ~node;
}
