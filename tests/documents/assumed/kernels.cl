// The kernels that the pages speak of.
#ifndef RADIUS
#define RADIUS 1
#endif

kernel void scale(global float *x, float by) { x[get_global_id(0)] *= by; }

kernel void blur(global const float *x, global float *y) {
    int i = (int)get_global_id(0), last = (int)get_global_size(0) - 1;
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; k++) sum += x[clamp(i + k, 0, last)];
    y[i] = sum / (2 * RADIUS + 1);
}

kernel void sharpen(global const float *x, global float *y) {
    int i = (int)get_global_id(0), last = (int)get_global_size(0) - 1;
    y[i] = 2 * x[i] - (x[max(i - 1, 0)] + x[min(i + 1, last)]) / 2;
}

kernel void gemm(global const float *x, global float *y) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < 16; k++) sum += x[(i / 16) * 16 + k] * x[k * 16 + i % 16];
    y[i] = sum / 16;
}

kernel void histogram(global const float *x, global float *y) {
    size_t i = get_global_id(0);
    float count = 0;
    for (int k = 0; k < 64; k++) count += floor(x[k] * 256) == i ? 1 : 0;
    y[i] = count;
}

kernel void add(global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] += x[i];
}
