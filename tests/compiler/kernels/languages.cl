// Features of OpenCL C 2.0 and later: generic pointers, variables of the program, static data.

global int program_counter = 40;
global int program_table[4] = {1, 2, 3, 4};
constant float weights[4] = {0.5f, 1.5f, 2.5f, 3.5f};

int sum_of(const int *values, int n) {
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += values[k];
    return sum;
}

kernel void generic_pointers(global const int *in, global int *out) {
    local int shared[64];
    size_t l = get_local_id(0);
    int own[2] = {(int)l, 5};
    shared[l] = in[get_global_id(0)] & 255;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int *where = l % 3 == 0 ? (const int *)shared : l % 3 == 1 ? (const int *)in : own;
    out[get_global_id(0)] = sum_of(where, 2) + sum_of(shared, 4) + sum_of(own, 2);
}

kernel void program_variables(global int *out) {
    size_t i = get_global_id(0);
    out[i] = program_counter + program_table[i & 3] + (int)(weights[i & 3] * 2.0f);
}

void swap(int *a, int *b) {
    int t = *a;
    *a = *b;
    *b = t;
}

kernel void out_parameters(global int *data) {
    size_t i = get_global_id(0);
    int a = data[2 * i], b = data[2 * i + 1];
    if (a > b)
        swap(&a, &b);
    data[2 * i] = a;
    data[2 * i + 1] = b;
}

kernel void address_spaces(global int *data, global int *out) {
    local int shared[64];
    shared[get_local_id(0)] = 1;
    int *p = get_local_id(0) & 1 ? (int *)&shared[get_local_id(0)] : (int *)&data[get_global_id(0)];
    out[get_global_id(0)] = (to_local(p) != 0) + 2 * (to_global(p) != 0);
}
