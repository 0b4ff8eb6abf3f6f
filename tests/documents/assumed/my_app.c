/* The program that the pages call `my_app`: one command list with seventeen launches, run eight times. */
#include "common.h"
#include "kernels.h" /* the words of kernels.cl in SPIR-V, written by the test */

enum { WIDTH = 256, ROUNDS = 8, PRODUCTS = 12 };

static ze_module_handle_t new_module(setup at) {
    ze_module_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                    .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                    .inputSize = sizeof kernels,
                                    .pInputModule = (const uint8_t *)kernels};
    ze_module_handle_t module;
    CHECK(zeModuleCreate(at.context, at.device, &description, &module, NULL));
    return module;
}

static ze_kernel_handle_t new_kernel(ze_module_handle_t module, const char *name, float *x, float *y, float by) {
    ze_kernel_desc_t description = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t kernel;
    CHECK(zeKernelCreate(module, &description, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, 64, 1, 1));
    CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof x, &x));
    if (y != NULL)
        CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof y, &y));
    else
        CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof by, &by));
    return kernel;
}

static void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel) {
    ze_group_count_t groups = {WIDTH / 64, 1, 1};
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
}

static float *shared_numbers(setup at, float first) {
    ze_device_mem_alloc_desc_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(zeMemAllocShared(at.context, &device, &host, WIDTH * sizeof(float), 64, at.device, &memory));
    float *numbers = memory;
    for (int i = 0; i < WIDTH; i++)
        numbers[i] = (float)i / WIDTH;
    numbers[0] = first;
    return numbers;
}

int main(int count, char **arguments) {
    setup at = first_device();
    ze_module_handle_t module = new_module(at);
    float *x = shared_numbers(at, count == 3 && strcmp(arguments[1], "--first") == 0 ? (float)atof(arguments[2]) : 5);
    float *y = shared_numbers(at, 0);
    ze_kernel_handle_t made[] = {
        new_kernel(module, "blur", x, y, 0), new_kernel(module, "sharpen", y, x, 0),
        new_kernel(module, "scale", x, NULL, 1.5f), new_kernel(module, "gemm", x, y, 0)};

    ze_command_queue_desc_t queue_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;
    CHECK(zeCommandQueueCreate(at.context, at.device, &queue_description, &queue));
    CHECK(zeCommandListCreate(at.context, at.device, &list_description, &list));
    for (int each = 0; each < 4; each++)
        launch(list, made[each % 2]);
    launch(list, made[2]);
    for (int each = 0; each < PRODUCTS; each++)
        launch(list, made[3]);
    CHECK(zeCommandListClose(list));
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
        CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    }
    printf("y[1] is %g\n", y[1]);

    for (size_t each = 0; each < sizeof made / sizeof *made; each++)
        CHECK(zeKernelDestroy(made[each]));
    CHECK(zeModuleDestroy(module));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeMemFree(at.context, x));
    CHECK(zeMemFree(at.context, y));
    CHECK(zeContextDestroy(at.context));
    return 0;
}
