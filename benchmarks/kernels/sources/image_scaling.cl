constant sampler_t between = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void image_scaling(read_only image2d_t from, write_only image2d_t to, uint width, uint height) {
    int2 here = (int2)(get_global_id(0), get_global_id(1));
    float2 there = convert_float2(here) / (float2)(width, height);
    write_imagef(to, here, read_imagef(from, between, there));
}
