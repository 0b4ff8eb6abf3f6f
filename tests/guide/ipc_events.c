/* A kernel of one process signals an event that another waits for. The program starts itself again as the receiver. */
#include "guide.h"

enum { EVENTS = 10, PLACE = 5, ITEMS = 64 };

/* Both sides make their own event at the same place of the pool. */
static ze_event_handle_t event_at_place(ze_event_pool_handle_t pool) {
    ze_event_desc_t description = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, PLACE, 0, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event;
    CHECK(zeEventCreate(pool, &description, &event));
    return event;
}

/* How a handle travels is the program's business: here, through a pipe. */
static int receive(char **arguments) {
    place at = begin();
    ze_ipc_event_pool_handle_t handle;
    REQUIRE(fread(&handle, sizeof handle, 1, stdin) == 1);
    ze_event_pool_handle_t pool;
    CHECK(zeEventPoolOpenIpcHandle(at.context, handle, &pool));
    ze_event_handle_t event = event_at_place(pool);

    ze_module_handle_t module = load_module(at, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "number", ITEMS);
    uint32_t *numbers = shared_memory(at, ITEMS * sizeof *numbers);
    set_pointer(kernel, 0, numbers);
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one_group = {1, 1, 1};
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one_group, event, 0, NULL));
    run(at, list);
    REQUIRE(numbers[ITEMS - 1] == ITEMS);
    printf("the receiver ran a kernel, which counted to %u\n", numbers[ITEMS - 1]);
    fflush(stdout);

    CHECK(zeEventDestroy(event));
    CHECK(zeEventPoolCloseIpcHandle(pool));
    CHECK(zeMemFree(at.context, numbers));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    return end(at);
}

int main(int count, char **arguments) {
    if (count > 2)
        return receive(arguments);
    place at = begin();
    ze_event_pool_desc_t description = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                        ZE_EVENT_POOL_FLAG_IPC | ZE_EVENT_POOL_FLAG_HOST_VISIBLE, EVENTS};
    ze_event_pool_handle_t pool;
    CHECK(zeEventPoolCreate(at.context, &description, 1, &at.device, &pool));
    ze_ipc_event_pool_handle_t handle;
    CHECK(zeEventPoolGetIpcHandle(pool, &handle));
    ze_event_handle_t event = event_at_place(pool);
    REQUIRE(zeEventQueryStatus(event) == ZE_RESULT_NOT_READY);

    char command[4096];
    snprintf(command, sizeof command, "exec '%s' '%s' receive", arguments[0], arguments[1]);
    FILE *receiver = popen(command, "w");
    REQUIRE(receiver != NULL && fwrite(&handle, sizeof handle, 1, receiver) == 1 && fflush(receiver) == 0);
    CHECK(zeEventHostSynchronize(event, UINT64_MAX));
    REQUIRE(pclose(receiver) == 0);
    printf("the sender saw the event: %s\n", yes_no[zeEventQueryStatus(event) == ZE_RESULT_SUCCESS]);

    CHECK(zeEventDestroy(event));
    CHECK(zeEventPoolDestroy(pool));
    return end(at);
}
