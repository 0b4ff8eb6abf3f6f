/* Counter-based events under load: threads hand blocks to each other through in-order lists, immediate ones and
 * recorded ones that run again and again, while other threads query the same events. */
#include "check.h"

enum { PAIRS = 4, TURNS = 4000 / SLOWER, BLOCK = 300 };

static ze_event_handle_t watched[PAIRS];
static _Atomic bool over;

/* Immediate lists: one writes, the other reads after the event; the event is used again without a reset. */
static void *immediate_pair(void *number) {
    ze_event_handle_t event = watched[(uintptr_t)number];
    ze_command_list_handle_t writer = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    ze_command_list_handle_t reader = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    uint8_t *source = new_memory(BLOCK), *middle = new_memory(BLOCK), *target = new_memory(BLOCK);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        memset(source, (int)turn, BLOCK);
        CHECK(zeCommandListAppendMemoryCopy(writer, middle, source, BLOCK, event, 0, NULL));
        CHECK(zeCommandListAppendMemoryCopy(reader, target, middle, BLOCK, event, 1, &event));
        CHECK(zeEventHostSynchronize(event, UINT64_MAX));
        for (size_t each = 0; each < BLOCK; each++)
            REQUIRE(target[each] == (uint8_t)turn);
    }
    CHECK(zeCommandListHostSynchronize(writer, UINT64_MAX));
    CHECK(zeCommandListHostSynchronize(reader, UINT64_MAX));
    CHECK(zeCommandListDestroy(writer));
    CHECK(zeCommandListDestroy(reader));
    CHECK(zeMemFree(on.context, source));
    CHECK(zeMemFree(on.context, middle));
    CHECK(zeMemFree(on.context, target));
    return NULL;
}

/* Recorded lists on two queues: each run of the second waits for the latest run of the first. */
static void *recorded_pair(void *number) {
    ze_event_handle_t event = watched[(uintptr_t)number];
    ze_command_queue_handle_t first = new_queue(), second = new_queue();
    ze_command_list_handle_t writer = new_list(ZE_COMMAND_LIST_FLAG_IN_ORDER);
    ze_command_list_handle_t reader = new_list(ZE_COMMAND_LIST_FLAG_IN_ORDER);
    uint8_t *source = new_memory(BLOCK), *middle = new_memory(BLOCK), *target = new_memory(BLOCK);
    CHECK(zeCommandListAppendMemoryCopy(writer, middle, source, BLOCK, event, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(reader, target, middle, BLOCK, NULL, 1, &event));
    CHECK(zeCommandListClose(writer));
    CHECK(zeCommandListClose(reader));
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        memset(source, (int)turn, BLOCK);
        CHECK(zeCommandQueueExecuteCommandLists(first, 1, &writer, NULL));
        CHECK(zeCommandQueueExecuteCommandLists(second, 1, &reader, NULL));
        CHECK(zeCommandQueueSynchronize(second, UINT64_MAX));
        for (size_t each = 0; each < BLOCK; each++)
            REQUIRE(target[each] == (uint8_t)turn);
        CHECK(zeCommandQueueSynchronize(first, UINT64_MAX));
    }
    CHECK(zeCommandListDestroy(writer));
    CHECK(zeCommandListDestroy(reader));
    CHECK(zeCommandQueueDestroy(first));
    CHECK(zeCommandQueueDestroy(second));
    CHECK(zeMemFree(on.context, source));
    CHECK(zeMemFree(on.context, middle));
    CHECK(zeMemFree(on.context, target));
    return NULL;
}

static void *watch(void *unused) {
    (void)unused;
    while (!over)
        for (uint32_t each = 0; each < PAIRS; each++) {
            ze_result_t status = zeEventQueryStatus(watched[each]);
            REQUIRE(status == ZE_RESULT_SUCCESS || status == ZE_RESULT_NOT_READY);
            uint64_t value, address;
            zeEventCounterBasedGetDeviceAddress(watched[each], &value, &address);
            zeEventHostSynchronize(watched[each], 1000);
        }
    return NULL;
}

static void *pair(void *number) {
    return (uintptr_t)number < PAIRS / 2 ? immediate_pair(number) : recorded_pair(number);
}

int main(void) {
    set_up();
    uint64_t live = gs_live_objects(0);
    for (uint32_t each = 0; each < PAIRS; each++)
        watched[each] = new_counter_event(
            each < PAIRS / 2 ? ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE : ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE);
    pthread_t watcher;
    REQUIRE(pthread_create(&watcher, NULL, watch, NULL) == 0);
    on_threads(PAIRS, pair);
    over = true;
    pthread_join(watcher, NULL);
    for (uint32_t each = 0; each < PAIRS; each++)
        CHECK(zeEventDestroy(watched[each]));
    tear_down(live);
    return 0;
}
