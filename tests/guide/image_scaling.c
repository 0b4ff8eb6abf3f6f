/* A module, a kernel, two images: the guide's image_scaling, launched for one pair of images and then for another. */
#include <math.h>

#include "guide.h"

enum { SIDE = 64, WIDTH = 160, HEIGHT = 96, GROUP_WIDTH = 16, GROUP_HEIGHT = 8 };

static ze_image_handle_t new_image(place at, uint32_t width, uint32_t height, ze_image_flags_t flags) {
    ze_image_desc_t description = {
        .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
        .flags = flags,
        .type = ZE_IMAGE_TYPE_2D,
        .format = {ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT, ZE_IMAGE_FORMAT_SWIZZLE_R,
                   ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_1},
        .width = width,
        .height = height,
    };
    ze_image_handle_t image;
    CHECK(zeImageCreate(at.context, at.device, &description, &image));
    return image;
}

/* Two pictures: a slope and waves. */
static float picture(int which, int x, int y) {
    x = x < 0 ? 0 : x >= SIDE ? SIDE - 1 : x;
    y = y < 0 ? 0 : y >= SIDE ? SIDE - 1 : y;
    return which == 0 ? (float)(x + 2 * y) : (float)(x * y % 17);
}

/* What a texel of the result should be: a mean of four texels of the picture. */
static double expected(int which, int x, int y) {
    double u = (double)x / WIDTH * SIDE - 0.5, v = (double)y / HEIGHT * SIDE - 0.5;
    int i = (int)floor(u), j = (int)floor(v);
    double a = u - i, b = v - j;
    return (1 - b) * ((1 - a) * picture(which, i, j) + a * picture(which, i + 1, j)) +
           b * ((1 - a) * picture(which, i, j + 1) + a * picture(which, i + 1, j + 1));
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    binary *spirv = read_spirv(arguments, "source");
    ze_module_desc_t description = {
        ZE_STRUCTURE_TYPE_MODULE_DESC, NULL, ZE_MODULE_FORMAT_IL_SPIRV, spirv->size, spirv->bytes, NULL, NULL};
    ze_module_handle_t module;
    CHECK(zeModuleCreate(at.context, at.device, &description, &module, NULL));
    ze_kernel_handle_t kernel = new_kernel(module, "image_scaling", 1);
    CHECK(zeKernelSetGroupSize(kernel, GROUP_WIDTH, GROUP_HEIGHT, 1));

    ze_command_list_handle_t list = new_list(at);
    ze_image_handle_t source[2], target[2];
    float *texels[2], *result = host_memory(at, WIDTH * HEIGHT * sizeof *result);
    for (int which = 0; which < 2; which++) {
        source[which] = new_image(at, SIDE, SIDE, 0);
        target[which] = new_image(at, WIDTH, HEIGHT, ZE_IMAGE_FLAG_KERNEL_WRITE);
        texels[which] = host_memory(at, SIDE * SIDE * sizeof(float));
        for (int i = 0; i < SIDE * SIDE; i++)
            texels[which][i] = picture(which, i % SIDE, i / SIDE);
        CHECK(zeCommandListAppendImageCopyFromMemory(list, source[which], texels[which], NULL, NULL, 0, NULL));
    }
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));

    /* A launch takes a copy of the arguments, so that they can be changed for the next one. */
    const uint32_t width = WIDTH, height = HEIGHT;
    ze_group_count_t groups = {WIDTH / GROUP_WIDTH, HEIGHT / GROUP_HEIGHT, 1};
    CHECK(zeKernelSetArgumentValue(kernel, 2, sizeof width, &width));
    CHECK(zeKernelSetArgumentValue(kernel, 3, sizeof height, &height));
    for (int which = 0; which < 2; which++) {
        CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof source[which], &source[which]));
        CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof target[which], &target[which]));
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    }
    run(at, list);

    for (int which = 0; which < 2; which++) {
        CHECK(zeCommandListAppendImageCopyToMemory(list, result, target[which], NULL, NULL, 0, NULL));
        run(at, list);
        for (int i = 0; i < WIDTH * HEIGHT; i++)
            REQUIRE(fabs(result[i] - expected(which, i % WIDTH, i / WIDTH)) < 0.001);
        printf("picture %d: %.2f in the middle\n", which, result[HEIGHT / 2 * WIDTH + WIDTH / 2]);
        CHECK(zeMemFree(at.context, texels[which]));
        CHECK(zeImageDestroy(source[which]));
        CHECK(zeImageDestroy(target[which]));
    }

    CHECK(zeMemFree(at.context, result));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
