/* An image of one 32-bit float per texel: made, filled from the host, and read back. */
#include "guide.h"

enum { SIDE = 128 };

int main(void) {
    place at = begin();
    ze_image_format_t format = {ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT,
                                /* The kernel sees the number in x, and 1 in w. */
                                ZE_IMAGE_FORMAT_SWIZZLE_R, ZE_IMAGE_FORMAT_SWIZZLE_0,
                                ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_1};
    ze_image_desc_t description = {
        ZE_STRUCTURE_TYPE_IMAGE_DESC, NULL, 0 /* kernels only read it */, ZE_IMAGE_TYPE_2D, format, SIDE, SIDE, 0, 0, 0};
    ze_image_handle_t image;
    CHECK(zeImageCreate(at.context, at.device, &description, &image));

    float *texels = host_memory(at, SIDE * SIDE * sizeof *texels);
    float *copy = host_memory(at, SIDE * SIDE * sizeof *copy);
    for (int i = 0; i < SIDE * SIDE; i++)
        texels[i] = (float)i / 4;

    ze_command_list_handle_t list = new_list(at);
    CHECK(zeCommandListAppendImageCopyFromMemory(list, image, texels, NULL, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListAppendImageCopyToMemory(list, copy, image, NULL, NULL, 0, NULL));
    run(at, list);
    printf("%d x %d texels came back as they went, the last is %.2f\n", SIDE, SIDE, copy[SIDE * SIDE - 1]);
    REQUIRE(memcmp(texels, copy, SIDE * SIDE * sizeof *texels) == 0);

    /* A part of it: the region says which columns and rows. */
    ze_image_region_t corner = {SIDE - 2, SIDE - 1, 0, 2, 1, 1};
    CHECK(zeCommandListAppendImageCopyToMemory(list, copy, image, &corner, NULL, 0, NULL));
    run(at, list);
    printf("the last corner: %.2f %.2f\n", copy[0], copy[1]);
    REQUIRE(copy[0] == texels[SIDE * SIDE - 2] && copy[1] == texels[SIDE * SIDE - 1]);

    CHECK(zeMemFree(at.context, texels));
    CHECK(zeMemFree(at.context, copy));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeImageDestroy(image));
    return end(at);
}
