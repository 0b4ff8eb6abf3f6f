/* A launch whose number of groups is in memory, where another kernel puts it. */
#include "guide.h"

enum { COUNT = 1000, GROUP = 64 };

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t plan = new_kernel(module, "plan", 1), mark = new_kernel(module, "mark", GROUP);
    ze_group_count_t *groups = device_memory(at, sizeof *groups);
    uint32_t *marks = shared_memory(at, 2 * COUNT * sizeof *marks), items = COUNT, group = GROUP;

    set_pointer(plan, 0, groups);
    CHECK(zeKernelSetArgumentValue(plan, 1, sizeof items, &items));
    CHECK(zeKernelSetArgumentValue(plan, 2, sizeof group, &group));
    set_pointer(mark, 0, marks);

    /* When this list is recorded nobody knows how many groups there will be. */
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one = {1, 1, 1}, *seen = host_memory(at, sizeof *seen);
    CHECK(zeCommandListAppendLaunchKernel(list, plan, &one, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListAppendLaunchKernelIndirect(list, mark, groups, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(list, seen, groups, sizeof *groups, NULL, 0, NULL));
    run(at, list);

    uint32_t marked = 0;
    while (marked < 2 * COUNT && marks[marked] == 1)
        marked++;
    printf("%u x %u x %u groups marked %u places\n", seen->groupCountX, seen->groupCountY, seen->groupCountZ, marked);
    REQUIRE(seen->groupCountX == (COUNT + GROUP - 1) / GROUP && marked == seen->groupCountX * GROUP);

    CHECK(zeMemFree(at.context, groups));
    CHECK(zeMemFree(at.context, seen));
    CHECK(zeMemFree(at.context, marks));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(plan));
    CHECK(zeKernelDestroy(mark));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
