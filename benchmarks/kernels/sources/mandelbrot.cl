__kernel void mandelbrot(__global int *steps, int width, int height, int limit)
{
    int column = get_global_id(0), row = get_global_id(1);
    float re = -2.0f + 3.0f * column / width, im = -1.0f + 2.0f * row / height;
    float x = 0.0f, y = 0.0f;
    int step = 0;
    while (step < limit && x * x + y * y < 4.0f) {
        float next = x * x - y * y + re;
        y = 2.0f * x * y + im;
        x = next;
        step++;
    }
    steps[row * width + column] = step;
}
