/* Launches of every kind from many threads at once, of kernels that go before their launches have ended. */
#include "check.h"

#include <sched.h>

#include "memory/kernel_memory.h"
#include "objects/kernel.h"

enum { THREADS = 8, TURNS = 2000 / SLOWER, SIZES = 3 };

static const uint32_t GROUP_SIZES[SIZES] = {1, 16, 64};

/* --- Kernels: (uint64_t *counter, uint64_t step, local memory) ---------------------------------------- */

static _Atomic uint64_t *counter_of(const gs_dispatch *dispatch) {
    return *(_Atomic uint64_t *const *)dispatch->arguments;
}

static uint64_t word_of(const gs_dispatch *dispatch, int index) {
    return ((const uint64_t *)dispatch->arguments)[index];
}

static uint64_t items_of(const gs_dispatch *dispatch) {
    return (uint64_t)dispatch->group_size[0] * dispatch->group_size[1] * dispatch->group_size[2];
}

/* Adds its step for each work-item, after using all memory that it was promised. */
static void count(const gs_dispatch *dispatch, uint64_t first, uint64_t groups, char *local) {
    (void)first;
    REQUIRE((uintptr_t)local % GS_LOCAL_ALIGNMENT == 0);
    REQUIRE(word_of(dispatch, 2) == 128 && dispatch->local_bytes >= 256);
    memset(local, 1, dispatch->local_bytes);
    memset(gs_header_of(local)->private, 1, 1024);
    memset(gs_header_of(local)->saved, 1, 1000);
    for (uint64_t group = 0; group < groups; group++)
        atomic_fetch_add(counter_of(dispatch), word_of(dispatch, 1) * items_of(dispatch));
}

/* Every group waits for all others. */
static void meet(const gs_dispatch *dispatch, uint64_t first, uint64_t groups, char *local) {
    (void)first;
    (void)local;
    for (uint64_t group = 0; group < groups; group++) {
        atomic_fetch_add(counter_of(dispatch), 1);
        while (atomic_load(counter_of(dispatch)) < dispatch->group_counts[0])
            sched_yield();
    }
}

/* --- A module of the two ------------------------------------------------------------------------------- */

static const gs_argument ARGUMENTS[] = {
    {GS_ARGUMENT_POINTER, 8, 0}, {GS_ARGUMENT_VALUE, 8, 8}, {GS_ARGUMENT_LOCAL, 8, 16}};

static gs_entry_point *add_kernel(gs_module *module, gs_run_groups run, bool has_loops) {
    gs_entry_point *made = gs_entry_point_add(
        module, &(gs_entry_point_description){.arguments = ARGUMENTS, .argument_count = 3, .block_bytes = 24,
                                              .default_size = {1, 1, 1}, .most_items = 1024,
                                              .most_local_bytes = 65536});
    REQUIRE(made != NULL);
    for (int each = 0; each < SIZES; each++)
        REQUIRE(gs_code_add(module, made, &(gs_code_description){.run = run, .local_bytes = 100, .private_bytes = 1024,
                                                                 .saved_bytes = 1000,
                                                                 .has_loops = has_loops, .may_wait = has_loops,
                                                                 .group_size = {GROUP_SIZES[each], 1, 1}}));
    return made;
}

static ze_kernel_handle_t new_kernel(gs_module *module, gs_entry_point *from, void *counter, uint64_t step) {
    ze_kernel_handle_t made = gs_kernel_new(module, from);
    REQUIRE(made != NULL);
    CHECK(zeKernelSetArgumentValue(made, 0, 8, &counter));
    CHECK(zeKernelSetArgumentValue(made, 1, 8, &step));
    CHECK(zeKernelSetArgumentValue(made, 2, 100, NULL));
    return made;
}

/* --- Turns --------------------------------------------------------------------------------------------- */

typedef struct place {
    ze_command_list_handle_t immediate, list;
    ze_command_queue_handle_t queue;
    ze_group_count_t *counts;
    uint32_t *number;
    uint64_t expected;
    uint64_t state;
} place;

/* Appends one launch in some way to the immediate list; returns how many groups it has. */
static uint64_t append_somehow(place *here, ze_kernel_handle_t kernel) {
    ze_group_count_t groups = {1 + next_random(&here->state) % 300, 1 + next_random(&here->state) % 2, 1};
    uint64_t total = (uint64_t)groups.groupCountX * groups.groupCountY;
    switch (next_random(&here->state) % 4) {
    case 0: /* the counts must not change under the launch */
        CHECK(zeCommandListHostSynchronize(here->immediate, UINT64_MAX));
        *here->counts = groups;
        CHECK(zeCommandListAppendLaunchKernelIndirect(here->immediate, kernel, here->counts, NULL, 0, NULL));
        return total;
    case 1:
        CHECK(zeCommandListHostSynchronize(here->immediate, UINT64_MAX));
        *here->counts = groups;
        *here->number = 1;
        CHECK(zeCommandListAppendLaunchMultipleKernelsIndirect(here->immediate, 1, &kernel, here->number, here->counts,
                                                               NULL, 0, NULL));
        return total;
    default:
        CHECK(zeCommandListAppendLaunchKernel(here->immediate, kernel, &groups, NULL, 0, NULL));
        return total;
    }
}

