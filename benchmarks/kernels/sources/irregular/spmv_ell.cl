__kernel void spmv_ell(__global const int *columns, __global const float *values, __global const float *x,
                       __global float *y, int rows, int width)
{
    int row = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < width; k++) {
        float value = values[k * rows + row];
        if (value != 0.0f)
            sum += value * x[columns[k * rows + row]];
    }
    y[row] = sum;
}
