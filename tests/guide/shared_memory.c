/* Memory of both sides: hints about caches, a prefetch, and advice on how it will be used. */
#include "guide.h"

enum { ITEMS = 4096, GROUP = 64 };

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_device_memory_access_properties_t can = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES};
    CHECK(zeDeviceGetMemoryAccessProperties(at.device, &can));
    bool reads = can.sharedSingleDeviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW;
    printf("the device reads and writes shared memory: %s\n", yes_no[reads]);
    REQUIRE(reads && (can.hostAllocCapabilities & can.deviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW));

    ze_device_mem_alloc_desc_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
                                         .flags = ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC,
                                     .flags = ZE_HOST_MEM_ALLOC_FLAG_BIAS_CACHED};
    uint32_t *numbers;
    size_t size = ITEMS * sizeof *numbers;
    CHECK(zeMemAllocShared(at.context, &device, &host, size, 0, at.device, (void **)&numbers));
    for (uint32_t i = 0; i < ITEMS; i++)
        numbers[i] = i;

    ze_memory_allocation_properties_t found = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t owner = NULL;
    CHECK(zeMemGetAllocProperties(at.context, numbers, &found, &owner));
    printf("shared, and of the device: %s\n", yes_no[found.type == ZE_MEMORY_TYPE_SHARED && owner == at.device]);
    REQUIRE(found.type == ZE_MEMORY_TYPE_SHARED && owner == at.device);

    /* Neither changes what a kernel does; both are commands among others. */
    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "add_one", GROUP);
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t groups = {ITEMS / GROUP, 1, 1};
    set_pointer(kernel, 0, numbers);
    CHECK(zeCommandListAppendMemAdvise(list, at.device, numbers, size, ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION));
    CHECK(zeCommandListAppendMemoryPrefetch(list, numbers, size));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    run(at, list);
    printf("at the same address, the host finds %u ... %u\n", numbers[0], numbers[ITEMS - 1]);
    for (uint32_t i = 0; i < ITEMS; i++)
        REQUIRE(numbers[i] == i + 1);

    CHECK(zeMemFree(at.context, numbers));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
