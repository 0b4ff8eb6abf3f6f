/* What the programming guide does with images and samplers: images FILE.spv */
#include <math.h>

#include "common.h"

enum { SIDE = 128, WIDE = 320, HIGH = 192, GROUP = 16 };

static setup on;
static ze_command_list_handle_t list; /* recorded */
static ze_command_queue_handle_t queue;

/* A single component of 32-bit floats, as in the guide. */
static ze_image_handle_t new_image(ze_image_flags_t flags, uint32_t width, uint32_t height) {
    ze_image_format_t format = {ZE_IMAGE_FORMAT_LAYOUT_32,   ZE_IMAGE_FORMAT_TYPE_FLOAT,  ZE_IMAGE_FORMAT_SWIZZLE_R,
                                ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_1};
    ze_image_desc_t description = {
        ZE_STRUCTURE_TYPE_IMAGE_DESC, NULL, flags, ZE_IMAGE_TYPE_2D, format, width, height, 0, 0, 0};
    ze_image_handle_t image = NULL;
    CHECK(zeImageCreate(on.context, on.device, &description, &image));
    return image;
}

static ze_sampler_handle_t new_sampler(ze_sampler_address_mode_t mode, ze_sampler_filter_mode_t filter) {
    ze_sampler_desc_t description = {ZE_STRUCTURE_TYPE_SAMPLER_DESC, NULL, mode, filter, true};
    ze_sampler_handle_t sampler = NULL;
    CHECK(zeSamplerCreate(on.context, on.device, &description, &sampler));
    return sampler;
}

/* --- What should come out --------------------------------------------------------------------------- */

static float texel(const float *texels, int x, int y) {
    x = x < 0 ? 0 : x >= SIDE ? SIDE - 1 : x;
    y = y < 0 ? 0 : y >= SIDE ? SIDE - 1 : y;
    return texels[y * SIDE + x];
}

/* The nearest texel, or the mean of four, weighted as the OpenCL specification says. */
static double sampled(const float *texels, double u, double v, bool linear) {
    if (!linear)
        return texel(texels, (int)floor(u), (int)floor(v));
    double x = floor(u - 0.5), y = floor(v - 0.5), a = u - 0.5 - x, b = v - 0.5 - y;
    int i = (int)x, j = (int)y;
    return (1 - a) * (1 - b) * texel(texels, i, j) + a * (1 - b) * texel(texels, i + 1, j) +
           (1 - a) * b * texel(texels, i, j + 1) + a * b * texel(texels, i + 1, j + 1);
}

static void check_scaled(const float *source, const float *scaled, bool linear) {
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < WIDE; x++) {
            double u = (double)x / WIDE * SIDE, v = (double)y / HIGH * SIDE;
            bool on_an_edge = !linear && (fabs(u - rint(u)) < 1e-4 || fabs(v - rint(v)) < 1e-4);
            double expected = sampled(source, u, v, linear);
            REQUIRE(on_an_edge || fabs(scaled[y * WIDE + x] - expected) < 1e-3);
        }
}

/* --- The guide's steps ------------------------------------------------------------------------------ */

static void run(void) {
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK(zeCommandListReset(list));
}

static ze_kernel_handle_t new_kernel(ze_module_handle_t module, const char *name, ze_image_handle_t from,
                                     ze_image_handle_t to) {
    ze_kernel_desc_t description = {ZE_STRUCTURE_TYPE_KERNEL_DESC, NULL, 0, name};
    ze_kernel_handle_t kernel = NULL;
    const uint32_t width = WIDE, height = HIGH;
    CHECK(zeKernelCreate(module, &description, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, GROUP, GROUP, 1));
    CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof(ze_image_handle_t), &from));
    CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof(ze_image_handle_t), &to));
    CHECK(zeKernelSetArgumentValue(kernel, 2, sizeof width, &width));
    CHECK(zeKernelSetArgumentValue(kernel, 3, sizeof height, &height));
    return kernel;
}

static void scale(ze_module_handle_t module, const char *name, ze_sampler_handle_t sampler, const float *source,
                  bool linear) {
    ze_image_handle_t from = new_image(0, SIDE, SIDE), to = new_image(ZE_IMAGE_FLAG_KERNEL_WRITE, WIDE, HIGH);
    ze_kernel_handle_t kernel = new_kernel(module, name, from, to);
    if (sampler != NULL)
        CHECK(zeKernelSetArgumentValue(kernel, 4, sizeof(ze_sampler_handle_t), &sampler));
    float *scaled = host_memory(on, WIDE * HIGH * sizeof *scaled);
    ze_group_count_t groups = {WIDE / GROUP, HIGH / GROUP, 1};
    CHECK(zeCommandListAppendImageCopyFromMemory(list, from, source, NULL, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListAppendImageCopyToMemory(list, scaled, to, NULL, NULL, 0, NULL));
    run();
    check_scaled(source, scaled, linear);
    CHECK(zeMemFree(on.context, scaled));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeImageDestroy(from));
    CHECK(zeImageDestroy(to));
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    on = first_device();
    ze_command_queue_desc_t on_queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t on_list = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    CHECK(zeCommandQueueCreate(on.context, on.device, &on_queue, &queue));
    CHECK(zeCommandListCreate(on.context, on.device, &on_list, &list));
    ze_module_handle_t module = module_of_file(on, arguments[1]);
    float *source = host_memory(on, SIDE * SIDE * sizeof *source);
    for (int each = 0; each < SIDE * SIDE; each++)
        source[each] = (float)((each * 7919) % 1009) / 16;
    ze_sampler_handle_t linear = new_sampler(ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_LINEAR);
    ze_sampler_handle_t nearest = new_sampler(ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_NEAREST);
    scale(module, "image_scaling", NULL, source, true);
    scale(module, "image_scaling_as_told", linear, source, true);
    scale(module, "image_scaling_as_told", nearest, source, false);
    CHECK(zeSamplerDestroy(linear));
    CHECK(zeSamplerDestroy(nearest));
    CHECK(zeModuleDestroy(module));
    CHECK(zeMemFree(on.context, source));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeContextDestroy(on.context));
    puts("images ok");
    return 0;
}
