/* An event between two kernels: the second waits for the first, and sees what it wrote. */
#include "guide.h"

enum { ITEMS = 1 << 16, GROUP = 256 };

/* An event whose signal makes what came before visible to those in `scope`. */
static ze_event_handle_t event_with_scope(ze_event_pool_handle_t pool, uint32_t index, ze_event_scope_flags_t scope) {
    ze_event_desc_t description = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index, scope, 0};
    ze_event_handle_t event;
    CHECK(zeEventCreate(pool, &description, &event));
    return event;
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t number = new_kernel(module, "number", GROUP), add = new_kernel(module, "add_next", GROUP);
    uint32_t *here = shared_memory(at, ITEMS * sizeof *here), *there = shared_memory(at, ITEMS * sizeof *there);
    set_pointer(number, 0, here);
    set_pointer(add, 0, here);
    set_pointer(add, 1, there);

    ze_event_pool_handle_t pool = new_pool(at, 2, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    ze_event_handle_t events[] = {
        event_with_scope(pool, 0, 0),                          /* only the order of the two matters */
        event_with_scope(pool, 1, ZE_EVENT_SCOPE_FLAG_DEVICE), /* and the whole device sees the memory */
    };
    const char *names[] = {"order", "order and memory"};
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t groups = {ITEMS / GROUP, 1, 1};
    for (int i = 0; i < 2; i++) {
        memset(here, 0, ITEMS * sizeof *here);
        CHECK(zeCommandListAppendLaunchKernel(list, number, &groups, events[i], 0, NULL));
        CHECK(zeCommandListAppendLaunchKernel(list, add, &groups, NULL, 1, &events[i]));
        run(at, list);
        uint64_t sum = 0;
        for (uint32_t item = 0; item < ITEMS; item++)
            sum += there[item];
        printf("%s: the sum is %llu\n", names[i], (unsigned long long)sum);
        REQUIRE(sum == (uint64_t)ITEMS * (ITEMS - 1));
        CHECK(zeEventDestroy(events[i]));
    }

    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeMemFree(at.context, here));
    CHECK(zeMemFree(at.context, there));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(number));
    CHECK(zeKernelDestroy(add));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
