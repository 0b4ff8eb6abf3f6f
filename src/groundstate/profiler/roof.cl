/* What profiles are compared with: multiply-adds from registers, streams from memory, loads from the cache. The SPIR-V beside
 * this file is made of it by `groundstate compile`, as roof.py says. */

kernel void compute(global float *out, int rounds) {
    float x = (float)get_global_id(0) * 1e-9f, y = 0.999f;
    float a = x, b = x + 1, c = x + 2, d = x + 3, e = x + 4, f = x + 5, g = x + 6, h = x + 7;
    float i = -x, j = 1 - x, k = 2 - x, l = 3 - x;
    for (int n = 0; n < rounds; n++) {
        a = fma(a, y, x), b = fma(b, y, x), c = fma(c, y, x), d = fma(d, y, x);
        e = fma(e, y, x), f = fma(f, y, x), g = fma(g, y, x), h = fma(h, y, x);
        i = fma(i, y, x), j = fma(j, y, x), k = fma(k, y, x), l = fma(l, y, x);
    }
    out[get_global_id(0)] = a + b + c + d + e + f + g + h + i + j + k + l;
}

kernel void stream(global const float *a, global const float *b, global float *c) {
    size_t i = get_global_id(0);
    c[i] = a[i] + 3.0f * b[i];
}

kernel void cache(global const float *in, global float *out, int rounds) {
    size_t lane = get_local_id(0), base = get_group_id(0) % 64 * 2048;
    float a = 0, b = 0, c = 0, d = 0;
    for (int n = 0; n < rounds; n++)
        for (int k = 0; k < 2048; k += 256) {
            a += in[base + k + lane];
            b += in[base + k + 64 + lane];
            c += in[base + k + 128 + lane];
            d += in[base + k + 192 + lane];
        }
    out[get_global_id(0)] = a + b + c + d;
}
