/* One thread signals, another waits and at once destroys what was signalled. The signalling call may still be
 * on its way out: it must not touch what is gone. */
#include <semaphore.h>

#include "check.h"

enum { PAIRS = 3, TURNS = 6000 / SLOWER };

/* From the destroyer to the signaller of each pair. */
static struct {
    sem_t ready;
    ze_event_handle_t event;
} handed[PAIRS];

/* Signals each event in one of the ways there are. */
static void signal_each(int pair) {
    ze_command_list_handle_t list = new_immediate(0);
    for (int turn = 0; turn < TURNS; turn++) {
        sem_wait(&handed[pair].ready);
        ze_event_handle_t event = handed[pair].event;
        if (turn % 3 == 0)
            CHECK(zeEventHostSignal(event));
        else if (turn % 3 == 1)
            CHECK(zeCommandListAppendSignalEvent(list, event));
        else
            CHECK(zeCommandListAppendBarrier(list, event, 0, NULL));
    }
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    CHECK(zeCommandListDestroy(list));
}

static void destroy_each(int pair) {
    for (int turn = 0; turn < TURNS; turn++) {
        ze_event_pool_handle_t pool = new_pool(1, 0);
        ze_event_handle_t event = handed[pair].event = new_event(pool, 0);
        sem_post(&handed[pair].ready);
        if (turn % 8 == 0)
            while (zeEventQueryStatus(event) != ZE_RESULT_SUCCESS)
                sched_yield();
        else
            CHECK(zeEventHostSynchronize(event, UINT64_MAX));
        CHECK(zeEventDestroy(event));
        CHECK(zeEventPoolDestroy(pool));
    }
}

static void *either(void *number) {
    int pair = (int)(uintptr_t)number / 2;
    if ((uintptr_t)number % 2)
        signal_each(pair);
    else
        destroy_each(pair);
    return NULL;
}

int main(void) {
    set_up();
    uint64_t live = gs_live_objects(0);
    for (int each = 0; each < PAIRS; each++)
        sem_init(&handed[each].ready, 0, 0);
    on_threads(2 * PAIRS, either);
    tear_down(live);
    return 0;
}
