/* Eight host threads append ten thousand copies each, with events, across four queues; every byte is checked.
 *
 * A thread passes a block of bytes along a chain of buffers. Each copy goes to a queue chosen by chance, waits
 * for the event of the copy before and signals its own, so that the chain is right only if every wait is kept.
 * Two threads share each queue's list, with a lock of their own as the specification demands. */
#include "check.h"

enum { THREADS = 8, QUEUES = 4, COPIES = 10000 / SLOWER, RING = 64, BLOCK = 1000 };

static ze_command_list_handle_t lists[QUEUES];
static pthread_mutex_t locks[QUEUES];

static void append(uint32_t queue, uint8_t *to, const uint8_t *from, ze_event_handle_t signal,
                   ze_event_handle_t wait) {
    pthread_mutex_lock(&locks[queue]);
    CHECK(zeCommandListAppendMemoryCopy(lists[queue], to, from, BLOCK, signal, 1, &wait));
    pthread_mutex_unlock(&locks[queue]);
}

/* The host looks at a finished block, which must be the one that went in. */
static void verify(const uint8_t *block, uint64_t seed) {
    for (size_t each = 0; each < BLOCK; each++)
        REQUIRE(block[each] == (uint8_t)(seed * 31 + each * 7));
}

static void *work(void *number) {
    uint64_t state = (uintptr_t)number, seed = 0;
    ze_event_pool_handle_t pool = new_pool(RING, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    ze_event_handle_t events[RING];
    uint8_t *blocks = new_memory((size_t)RING * BLOCK);
    for (uint32_t each = 0; each < RING; each++)
        events[each] = new_event(pool, each);
    for (uint32_t copy = 0; copy < COPIES; copy++) {
        uint32_t from = copy % (RING - 1), to = from + 1;
        if (from == 0) { /* the chain begins anew: with other bytes, and no event signalled but the first */
            seed = next_random(&state);
            for (size_t each = 0; each < BLOCK; each++)
                blocks[each] = (uint8_t)(seed * 31 + each * 7);
            for (uint32_t each = 0; each < RING; each++)
                CHECK(zeEventHostReset(events[each]));
            CHECK(zeEventHostSignal(events[0]));
        }
        append((uint32_t)(next_random(&state) % QUEUES), blocks + (size_t)to * BLOCK, blocks + (size_t)from * BLOCK,
               events[to], events[from]);
        if (to == RING - 1 || copy + 1 == COPIES) {
            CHECK(zeEventHostSynchronize(events[to], UINT64_MAX));
            for (uint32_t each = 0; each <= to; each++)
                verify(blocks + (size_t)each * BLOCK, seed);
        }
    }
    for (uint32_t each = 0; each < RING; each++)
        CHECK(zeEventDestroy(events[each]));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeMemFree(on.context, blocks));
    return NULL;
}

int main(void) {
    set_up();
    uint64_t live = gs_live_objects(0);
    for (uint32_t each = 0; each < QUEUES; each++) {
        lists[each] = new_immediate(0);
        pthread_mutex_init(&locks[each], NULL);
    }
    on_threads(THREADS, work);
    for (uint32_t each = 0; each < QUEUES; each++) {
        CHECK(zeCommandListHostSynchronize(lists[each], UINT64_MAX));
        CHECK(zeCommandListDestroy(lists[each]));
    }
    tear_down(live);
    return 0;
}
