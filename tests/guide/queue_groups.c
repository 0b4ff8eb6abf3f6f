/* What kinds of queues a device has, and which of them run kernels. */
#include "guide.h"

int main(void) {
    place at = begin();
    uint32_t count = 0;
    CHECK(zeDeviceGetCommandQueueGroupProperties(at.device, &count, NULL));
    ze_command_queue_group_properties_t *groups = calloc(count, sizeof *groups);
    for (uint32_t i = 0; i < count; i++)
        groups[i].stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    CHECK(zeDeviceGetCommandQueueGroupProperties(at.device, &count, groups));

    uint32_t compute = count, copy = count;
    for (uint32_t i = 0; i < count; i++) {
        bool computes = groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
        bool copies = groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
        printf("group %u: compute %s, copy %s, queues %u\n", i, yes_no[computes], yes_no[copies],
               groups[i].numQueues);
        if (computes && compute == count)
            compute = i;
        if (copies && !computes && copy == count)
            copy = i;
    }
    REQUIRE(compute < count);
    printf("kernels go to group %u, copies to group %u\n", compute, copy);

    /* A list and the queue that runs it are of the same group; here, of the one that only copies. */
    if (copy < count) {
        ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                               .ordinal = copy,
                                               .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
        ze_command_list_handle_t list;
        char *text = host_memory(at, 8);
        CHECK(zeCommandListCreateImmediate(at.context, at.device, &description, &list));
        CHECK(zeCommandListAppendMemoryCopy(list, text, "copied", 7, NULL, 0, NULL));
        printf("%s\n", text);
        REQUIRE(strcmp(text, "copied") == 0);
        CHECK(zeCommandListDestroy(list));
        CHECK(zeMemFree(at.context, text));
    }
    free(groups);
    return end(at);
}
