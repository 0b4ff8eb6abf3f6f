__kernel void spmv_csr(__global const int *offsets, __global const int *columns, __global const float *values,
                       __global const float *x, __global float *y, int rows)
{
    int row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = offsets[row]; k < offsets[row + 1]; k++)
        sum += values[k] * x[columns[k]];
    y[row] = sum;
}
