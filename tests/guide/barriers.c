/* Commands of a list may overlap. A barrier lets what comes after it wait for what came before. */
#include "guide.h"

enum { ITEMS = 1 << 16, GROUP = 256 };

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t number = new_kernel(module, "number", GROUP);
    ze_kernel_handle_t turn_round = new_kernel(module, "turn_round", GROUP);
    size_t size = ITEMS * sizeof(uint32_t);
    const void *here = device_memory(at, size);
    uint32_t *there = shared_memory(at, size);
    set_pointer(number, 0, here);
    set_pointer(turn_round, 0, here);
    set_pointer(turn_round, 1, there);

    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t groups = {ITEMS / GROUP, 1, 1};
    for (int ranges = 0; ranges < 2; ranges++) {
        memset(there, 0, size);
        CHECK(zeCommandListAppendLaunchKernel(list, number, &groups, NULL, 0, NULL));
        /* The second kernel reads, in another order, what the first one wrote. */
        if (ranges)
            CHECK(zeCommandListAppendMemoryRangesBarrier(list, 1, &size, &here, NULL, 0, NULL));
        else
            CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
        CHECK(zeCommandListAppendLaunchKernel(list, turn_round, &groups, NULL, 0, NULL));
        run(at, list);
        printf("with a barrier for %s: %u ... %u\n", ranges ? "one range" : "everything", there[0], there[ITEMS - 1]);
        for (uint32_t i = 0; i < ITEMS; i++)
            REQUIRE(there[i] == ITEMS - i);
    }

    CHECK(zeMemFree(at.context, (void *)here));
    CHECK(zeMemFree(at.context, there));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(number));
    CHECK(zeKernelDestroy(turn_round));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