/* A kernel with each group size, gone as soon as it was launched; the step is captured by then. */
static void count_turn(place *here, gs_module *module, gs_entry_point *from, void *counter) {
    ze_kernel_handle_t kernel = new_kernel(module, from, counter, 1);
    uint64_t step = 1;
    for (int each = 0; each < SIZES; each++) {
        step = 1 + next_random(&here->state) % 9;
        CHECK(zeKernelSetGroupSize(kernel, GROUP_SIZES[each], 1, 1));
        CHECK(zeKernelSetArgumentValue(kernel, 1, 8, &step));
        here->expected += append_somehow(here, kernel) * GROUP_SIZES[each] * step;
    }
    CHECK(zeCommandListReset(here->list));
    CHECK(zeCommandListAppendLaunchKernel(here->list, kernel, &(ze_group_count_t){5, 5, 5}, NULL, 0, NULL));
    here->expected += 5 * 5 * 5 * GROUP_SIZES[SIZES - 1] * step;
    CHECK(zeKernelDestroy(kernel));
}

static void meet_turn(gs_module *module, gs_entry_point *from, ze_command_list_handle_t list) {
    uint64_t *counter = new_memory(sizeof *counter);
    *counter = 0;
    uint32_t most;
    ze_kernel_handle_t kernel = new_kernel(module, from, counter, 0);
    CHECK(zeKernelSuggestMaxCooperativeGroupCount(kernel, &most));
    CHECK(zeCommandListAppendLaunchCooperativeKernel(list, kernel, &(ze_group_count_t){most, 1, 1}, NULL, 0, NULL));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(*counter == most);
    CHECK(zeMemFree(on.context, counter));
}

static void *launch_all(void *number) {
    _Atomic uint64_t *counter = new_memory(sizeof *counter);
    *counter = 0;
    place here = {.immediate = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER), .list = new_list(0),
                  .queue = new_queue(), .counts = new_memory(sizeof(ze_group_count_t)),
                  .number = new_memory(sizeof(uint32_t)), .state = (uintptr_t)number};
    for (int turn = 0; turn < TURNS; turn++) {
        gs_module *module = gs_module_new((gs_context *)on.context, (gs_device *)on.device, 1);
        gs_entry_point *quick = add_kernel(module, count, false), *slow = add_kernel(module, count, true);
        count_turn(&here, module, turn % 2 ? quick : slow, counter);
        if (turn % 16 == 0)
            meet_turn(module, add_kernel(module, meet, true), here.immediate);
        REQUIRE(gs_object_end(module));
        CHECK(zeCommandListClose(here.list));
        CHECK(zeCommandQueueExecuteCommandLists(here.queue, 1, &here.list, NULL));
        CHECK(zeCommandListHostSynchronize(here.immediate, UINT64_MAX));
        CHECK(zeCommandQueueSynchronize(here.queue, UINT64_MAX));
    }
    REQUIRE(*counter == here.expected);
    CHECK(zeMemFree(on.context, (void *)counter));
    CHECK(zeMemFree(on.context, here.counts));
    CHECK(zeMemFree(on.context, here.number));
    CHECK(zeCommandListDestroy(here.immediate));
    CHECK(zeCommandListDestroy(here.list));
    CHECK(zeCommandQueueDestroy(here.queue));
    return NULL;
}

/* --- Kernels that another thread destroys while they are launched through an array ------------------------- */

enum { AT_ONCE = 64 };

static gs_module *shared_module;
static gs_entry_point *shared_entry;
static _Atomic(ze_kernel_handle_t) passing; /* lives, or has lived a moment ago */
static _Atomic bool is_over;

static void make_and_destroy(void) {
    uint64_t *counter = new_memory(sizeof *counter);
    for (int turn = 0; turn < 4 * TURNS; turn++) {
        ze_kernel_handle_t kernel = new_kernel(shared_module, shared_entry, counter, 1);
        passing = kernel;
        sched_yield();
        CHECK(zeKernelDestroy(kernel));
    }
    is_over = true;
    CHECK(zeMemFree(on.context, counter));
}

static void launch_passing(void) {
    ze_command_list_handle_t list = new_list(0);
    uint32_t *number = new_memory(sizeof *number);
    ze_group_count_t *counts = new_memory(AT_ONCE * sizeof *counts);
    ze_kernel_handle_t kernels[AT_ONCE];
    while (!is_over) {
        for (int each = 0; each < AT_ONCE; each++)
            kernels[each] = passing;
        ze_result_t result =
            zeCommandListAppendLaunchMultipleKernelsIndirect(list, AT_ONCE, kernels, number, counts, NULL, 0, NULL);
        REQUIRE(result == ZE_RESULT_SUCCESS || result == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        CHECK(zeCommandListReset(list)); /* nothing is run */
    }
    CHECK(zeCommandListDestroy(list));
    CHECK(zeMemFree(on.context, number));
    CHECK(zeMemFree(on.context, counts));
}

static void *pass_or_launch(void *number) {
    if (number == NULL)
        make_and_destroy();
    else
        launch_passing();
    return NULL;
}

static void launch_what_goes(void) {
    shared_module = gs_module_new((gs_context *)on.context, (gs_device *)on.device, 1);
    shared_entry = add_kernel(shared_module, count, false);
    on_threads(2, pass_or_launch); /* a kernel is for one thread at a time */
    REQUIRE(gs_object_end(shared_module));
}

int main(void) {
    set_up();
    uint64_t live = gs_live_objects(0);
    on_threads(THREADS, launch_all);
    launch_what_goes();
    uint64_t buried = 0;
    while (gs_module_reap() != 0)
        buried++;
    REQUIRE(buried == (uint64_t)THREADS * TURNS + 1);
    tear_down(live);
    return 0;
}
