/* Contexts lost by some threads while others go on, every kind of wait for what was lost, and the program's own
 * handler, which still gets the program's own faults. */
#include "check.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>

#include "memory/kernel_memory.h"
#include "objects/kernel.h"

/* AddressSanitizer takes a lock when a handler jumps away, and does not expect another signal meanwhile. */
#if defined(__SANITIZE_ADDRESS__)
enum { THREADS = 2, TURNS = 60 / SLOWER, GROUPS = 3000 };
#else
enum { THREADS = 4, TURNS = 60 / SLOWER, GROUPS = 3000 };
#endif

#define LOST ZE_RESULT_ERROR_DEVICE_LOST
#define FOREVER UINT64_MAX

/* A sanitizer that sees this read would report it before anything else happens. */
#if defined(__SANITIZE_ADDRESS__)
#define UNCHECKED __attribute__((no_sanitize("address")))
#elif defined(__SANITIZE_THREAD__)
#define UNCHECKED __attribute__((no_sanitize("thread")))
#else
#define UNCHECKED
#endif

/* --- Kernels: (uint64_t *counter) ---------------------------------------------------------------------- */

static _Atomic uint64_t *counter_of(const gs_dispatch *dispatch) {
    return *(_Atomic uint64_t *const *)dispatch->arguments;
}

static void count(const gs_dispatch *dispatch, uint64_t first, uint64_t groups, char *local) {
    (void)first, (void)local;
    atomic_fetch_add(counter_of(dispatch), groups);
}

UNCHECKED static void touch(uintptr_t address) { *(volatile int *)address = 1; }

/* The group in the middle writes to where nothing is. */
static void fail(const gs_dispatch *dispatch, uint64_t first, uint64_t groups, char *local) {
    for (uint64_t group = first; group < first + groups; group++) {
        gs_header_of(local)->group = group;
        if (group == dispatch->group_counts[0] / 2)
            touch(16);
    }
}

/* Waits for something that never comes. */
static void wait(const gs_dispatch *dispatch, uint64_t first, uint64_t groups, char *local) {
    (void)first, (void)groups, (void)local;
    atomic_fetch_add(counter_of(dispatch), 1);
    while (atomic_load(counter_of(dispatch)) != UINT64_MAX)
        sched_yield();
}

/* --- A context with all of them ------------------------------------------------------------------------- */

typedef struct place {
    ze_context_handle_t context;
    gs_module *module;
    ze_command_list_handle_t immediate;
    uint64_t *counter;
} place;

static ze_kernel_handle_t new_kernel(const place *at, const char *name, gs_run_groups run, bool has_loops) {
    static const gs_argument argument = {GS_ARGUMENT_POINTER, 8, 0};
    gs_entry_point *entry_point = gs_entry_point_add(
        at->module, &(gs_entry_point_description){.name = name, .arguments = &argument, .argument_count = 1,
                                                  .block_bytes = 8, .default_size = {4, 1, 1}, .most_items = 1024,
                                                  .most_local_bytes = 65536});
    REQUIRE(entry_point != NULL);
    REQUIRE(gs_code_add(at->module, entry_point,
                        &(gs_code_description){.run = run, .has_loops = has_loops, .may_wait = has_loops,
                                               .group_size = {4, 1, 1}}));
    ze_kernel_handle_t made = gs_kernel_new(at->module, entry_point);
    REQUIRE(made != NULL);
    CHECK(zeKernelSetArgumentValue(made, 0, 8, &at->counter));
    return made;
}

static ze_command_list_handle_t new_immediate_in(ze_context_handle_t context) {
    ze_command_list_handle_t made;
    const ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    CHECK(zeCommandListCreateImmediate(context, on.device, &desc, &made));
    return made;
}

static place new_place(void) {
    place at = {.context = new_context()};
    at.module = gs_module_new((gs_context *)at.context, (gs_device *)on.device, 1);
    at.immediate = new_immediate_in(at.context);
    const ze_host_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    CHECK(zeMemAllocHost(at.context, &desc, 64, 0, (void **)&at.counter));
    *at.counter = 0;
    return at;
}

static void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t groups, ze_event_handle_t signal) {
    ze_result_t result = zeCommandListAppendLaunchKernel(list, kernel, &(ze_group_count_t){groups, 1, 1}, signal, 0, NULL);
    REQUIRE(result == ZE_RESULT_SUCCESS || result == LOST);
}

/* --- Turns ---------------------------------------------------------------------------------------------- */

static void lose(uint32_t groups) {
    place at = new_place();
    ze_event_pool_handle_t pool;
    ze_event_handle_t event;
    const ze_event_pool_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1};
    CHECK(zeEventPoolCreate(at.context, &desc, 0, NULL, &pool));
    event = new_event(pool, 0);
    ze_command_list_handle_t busy = new_immediate_in(at.context), blocked = new_immediate_in(at.context);
    ze_kernel_handle_t failing = new_kernel(&at, "fail", fail, false);
    launch(busy, new_kernel(&at, "wait", wait, true), 2, NULL);
    CHECK(zeCommandListAppendBarrier(blocked, NULL, 1, &event));
    launch(at.immediate, failing, groups, event);
    REQUIRE(zeEventHostSynchronize(event, FOREVER) == LOST);
    REQUIRE(strstr(last_error(), "kernel 'fail' in group (") != NULL);
    REQUIRE(strstr(last_error(), "0x10") != NULL);
    REQUIRE(zeCommandListHostSynchronize(at.immediate, FOREVER) == LOST);
    REQUIRE(zeCommandListHostSynchronize(busy, FOREVER) == LOST);
    REQUIRE(zeCommandListHostSynchronize(blocked, FOREVER) == LOST);
    REQUIRE(zeContextGetStatus(at.context) == LOST);
    CHECK(zeContextDestroy(at.context));
}

static void go_on(uint32_t groups) {
    place at = new_place();
    ze_kernel_handle_t kernel = new_kernel(&at, "count", count, false);
    for (int turn = 0; turn < 10; turn++)
        launch(at.immediate, kernel, groups, NULL);
    CHECK(zeCommandListHostSynchronize(at.immediate, FOREVER));
    REQUIRE(*at.counter == 10 * (uint64_t)groups);
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeCommandListDestroy(at.immediate));
    CHECK(zeMemFree(at.context, at.counter));
    REQUIRE(gs_object_end(at.module));
    CHECK(zeContextDestroy(at.context));
}

static void *take_turns(void *number) {
    for (int turn = 0; turn < TURNS; turn++)
        ((uintptr_t)number % 2 == 0 ? lose : go_on)(turn % 2 == 0 ? 1 : GROUPS);
    return NULL;
}

/* --- The program's own handler ---------------------------------------------------------------------------- */

static sigjmp_buf own_place;
static _Atomic int own_faults;

static void on_own_fault(int signal) {
    (void)signal;
    own_faults++;
    siglongjmp(own_place, 1);
}

static void fault_oneself(void) {
    if (sigsetjmp(own_place, 1) == 0)
        touch(32);
}

int main(void) {
    signal(SIGSEGV, on_own_fault);
    set_up();
    uint64_t live = gs_live_objects(0);
    fault_oneself();
    on_threads(THREADS, take_turns);
    REQUIRE(own_faults == 1);
    fault_oneself();
    REQUIRE(own_faults == 2);
    while (gs_module_reap() != 0)
        continue;
    tear_down(live);
    return 0;
}
