/* Graphs recorded, run and destroyed from many threads at once, each with forks; and one executable graph that all
 * threads append to lists of their own. */
#include "check.h"

enum { THREADS = 6, TURNS = 200 / SLOWER, RUNS = 5 };

static ze_graph_handle_t end_capture(ze_command_list_handle_t list) {
    ze_graph_handle_t graph;
    CHECK(zeCommandListEndGraphCaptureExt(list, NULL, &graph));
    return graph;
}

static ze_executable_graph_handle_t instantiate(ze_graph_handle_t graph) {
    ze_executable_graph_handle_t made;
    CHECK(zeGraphInstantiateExt(graph, NULL, &made));
    return made;
}

static void add_one(void *counter) { ++*(uint64_t *)counter; }

/* --- Each thread records its own ----------------------------------------------------------------------- */

/* Adds to a counter on two lists, first one, then the other, then the first again. */
static void record(ze_command_list_handle_t parent, ze_command_list_handle_t child, ze_event_handle_t fork,
                   ze_event_handle_t join, uint64_t *counter) {
    CHECK(zeCommandListAppendHostFunction(parent, add_one, counter, NULL, fork, 0, NULL));
    CHECK(zeCommandListAppendHostFunction(child, add_one, counter, NULL, join, 1, &fork));
    CHECK(zeCommandListAppendHostFunction(parent, add_one, counter, NULL, NULL, 1, &join));
}

static void use_graph(ze_graph_handle_t graph, ze_command_list_handle_t list, const uint64_t *counter) {
    ze_executable_graph_handle_t first = instantiate(graph), second = instantiate(graph);
    for (int run = 0; run < RUNS; run++) {
        CHECK(zeCommandListAppendGraphExt(list, first, NULL, NULL, 0, NULL));
        CHECK(zeCommandListAppendGraphExt(list, second, NULL, NULL, 0, NULL));
    }
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(*counter == 3 * 2 * RUNS);
    CHECK(zeExecutableGraphDestroyExt(second));
    CHECK(zeGraphDestroyExt(graph));
    CHECK(zeExecutableGraphDestroyExt(first));
}

static void *record_and_run(void *number) {
    ze_command_list_handle_t parent = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    ze_command_list_handle_t child = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    ze_event_pool_handle_t pool = new_pool(2, 0);
    for (int turn = 0; turn < TURNS; turn++) {
        bool plain = ((uintptr_t)number + (uintptr_t)turn) % 2 == 0;
        ze_event_handle_t fork = plain ? new_event(pool, 0) : new_counter_event(0);
        ze_event_handle_t join = plain ? new_event(pool, 1) : new_counter_event(0);
        uint64_t counter = 0;
        CHECK(zeCommandListBeginGraphCaptureExt(parent, NULL));
        record(parent, child, fork, join, &counter);
        REQUIRE(zeCommandListHostSynchronize(child, 0) == ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED);
        ze_graph_handle_t graph = end_capture(parent);
        CHECK(zeEventDestroy(fork));
        CHECK(zeEventDestroy(join));
        REQUIRE(counter == 0);
        use_graph(graph, parent, &counter);
    }
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeCommandListDestroy(child));
    CHECK(zeCommandListDestroy(parent));
    return NULL;
}

/* --- All threads run the same --------------------------------------------------------------------------- */

static struct {
    ze_executable_graph_handle_t executable;
    uint64_t counter; /* not atomic: runs come one after the other */
    ze_event_handle_t outside;
} shared;

static void *run_shared(void *number) {
    (void)number;
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    for (int turn = 0; turn < TURNS; turn++) {
        CHECK(zeCommandListAppendGraphExt(list, shared.executable, NULL, NULL, 0, NULL));
        if (turn % 16 == 0)
            CHECK(zeCommandListAppendWaitOnEvents(list, 1, &shared.outside));
    }
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    CHECK(zeCommandListDestroy(list));
    return NULL;
}

static void share_one(void) {
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    shared.outside =
        new_counter_event(ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL);
    CHECK(zeCommandListBeginGraphCaptureExt(list, NULL));
    CHECK(zeCommandListAppendHostFunction(list, add_one, &shared.counter, NULL, NULL, 0, NULL));
    CHECK(zeCommandListAppendSignalEvent(list, shared.outside));
    ze_graph_handle_t graph = end_capture(list);
    shared.executable = instantiate(graph);
    on_threads(THREADS, run_shared);
    REQUIRE(shared.counter == (uint64_t)THREADS * TURNS);
    CHECK(zeEventHostSynchronize(shared.outside, UINT64_MAX));
    CHECK(zeExecutableGraphDestroyExt(shared.executable));
    CHECK(zeGraphDestroyExt(graph));
    CHECK(zeEventDestroy(shared.outside));
    CHECK(zeCommandListDestroy(list));
}

/* --- One thread appends while another ends the capture ---------------------------------------------------- */

static ze_command_list_handle_t contested;
static uint64_t contested_word;

static void *append_or_capture(void *number) {
    for (int turn = 0; turn < TURNS; turn++) {
        if ((uintptr_t)number > 0) {
            CHECK(zeCommandListAppendMemoryFill(contested, &contested_word, &turn, 1, 8, NULL, 0, NULL));
            continue;
        }
        CHECK(zeCommandListBeginGraphCaptureExt(contested, NULL));
        CHECK(zeGraphDestroyExt(end_capture(contested)));
    }
    return NULL;
}

static void contest(void) {
    contested = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    on_threads(3, append_or_capture);
    CHECK(zeCommandListHostSynchronize(contested, UINT64_MAX));
    CHECK(zeCommandListDestroy(contested));
}

int main(void) {
    set_up();
    uint64_t live = gs_live_objects(0);
    on_threads(THREADS, record_and_run);
    share_one();
    contest();
    tear_down(live);
    return 0;
}
