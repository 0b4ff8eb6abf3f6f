__kernel void bfs_level(__global const int *offsets, __global const int *edges, __global const int *levels,
                        __global uchar *next, int level)
{
    int node = get_global_id(0);
    if (levels[node] != level)
        return;
    for (int k = offsets[node]; k < offsets[node + 1]; k++) {
        int neighbour = edges[k];
        if (levels[neighbour] < 0)
            next[neighbour] = 1;
    }
}
