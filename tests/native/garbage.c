/* Handles of random bits, near misses of live ones, and stale ones, given to functions by several threads. */
#include "check.h"

enum { THREADS = 4, TURNS = 60000 / SLOWER };

static ze_event_handle_t event;
static ze_event_pool_handle_t pool;
static ze_command_list_handle_t list;

static void *bad_handle(uint64_t *state) {
    uint64_t bits = next_random(state);
    switch (bits % 6) {
    case 0:
        return (void *)(uintptr_t)next_random(state);
    case 1:
        return (char *)event + 1 + bits / 6 % 511;
    case 2:
        return (char *)list + 8 * (1 + bits / 6 % 63);
    case 3:
        return (void *)(uintptr_t)(bits / 6 % 65536);
    case 4:
        return (char *)list + 512 * (1000 + bits / 6 % 2000000);
    default:
        return (void *)~(uintptr_t)(bits / 6 % 4096);
    }
}

static void *guess(void *number) {
    uint64_t state = 99 + (uintptr_t)number;
    for (int turn = 0; turn < TURNS; turn++) {
        void *handle = bad_handle(&state);
        ze_event_handle_t wait = handle;
        REQUIRE(zeEventQueryStatus(handle) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        REQUIRE(zeEventDestroy(handle) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        REQUIRE(zeContextDestroy(handle) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        REQUIRE(zeCommandListHostSynchronize(handle, 0) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        REQUIRE(zeFenceReset(handle) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        ze_result_t result = zeCommandListAppendBarrier(list, NULL, 1, &wait);
        REQUIRE(result == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT ||
                result == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        REQUIRE(last_error()[0] != 0);
    }
    return NULL;
}

int main(void) {
    set_up();
    uint64_t live = gs_live_objects(0);
    pool = new_pool(1, 0);
    event = new_event(pool, 0);
    list = new_immediate(0);
    on_threads(THREADS, guess);
    CHECK(zeCommandListDestroy(list));
    CHECK(zeEventDestroy(event));
    CHECK(zeEventPoolDestroy(pool));
    tear_down(live);
    return 0;
}
