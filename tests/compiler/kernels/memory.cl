// Ways of reaching memory: strides, gathers, scatters, tables, private arrays, other types.

constant int PRIMES[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};

kernel void copy(global const float *in, global float *out) {
    out[get_global_id(0)] = in[get_global_id(0)];
}

kernel void strided_read(global const int *in, global int *out, int stride) {
    size_t i = get_global_id(0);
    out[i] = in[i * stride];
}

kernel void reversed(global const short *in, global short *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    out[n - 1 - i] = in[i];
}

kernel void gather(global const float *in, global const uint *index, global float *out) {
    size_t i = get_global_id(0);
    out[i] = in[index[i] % get_global_size(0)];
}

kernel void scatter(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    out[(i * 37 + 11) % get_global_size(0)] = in[i];
}

kernel void constant_table(global const uint *in, constant float *weights, global float *out) {
    size_t i = get_global_id(0);
    out[i] = weights[in[i] % 8] * PRIMES[in[i] % 16] + PRIMES[3];
}

kernel void private_array(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    int values[8];
    for (int n = 0; n < 8; n++)
        values[n] = in[(i + n) % get_global_size(0)];
    int sum = 0;
    for (int n = 0; n < 8; n++)
        sum = sum * 3 + values[(in[i] + n) & 7];
    out[i] = sum;
}

kernel void bytes_of_ints(global const uint *in, global uchar *out) {
    size_t i = get_global_id(0);
    global const uchar *bytes = (global const uchar *)in;
    for (int n = 0; n < 4; n++)
        out[4 * i + n] = bytes[4 * i + 3 - n];
}

kernel void unaligned(global const uchar *in, global uint *out) {
    size_t i = get_global_id(0);
    uchar4 bytes = vload4(0, in + 3 * i + 1);
    out[i] = as_uint(bytes);
}

kernel void pointer_chase(global const uint *next, global uint *out, int steps) {
    uint at = (uint)get_global_id(0);
    for (int n = 0; n < steps; n++)
        at = next[at] % (uint)get_global_size(0);
    out[get_global_id(0)] = at;
}

kernel void pointer_select(global const int *a, global const int *b, global int *out) {
    size_t i = get_global_id(0);
    global const int *from = (i & 3) ? a : b + 1;
    out[i] = from[i] + (int)(from - (i & 3 ? a : b));
}

kernel void transpose_naive(global const float *in, global float *out, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        out[x * height + y] = in[y * width + x];
}

kernel void stencil(global const float *in, global float *out, int width) {
    int x = get_global_id(0), y = get_global_id(1), height = get_global_size(1);
    float centre = in[y * width + x];
    float left = x > 0 ? in[y * width + x - 1] : centre;
    float right = x < width - 1 ? in[y * width + x + 1] : centre;
    float up = y > 0 ? in[(y - 1) * width + x] : centre;
    float down = y < height - 1 ? in[(y + 1) * width + x] : centre;
    out[y * width + x] = (left + right) + (up + down) - 4.0f * centre;
}

kernel void matrix_product(global const float *a, global const float *b, global float *out, int n) {
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum = fma(a[row * n + k], b[k * n + column], sum);
    out[row * n + column] = sum;
}

kernel void sparse_product(global const int *starts, global const int *columns,
                           global const float *values, global const float *x, global float *out) {
    size_t row = get_global_id(0);
    float sum = 0.0f;
    for (int n = starts[row]; n < starts[row + 1]; n++)
        sum = fma(values[n], x[columns[n]], sum);
    out[row] = sum;
}

kernel void game_of_life(global const uchar *in, global uchar *out) {
    int x = get_global_id(0), y = get_global_id(1);
    int width = get_global_size(0), height = get_global_size(1);
    int neighbours = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx != 0 || dy != 0)
                neighbours += in[(y + dy + height) % height * width + (x + dx + width) % width] & 1;
    out[y * width + x] = neighbours == 3 || (neighbours == 2 && (in[y * width + x] & 1));
}

kernel void fill_and_copy(global const int *in, global int *out, int n) {
    size_t i = get_global_id(0);
    global int *mine = out + i * 2 * n;
    for (int k = 0; k < 2 * n; k++)
        mine[k] = 0;
    for (int k = 0; k < n; k++)
        mine[k + n / 2] = in[i * n + k];
}
