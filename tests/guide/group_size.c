/* How many work-items are a group: as the program says, or as the driver suggests. */
#include "guide.h"

enum { WIDTH = 640, HEIGHT = 480 };

/* Launches the kernel over the picture; each work-item notes the size of its group. */
static void launch(place at, ze_kernel_handle_t kernel, uint32_t *seen, uint32_t x, uint32_t y) {
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t groups = {WIDTH / x, HEIGHT / y, 1};
    memset(seen, 0, WIDTH * HEIGHT * sizeof *seen);
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    run(at, list);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        REQUIRE(seen[i] == (x << 16 | y));
    CHECK(zeCommandListDestroy(list));
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_desc_t description = {ZE_STRUCTURE_TYPE_KERNEL_DESC, NULL, 0, "note_size"};
    ze_kernel_handle_t kernel;
    CHECK(zeKernelCreate(module, &description, &kernel));
    uint32_t *seen = shared_memory(at, WIDTH * HEIGHT * sizeof *seen);
    set_pointer(kernel, 0, seen);

    CHECK(zeKernelSetGroupSize(kernel, 16, 4, 1));
    launch(at, kernel, seen, 16, 4);
    printf("chosen: %u x %u\n", seen[0] >> 16, seen[0] & 0xffff);

    /* The suggestion is for a whole number of groups, and does not look at the size that is set. */
    uint32_t x, y, z;
    CHECK(zeKernelSuggestGroupSize(kernel, WIDTH, HEIGHT, 1, &x, &y, &z));
    REQUIRE(WIDTH % x == 0 && HEIGHT % y == 0 && z == 1);
    CHECK(zeKernelSetGroupSize(kernel, x, y, 1));
    launch(at, kernel, seen, x, y);
    printf("suggested: %u x %u\n", seen[0] >> 16, seen[0] & 0xffff);

    CHECK(zeMemFree(at.context, seen));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
