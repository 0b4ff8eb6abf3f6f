/* An immediate list is its own queue: a command starts when it is appended. */
#include "guide.h"

enum { ITEMS = 1024, GROUP = 64 };

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_command_queue_desc_t description = {
        ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0 /* group */,  0 /* index */, 0 /* flags */,
        ZE_COMMAND_QUEUE_MODE_DEFAULT,        ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
    ze_command_list_handle_t list;
    CHECK(zeCommandListCreateImmediate(at.context, at.device, &description, &list));

    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "square", GROUP);
    uint32_t *numbers = shared_memory(at, ITEMS * sizeof *numbers);
    ze_event_pool_handle_t pool = new_pool(at, 1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    ze_event_handle_t done = new_event(pool, 0);

    /* No close, no queue: the launch is on its way when this returns. */
    ze_group_count_t groups = {ITEMS / GROUP, 1, 1};
    set_pointer(kernel, 0, numbers);
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, done, 0, NULL));
    CHECK(zeEventHostSynchronize(done, UINT64_MAX));
    printf("squares: %u %u ... %u\n", numbers[1], numbers[2], numbers[ITEMS - 1]);
    for (uint32_t i = 0; i < ITEMS; i++)
        REQUIRE(numbers[i] == i * i);

    CHECK(zeEventDestroy(done));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeMemFree(at.context, numbers));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    CHECK(zeCommandListDestroy(list));
    return end(at);
}
