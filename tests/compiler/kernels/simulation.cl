// Whole small programs, nearer to what users write.

kernel void nbody(global const float4 *in, global float4 *out, int n, float step) {
    size_t i = get_global_id(0);
    float4 self = in[i];
    float3 force = (float3)(0.0f);
    for (int k = 0; k < n; k++) {
        float3 d = in[k].xyz - self.xyz;
        float squared = dot(d, d) + 0.01f;
        force += d * (in[k].w / (squared * sqrt(squared)));
    }
    out[i] = (float4)(self.xyz + force * step, self.w);
}

kernel void monte_carlo(global const uint *seeds, global uint *inside, int rounds) {
    size_t i = get_global_id(0);
    uint state = seeds[i] * 747796405u + 1u, hits = 0;
    for (int n = 0; n < rounds; n++) {
        state = state * 1664525u + 1013904223u;
        uint x = state >> 17;
        state = state * 1664525u + 1013904223u;
        uint y = state >> 17;
        hits += x * x + y * y < 32768u * 32768u;
    }
    inside[i] = hits;
}

kernel void edit_distance(global const uchar *a, global const uchar *b, global int *out) {
    size_t i = get_global_id(0);
    uchar row[17];
    for (int k = 0; k <= 16; k++)
        row[k] = k;
    for (int m = 1; m <= 16; m++) {
        uchar diagonal = row[0];
        row[0] = m;
        for (int k = 1; k <= 16; k++) {
            uchar above = row[k];
            uchar cost = (a[16 * i + m - 1] & 3) != (b[16 * i + k - 1] & 3);
            row[k] = min(min((uchar)(above + 1), (uchar)(row[k - 1] + 1)), (uchar)(diagonal + cost));
            diagonal = above;
        }
    }
    out[i] = row[16];
}

kernel void ray_spheres(global const float4 *spheres, global int *out, int count) {
#pragma OPENCL FP_CONTRACT OFF
    int x = get_global_id(0), y = get_global_id(1);
    float3 direction = (float3)((x - 16) * 0.0625f, (y - 16) * 0.0625f, 1.0f);
    float nearest = 1e30f;
    int hit = -1;
    for (int k = 0; k < count; k++) {
        float3 centre = spheres[k].xyz;
        float a = dot(direction, direction), b = dot(direction, centre);
        float c = dot(centre, centre) - spheres[k].w * spheres[k].w;
        float discriminant = b * b - a * c;
        if (discriminant < 0.0f)
            continue;
        float t = (b - sqrt(discriminant)) / a;
        if (t > 0.0f && t < nearest) {
            nearest = t;
            hit = k;
        }
    }
    out[y * get_global_size(0) + x] = hit;
}

kernel void prefix_blocks(global const int *in, global int *out, global int *sums, local int *shared) {
    size_t l = get_local_id(0), n = get_local_size(0);
    shared[l] = in[get_global_id(0)] & 0xff;
    for (size_t step = 1; step < n; step *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int add = l >= step ? shared[l - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[l] += add;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = shared[l];
    if (l == n - 1)
        sums[get_group_id(0)] = shared[l];
}
