/* Queues of all priorities at once: everything that was given to them is done, in the order of its events, while
 * queues come and go. */
#include "check.h"

enum { THREADS = 6, ROUNDS = 40, STEPS = 12, BYTES = 1 << 18 };

static ze_command_list_handle_t new_prioritised(uint64_t *random) {
    ze_command_list_handle_t made;
    const ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                          .priority = (ze_command_queue_priority_t)(next_random(random) % 3)};
    CHECK(zeCommandListCreateImmediate(on.context, on.device, &desc, &made));
    return made;
}

/* A chain of fills and copies, each on a list of any priority, and each after the one before. */
static void run_chain(uint64_t *random) {
    ze_event_pool_handle_t pool = new_pool(STEPS + 1, 0);
    ze_event_handle_t events[STEPS + 1];
    ze_command_list_handle_t lists[3];
    uint8_t *blocks[2] = {new_memory(BYTES), new_memory(BYTES)};
    for (uint32_t each = 0; each <= STEPS; each++)
        events[each] = new_event(pool, each);
    for (uint32_t each = 0; each < 3; each++)
        lists[each] = new_prioritised(random);
    for (uint8_t step = 0; step < STEPS; step++) {
        ze_command_list_handle_t list = lists[next_random(random) % 3];
        if (step % 2 == 0)
            CHECK(zeCommandListAppendMemoryFill(list, blocks[0], &step, 1, BYTES, events[step + 1], 1, &events[step]));
        else
            CHECK(zeCommandListAppendMemoryCopy(list, blocks[1], blocks[0], BYTES, events[step + 1], 1, &events[step]));
    }
    CHECK(zeEventHostSignal(events[0]));
    CHECK(zeEventHostSynchronize(events[STEPS], UINT64_MAX));
    REQUIRE(blocks[1][0] == STEPS - 2 && memcmp(blocks[0], blocks[1], BYTES) == 0);
    for (uint32_t each = 0; each < 3; each++) {
        CHECK(zeCommandListHostSynchronize(lists[each], UINT64_MAX));
        CHECK(zeCommandListDestroy(lists[each]));
    }
    for (uint32_t each = 0; each <= STEPS; each++)
        CHECK(zeEventDestroy(events[each]));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeMemFree(on.context, blocks[0]));
    CHECK(zeMemFree(on.context, blocks[1]));
}

static void *run_chains(void *number) {
    uint64_t random = (uintptr_t)number;
    for (int round = 0; round < ROUNDS; round++)
        run_chain(&random);
    return NULL;
}

int main(void) {
    set_up();
    uint64_t live = gs_live_objects(0);
    on_threads(THREADS, run_chains);
    tear_down(live);
    return 0;
}
