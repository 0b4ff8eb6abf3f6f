kernel void add(global const float *a, global const float *b, global float *c) {
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}

kernel void naive(global const float *a, global const float *b, global float *c) {
    size_t x = get_global_id(0), y = get_global_id(1), n = get_global_size(0);
    float sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

kernel void tiled(global const float *a, global const float *b, global float *c) {
    local float left[8][8], right[8][8];
    size_t x = get_global_id(0), y = get_global_id(1), n = get_global_size(0);
    size_t u = get_local_id(0), v = get_local_id(1);
    float sum = 0;
    for (size_t t = 0; t < n; t += 8) {
        left[v][u] = a[y * n + t + u];
        right[v][u] = b[(t + v) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (size_t k = 0; k < 8; k++)
            sum += left[v][k] * right[k][u];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}

kernel void bodies(global const float *x, global const float *mass, global float *force) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float sum = 0;
    for (size_t j = 0; j < n; j++) {
        float d = x[j] - x[i];
        sum += mass[j] * d * rsqrt(d * d * d * d * d * d + 0.01f);
    }
    force[i] = sum;
}

kernel void spmv(global const int *row, global const int *col, global const float *value, global const float *x,
                 global float *y) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (int j = row[i]; j < row[i + 1]; j++)
        sum += value[j] * x[col[j]];
    y[i] = sum;
}

kernel void transpose(global const float *in, global float *out) {
    size_t x = get_global_id(0), y = get_global_id(1), n = get_global_size(0);
    out[x * n + y] = in[y * n + x];
}

kernel void branches(global float *a, int rounds) {
    size_t i = get_global_id(0);
    float v = a[i];
    if (i % 4 == 0) {
        for (int k = 0; k < rounds; k++)
            v = v * 0.5f + 1.0f;
    }
    a[i] = v;
}

kernel void histogram(global const uint *in, global int *bins) {
    atomic_inc(&bins[in[get_global_id(0)] % 64]);
}

kernel void strided(global const float *in, global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[i * 8] * 2.0f;
}

kernel void tiny(global int *x) { x[get_global_id(0)] += 1; }
