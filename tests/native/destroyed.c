/* Objects that one thread destroys, resets or changes while others use them. The program is wrong, but each call answers
 * with what the specification has for it, and nobody touches what is gone. */
#include "check.h"

enum { TURNS = 2000 / SLOWER, MOST = 12, USERS = 6, USES = 6000 / SLOWER };

static _Atomic(ze_event_handle_t) event;
static _Atomic(ze_command_list_handle_t) list;
static _Atomic bool done;
static _Atomic uint64_t refused;

static void expect(ze_result_t result) {
    REQUIRE(result == ZE_RESULT_SUCCESS || result == ZE_RESULT_ERROR_INVALID_NULL_HANDLE ||
            result == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT || result == ZE_RESULT_ERROR_INVALID_ARGUMENT ||
            result == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE || result == ZE_RESULT_ERROR_INVALID_SIZE);
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
        CHECK(zeEventDestroy(made));
        CHECK(zeCommandListDestroy(closed));
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

/* --- One list for all threads ------------------------------------------------------------------------ */

static _Atomic(ze_command_list_handle_t) shared;
static _Atomic uint64_t command;
static ze_event_handle_t events[MOST];

/* In place of one that was destroyed; two threads may have done so. */
static void share_another(ze_command_list_handle_t before) {
    const ze_mutable_command_list_exp_desc_t mutable = {.stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC};
    const ze_command_list_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .pNext = &mutable};
    ze_command_list_handle_t made;
    CHECK(zeCommandListCreate(on.context, on.device, &wanted, &made));
    if (!atomic_compare_exchange_strong(&shared, &before, made))
        CHECK(zeCommandListDestroy(made));
}

static void append(ze_command_list_handle_t to, uint64_t *state) {
    const ze_mutable_command_id_exp_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC};
    uint64_t id = 0;
    expect(zeCommandListGetNextCommandIdExp(to, &wanted, &id));
    expect(zeCommandListAppendBarrier(to, events[next_random(state) % MOST], MOST / 2, events));
    command = id;
}

static void use_list(ze_command_queue_handle_t queue, uint64_t *state) {
    ze_command_list_handle_t lists[] = {shared, shared};
    switch (next_random(state) % 8) {
    case 0: expect(zeCommandListReset(lists[0])); break;
    case 1: append(lists[0], state); break;
    case 2: expect(zeCommandListClose(lists[0])); break;
    case 3: expect(zeCommandListUpdateMutableCommandSignalEventExp(lists[0], command, events[next_random(state) % MOST])); break;
    case 4: expect(zeCommandListUpdateMutableCommandWaitEventsExp(lists[0], command, MOST / 2, events + MOST / 2)); break;
    case 5:
        if (next_random(state) % 16 == 0 && zeCommandListDestroy(lists[0]) == ZE_RESULT_SUCCESS)
            share_another(lists[0]);
        break;
    default: expect(zeCommandQueueExecuteCommandLists(queue, 2, lists, NULL));
    }
}

static void *share(void *number) {
    uint64_t state = (uintptr_t)number;
    ze_command_queue_handle_t queue = new_queue();
    for (int turn = 0; turn < USES; turn++)
        use_list(queue, &state);
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK(zeCommandQueueDestroy(queue));
    return NULL;
}

static void share_a_list(void) {
    ze_event_pool_handle_t pool = new_pool(MOST, 0);
    for (uint32_t each = 0; each < MOST; each++) {
        events[each] = new_event(pool, each);
        CHECK(zeEventHostSignal(events[each]));
    }
    share_another(NULL);
    on_threads(USERS, share);
    CHECK(zeCommandListDestroy(shared));
    for (uint32_t each = 0; each < MOST; each++)
        CHECK(zeEventDestroy(events[each]));
    CHECK(zeEventPoolDestroy(pool));
}

/* --- Old handles -------------------------------------------------------------------------------------- */

/* More than the driver keeps apart before it uses their slots again. */
enum { OLD = 1500, ROUNDS = 9000 / SLOWER };

static _Atomic(ze_command_list_handle_t) old_lists[OLD];
static _Atomic(ze_event_handle_t) old_events[OLD];
static _Atomic bool made_all;

/* Slots come back in the order in which they were freed, so that the oldest handle is that of the next object. */
static void make_again(void) {
    ze_event_pool_handle_t pool = new_pool(1, 0);
    for (int round = 0; round < ROUNDS; round++) {
        ze_command_list_handle_t made = round % 2 ? new_list(0) : new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
        ze_event_handle_t waited = round % 2 ? new_event(pool, 0) : new_counter_event(0);
        old_lists[round % OLD] = made;
        old_events[round % OLD] = waited;
        expect(zeCommandListDestroy(made)); /* others may have been faster */
        expect(zeEventDestroy(waited));
    }
    made_all = true;
    CHECK(zeEventPoolDestroy(pool));
}

static void use_old(uint64_t *state) {
    size_t place = next_random(state) % OLD;
    ze_command_list_handle_t one = old_lists[place];
    ze_event_handle_t other = old_events[place];
    uint64_t value, address;
    if (one == NULL || other == NULL)
        return;
    zeCommandListClose(one);
    zeCommandListReset(one);
    zeCommandListAppendBarrier(one, other, 1, &other);
    zeCommandListHostSynchronize(one, 0);
    zeEventQueryStatus(other);
    zeEventCounterBasedGetDeviceAddress(other, &value, &address);
}

static void *grow_old(void *number) {
    uint64_t state = (uintptr_t)number;
    if (number == NULL)
        make_again();
    while (!made_all)
        use_old(&state);
    return NULL;
}

int main(void) {
    set_up();
    uint64_t live_before = gs_live_objects(0);
    on_threads(3, work);
    REQUIRE(refused > 0);
    share_a_list();
    on_threads(3, grow_old);
    tear_down(live_before);
    return 0;
}
