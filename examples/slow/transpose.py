"""A matrix is transposed in two ways: which one is slow, and why?

groundstate profile -- python examples/slow/transpose.py
"""

import groundstate as gs

SIDE, REPEATS = 1024, 10

SOURCE = """\
kernel void by_columns(global const float *in, global float *out) {
    size_t x = get_global_id(0), y = get_global_id(1), n = get_global_size(0);
    out[x * n + y] = in[y * n + x];
}

kernel void by_tiles(global const float *in, global float *out) {
    local float tile[16][16];
    size_t u = get_local_id(0), v = get_local_id(1), n = get_global_size(0);
    size_t left = get_group_id(0) * 16, top = get_group_id(1) * 16;
    tile[v][u] = in[(top + v) * n + left + u];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(left + v) * n + top + u] = tile[u][v];
}
"""


def main() -> None:
    module = gs.Module(opencl=SOURCE, name="transpose.cl")
    numbers = gs.array([float(each) for each in range(SIDE)] * SIDE, "float32")
    result = gs.array([0.0] * SIDE * SIDE, "float32")
    for name in ("by_columns", "by_tiles"):
        for _ in range(REPEATS):
            module[name].launch(numbers, result, global_size=(SIDE, SIDE), group_size=(16, 16))
    print("the second row begins with", result.tolist()[SIDE : SIDE + 3])


if __name__ == "__main__":
    main()
