/* A whole program in little address space: little FILE.spv, where the file has a kernel `square` of one pointer.
 * It says how much address space it had at most. */
#include "common.h"

static unsigned long peak_kib(void) {
    unsigned long peak = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        sscanf(line, "VmPeak: %lu kB", &peak);
    if (status != NULL)
        fclose(status);
    return peak;
}

static void run_kernel(setup on, const char *path) {
    enum { ITEMS = 1 << 20, GROUP = 64, LAUNCHES = 10 };
    ze_module_handle_t module = module_of_file(on, path);
    ze_kernel_desc_t description = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "square"};
    ze_kernel_handle_t kernel = NULL;
    CHECK(zeKernelCreate(module, &description, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, GROUP, 1, 1));
    uint32_t *numbers = host_memory(on, ITEMS * sizeof *numbers);
    CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof numbers, &numbers));
    ze_command_queue_desc_t queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                     .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_handle_t list = NULL;
    CHECK(zeCommandListCreateImmediate(on.context, on.device, &queue, &list));
    for (int each = 0; each < LAUNCHES; each++)
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &(ze_group_count_t){ITEMS / GROUP, 1, 1}, NULL, 0, NULL));
    for (uint32_t each = 0; each < ITEMS; each++)
        REQUIRE(numbers[each] == each * each);
    CHECK(zeCommandListDestroy(list));
    CHECK(zeMemFree(on.context, numbers));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
}

int main(int count, char **arguments) {
    setup on = first_device();
    void *memory = device_memory(on, 1 << 20);
    if (count > 1)
        run_kernel(on, arguments[1]);
    CHECK(zeMemFree(on.context, memory));
    CHECK(zeContextDestroy(on.context));
    printf("little ok %lu\n", peak_kib());
    return 0;
}
