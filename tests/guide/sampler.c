/* A sampler says how a kernel reads between the texels of an image, and beyond them. */
#include <math.h>

#include "guide.h"

enum { WIDTH = 4, POINTS = 13 };

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_image_desc_t image_description = {
        .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
        .type = ZE_IMAGE_TYPE_2D,
        .format = {ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT, ZE_IMAGE_FORMAT_SWIZZLE_R,
                   ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_1},
        .width = WIDTH,
        .height = 1,
    };
    ze_image_handle_t image;
    CHECK(zeImageCreate(at.context, at.device, &image_description, &image));
    float *texels = host_memory(at, WIDTH * sizeof *texels), *seen = shared_memory(at, POINTS * sizeof *seen);
    for (int i = 0; i < WIDTH; i++)
        texels[i] = (float)(10 * i);

    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "look", POINTS);
    set_pointer(kernel, 2, seen);
    CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof image, &image));

    const ze_sampler_filter_mode_t filters[] = {ZE_SAMPLER_FILTER_MODE_LINEAR, ZE_SAMPLER_FILTER_MODE_NEAREST};
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one_group = {1, 1, 1};
    for (int i = 0; i < 2; i++) {
        /* What is outside looks like the edge, and coordinates count texels. */
        ze_sampler_desc_t description = {ZE_STRUCTURE_TYPE_SAMPLER_DESC, NULL, ZE_SAMPLER_ADDRESS_MODE_CLAMP,
                                         filters[i], false};
        ze_sampler_handle_t sampler;
        CHECK(zeSamplerCreate(at.context, at.device, &description, &sampler));
        CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof sampler, &sampler));
        CHECK(zeCommandListAppendImageCopyFromMemory(list, image, texels, NULL, NULL, 0, NULL));
        CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one_group, NULL, 0, NULL));
        run(at, list);
        printf("%s:", i == 0 ? "linear" : "nearest");
        for (int point = 0; point < POINTS; point++) {
            double x = point * 0.5 - 1, last = WIDTH - 1;
            double place = i == 0 ? fmin(fmax(x - 0.5, 0), last) : fmin(fmax(floor(x), 0), last);
            printf(" %.1f", seen[point]);
            REQUIRE(fabs(seen[point] - 10 * place) < 0.001);
        }
        printf("\n");
        CHECK(zeSamplerDestroy(sampler));
    }

    CHECK(zeMemFree(at.context, texels));
    CHECK(zeMemFree(at.context, seen));
    CHECK(zeImageDestroy(image));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
