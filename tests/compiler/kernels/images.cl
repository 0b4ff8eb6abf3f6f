// Images in all the ways that kernels use them.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

constant sampler_t smooth = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;

kernel void sizes(read_only image1d_t a, read_only image1d_array_t b, read_only image1d_buffer_t c,
                  read_only image2d_t d, write_only image2d_array_t e, read_write image3d_t f,
                  global int *out) {
    int n = 0;
    out[n++] = get_image_width(a);
    out[n++] = get_image_width(b);
    out[n++] = get_image_array_size(b);
    out[n++] = get_image_width(c);
    out[n++] = get_image_width(d);
    out[n++] = get_image_height(d);
    out[n++] = get_image_dim(d).y;
    out[n++] = get_image_width(e);
    out[n++] = get_image_height(e);
    out[n++] = get_image_array_size(e);
    out[n++] = get_image_width(f);
    out[n++] = get_image_height(f);
    out[n++] = get_image_depth(f);
    out[n++] = get_image_dim(f).z;
    out[n++] = get_image_channel_order(d);
    out[n++] = get_image_channel_data_type(d);
}

kernel void literal_samplers(read_only image2d_t image, global const float2 *where,
                             global float4 *out) {
    const sampler_t sharp =
        CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
    int i = get_global_id(0);
    out[2 * i] = read_imagef(image, smooth, where[i]);
    out[2 * i + 1] = read_imagef(image, sharp, where[i]);
}

float4 twice(read_only image2d_t image, sampler_t how, float2 where) {
    return 2 * read_imagef(image, how, where);
}

__attribute__((noinline)) void put(write_only image2d_t image, int2 where, float4 colour) {
    write_imagef(image, where, colour);
}

kernel void through_functions(read_only image2d_t from, sampler_t how, write_only image2d_t to) {
    int x = get_global_id(0), y = get_global_id(1);
    float2 where = (float2)(x + 0.5f, y + 0.5f);
    put(to, (int2)(x, y), twice(from, how, where) / 2);
}

kernel void halves(read_only image2d_t from, sampler_t how, write_only image2d_t to) {
    int x = get_global_id(0), y = get_global_id(1);
    half4 colour = read_imageh(from, how, (float2)(x + 0.5f, y + 0.5f));
    write_imageh(to, (int2)(x, y), (half)0.5h * colour);
}

kernel void depth(read_only image2d_depth_t from, sampler_t how, write_only image2d_depth_t to) {
    int x = get_global_id(0), y = get_global_id(1);
    float near = read_imagef(from, (int2)(x, y));
    write_imagef(to, (int2)(x, y), near + read_imagef(from, how, (float2)(x + 0.5f, y + 0.5f)));
}

kernel void buffer(read_only image1d_buffer_t from, write_only image1d_buffer_t to) {
    int i = get_global_id(0);
    write_imagei(to, i, 2 * read_imagei(from, i));
}

kernel void in_place(read_write image2d_t image) {
    int2 here = (int2)(get_global_id(0), get_global_id(1));
    uint4 texel = read_imageui(image, here);
    write_imageui(image, here, texel + (uint4)(1, 2, 3, 4));
}

// Half of the lanes read, in rounds of their own, from two images.
kernel void divergent(read_only image2d_t a, read_only image2d_t b, sampler_t how,
                      global const float2 *where, global float4 *out) {
    int i = get_global_id(0);
    float4 sum = 0;
    if (i % 3) {
        for (int n = 0; n < i % 5; n++) sum += read_imagef(a, how, where[i] + 0.125f * n);
    } else if (i % 2) {
        sum = read_imagef(b, how, where[i]);
    }
    out[i] = sum;
}

// All lanes read the same texel.
kernel void same_for_all(read_only image2d_t image, sampler_t how, write_only image2d_t to,
                         global float4 *out) {
    float2 middle = (float2)(get_image_width(image), get_image_height(image)) / 2;
    float4 colour = read_imagef(image, how, middle);
    write_imagef(to, (int2)(1, 2), colour);
    out[get_global_id(0)] = colour;
}
