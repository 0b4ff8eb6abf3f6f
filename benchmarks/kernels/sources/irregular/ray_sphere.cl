__kernel void ray_sphere(__global const float4 *origins, __global const float4 *directions,
                         __global const float4 *spheres, int count, __global int *hits)
{
    int i = get_global_id(0), hit = -1;
    float3 origin = origins[i].xyz, direction = directions[i].xyz;
    for (int k = 0; k < count; k++) {
        float3 away = spheres[k].xyz - origin;
        float radius = spheres[k].w, along = dot(away, direction);
        if (along > 0.0f && dot(away, away) - along * along < radius * radius) {
            hit = k;
            break;
        }
    }
    hits[i] = hit;
}
