/* A fence tells the host that a queue has run what it was given with it. */
#include "guide.h"

enum { SIZE = 1 << 20 };

int main(void) {
    place at = begin();
    ze_command_queue_handle_t queue = new_queue(at);
    ze_command_list_handle_t list = new_list(at);
    uint8_t *memory = host_memory(at, SIZE), one = 1;
    CHECK(zeCommandListAppendMemoryFill(list, memory, &one, 1, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));

    ze_fence_desc_t description = {ZE_STRUCTURE_TYPE_FENCE_DESC, NULL, 0 /* flags */};
    ze_fence_handle_t fence;
    CHECK(zeFenceCreate(queue, &description, &fence));
    REQUIRE(zeFenceQueryStatus(fence) == ZE_RESULT_NOT_READY);

    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    CHECK(zeFenceHostSynchronize(fence, UINT64_MAX));
    printf("signaled: %s\n", yes_no[zeFenceQueryStatus(fence) == ZE_RESULT_SUCCESS]);
    printf("first and last byte: %d %d\n", memory[0], memory[SIZE - 1]);
    REQUIRE(memory[0] == 1 && memory[SIZE - 1] == 1);

    /* It stays signaled until the host resets it; then it serves again, and the list with it. */
    CHECK(zeFenceReset(fence));
    printf("signaled after a reset: %s\n", yes_no[zeFenceQueryStatus(fence) == ZE_RESULT_SUCCESS]);
    memory[SIZE - 1] = 0;
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    CHECK(zeFenceHostSynchronize(fence, UINT64_MAX));
    printf("last byte after another turn: %d\n", memory[SIZE - 1]);
    REQUIRE(memory[SIZE - 1] == 1);

    CHECK(zeFenceDestroy(fence));
    CHECK(zeMemFree(at.context, memory));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    return end(at);
}
