/* The kernel of the programming guide, with a sampler of its own and with one that is an argument. */
constant sampler_t SMPL_PREF = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void image_scaling(read_only image2d_t src_img, write_only image2d_t dest_img, uint WIDTH, uint HEIGHT) {
    int2 coor = (int2)(get_global_id(0), get_global_id(1));
    float2 normCoor = convert_float2(coor) / (float2)(WIDTH, HEIGHT);
    float4 color = read_imagef(src_img, SMPL_PREF, normCoor);
    write_imagef(dest_img, coor, color);
}

kernel void image_scaling_as_told(read_only image2d_t src_img, write_only image2d_t dest_img, uint WIDTH, uint HEIGHT,
                                  sampler_t sampler) {
    int2 coor = (int2)(get_global_id(0), get_global_id(1));
    float2 normCoor = convert_float2(coor) / (float2)(WIDTH, HEIGHT);
    write_imagef(dest_img, coor, read_imagef(src_img, sampler, normCoor));
}
