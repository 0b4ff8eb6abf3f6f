// The mathematical functions, compared within the errors that OpenCL allows them.

kernel void trigonometry(global const float *x, global float *out) {
    size_t i = get_global_id(0);
    out[6 * i] = sin(x[i]);
    out[6 * i + 1] = cos(x[i]);
    out[6 * i + 2] = tan(x[i]);
    out[6 * i + 3] = asin(x[i] * 0.01f);
    out[6 * i + 4] = acos(x[i] * 0.01f);
    out[6 * i + 5] = atan(x[i]);
}

kernel void exponentials(global const float *x, global float *out) {
    size_t i = get_global_id(0);
    float small = x[i] * 0.2f;
    out[6 * i] = exp(small);
    out[6 * i + 1] = exp2(small);
    out[6 * i + 2] = expm1(small);
    out[6 * i + 3] = log(fabs(x[i]) + 0.001f);
    out[6 * i + 4] = log2(fabs(x[i]) + 0.001f);
    out[6 * i + 5] = log1p(fabs(x[i]));
}

kernel void hyperbolic(global const float *x, global float *out) {
    size_t i = get_global_id(0);
    float small = x[i] * 0.1f;
    out[4 * i] = sinh(small);
    out[4 * i + 1] = cosh(small);
    out[4 * i + 2] = tanh(small);
    out[4 * i + 3] = asinh(x[i]);
}

kernel void powers(global const float *x, global const int *n, global float *out) {
    size_t i = get_global_id(0);
    float positive = fabs(x[i]) + 0.5f;
    out[5 * i] = pow(positive, x[i] * 0.1f);
    out[5 * i + 1] = pown(x[i] * 0.1f, n[i] % 7);
    out[5 * i + 2] = rootn(positive, 3);
    out[5 * i + 3] = cbrt(x[i]);
    out[5 * i + 4] = hypot(x[i], 3.0f);
}

kernel void round_floats(global const float *x, global float *out) {
    size_t i = get_global_id(0);
    out[6 * i] = floor(x[i]);
    out[6 * i + 1] = ceil(x[i]);
    out[6 * i + 2] = trunc(x[i]);
    out[6 * i + 3] = rint(x[i]);
    out[6 * i + 4] = round(x[i]);
    out[6 * i + 5] = sqrt(fabs(x[i]));
}

kernel void split_floats(global const float *x, global float *out, global int *exponents) {
    size_t i = get_global_id(0);
    float whole;
    int exponent;
    out[4 * i] = modf(x[i], &whole);
    out[4 * i + 1] = whole;
    out[4 * i + 2] = frexp(x[i], &exponent);
    out[4 * i + 3] = ldexp(x[i], (int)(i % 9) - 4);
    exponents[2 * i] = exponent;
    exponents[2 * i + 1] = ilogb(x[i] == 0.0f ? 1.0f : x[i]);
}

kernel void sine_and_cosine(global const double *x, global double *out) {
    size_t i = get_global_id(0);
    double cosine;
    out[3 * i] = sincos(x[i], &cosine);
    out[3 * i + 1] = cosine;
    out[3 * i + 2] = exp(x[i] * 0.01) + atan2(x[i], 2.0);
}

kernel void neighbours(global const float *x, global const float *y, global float *out) {
    size_t i = get_global_id(0);
    out[3 * i] = nextafter(x[i], y[i]);
    out[3 * i + 1] = copysign(x[i], y[i]);
    out[3 * i + 2] = fdim(x[i], y[i]);
}

kernel void common_functions(global const float *x, global float *out) {
    size_t i = get_global_id(0);
    out[5 * i] = mix(x[i], 10.0f, 0.25f);
    out[5 * i + 1] = step(1.0f, x[i]);
    out[5 * i + 2] = sign(x[i]);
    out[5 * i + 3] = clamp(x[i], -2.0f, 2.0f);
    out[5 * i + 4] = smoothstep(-4.0f, 4.0f, x[i]);
}

kernel void geometry(global const float4 *a, global const float4 *b, global float4 *out) {
    size_t i = get_global_id(0);
    float3 u = a[i].xyz, v = b[i].xyz;
    float3 n = cross(u, v);
    out[2 * i] = (float4)(n, dot(a[i], b[i]));
    out[2 * i + 1] = (float4)(normalize(u + (float3)(0.0f, 0.0f, 200.0f)), length(b[i]));
}
