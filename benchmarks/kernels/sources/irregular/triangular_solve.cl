__kernel void triangular_solve(__global const int *offsets, __global const int *columns, __global const float *values,
                               __global const float *right, __global const int *level, __global float *x, int rows)
{
    int i = get_global_id(0);
    if (i >= rows)
        return;
    int row = level[i], diagonal = offsets[row + 1] - 1;
    float sum = right[row];
    for (int k = offsets[row]; k < diagonal; k++)
        sum -= values[k] * x[columns[k]];
    x[row] = sum / values[diagonal];
}
