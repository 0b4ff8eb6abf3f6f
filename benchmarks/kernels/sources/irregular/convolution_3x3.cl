__kernel void convolution_3x3(__global const float *image, __constant float *weights, __global float *result,
                              int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            int column = clamp(x + dx, 0, width - 1), row = clamp(y + dy, 0, height - 1);
            sum += weights[(dy + 1) * 3 + dx + 1] * image[row * width + column];
        }
    }
    result[y * width + x] = sum;
}
