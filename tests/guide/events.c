/* An event is signaled by a kernel and waited for by the host, or the other way round. */
#include "guide.h"

enum { ITEMS = 256 };

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_event_pool_desc_t pool_description = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                             ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 2 /* events */};
    ze_event_pool_handle_t pool;
    CHECK(zeEventPoolCreate(at.context, &pool_description, 0, NULL, &pool));

    /* The host will read what the device wrote before the event. */
    ze_event_desc_t description = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, 0 /* index */, 0, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t go, done;
    CHECK(zeEventCreate(pool, &description, &done));
    description.index = 1;
    CHECK(zeEventCreate(pool, &description, &go));

    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "twice", ITEMS);
    int *numbers = shared_memory(at, ITEMS * sizeof *numbers);
    set_pointer(kernel, 0, numbers);
    ze_command_queue_handle_t queue = new_queue(at);
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one_group = {1, 1, 1};
    CHECK(zeCommandListAppendWaitOnEvents(list, 1, &go));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one_group, done, 0, NULL));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));

    /* The list is under way, and waits for the host. */
    REQUIRE(zeEventHostSynchronize(done, 1000000) == ZE_RESULT_NOT_READY);
    printf("done before the signal: %s\n", yes_no[zeEventQueryStatus(done) == ZE_RESULT_SUCCESS]);
    for (int i = 0; i < ITEMS; i++)
        numbers[i] = i;
    CHECK(zeEventHostSignal(go));
    CHECK(zeEventHostSynchronize(done, UINT64_MAX));
    printf("done after it: %s, the last number is %d\n", yes_no[zeEventQueryStatus(done) == ZE_RESULT_SUCCESS],
           numbers[ITEMS - 1]);
    for (int i = 0; i < ITEMS; i++)
        REQUIRE(numbers[i] == 2 * i);
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));

    CHECK(zeEventDestroy(go));
    CHECK(zeEventDestroy(done));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeMemFree(at.context, numbers));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
