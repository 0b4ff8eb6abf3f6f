/* A kernel may say that it prefers much local memory over a large data cache. */
#include "guide.h"

enum { ITEMS = 256 };

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "turn_round", ITEMS);
    int *numbers = shared_memory(at, ITEMS * sizeof *numbers);
    for (int i = 0; i < ITEMS; i++)
        numbers[i] = i;

    /* A wish of each kernel, which changes how fast it is and nothing else. */
    const ze_cache_config_flags_t wishes[] = {ZE_CACHE_CONFIG_FLAG_LARGE_SLM, ZE_CACHE_CONFIG_FLAG_LARGE_DATA};
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one_group = {1, 1, 1};
    set_pointer(kernel, 0, numbers);
    CHECK(zeKernelSetArgumentValue(kernel, 1, ITEMS * sizeof *numbers, NULL));
    for (int i = 0; i < 2; i++) {
        CHECK(zeKernelSetCacheConfig(kernel, wishes[i]));
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one_group, NULL, 0, NULL));
        run(at, list);
        printf("first and last: %d %d\n", numbers[0], numbers[ITEMS - 1]);
        for (int item = 0; item < ITEMS; item++)
            REQUIRE(numbers[item] == (i == 0 ? ITEMS - 1 - item : item));
    }

    CHECK(zeMemFree(at.context, numbers));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
