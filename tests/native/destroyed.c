/* Objects that one thread destroys while another names them in arrays. The program is wrong, but each call answers with
 * what the specification has for it, and nobody touches what is gone. */
#include "check.h"

enum { TURNS = 2000 / SLOWER, MOST = 12 };

static _Atomic(ze_event_handle_t) event;
static _Atomic(ze_command_list_handle_t) list;
static _Atomic bool done;
static _Atomic uint64_t refused;

static void expect(ze_result_t result) {
    REQUIRE(result == ZE_RESULT_SUCCESS || result == ZE_RESULT_ERROR_INVALID_NULL_HANDLE ||
            result == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT || result == ZE_RESULT_ERROR_INVALID_ARGUMENT);
    refused += result != ZE_RESULT_SUCCESS;
}

static void wait_for_events(void) {
    ze_command_list_handle_t immediate = new_immediate(0), recorded = new_list(0);
    while (!done) {
        ze_event_handle_t waits[MOST];
        for (int each = 0; each < MOST; each++)
            waits[each] = event;
        expect(zeCommandListAppendBarrier(immediate, NULL, 1, waits));
        expect(zeCommandListAppendWaitOnEvents(immediate, MOST, waits));
        expect(zeCommandListAppendBarrier(recorded, NULL, MOST, waits));
        CHECK(zeCommandListReset(recorded));
    }
    CHECK(zeCommandListDestroy(immediate));
    CHECK(zeCommandListDestroy(recorded));
}

static void run_lists(void) {
    ze_command_queue_handle_t queue = new_queue();
    while (!done) {
        ze_command_list_handle_t lists[MOST];
        for (int each = 0; each < MOST; each++)
            lists[each] = list;
        expect(zeCommandQueueExecuteCommandLists(queue, MOST, lists, NULL));
        CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    }
    CHECK(zeCommandQueueDestroy(queue));
}

static void make_and_destroy(void) {
    for (int turn = 0; turn < TURNS; turn++) {
        ze_event_pool_handle_t pool = new_pool(1, 0);
        ze_event_handle_t made = new_event(pool, 0);
        ze_command_list_handle_t closed = new_list(0);
        CHECK(zeEventHostSignal(made));
        CHECK(zeCommandListAppendBarrier(closed, NULL, 0, NULL));
        CHECK(zeCommandListClose(closed));
        event = made;
        list = closed;
        sched_yield();
        while (zeEventDestroy(made) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE)
            continue;
        while (zeCommandListDestroy(closed) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE)
            continue;
        CHECK(zeEventPoolDestroy(pool));
    }
    done = true;
}

static void *work(void *number) {
    void (*const parts[])(void) = {make_and_destroy, wait_for_events, run_lists};
    while ((uintptr_t)number > 0 && (event == NULL || list == NULL))
        sched_yield();
    parts[(uintptr_t)number]();
    return NULL;
}

int main(void) {
    set_up();
    uint64_t live_before = gs_live_objects(0);
    on_threads(3, work);
    REQUIRE(refused > 0);
    tear_down(live_before);
    return 0;
}
