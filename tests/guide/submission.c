/* A queue, a list of commands, and the way of the list: recorded, closed, run, run again, reset. */
#include "guide.h"

enum { COUNT = 1000 };

int main(void) {
    place at = begin();
    ze_command_queue_desc_t queue_description = {
        ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0 /* group */,  0 /* index */, 0 /* flags */,
        ZE_COMMAND_QUEUE_MODE_DEFAULT,        ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
    ze_command_queue_handle_t queue;
    CHECK(zeCommandQueueCreate(at.context, at.device, &queue_description, &queue));

    ze_command_list_desc_t list_description = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, NULL, 0 /* group */, 0 /* flags */};
    ze_command_list_handle_t list;
    CHECK(zeCommandListCreate(at.context, at.device, &list_description, &list));

    int *source = host_memory(at, COUNT * sizeof *source), *target = host_memory(at, COUNT * sizeof *target);
    for (int i = 0; i < COUNT; i++)
        source[i] = i;
    CHECK(zeCommandListAppendMemoryCopy(list, target, source, COUNT * sizeof *source, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    REQUIRE(target[COUNT - 1] == 0); /* so far nothing has run */

    for (int turn = 1; turn <= 2; turn++) {
        CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
        CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
        printf("turn %d: the last number is %d\n", turn, target[COUNT - 1]);
        REQUIRE(memcmp(target, source, COUNT * sizeof *source) == 0);
        for (int i = 0; i < COUNT; i++)
            source[i] *= 2; /* the next run copies what is there then */
    }

    /* After a reset the list is empty, and records something else. */
    CHECK(zeCommandListReset(list));
    const int seven = 7;
    CHECK(zeCommandListAppendMemoryFill(list, target, &seven, sizeof seven, COUNT * sizeof seven, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    printf("recorded anew: the last number is %d\n", target[COUNT - 1]);
    REQUIRE(target[0] == seven && target[COUNT - 1] == seven);

    CHECK(zeMemFree(at.context, source));
    CHECK(zeMemFree(at.context, target));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    return end(at);
}
