typedef struct { float x; int n[3]; } pair;

float square(float v) {
    float r = v * v;
    return r;
}

kernel void work(global float *out, global const float *in, int n, local float *tmp) {
    int i = get_global_id(0);
    float4 q = (float4)(1, 2, 3, 4);
    pair p;
    p.x = in[i];
    p.n[1] = i;
    local float shared[8];
    shared[get_local_id(0)] = p.x;
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int k = 0; k < 8; k++) {
        float i = square(shared[k]);
        sum += i + q.y;
    }
    tmp[get_local_id(0)] = sum;
    if (i < n)
        out[i] = sum + sqrt(p.x) + p.n[1];
}
