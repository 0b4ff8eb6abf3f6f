// Conversions between types, saturating and rounding.

kernel void float_to_narrow(global const float *in, global char *a, global uchar *b, global short *c) {
    size_t i = get_global_id(0);
    a[i] = convert_char_sat(in[i]);
    b[i] = convert_uchar_sat_rte(in[i]);
    c[i] = convert_short_sat_rtp(in[i] * 100.0f);
}

kernel void float_to_int(global const float *in, global int *out) {
    size_t i = get_global_id(0);
    float v = in[i];
    out[5 * i] = convert_int(v);
    out[5 * i + 1] = convert_int_rte(v);
    out[5 * i + 2] = convert_int_rtp(v);
    out[5 * i + 3] = convert_int_rtn(v);
    out[5 * i + 4] = convert_int_sat(v * 1e8f);
}

kernel void int_to_narrow(global const int *in, global char *a, global uchar *b, global ushort *c) {
    size_t i = get_global_id(0);
    int v = in[i] >> (i % 24);
    a[i] = convert_char_sat(v);
    b[i] = convert_uchar_sat(v);
    c[i] = convert_ushort_sat((long)v * 3);
}

kernel void unsigned_to_signed(global const uint *in, global int *a, global char *b, global long *c) {
    size_t i = get_global_id(0);
    uint v = in[i] >> (i % 28);
    a[i] = convert_int_sat(v);
    b[i] = convert_char_sat(v);
    c[i] = convert_long_sat((ulong)v << 33);
}

kernel void long_to_float(global const long *in, global float *out) {
    size_t i = get_global_id(0);
    out[5 * i] = convert_float(in[i]);
    out[5 * i + 1] = convert_float_rtz(in[i]);
    out[5 * i + 2] = convert_float_rtp(in[i]);
    out[5 * i + 3] = convert_float_rtn(in[i]);
    out[5 * i + 4] = convert_float((ulong)in[i]);
}

kernel void double_to_float(global const double *in, global float *out) {
    size_t i = get_global_id(0);
    out[4 * i] = convert_float(in[i]);
    out[4 * i + 1] = convert_float_rtz(in[i]);
    out[4 * i + 2] = convert_float_rtp(in[i]);
    out[4 * i + 3] = convert_float_rtn(in[i]);
}

kernel void vector_conversions(global const int4 *in, global float4 *a, global uchar4 *b,
                               global double4 *c) {
    size_t i = get_global_id(0);
    a[i] = convert_float4(in[i]);
    b[i] = convert_uchar4_sat(in[i] >> 8);
    c[i] = convert_double4(in[i]) * 0.5;
}

kernel void half_storage(global const float *in, global ushort *bits, global float *back) {
    size_t i = get_global_id(0);
    global half *halves = (global half *)bits;
    vstore_half(in[i], i, halves);
    back[i] = vload_half(i, halves) * 2.0f;
}

kernel void bool_and_casts(global const float *in, global int *out) {
    size_t i = get_global_id(0);
    bool positive = in[i] > 0.0f;
    uchar byte = (uchar)(int)in[i];
    out[i] = (int)positive + 2 * (int)(bool)byte + 4 * (int)(char)byte;
}

kernel void truths_to_floats(global const int4 *a, global float4 *out) {
    size_t i = get_global_id(0);
    out[3 * i] = convert_float4(a[i] < a[i].wzyx);
    out[3 * i + 1] = (float4)((float)(a[i].x < 5), (float)-(a[i].y < 5), (float)(short)-(a[i].z < 5), 1.0f);
    double4 wide = convert_double4(convert_long4(a[i] > 0));
    out[3 * i + 2] = convert_float4(wide * 0.5);
}
