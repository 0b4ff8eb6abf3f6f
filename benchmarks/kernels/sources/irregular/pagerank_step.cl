__kernel void pagerank_step(__global const int *offsets, __global const int *sources, __global const int *degrees,
                            __global const float *before, __global float *after, int nodes)
{
    int node = get_global_id(0);
    float sum = 0.0f;
    for (int k = offsets[node]; k < offsets[node + 1]; k++) {
        int source = sources[k];
        sum += before[source] / degrees[source];
    }
    after[node] = 0.15f / nodes + 0.85f * sum;
}
