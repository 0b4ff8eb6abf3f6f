/* printf in a kernel: everything is there once the launch has been waited for. */
#include "guide.h"

enum { ITEMS = 6 };

int main(int count, char **arguments) {
    (void)count;
    place at = begin();
    ze_device_module_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES};
    CHECK(zeDeviceGetModuleProperties(at.device, &properties));
    printf("room for %u bytes\n", properties.printfBufferSize);
    fflush(stdout);
    REQUIRE(properties.printfBufferSize >= 1 << 20);

    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "speak", ITEMS);
    int *failed = shared_memory(at, sizeof *failed);
    set_pointer(kernel, 0, failed);
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one_group = {1, 1, 1};
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one_group, NULL, 0, NULL));
    run(at, list);
    REQUIRE(*failed == 0);

    CHECK(zeMemFree(at.context, failed));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}
