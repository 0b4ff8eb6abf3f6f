/* Lists that are run several times, on three queues, then an immediate list: numbered FILE.spv.
 * Device memory is worked on all the time, shared memory is changed by the host in between. */
#include "common.h"

enum { ITEMS = 4096, GROUP = 64, SIZE = ITEMS * 4 };

static setup on;
static ze_module_handle_t module;
static const ze_group_count_t groups = {ITEMS / GROUP, 1, 1};

static ze_kernel_handle_t new_kernel(const char *name) {
    ze_kernel_desc_t description = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t kernel = NULL;
    CHECK(zeKernelCreate(module, &description, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, GROUP, 1, 1));
    return kernel;
}

static void launch_step(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t by) {
    CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof by, &by));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
}

static void run(ze_command_queue_handle_t queue, uint32_t count, ze_command_list_handle_t *lists) {
    CHECK(zeCommandQueueExecuteCommandLists(queue, count, lists, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
}

int main(int count, char **words) {
    REQUIRE(count == 2);
    on = first_device();
    module = module_of_file(on, words[1]);
    ze_device_mem_alloc_desc_t for_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t for_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    uint32_t *numbers = device_memory(on, SIZE), *result = host_memory(on, SIZE), *others = NULL;
    void *never_used = device_memory(on, 1 << 20);
    CHECK(zeMemAllocShared(on.context, &for_device, &for_host, SIZE, 64, on.device, (void **)&others));
    for (uint32_t i = 0; i < ITEMS; i++)
        others[i] = i * i;
    ze_kernel_handle_t step = new_kernel("step"), twist = new_kernel("twist");
    CHECK(zeKernelSetArgumentValue(step, 0, sizeof numbers, &numbers));
    CHECK(zeKernelSetArgumentValue(twist, 0, sizeof numbers, &numbers));
    CHECK(zeKernelSetArgumentValue(twist, 1, sizeof others, &others));

    ze_command_list_handle_t first = new_list(on), second = new_list(on), third = new_list(on);
    const uint32_t pattern = 7;
    CHECK(zeCommandListAppendMemoryFill(first, numbers, &pattern, sizeof pattern, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(first, NULL, 0, NULL));
    launch_step(first, step, 1);                                                         /* kernel 1 */
    launch_step(first, step, 2);                                                         /* kernel 2 */
    launch_step(second, step, 3);                                                        /* kernel 3 */
    CHECK(zeCommandListAppendLaunchKernel(third, twist, &groups, NULL, 0, NULL));        /* kernel 4 */
    CHECK(zeCommandListAppendBarrier(third, NULL, 0, NULL));
    launch_step(third, step, 4);                                                         /* kernel 5 */
    CHECK(zeCommandListClose(first));
    CHECK(zeCommandListClose(second));
    CHECK(zeCommandListClose(third));

    ze_command_queue_handle_t queue = new_queue(on), other = new_queue(on), last = new_queue(on);
    run(queue, 1, &first);                                                           /* submission 1 */
    run(other, 2, (ze_command_list_handle_t[]){second, third});                      /* submission 2 */
    others[5] = 12345;
    run(last, 1, &third);                                                            /* submission 3 */

    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_handle_t immediate = NULL;
    CHECK(zeCommandListCreateImmediate(on.context, on.device, &description, &immediate)); /* submission 4, list 4 */
    launch_step(immediate, step, 5);                                                     /* kernel 6 */
    others[6] = 54321;
    CHECK(zeCommandListAppendLaunchKernel(immediate, twist, &groups, NULL, 0, NULL));    /* kernel 7 */
    CHECK(zeCommandListAppendMemoryCopy(immediate, result, numbers, SIZE, NULL, 0, NULL));
    run(queue, 1, &second);                                                          /* submission 5 */
    uint32_t sum = 0;
    for (uint32_t i = 0; i < ITEMS; i++)
        sum = sum * 31 + result[i];
    printf("%08x\n", sum);

    CHECK(zeCommandListDestroy(first));
    CHECK(zeCommandListDestroy(second));
    CHECK(zeCommandListDestroy(third));
    CHECK(zeCommandListDestroy(immediate));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeCommandQueueDestroy(other));
    CHECK(zeCommandQueueDestroy(last));
    CHECK(zeKernelDestroy(step));
    CHECK(zeKernelDestroy(twist));
    CHECK(zeModuleDestroy(module));
    CHECK(zeMemFree(on.context, numbers));
    CHECK(zeMemFree(on.context, others));
    CHECK(zeMemFree(on.context, result));
    CHECK(zeMemFree(on.context, never_used));
    CHECK(zeContextDestroy(on.context));
    return 0;
}
