/* Calls for scripts to hook: chains, descriptors in read-only memory, lists that run twice: hooked [FILE.spv] */
#include "common.h"

#ifndef KERNEL
#define KERNEL "mark"
#endif

static const ze_context_desc_t READ_ONLY = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};

static void ask_with_a_chain(setup on) {
    ze_float_atomic_ext_properties_t atomics = {.stype = ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES};
    ze_device_module_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES,
                                                .pNext = &atomics};
    CHECK(zeDeviceGetModuleProperties(on.device, &properties));
    printf("atomics %x\n", atomics.fp32Flags);
}

static void run_twice(ze_command_queue_handle_t queue, ze_command_list_handle_t list) {
    for (int round = 0; round < 2; round++) {
        CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
        CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    }
}

/* Two launches in a list that runs twice, one of them with an event of ours: four runs. */
static void launch(setup on, const char *path) {
    ze_module_handle_t module = module_of_file(on, path);
    ze_kernel_desc_t description = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = KERNEL};
    ze_kernel_handle_t kernel = NULL;
    CHECK(zeKernelCreate(module, &description, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, 2, 1, 1));
    uint32_t *seen = host_memory(on, 64);
    CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof seen, &seen));
    ze_event_pool_handle_t pool = new_pool(on, 1, 0);
    ze_event_handle_t event = new_event(pool, 0);
    ze_command_queue_handle_t queue = new_queue(on);
    ze_command_list_handle_t list = new_list(on);
    ze_group_count_t groups = {3, 1, 1};
    CHECK(zeCommandListAppendEventReset(list, event));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, event, 0, NULL));
    CHECK(zeCommandListClose(list));
    run_twice(queue, list);
    printf("seen %u %u\n", seen[0], seen[5]);
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeEventDestroy(event));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    CHECK(zeMemFree(on.context, seen));
}

int main(int count, char **arguments) {
    setup on = first_device();
    ze_context_handle_t context = NULL;
    CHECK(zeContextCreate(on.driver, &READ_ONLY, &context));
    CHECK(zeContextDestroy(context));
    ask_with_a_chain(on);
    if (count > 1)
        launch(on, arguments[1]);
    CHECK(zeContextDestroy(on.context));
    puts("hooked ok");
    return 0;
}
