#define NEIGHBOURS 8

__kernel void nearest_neighbours(__global const float4 *points, int count, __global const float4 *queries,
                                 __global float *distances)
{
    int i = get_global_id(0);
    float4 query = queries[i];
    float nearest[NEIGHBOURS];
    for (int k = 0; k < NEIGHBOURS; k++)
        nearest[k] = FLT_MAX;
    for (int j = 0; j < count; j++) {
        float dx = points[j].x - query.x, dy = points[j].y - query.y, dz = points[j].z - query.z;
        float distance = dx * dx + dy * dy + dz * dz;
        if (distance < nearest[NEIGHBOURS - 1]) {
            int k = NEIGHBOURS - 1;
            while (k > 0 && nearest[k - 1] > distance) {
                nearest[k] = nearest[k - 1];
                k--;
            }
            nearest[k] = distance;
        }
    }
    for (int k = 0; k < NEIGHBOURS; k++)
        distances[i * NEIGHBOURS + k] = nearest[k];
}
