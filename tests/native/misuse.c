/* Objects are destroyed while other threads still use them. That is a mistake of the program, and the answer
 * to it is an error or a result, but never a crash. */
#include "check.h"

enum { THREADS = 4, TURNS = 4000 / SLOWER, OBJECTS = 8 };

static ze_event_handle_t _Atomic events[OBJECTS];
static ze_command_queue_handle_t _Atomic queues[OBJECTS];
static ze_command_list_handle_t _Atomic lists[OBJECTS];
static ze_fence_handle_t _Atomic fences[OBJECTS];
static void *_Atomic blocks[OBJECTS];
static _Atomic bool over;

/* Calls whatever can be called with handles that may be gone at any moment. Results do not matter. */
static void *use(void *number) {
    uint64_t state = (uintptr_t)number;
    uint32_t value;
    void *base;
    size_t size;
    while (!over) {
        uint32_t which = (uint32_t)(next_random(&state) % OBJECTS);
        ze_event_handle_t event = events[which];
        zeEventQueryStatus(event);
        zeEventHostSynchronize(event, 10);
        zeEventGetSignalScope(event, &value);
        zeCommandQueueSynchronize(queues[which], 0);
        zeCommandQueueGetOrdinal(queues[which], &value);
        zeFenceQueryStatus(fences[which]);
        zeCommandListHostSynchronize(lists[which], 0);
        zeCommandListGetOrdinal(lists[which], &value);
        zeCommandListAppendBarrier(lists[which], NULL, 0, NULL);
        zeMemGetAddressRange(on.context, blocks[which], &base, &size);
        last_error();
    }
    return NULL;
}

static void *replace(void *unused) {
    (void)unused;
    for (int turn = 0; turn < TURNS; turn++) {
        int which = turn % OBJECTS;
        ze_event_pool_handle_t pool = new_pool(1, 0);
        ze_event_handle_t event = atomic_exchange(&events[which], new_event(pool, 0));
        CHECK(zeEventPoolDestroy(pool)); /* lives until its event goes */
        zeEventDestroy(event);
        ze_command_queue_handle_t queue = new_queue();
        zeFenceDestroy(atomic_exchange(&fences[which], new_fence(queue)));
        zeCommandQueueDestroy(atomic_exchange(&queues[which], queue));
        ze_command_list_handle_t list = atomic_exchange(&lists[which], new_immediate(0));
        zeCommandListDestroy(list);
        void *block = atomic_exchange(&blocks[which], new_memory(100));
        if (block != NULL)
            CHECK(zeMemFree(on.context, block));
    }
    over = true;
    return NULL;
}

static void *either(void *number) { return (uintptr_t)number == 0 ? replace(NULL) : use(number); }

int main(void) {
#if defined(__SANITIZE_THREAD__)
    return 0; /* the program's own races are the point here */
#endif
    set_up();
    on_threads(THREADS, either);
    return 0; /* what is left goes with the process */
}
