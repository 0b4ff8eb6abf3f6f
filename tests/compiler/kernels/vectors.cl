// Vectors: parts, comparisons, selections, shuffles, sizes from 2 to 16.

kernel void swizzle(global const int4 *in, global int4 *out) {
    size_t i = get_global_id(0);
    int4 v = in[i];
    int4 r = v.wzyx;
    r.xz += v.yy;
    r.hi = r.hi * 2 + v.even;
    out[i] = r;
}

kernel void select_lanes(global const float4 *a, global const float4 *b, global float4 *out) {
    size_t i = get_global_id(0);
    int4 less = a[i] < b[i];
    out[3 * i] = select(a[i], b[i], less);
    out[3 * i + 1] = less.x ? a[i] : b[i];
    out[3 * i + 2] = bitselect(a[i], b[i], as_float4((int4)(0x0f0f0f0f)));
}

kernel void compare_vectors(global const int4 *a, global const int4 *b, global int *out) {
    size_t i = get_global_id(0);
    int4 equal = (a[i] & 3) == (b[i] & 3);
    out[3 * i] = any(equal);
    out[3 * i + 1] = all(equal);
    out[3 * i + 2] = any(a[i]) + 2 * all(b[i]) + equal.x + equal.w;
}

kernel void shuffles(global const uint4 *a, global const uint4 *mask, global uint8 *out) {
    size_t i = get_global_id(0);
    uint4 mixed = shuffle(a[i], mask[i]);
    out[i] = shuffle2(mixed, mask[i], (uint8)(7, 0, 6, 1, 5, 2, 4, 3));
}

kernel void three(global const float *in, global float *out) {
    size_t i = get_global_id(0);
    float3 v = vload3(i, in);
    v = v.zxy * 2.0f + (float3)(1.0f, 2.0f, 3.0f);
    vstore3(v, i, out);
}

kernel void sixteen(global const short16 *in, global int *out) {
    size_t i = get_global_id(0);
    short16 v = in[i];
    short8 a = v.lo + v.hi;
    short4 b = a.even - a.odd;
    v.s0f = (short2)(b.x, b.w);
    out[2 * i] = b.x + b.y * 2 + b.z * 3 + b.w * 4;
    out[2 * i + 1] = v.s0 ^ v.sF ^ v.s7;
}

kernel void indexed_lane(global const int8 *in, global int *out) {
    size_t i = get_global_id(0);
    int8 v = in[i];
    int copy[8];
    vstore8(v, 0, copy);
    int sum = 0;
    for (int n = 0; n < 8; n++)
        sum += copy[(n * 3 + (int)i) & 7] * n;
    out[i] = sum;
}

kernel void reinterpret(global const float4 *in, global uint4 *out) {
    size_t i = get_global_id(0);
    uint4 bits = as_uint4(in[i]);
    ushort8 halves = as_ushort8(bits);
    out[i] = bits ^ as_uint4(halves.s10325476);
}

kernel void vector_arithmetic(global const uchar8 *a, global const uchar8 *b, global uchar8 *out) {
    size_t i = get_global_id(0);
    uchar8 sum = add_sat(a[i], b[i]), average = rhadd(a[i], b[i]);
    out[i] = max(sum, average) - min(a[i], (uchar)100) + (a[i] >> (uchar)2) * b[i];
}

kernel void vector_math(global const float8 *in, global float8 *out) {
    size_t i = get_global_id(0);
    float8 v = in[i] * 0.1f;
    out[i] = sqrt(fabs(v)) + floor(v) * (float8)(1, 2, 3, 4, 5, 6, 7, 8);
}
