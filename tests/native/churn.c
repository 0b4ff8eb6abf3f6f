/* Many threads create, use and destroy objects of their own at once: the driver's shared tables hold. */
#include "check.h"

enum { THREADS = 12, TURNS = 3000 / SLOWER, BLOCKS = 16 };

/* Memory of every size, freed in any order, some of it while a queue still uses it. */
static void memory_turn(uint64_t *state, ze_command_list_handle_t list) {
    uint8_t *blocks[BLOCKS];
    size_t sizes[BLOCKS];
    for (int each = 0; each < BLOCKS; each++) {
        sizes[each] = 1 + next_random(state) % (each == 0 ? 3000000 : 20000);
        blocks[each] = each % 2 ? new_memory(sizes[each]) : new_device_memory(sizes[each]);
        blocks[each][0] = blocks[each][sizes[each] - 1] = (uint8_t)each;
    }
    CHECK(zeCommandListAppendMemoryFill(list, blocks[1], "x", 1, sizes[1], NULL, 0, NULL));
    for (int each = 0; each < BLOCKS; each++) {
        void *base;
        size_t size;
        CHECK(zeMemGetAddressRange(on.context, blocks[each] + sizes[each] / 2, &base, &size));
        REQUIRE(base == blocks[each] && size == sizes[each]);
        REQUIRE(each == 1 || blocks[each][sizes[each] - 1] == each);
    }
    for (int each = 0; each < BLOCKS; each++)
        CHECK(zeMemFree(on.context, blocks[each]));
}

/* A context with one of everything, used once. */
static void object_turn(void) {
    ze_context_handle_t context = new_context();
    ze_command_queue_handle_t queue = new_queue();
    ze_command_list_handle_t list = new_list(0);
    ze_event_pool_handle_t pool = new_pool(2, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    ze_event_handle_t event = new_event(pool, 1);
    ze_fence_handle_t fence = new_fence(queue);
    CHECK(zeCommandListAppendBarrier(list, event, 0, NULL));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    CHECK(zeFenceHostSynchronize(fence, UINT64_MAX));
    CHECK(zeEventQueryStatus(event));
    ze_kernel_timestamp_result_t stamps;
    CHECK(zeEventQueryKernelTimestamp(event, &stamps));
    REQUIRE(stamps.context.kernelStart <= stamps.context.kernelEnd);
    CHECK(zeFenceDestroy(fence));
    CHECK(zeEventDestroy(event));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeContextDestroy(context));
}

static void *churn(void *number) {
    uint64_t state = (uintptr_t)number;
    ze_command_list_handle_t list = new_immediate(0);
    for (int turn = 0; turn < TURNS; turn++) {
        if (turn % 8 == 0)
            memory_turn(&state, list);
        object_turn();
    }
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    CHECK(zeCommandListDestroy(list));
    return NULL;
}

int main(void) {
    set_up();
    uint64_t live = gs_live_objects(0);
    on_threads(THREADS, churn);
    CHECK(zeDeviceSynchronize(on.device));
    tear_down(live);
    return 0;
}
