"""Kernels that read and write images: texels that two work-items meet in, and others that only look
like it.

Images have 8 rows of 64 floats, and so have views of them and the memory that they lie in.
"""

from __future__ import annotations

from tests.check.labelled.cases import Case, Extent

IMAGE_RACE = "race-in-image"
SAMPLER = (
    "constant sampler_t $ = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE"
    " | CLK_FILTER_LINEAR;\n"
)


def labelled(
    source: str, kind: str, *arguments: str, groups: Extent = (1, 1), size: Extent = (64, 8)
) -> Case:
    """A case that is named by its kernel."""
    name, _, _ = source.split("kernel void ")[1].partition("(")
    return Case(name, kind, arguments, source.replace("$", f"{name}_sampler"), groups, size)


def _wrong(source: str, *arguments: str, **shape: Extent) -> Case:
    return labelled(source, IMAGE_RACE, *arguments, **shape)


def _right(source: str, *arguments: str, **shape: Extent) -> Case:
    return labelled(source, "", *arguments, **shape)


WRONG = (
    _wrong(
        """kernel void neighbour_without_barrier(read_write image2d_t a) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    float4 right = read_imagef(a, (int2)((p.x + 1) % 64, p.y));
    write_imagef(a, p, right + p.x);
}""",
        "image",
    ),
    _wrong(
        """kernel void fence_for_other_memory(read_write image2d_t a, global float *out) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(a, p, (float4)(p.x));
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    out[64 * p.y + p.x] = read_imagef(a, (int2)(63 - p.x, p.y)).x;
}""",
        "image",
        "ints:512",
    ),
    _wrong(
        """kernel void image_fence_for_memory(read_write image2d_t a, global float *out) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(a, p, (float4)(p.x));
    barrier(CLK_GLOBAL_MEM_FENCE);
    float other = read_imagef(a, (int2)(p.x, 7 - p.y)).x;
    barrier(CLK_IMAGE_MEM_FENCE);
    out[64 * p.y + p.x] = other;
}""",
        "image",
        "ints:512",
    ),
    _wrong(
        """kernel void groups_meet_in_a_texel(write_only image2d_t a) {
    write_imagef(a, (int2)(get_local_id(0), get_global_id(1)), (float4)(get_group_id(0)));
}""",
        "image",
        groups=(4, 1),
        size=(16, 8),
    ),
    _wrong(
        """kernel void all_write_one_texel(write_only image2d_t a) {
    write_imagef(a, (int2)(3, 3), (float4)(get_global_id(0)));
}""",
        "image",
    ),
    _wrong(
        """kernel void in_and_out_are_one_image(read_only image2d_t a, write_only image2d_t b) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(b, p, 2 * read_imagef(a, (int2)(p.x ^ 1, p.y)));
}""",
        "image",
        "same:0",
    ),
    _wrong(
        """kernel void out_is_a_view(read_only image2d_t a, write_only image2d_t b) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(b, p, 2 * read_imagef(a, (int2)(p.x, p.y ^ 1)));
}""",
        "image",
        "view:0",
    ),
    _wrong(
        """kernel void pointer_into_the_image(write_only image2d_t a, global float *texels) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(a, p, (float4)(texels[64 * (7 - p.y) + p.x]));
}""",
        "image",
        "memory:0",
    ),
    _wrong(
        SAMPLER
        + """kernel void filter_in_place(read_only image2d_t a, write_only image2d_t b) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(b, p, read_imagef(a, $, convert_float2(p) + 0.25f));
}""",
        "image",
        "same:0",
    ),
    _wrong(
        """kernel void integers_of_an_image(read_write image2d_t a) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagei(a, (int2)(p.x / 2, p.y), (int4)(p.x));
}""",
        "image:rgba16sint",
    ),
    _wrong(
        """kernel void bytes_of_an_image(read_write image2d_t a) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(a, (int2)(p.x & ~1, p.y), (uint4)(p.x));
}""",
        "image:r8uint",
    ),
)

RIGHT = (
    _right(
        """kernel void each_its_own_texel(read_write image2d_t a) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(a, p, 2 * read_imagef(a, p) + 1);
}""",
        "image",
        groups=(4, 2),
        size=(16, 4),
    ),
    _right(
        """kernel void each_its_own_mirrored(read_write image2d_t a) {
    int2 p = (int2)(63 - get_global_id(0), get_global_id(1));
    write_imagef(a, p, 2 * read_imagef(a, p) + 1);
}""",
        "image",
        groups=(4, 2),
        size=(16, 4),
    ),
    _right(
        """kernel void image_fence(read_write image2d_t a, global float *out) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(a, p, (float4)(p.x));
    barrier(CLK_IMAGE_MEM_FENCE);
    out[64 * p.y + p.x] = read_imagef(a, (int2)(63 - p.x, p.y)).x;
}""",
        "image",
        "ints:512",
    ),
    _right(
        """kernel void computed_image_fence(read_write image2d_t a, global int *out) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(a, p, (float4)(p.x));
    barrier(get_local_size(0) > 8 ? CLK_IMAGE_MEM_FENCE : CLK_LOCAL_MEM_FENCE);
    out[64 * p.y + p.x] = read_imagef(a, (int2)(63 - p.x, p.y)).x;
}""",
        "image",
        "ints:512",
    ),
    _right(
        """kernel void two_images(read_only image2d_t a, write_only image2d_t b) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(b, p, 2 * read_imagef(a, (int2)(p.x ^ 1, p.y)));
}""",
        "image",
        "image",
    ),
    _right(
        SAMPLER
        + """kernel void filter_at_centres(read_only image2d_t a, write_only image2d_t b) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(b, p, 2 * read_imagef(a, $, convert_float2(p) + 0.5f));
}""",
        "image",
        "same:0",
    ),
    _right(
        """kernel void outside_is_not_written(write_only image2d_t a) {
    write_imagef(a, (int2)(-1, get_global_id(1)), (float4)(get_global_id(0)));
}""",
        "image",
    ),
    _right(
        """kernel void all_write_the_same(write_only image2d_t a) {
    write_imagef(a, (int2)(get_global_id(0) / 4, get_global_id(1)), (float4)(7.0f));
}""",
        "image",
    ),
    _right(
        """kernel void all_write_the_same_byte(write_only image2d_t a) {
    write_imageui(a, (int2)(get_global_id(0) / 4, get_global_id(1)), (uint4)(7));
}""",
        "image:r8uint",
    ),
    _right(
        """kernel void own_bytes_of_an_image(read_write image2d_t a) {
    int2 p = (int2)(63 - get_global_id(0), get_global_id(1));
    write_imageui(a, p, read_imageui(a, p) + (uint4)(p.x));
}""",
        "image:r8uint",
    ),
    _right(
        """kernel void halves_of_an_image(read_write image2d_t a) {
    int2 p = (int2)(get_global_id(0) % 32, get_global_id(1));
    if (get_global_id(0) < 32)
        write_imagef(a, p, 2 * read_imagef(a, (int2)(p.x + 32, p.y)));
}""",
        "image",
    ),
)

CASES: tuple[Case, ...] = (*WRONG, *RIGHT)
