/* The first device of the first driver, and a copy through its memory: nothing here knows Groundstate.
 *
 *     cc examples/hello.c -lze_loader -o hello
 *     groundstate run -- ./hello
 */
#include <level_zero/ze_api.h>
#include <stdio.h>
#include <stdlib.h>

static void check(ze_result_t result) {
    if (result != ZE_RESULT_SUCCESS) {
        fprintf(stderr, "Level Zero answered 0x%x\n", result);
        exit(1);
    }
}

int main(void) {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    uint32_t count = 1;
    check(zeInit(0));
    check(zeDriverGet(&count, &driver));
    check(zeDeviceGet(driver, &count, &device));
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    check(zeDeviceGetProperties(device, &properties));

    ze_context_handle_t context;
    ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    check(zeContextCreate(driver, &context_desc, &context));
    void *memory;
    ze_device_mem_alloc_desc_t memory_desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    check(zeMemAllocDevice(context, &memory_desc, 64, 1, device, &memory));

    ze_command_list_handle_t list;
    ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                          .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    check(zeCommandListCreateImmediate(context, device, &queue_desc, &list));
    char greeting[64] = "hello from", answer[64] = "";
    check(zeCommandListAppendMemoryCopy(list, memory, greeting, sizeof greeting, NULL, 0, NULL));
    check(zeCommandListAppendMemoryCopy(list, answer, memory, sizeof answer, NULL, 0, NULL));
    printf("%s %s\n", answer, properties.name);

    check(zeCommandListDestroy(list));
    check(zeMemFree(context, memory));
    check(zeContextDestroy(context));
    return 0;
}
