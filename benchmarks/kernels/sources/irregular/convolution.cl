__kernel void convolution(__global const float *image, __constant float *weights, __global float *result,
                          int width, int height, int radius)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    int k = 0;
    for (int dy = -radius; dy <= radius; dy++) {
        int row = min(max(y + dy, 0), height - 1);
        for (int dx = -radius; dx <= radius; dx++) {
            int column = min(max(x + dx, 0), width - 1);
            sum += weights[k++] * image[row * width + column];
        }
    }
    result[y * width + x] = sum;
}
