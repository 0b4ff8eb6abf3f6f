/* Groups of a cooperative launch run at the same time, so they may wait for each other. */
#include "guide.h"

enum { GROUP = 32, MOST_GROUPS = 64 };

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "pass_round", GROUP);

    uint32_t most = 0;
    CHECK(zeKernelSuggestMaxCooperativeGroupCount(kernel, &most));
    REQUIRE(most >= 1);
    uint32_t groups = most < MOST_GROUPS ? most : MOST_GROUPS;
    ze_group_count_t grid = {groups, 1, 1};

    /* Each group leaves a word, all meet, and each takes the word of the next one. */
    uint32_t *arrived = shared_memory(at, sizeof *arrived);
    uint32_t *words = shared_memory(at, groups * sizeof *words), *taken = shared_memory(at, groups * sizeof *taken);
    set_pointer(kernel, 0, arrived);
    set_pointer(kernel, 1, words);
    set_pointer(kernel, 2, taken);
    ze_command_list_handle_t list = new_list(at);
    CHECK(zeCommandListAppendLaunchCooperativeKernel(list, kernel, &grid, NULL, 0, NULL));
    run(at, list);
    printf("%u groups arrived, group 0 took %u\n", *arrived, taken[0]);
    REQUIRE(*arrived == groups);
    for (uint32_t i = 0; i < groups; i++)
        REQUIRE(taken[i] == 1000 + (i + 1) % groups);

    CHECK(zeMemFree(at.context, arrived));
    CHECK(zeMemFree(at.context, words));
    CHECK(zeMemFree(at.context, taken));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
