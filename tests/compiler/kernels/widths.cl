// Every element type in vectors of 2, 3, 4, 8 and 16: arithmetic, comparisons, choices, swizzles.

#pragma OPENCL FP_CONTRACT OFF

#define ARITHMETIC(T, N) \
    { T##N x = vload##N(0, a + 16 * i), y = vload##N(0, b + 16 * i); \
      T##N r = x + y * (T)3 - (x & y) + (y ^ (T)5) / (T##N)7; \
      r = select(r, x | y, x < y); \
      r += max(x, y) - min(x, y) + (x != y ? ~x : x % (T)9); \
      r.s0 += r.s1; \
      vstore##N(r, 0, out); out += N; }

#define ALL_ARITHMETIC(T) \
    size_t i = get_global_id(0); out += 40 * i; \
    ARITHMETIC(T, 2) ARITHMETIC(T, 3) ARITHMETIC(T, 4) ARITHMETIC(T, 8) ARITHMETIC(T, 16)

kernel void arithmetic_uchar(global const uchar *a, global const uchar *b, global uchar *out) { ALL_ARITHMETIC(uchar) }
kernel void arithmetic_ushort(global const ushort *a, global const ushort *b, global ushort *out) { ALL_ARITHMETIC(ushort) }
kernel void arithmetic_uint(global const uint *a, global const uint *b, global uint *out) { ALL_ARITHMETIC(uint) }
kernel void arithmetic_ulong(global const ulong *a, global const ulong *b, global ulong *out) { ALL_ARITHMETIC(ulong) }

#define SIGNED(T, N) \
    { T##N x = vload##N(0, a + 16 * i), y = vload##N(0, b + 16 * i); \
      T##N r = (x >> (T)2) ^ (y >> (T##N)3) ^ (x & ~y); \
      r = add_sat(r, y) ^ sub_sat(x, y) ^ hadd(x, y) ^ rhadd(y, r); \
      r = bitselect(r, mul_hi(x, y), rotate(y, (T##N)3)); \
      r ^= (x <= y) & (T)0x5a; r ^= clamp(x, (T)-50, (T)60) / (T)3; \
      r.s1 = any(x < y) + 2 * all(y > (T)-100) + 4 * any(x == y); \
      vstore##N(r, 0, out); out += N; }

#define ALL_SIGNED(T) \
    size_t i = get_global_id(0); out += 40 * i; \
    SIGNED(T, 2) SIGNED(T, 3) SIGNED(T, 4) SIGNED(T, 8) SIGNED(T, 16)

kernel void signed_char(global const char *a, global const char *b, global char *out) { ALL_SIGNED(char) }
kernel void signed_short(global const short *a, global const short *b, global short *out) { ALL_SIGNED(short) }
kernel void signed_int(global const int *a, global const int *b, global int *out) { ALL_SIGNED(int) }
kernel void signed_long(global const long *a, global const long *b, global long *out) { ALL_SIGNED(long) }

#define FLOATING(T, I, N) \
    { T##N x = vload##N(0, a + 16 * i), y = vload##N(0, b + 16 * i); \
      T##N r = select(x + y, x - y, isless(x, y)); \
      r = x > y ? r * (T)0.5 : -r; \
      I##N s = isequal(x, y) | (isgreater(x, (T##N)0) & signbit(y)) | isfinite(x); \
      r = select(r, fabs(y), s) + fmax(x, y) - fmin(x, r); \
      r = bitselect(r, floor(x), as_##T##N(s)); \
      r.s0 = any(s) + 2 * all(s); \
      vstore##N(r, 0, out); out += N; }

#define ALL_FLOATING(T, I) \
    size_t i = get_global_id(0); out += 40 * i; \
    FLOATING(T, I, 2) FLOATING(T, I, 3) FLOATING(T, I, 4) FLOATING(T, I, 8) FLOATING(T, I, 16)

kernel void floating_float(global const float *a, global const float *b, global float *out) { ALL_FLOATING(float, int) }
kernel void floating_double(global const double *a, global const double *b, global double *out) { ALL_FLOATING(double, long) }

kernel void swizzles(global const uchar *in, global uchar *out) {
    size_t i = get_global_id(0);
    uchar16 v = vload16(i, in);
    uchar8 e = v.even, o = v.odd;
    uchar4 q = v.hi.lo;
    uchar3 t = v.s9a3;
    v.s048c = q.wzyx;
    v.lo.hi.s31 = t.xz;
    v.hi = e + o.s76543210;
    t.zx = q.s12;
    vstore16(v, 2 * i, out);
    vstore8(shuffle2(e, o, v.lo & (uchar)15), 4 * i + 2, out);
    vstore8((uchar8)(t, q.xy, shuffle(v, (uchar2)(3, 12)), v.sF), 4 * i + 3, out);
}

kernel void reinterpretations(global const ulong *in, global uint *out) {
    size_t i = get_global_id(0);
    ulong2 v = vload2(i, in);
    uchar16 bytes = as_uchar16(v);
    ushort8 shorts = as_ushort8(bytes.s1032547698badcfe);
    float4 floats = as_float4(shorts);
    int3 odd = as_int3(floats.xyz);
    double2 wide = as_double2(v);
    vstore4(as_uint4(floats), 2 * i, out);
    vstore4((uint4)(as_uint(odd.z), as_uint2(wide.y), as_uint((short2)(as_short(bytes.s23), (short)7))), 2 * i + 1, out);
}

kernel void conversions_of_vectors(global const int *in, global char *c, global ushort *s, global double *d) {
    size_t i = get_global_id(0);
    int8 v = vload8(i, in);
    vstore8(convert_char8_sat(v >> 20), i, c);
    vstore8(convert_ushort8_sat(convert_float8(v) * 0.001f), i, s);
    vstore8(convert_double8(convert_long8(v) * 1000000007L), i, d);
}

kernel void index_with_lanes(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    uint16 v = vload16(i & 31, in);
    uint *p = (uint *)&v;
    uint sum = 0;
    for (uint k = 0; k < (in[i] & 15); k++) {
        p[(k * 5 + in[i]) & 15] += k;
        sum ^= p[(in[i] >> k) & 15];
    }
    out[i] = sum + v.s7;
}

kernel void long_arithmetic(global const long *a, global const long *b, global long *out) {
    size_t i = get_global_id(0);
    long x = a[i] >> 1, y = b[i] | 1;
    ulong r = x / y;
    r += x % (y >> 40 | 3);
    r ^= (ulong)x / (ulong)(y & 0xffffff | 1) + (ulong)mul_hi(x, y) + (ulong)mad_hi(y, x, (long)r);
    r = (ulong)add_sat((long)r, x) ^ abs_diff(x, y) ^ ((ulong)x << (y & 63)) ^ (ulong)(x >> (y & 31)) ^ ((ulong)y >> (x & 63));
    out[i] = r + popcount(x) - clz(y) + (ulong)rotate(x, y) + (long)(float)(x >> 44) + (ulong)mad_sat(x, y, (long)r);
}

kernel void double_arithmetic(global const double *a, global const double *b, global double *out) {
    size_t i = get_global_id(0);
    double x = a[i], y = b[i];
    double r = fma(x, y, 1.5) + sqrt(fabs(x)) / (y + 200.0);
    r += rint(x) * floor(y) - trunc(x * 3.0) + fmod(x, 7.0) + copysign(ldexp(x, 3), y);
    out[2 * i] = r;
    out[2 * i + 1] = (double)(long)(r * 1000.0) + (double)(uint)fabs(y) - (double)(float)x;
}
