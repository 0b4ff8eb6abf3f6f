// Local memory, and barriers in straight lines, loops, branches and called functions.

kernel void reverse_group(global int *data, local int *shared) {
    size_t l = get_local_id(0), n = get_local_size(0);
    shared[l] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = shared[n - 1 - l];
}

kernel void tree_reduce(global const int *in, global int *out, local int *shared) {
    size_t l = get_local_id(0);
    shared[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (l < half_size)
            shared[l] += shared[l + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        out[get_group_id(0)] = shared[0];
}

kernel void scan_group(global const int *in, global int *out, local int *a, local int *b) {
    size_t l = get_local_id(0);
    a[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = 1; step < get_local_size(0); step *= 2) {
        b[l] = l >= step ? a[l] + a[l - step] : a[l];
        barrier(CLK_LOCAL_MEM_FENCE);
        local int *swap = a;
        a = b;
        b = swap;
    }
    out[get_global_id(0)] = a[l];
}

#define TILE 8

kernel void transpose_tile(global const float *in, global float *out, int width, int height) {
    local float tile[TILE][TILE + 1];
    int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_group_id(0) * TILE + lx, y = get_group_id(1) * TILE + ly;
    tile[ly][lx] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * TILE + lx;
    y = get_group_id(0) * TILE + ly;
    out[y * height + x] = tile[lx][ly];
}

kernel void matrix_tiles(global const float *a, global const float *b, global float *out, int n) {
    local float ta[TILE][TILE], tb[TILE][TILE];
    int lx = get_local_id(0), ly = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        ta[ly][lx] = a[y * n + t + lx];
        tb[ly][lx] = b[(t + ly) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum = fma(ta[ly][k], tb[k][lx], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[y * n + x] = sum;
}

kernel void blur_halo(global const float *in, global float *out) {
    local float row[66];
    int l = get_local_id(0), n = get_local_size(0), i = get_global_id(0), end = get_global_size(0);
    row[l + 1] = in[i];
    if (l == 0)
        row[0] = i > 0 ? in[i - 1] : 0.0f;
    if (l == n - 1)
        row[n + 1] = i < end - 1 ? in[i + 1] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = 0.25f * row[l] + 0.5f * row[l + 1] + 0.25f * row[l + 2];
}

kernel void barrier_in_branch(global int *data, int mode) {
    local int shared[64];
    int l = get_local_id(0), n = get_local_size(0);
    int v = data[get_global_id(0)];
    if (mode > 0) {
        shared[l] = v * 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        v = shared[(l + 1) % n];
    } else {
        shared[l] = v + 5;
        barrier(CLK_LOCAL_MEM_FENCE);
        v = shared[(l + 2) % n];
    }
    data[get_global_id(0)] = v;
}

int rotate_left(local int *shared, int v, int by) {
    int l = get_local_id(0), n = get_local_size(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    return shared[(l + by) % n];
}

kernel void barrier_in_function(global int *data, local int *shared) {
    int v = data[get_global_id(0)];
    v = rotate_left(shared, v, 1) * 2;
    v += rotate_left(shared, v, 3);
    data[get_global_id(0)] = v;
}

kernel void barrier_with_live_values(global const int *in, global int *out, local int *shared) {
    int l = get_local_id(0), n = get_local_size(0);
    int a[4];
    for (int k = 0; k < 4; k++)
        a[k] = in[get_global_id(0)] >> (k * 4) & 15;
    long sum = 0;
    for (int k = 0; k < 4; k++) {
        shared[l] = a[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l % 3 == 0)
            sum += shared[n - 1 - l] * (k + 1);
        a[(k + 1) & 3] ^= (int)sum & 15;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = (int)sum * 10 + a[0];
}

kernel void bitonic_sort(global int *data, local int *shared) {
    uint l = get_local_id(0), n = get_local_size(0);
    shared[l] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 2; k <= n; k *= 2)
        for (uint j = k / 2; j > 0; j /= 2) {
            uint other = l ^ j;
            if (other > l) {
                int a = shared[l], b = shared[other];
                if ((a > b) == ((l & k) == 0)) {
                    shared[l] = b;
                    shared[other] = a;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    data[get_global_id(0)] = shared[l];
}

kernel void local_histogram(global const uchar *in, global uint *out) {
    local uint bins[16];
    int l = get_local_id(0);
    if (l < 16)
        bins[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&bins[in[get_global_id(0)] & 15]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 16)
        out[get_group_id(0) * 16 + l] = bins[l];
}

kernel void async_copies(global const float *in, global float *out, local float *a, local float *b) {
    size_t n = get_local_size(0), l = get_local_id(0), start = get_group_id(0) * n;
    event_t event = async_work_group_copy(a, in + start, n, 0);
    wait_group_events(1, &event);
    b[l] = a[n - 1 - l] + 1.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    event = async_work_group_copy(out + start, b, n, 0);
    wait_group_events(1, &event);
}

kernel void global_barrier(global int *data, global int *scratch) {
    size_t i = get_global_id(0), first = get_group_id(0) * get_local_size(0);
    scratch[i] = data[i] * 2;
    barrier(CLK_GLOBAL_MEM_FENCE);
    data[i] = scratch[first + (get_local_id(0) * 5 + 3) % get_local_size(0)];
}

kernel void choose_local(global int *data, int which) {
    local int a[2][64], b[2][64];
    local int (*chosen)[64] = which > get_group_id(0) ? a : b;
    int l = get_local_id(0), n = get_local_size(0);
    chosen[1][l] = data[get_global_id(0)];
    chosen[0][l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = chosen[1][n - 1 - l] * 3 + chosen[0][(l + 1) % n];
}
