#define TILE 16

/* A column more than needed keeps the columns of a tile in different banks, where there are any. */
__kernel void transpose(__global const float *from, __global float *to, int n)
{
    __local float tile[TILE][TILE + 1];
    int x = get_local_id(0), y = get_local_id(1);
    int left = get_group_id(0) * TILE, top = get_group_id(1) * TILE;
    tile[y][x] = from[(top + y) * n + left + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[(left + y) * n + top + x] = tile[x][y];
}
