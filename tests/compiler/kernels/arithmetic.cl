// Integers and floating-point numbers: each work-item computes one element.

kernel void add_int(global const int *a, global const int *b, global int *out) {
    size_t i = get_global_id(0);
    out[i] = a[i] + b[i];
}

kernel void wrap_narrow(global const char *a, global const uchar *b, global short *out) {
    size_t i = get_global_id(0);
    char product = (char)(a[i] * (char)b[i]);
    uchar sum = (uchar)(b[i] + (uchar)a[i]);
    out[i] = (short)(product * 256 + sum);
}

kernel void divide_int(global const int *a, global const int *b, global int *out) {
    size_t i = get_global_id(0);
    int divisor = b[i] == 0 || b[i] == -1 ? 7 : b[i];
    out[2 * i] = a[i] / divisor;
    out[2 * i + 1] = a[i] % divisor;
}

kernel void divide_ulong(global const ulong *a, global const ulong *b, global ulong *out) {
    size_t i = get_global_id(0);
    ulong divisor = (b[i] >> (i % 60)) | 1;
    out[i] = a[i] / divisor ^ a[i] % divisor;
}

kernel void shifts(global const int *a, global const uint *b, global int *out) {
    size_t i = get_global_id(0);
    uint by = b[i] & 31;
    out[4 * i] = a[i] << by;
    out[4 * i + 1] = a[i] >> by;
    out[4 * i + 2] = (int)((uint)a[i] >> by);
    out[4 * i + 3] = rotate(a[i], (int)b[i]);
}

kernel void saturate(global const short *a, global const short *b, global short *out) {
    size_t i = get_global_id(0);
    out[4 * i] = add_sat(a[i], b[i]);
    out[4 * i + 1] = sub_sat(a[i], b[i]);
    out[4 * i + 2] = mad_sat(a[i], b[i], a[i]);
    out[4 * i + 3] = (short)add_sat((uchar)a[i], (uchar)b[i]);
}

kernel void wide_products(global const int *a, global const uint *b, global long *out) {
    size_t i = get_global_id(0);
    out[4 * i] = mul_hi(a[i], (int)b[i]);
    out[4 * i + 1] = mul_hi((uint)a[i], b[i]);
    out[4 * i + 2] = mad_hi(a[i], 12345, (int)b[i]);
    out[4 * i + 3] = mul_hi((long)a[i] << 31, (long)b[i] << 20);
}

kernel void count_bits(global const uint *a, global const long *b, global int *out) {
    size_t i = get_global_id(0);
    out[4 * i] = popcount(a[i]) + 100 * clz(a[i] >> (i % 33 % 32));
    out[4 * i + 1] = (int)popcount(b[i]);
    out[4 * i + 2] = clz((uchar)a[i]) + 100 * clz((short)b[i]);
    out[4 * i + 3] = (int)clz(b[i]);
}

kernel void averages(global const int *a, global const int *b, global int *out) {
    size_t i = get_global_id(0);
    out[4 * i] = hadd(a[i], b[i]);
    out[4 * i + 1] = rhadd(a[i], b[i]);
    out[4 * i + 2] = (int)hadd((uint)a[i], (uint)b[i]);
    out[4 * i + 3] = (int)abs_diff(a[i], b[i]);
}

kernel void clamp_int(global const int *a, global const int *b, global int *out) {
    size_t i = get_global_id(0);
    int low = min(a[i], b[i]), high = max(a[i], b[i]);
    out[i] = clamp((int)(i * 40503u), low, high) + (int)abs(a[i] >> 1);
}

kernel void mul24_mad24(global const int *a, global const int *b, global int *out) {
    size_t i = get_global_id(0);
    int x = a[i] % (1 << 11), y = b[i] % (1 << 11);
    out[i] = mad24(x, y, a[i]) ^ mul24(y, x);
}

kernel void polynomial(global const float *x, global float *out) {
    size_t i = get_global_id(0);
    float v = x[i];
    out[i] = fma(fma(fma(0.25f, v, -1.5f), v, 3.0f), v, 0.5f);
}

kernel void float_expressions(global const float *a, global const float *b, global float *out) {
    size_t i = get_global_id(0);
    float quotient = b[i] == 0.0f ? 0.0f : a[i] / b[i];
    out[3 * i] = quotient;
    out[3 * i + 1] = fmod(a[i], b[i] == 0.0f ? 1.0f : b[i]);
    out[3 * i + 2] = fmax(a[i], b[i]) - fmin(a[i], b[i]);
}

kernel void double_expressions(global const double *a, global const double *b, global double *out) {
    size_t i = get_global_id(0);
    double s = sqrt(fabs(a[i]));
    out[i] = fma(s, b[i], -a[i]) + floor(b[i]) * 0.5;
}

kernel void compare_floats(global const float *a, global const float *b, global int *out) {
    size_t i = get_global_id(0);
    float x = a[i], y = b[i];
    out[i] = (x < y) | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5 |
             isnan(x) << 6 | isinf(y) << 7 | signbit(x) << 8 | isunordered(x, y) << 9 |
             isnormal(x) << 10 | isfinite(y) << 11 | islessgreater(x, y) << 12;
}

kernel void xorshift(global uint *state, int rounds) {
    size_t i = get_global_id(0);
    uint x = state[i] | 1;
    for (int n = 0; n < rounds; n++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    state[i] = x;
}

kernel void crc32(global const uchar *bytes, global uint *out, int length) {
    size_t i = get_global_id(0);
    uint crc = 0xffffffff;
    for (int n = 0; n < length; n++) {
        crc ^= bytes[i * length + n];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320 & -(crc & 1));
    }
    out[i] = ~crc;
}

kernel void bit_idioms(global const uint *a, global uint *out) {
    // What compilers recognise and write in another way.
    size_t i = get_global_id(0);
    uint x = a[i], by = x & 31;
    out[6 * i] = x << 7 | x >> 25;
    out[6 * i + 1] = x << by | x >> ((32 - by) & 31);
    out[6 * i + 2] = x >> 24 | (x >> 8 & 0xff00) | (x << 8 & 0xff0000) | x << 24;
    uint count = 0;
    for (uint rest = x; rest; rest &= rest - 1)
        count++;
    out[6 * i + 3] = count;
    out[6 * i + 4] = x + 77 < x ? 0xffffffff : x + 77;
    out[6 * i + 5] = (uint)((ulong)x * a[i ^ 1] >> 32);
}
