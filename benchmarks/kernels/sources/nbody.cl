/* Each body is a position and a mass; the result is the pull of all bodies on each. */
__kernel void nbody(__global const float4 *bodies, __global float4 *pulls, int count)
{
    int i = get_global_id(0);
    float4 here = bodies[i];
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (int j = 0; j < count; j++) {
        float4 there = bodies[j];
        float dx = there.x - here.x, dy = there.y - here.y, dz = there.z - here.z;
        float inverse = rsqrt(dx * dx + dy * dy + dz * dz + 1e-3f);
        float pull = there.w * inverse * inverse * inverse;
        x += dx * pull;
        y += dy * pull;
        z += dz * pull;
    }
    pulls[i] = (float4)(x, y, z, 0.0f);
}
