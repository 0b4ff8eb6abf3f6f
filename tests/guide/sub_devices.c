/* A device in four parts: memory and work for the third of them. */
#include "guide.h"

enum { ITEMS = 1024, GROUP = 64, WANTED = 2 };

static ze_device_properties_t properties_of(ze_device_handle_t device) {
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    CHECK(zeDeviceGetProperties(device, &properties));
    return properties;
}

/* Ordinals are those of the sub-device, which has queue groups of its own. */
static uint32_t compute_group(ze_device_handle_t device) {
    ze_command_queue_group_properties_t groups[8];
    for (int i = 0; i < 8; i++)
        groups[i] = (ze_command_queue_group_properties_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES};
    uint32_t count = 8, ordinal = 0;
    CHECK(zeDeviceGetCommandQueueGroupProperties(device, &count, groups));
    while (ordinal < count && !(groups[ordinal].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE))
        ordinal++;
    REQUIRE(ordinal < count);
    return ordinal;
}

int main(int argument_count, char **arguments) {
    (void)argument_count;
    place at = begin();
    uint32_t count = 0;
    CHECK(zeDeviceGetSubDevices(at.device, &count, NULL));
    ze_device_handle_t *parts = calloc(count, sizeof *parts);
    CHECK(zeDeviceGetSubDevices(at.device, &count, parts));
    printf("the device has %u parts\n", count);
    REQUIRE(count > WANTED);

    place part = at;
    part.device = parts[WANTED];
    ze_device_properties_t whole = properties_of(at.device), properties = properties_of(part.device);
    bool is_part = properties.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
    printf("part %u is a sub-device: %s\n", properties.subdeviceId, yes_no[is_part]);
    REQUIRE(is_part && properties.subdeviceId == WANTED);
    REQUIRE(!(whole.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE));
    REQUIRE(memcmp(&whole.uuid, &properties.uuid, sizeof whole.uuid) != 0);

    /* Memory of the part, and of the whole, which its parts can use too. */
    uint32_t *numbers = device_memory(part, ITEMS * sizeof *numbers);
    uint32_t *of_whole = device_memory(at, ITEMS * sizeof *of_whole), *result = host_memory(at, ITEMS * sizeof *result);

    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .ordinal = compute_group(part.device),
                                           .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_handle_t list;
    CHECK(zeCommandListCreateImmediate(at.context, part.device, &description, &list));
    ze_module_handle_t module = load_module(part, arguments, "source");
    ze_kernel_handle_t kernel = new_kernel(module, "number", GROUP);
    ze_group_count_t groups = {ITEMS / GROUP, 1, 1};
    set_pointer(kernel, 0, numbers);
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(list, of_whole, numbers, ITEMS * sizeof *numbers, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(list, result, of_whole, ITEMS * sizeof *numbers, NULL, 0, NULL));
    printf("it counted to %u\n", result[ITEMS - 1]);
    for (uint32_t i = 0; i < ITEMS; i++)
        REQUIRE(result[i] == i + 1);

    CHECK(zeMemFree(at.context, numbers));
    CHECK(zeMemFree(at.context, of_whole));
    CHECK(zeMemFree(at.context, result));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    free(parts);
    return end(at);
}
