/* A hundred thousand create and destroy cycles of each kind of object, without growth of memory. */
#include <malloc.h>
#include <sys/types.h>
#include <unistd.h>

#include "check.h"

enum { CYCLES = 100000 / (SLOWER * SLOWER), WARM_UP = 5000 / SLOWER };

static ze_command_queue_handle_t queue;
static ze_event_pool_handle_t pool;

static void context(void) { CHECK(zeContextDestroy(new_context())); }
static void host_memory(void) { CHECK(zeMemFree(on.context, new_memory(5000))); }
static void device_memory(void) { CHECK(zeMemFree(on.context, new_device_memory(100000))); }
static void command_queue(void) { CHECK(zeCommandQueueDestroy(new_queue())); }
static void immediate_list(void) { CHECK(zeCommandListDestroy(new_immediate(0))); }
static void in_order_list(void) { CHECK(zeCommandListDestroy(new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER))); }
static void event_pool(void) { CHECK(zeEventPoolDestroy(new_pool(4, 0))); }
static void shared_pool(void) { CHECK(zeEventPoolDestroy(new_pool(4, ZE_EVENT_POOL_FLAG_IPC))); }
static void event(void) { CHECK(zeEventDestroy(new_event(pool, 0))); }
static void counter_event(void) { CHECK(zeEventDestroy(new_counter_event(0))); }
static void fence(void) { CHECK(zeFenceDestroy(new_fence(queue))); }

/* A list with something in it, which ran. */
static void regular_list(void) {
    ze_command_list_handle_t list = new_list(ZE_COMMAND_LIST_FLAG_IN_ORDER);
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK(zeCommandListDestroy(list));
}

/* An immediate list that ran on an engine, with a pattern and an event of its own. */
static void used_list(void) {
    static const char pattern[100] = "a pattern that is too long to be kept in the command itself";
    static char target[200];
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    ze_event_handle_t done = new_counter_event(0);
    CHECK(zeCommandListAppendMemoryFill(list, target, pattern, sizeof pattern, sizeof target, done, 0, NULL));
    CHECK(zeEventHostSynchronize(done, UINT64_MAX));
    CHECK(zeEventDestroy(done));
    CHECK(zeCommandListDestroy(list));
}

static long resident_kilobytes(void) {
    long total, resident;
    malloc_trim(0);
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL && fscanf(file, "%ld %ld", &total, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void cycle(const char *name, void (*once)(void)) {
    for (int each = 0; each < WARM_UP; each++)
        once();
    long before = resident_kilobytes();
    uint64_t live = gs_live_objects(0);
    for (int each = 0; each < CYCLES; each++)
        once();
    long growth = resident_kilobytes() - before;
    REQUIRE(gs_live_objects(0) == live);
    if (growth > 1024 * (SLOWER == 1 ? 1 : 64)) { /* sanitizers keep freed memory for a while */
        fprintf(stderr, "%s: %ld KiB more after %d cycles\n", name, growth, (int)CYCLES);
        _Exit(1);
    }
}

int main(void) {
    set_up();
    queue = new_queue();
    pool = new_pool(1, 0);
#define CYCLE(kind) cycle(#kind, kind)
    CYCLE(context);
    CYCLE(host_memory);
    CYCLE(device_memory);
    CYCLE(command_queue);
    CYCLE(regular_list);
    CYCLE(immediate_list);
    CYCLE(in_order_list);
    CYCLE(used_list);
    CYCLE(event_pool);
    CYCLE(shared_pool);
    CYCLE(event);
    CYCLE(counter_event);
    CYCLE(fence);
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeContextDestroy(on.context));
    return 0;
}
