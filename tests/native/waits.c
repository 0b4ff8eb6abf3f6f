/* A wait ends when what it waits for has happened, whatever the queue that was to signal it is stuck at. */
#include <time.h>

#include "check.h"

static void sleep_a_little(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }

static void *signal_later(void *event) {
    sleep_a_little();
    CHECK(zeEventHostSignal(event));
    return NULL;
}

/* The queue is to signal the event after a wait that never ends; the host signals it first. */
static void host_signals_first(bool regular) {
    ze_event_pool_handle_t pool = new_pool(2, 0);
    ze_event_handle_t never = new_event(pool, 0);
    ze_event_handle_t awaited = new_event(pool, 1);
    ze_command_queue_handle_t queue = new_queue();
    ze_command_list_handle_t list = regular ? new_list(0) : new_immediate(0);
    pthread_t signaller;
    REQUIRE(pthread_create(&signaller, NULL, signal_later, awaited) == 0);
    CHECK(zeCommandListAppendWaitOnEvents(list, 1, &never));
    CHECK(zeCommandListAppendSignalEvent(list, awaited));
    if (regular) {
        CHECK(zeCommandListClose(list));
        CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    }
    CHECK(zeEventHostSynchronize(awaited, UINT64_MAX)); /* at once, before an engine may have the queue */
    pthread_join(signaller, NULL);
    REQUIRE(zeEventQueryStatus(never) == ZE_RESULT_NOT_READY);
    CHECK(zeEventHostSignal(never));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    if (!regular)
        CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeEventDestroy(awaited));
    CHECK(zeEventDestroy(never));
    CHECK(zeEventPoolDestroy(pool));
}

/* Two lists are to signal the event; the one that was given it last is stuck, the other is not. */
static void another_list_signals_first(void) {
    ze_event_pool_handle_t pool = new_pool(3, 0);
    ze_event_handle_t never = new_event(pool, 0), go = new_event(pool, 1);
    ze_event_handle_t awaited = new_event(pool, 2);
    ze_command_list_handle_t free_list = new_immediate(0), stuck = new_immediate(0);
    pthread_t signaller;
    REQUIRE(pthread_create(&signaller, NULL, signal_later, go) == 0);
    CHECK(zeCommandListAppendBarrier(free_list, awaited, 1, &go));
    CHECK(zeCommandListAppendBarrier(stuck, awaited, 1, &never));
    CHECK(zeEventHostSynchronize(awaited, UINT64_MAX));
    pthread_join(signaller, NULL);
    CHECK(zeEventHostSignal(never));
    CHECK(zeCommandListHostSynchronize(stuck, UINT64_MAX));
    CHECK(zeCommandListHostSynchronize(free_list, UINT64_MAX));
    CHECK(zeCommandListDestroy(stuck));
    CHECK(zeCommandListDestroy(free_list));
    CHECK(zeEventDestroy(awaited));
    CHECK(zeEventDestroy(go));
    CHECK(zeEventDestroy(never));
    CHECK(zeEventPoolDestroy(pool));
}

/* Many threads wait for the same queue while it works; each sees its end. */
static ze_command_list_handle_t shared_list;
static uint8_t *blocks[2];

static void *wait_with_others(void *number) {
    (void)number;
    CHECK(zeCommandListHostSynchronize(shared_list, UINT64_MAX));
    REQUIRE(memcmp(blocks[0], blocks[1], 1 << 20) == 0);
    return NULL;
}

static void many_wait_for_one(void) {
    shared_list = new_immediate(0);
    blocks[0] = new_memory(1 << 20);
    blocks[1] = new_memory(1 << 20);
    for (int turn = 1; turn <= 20; turn++) {
        CHECK(zeCommandListAppendMemoryFill(shared_list, blocks[0], &turn, 1, 1 << 20, NULL, 0, NULL));
        CHECK(zeCommandListAppendMemoryCopy(shared_list, blocks[1], blocks[0], 1 << 20, NULL, 0, NULL));
        on_threads(8, wait_with_others);
        REQUIRE(blocks[1][12345] == turn);
    }
    CHECK(zeCommandListDestroy(shared_list));
    CHECK(zeMemFree(on.context, blocks[0]));
    CHECK(zeMemFree(on.context, blocks[1]));
}

int main(void) {
    set_up();
    uint64_t live = gs_live_objects(0);
    for (int turn = 0; turn < 50; turn++) {
        host_signals_first(false);
        host_signals_first(true);
        another_list_signals_first();
    }
    many_wait_for_one();
    tear_down(live);
    return 0;
}
