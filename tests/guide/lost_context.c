/* A kernel that writes where nothing is loses its context. Others go on, and a new one works. */
#include "guide.h"

/* Lets `write_there` write to an address, and says what the wait for it answered. */
static ze_result_t write_to(place at, char **arguments, void *address) {
    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "write_there", 1);
    ze_command_queue_handle_t queue = new_queue(at);
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one = {1, 1, 1};
    uint64_t where = (uintptr_t)address;
    CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof where, &where));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    ze_result_t result = zeCommandQueueSynchronize(queue, UINT64_MAX);
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return result;
}

int main(int count, char **arguments) {
    (void)count;
    place at = begin(), other = at;
    other.context = new_context(at.driver);
    CHECK(zeContextGetStatus(at.context));

    /* No allocation is ever there. */
    ze_result_t result = write_to(at, arguments, (void *)0x10);
    printf("the kernel lost its context: %s\n", yes_no[result == ZE_RESULT_ERROR_DEVICE_LOST]);
    REQUIRE(result == ZE_RESULT_ERROR_DEVICE_LOST);
    REQUIRE(zeContextGetStatus(at.context) == ZE_RESULT_ERROR_DEVICE_LOST);
    ze_command_list_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t list = NULL;
    REQUIRE(zeCommandListCreate(at.context, at.device, &description, &list) == ZE_RESULT_ERROR_DEVICE_LOST);

    int *number = shared_memory(other, sizeof *number);
    CHECK(write_to(other, arguments, number));
    printf("the other context wrote %d\n", *number);
    REQUIRE(*number == 42);
    CHECK(zeMemFree(other.context, number));
    CHECK(zeContextDestroy(other.context));

    /* The way back: destroy the context, ask the device, make another. */
    CHECK(zeContextDestroy(at.context));
    CHECK(zeDeviceGetStatus(at.device));
    at.context = new_context(at.driver);
    number = shared_memory(at, sizeof *number);
    CHECK(write_to(at, arguments, number));
    printf("the new context wrote %d\n", *number);
    REQUIRE(*number == 42);
    CHECK(zeMemFree(at.context, number));
    return end(at);
}
