__kernel void particles_in_cells(__global const float2 *where, __global uint *charges, int cells)
{
    float2 at = where[get_global_id(0)];
    int column = (int)at.x, row = (int)at.y;
    uint beside = (uint)((at.x - column) * 256.0f), under = (uint)((at.y - row) * 256.0f);
    __global uint *cell = charges + row * cells + column;
    atomic_add(cell, (256 - beside) * (256 - under));
    atomic_add(cell + 1, beside * (256 - under));
    atomic_add(cell + cells, (256 - beside) * under);
    atomic_add(cell + cells + 1, beside * under);
}
