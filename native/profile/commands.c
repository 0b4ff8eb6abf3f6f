/* Launches, copies and fills, and what the first launches of kernels count. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "metrics/instructions.h"
#include "objects/device_kind.h"
#include "runtime/launch.h"
#include "runtime/queue.h"

/* A launch with fewer groups is counted in whole; of others, an eighth of each of so many slices. */
enum { LEAST_GROUPS = 64, SLICES = 8 };

static gs_profile_piece piece(const void *bytes, size_t size) { return (gs_profile_piece){bytes, size}; }
static const gs_profile_piece NOTHING = {NULL, 0};

/* --- Kernels ----------------------------------------------------------------------------------------- */

static bool is_of_session(uint64_t number) { return number >> 32 == gs_profile_session; }

/* The number of a kernel in this profile. Who sees it first gives it one. */
static uint64_t number_of(gs_profile_head *head, gs_code *code) {
    uint64_t known = atomic_load(&code->profile_number);
    if (is_of_session(known))
        return known;
    uint64_t fresh = (uint64_t)gs_profile_session << 32 | (uint32_t)atomic_fetch_add(&head->kernels, 1);
    gs_profile_kernel described = {.kernel = fresh, .entry_point = (uint64_t)(uintptr_t)code->entry_point,
                                   .name_bytes = (uint32_t)strlen(code->name)};
    memcpy(described.group_size, code->group_size, sizeof described.group_size);
    gs_profile_add(GS_PROFILE_KERNEL, 0, piece(&described, sizeof described), piece(code->name, described.name_bytes + 1));
    for (int each = 0; each < GS_PROFILE_SIZES; each++)
        code->counted_sizes[each] = 0;
    return atomic_compare_exchange_strong(&code->profile_number, &known, fresh) ? fresh : known;
}

static bool can_count(const gs_kernel *kernel, const gs_code *code) {
    return kernel->module->device->kind == NULL && !code->is_counting && code->site_count == 0;
}

void gs_profile_prepare(gs_kernel *kernel, gs_code *code) {
    gs_code *counting;
    if (!gs_profile_wants_counts() || atomic_load(&code->was_asked_to_count) || !can_count(kernel, code))
        return;
    atomic_store(&code->was_asked_to_count, true);
    gs_error before;
    gs_error_save(&before);
    if (gs_kernel_prepare_counting(GS_FN_zeCommandListAppendLaunchKernel, kernel, &counting) == ZE_RESULT_SUCCESS &&
        counting != NULL && counting->block_count > 0 && counting->local_bytes == code->local_bytes)
        atomic_store(&code->counting, counting);
    gs_error_restore(&before);
}

/* --- Launches ---------------------------------------------------------------------------------------- */

/* Whether no launch with so many groups was counted; then it is as if this one had been. */
static bool is_new_size(gs_code *code, uint64_t groups) {
    for (int each = 0; each < GS_PROFILE_SIZES; each++) {
        uint64_t counted = 0;
        if (atomic_compare_exchange_strong(&code->counted_sizes[each], &counted, groups))
            return true;
        if (counted == groups)
            return false;
    }
    return false;
}

static void keep_pointers(uint64_t *pointers, const gs_launch *launch) {
    const gs_entry_point *of = launch->code->entry_point;
    uint32_t found = 0;
    for (uint32_t each = 0; each < of->argument_count && found < GS_PROFILE_POINTERS; each++)
        if (of->arguments[each].kind == GS_ARGUMENT_POINTER)
            memcpy(&pointers[found++], launch->block + of->arguments[each].offset, sizeof *pointers);
}

/* The bytes of all allocations that a launch is given. */
static uint64_t footprint_of(const gs_launch *launch) {
    uint64_t pointers[GS_PROFILE_POINTERS] = {0}, bases[GS_PROFILE_POINTERS] = {0}, sum = 0;
    keep_pointers(pointers, launch);
    for (int each = 0; each < GS_PROFILE_POINTERS && pointers[each] != 0; each++) {
        gs_allocation_facts facts;
        if (!gs_allocation_find(launch->module->context, (const void *)(uintptr_t)pointers[each], &facts))
            return 0;
        bool is_known = false;
        for (int other = 0; other < each; other++)
            is_known |= bases[other] == facts.base;
        bases[each] = facts.base;
        sum += is_known ? 0 : facts.size;
    }
    return sum;
}

void gs_profile_launch_begin(gs_profiled_launch *profiled, const gs_launch *launch, uint64_t groups) {
    gs_code *code = launch->code, *counting = atomic_load(&code->counting);
    *profiled = (gs_profiled_launch){.slices = 1};
    gs_profile_head *head = gs_profile_enter();
    if (head != NULL) {
        number_of(head, code);
        if (counting != NULL && gs_profile_wants_counts() && is_new_size(code, groups)) {
            profiled->counting = counting;
            profiled->footprint = footprint_of(launch);
            /* Groups that rely on each other may leave all of the work to the first ones. */
            if (groups >= LEAST_GROUPS && !launch->cooperative && !code->may_wait)
                profiled->slices = SLICES;
        }
        gs_profile_leave();
    }
    profiled->start = gs_clock(CLOCK_MONOTONIC);
}

static uint64_t groups_of(const gs_dispatch *dispatch) {
    return dispatch->group_counts[0] * dispatch->group_counts[1] * dispatch->group_counts[2];
}

static _Thread_local uint32_t queue_here;

void gs_profile_launch_end(const gs_profiled_launch *profiled, const gs_launch *launch, const gs_dispatch *dispatch,
                           uint64_t busy, uint32_t workers) {
    gs_profile_launch ended = {.start = profiled->start, .end = gs_clock(CLOCK_MONOTONIC), .busy = busy,
                               .plain = profiled->plain, .plain_groups = profiled->plain_groups,
                               .counted_groups = profiled->counted_groups, .workers = workers,
                               .footprint = profiled->footprint};
    for (int axis = 0; axis < 3; axis++)
        ended.groups[axis] = (uint32_t)dispatch->group_counts[axis];
    keep_pointers(ended.pointers, launch);
    gs_profile_head *head = gs_profile_enter();
    if (head == NULL)
        return;
    ended.kernel = number_of(head, launch->code);
    if (workers > head->workers)
        head->workers = workers;
    gs_profile_add(GS_PROFILE_LAUNCH, queue_here, piece(&ended, sizeof ended), NOTHING);
    gs_profile_leave();
}

void gs_profile_take_counts(gs_profiled_launch *profiled, const gs_launch *launch, gs_dispatch *dispatch, uint64_t groups) {
    const gs_code *counting = profiled->counting;
    const gs_profile_counts counted = {.kernel = launch->code->profile_number, .groups = groups,
                                       .all_groups = groups_of(dispatch), .blocks = counting->block_count,
                                       .lanes = counting->lanes};
    size_t bytes = counting->block_count * GS_BLOCK_COUNTERS * sizeof(uint64_t);
    profiled->counted_groups = groups;
    if (gs_profile_enter() != NULL) {
        gs_profile_add(GS_PROFILE_COUNTS, 0, piece(&counted, sizeof counted), piece(dispatch->counts, bytes));
        gs_profile_leave();
    }
    free(dispatch->counts);
    dispatch->counts = NULL;
}

/* --- Other commands ---------------------------------------------------------------------------------- */

void gs_profile_queue(const gs_queue *queue) { queue_here = (uint32_t)queue->id; }

void gs_profile_command(const gs_command *command, const gs_queue *queue, uint64_t start) {
    gs_profile_copy done = {.start = start, .end = gs_clock(CLOCK_MONOTONIC)};
    gs_profile_kind kind = GS_PROFILE_COPY;
    switch (command->operation) {
    case GS_COPY:
        done.bytes = command->copy.size;
        done.destination = (uint64_t)(uintptr_t)command->copy.destination;
        done.source = (uint64_t)(uintptr_t)command->copy.source;
        break;
    case GS_COPY_REGION:
        done.bytes = command->region.width * command->region.height * command->region.depth;
        done.destination = (uint64_t)(uintptr_t)command->region.destination;
        done.source = (uint64_t)(uintptr_t)command->region.source;
        break;
    case GS_FILL:
        kind = GS_PROFILE_FILL;
        done.bytes = command->fill.size;
        done.destination = (uint64_t)(uintptr_t)command->fill.destination;
        break;
    default:
        return;
    }
    if (gs_profile_enter() == NULL)
        return;
    gs_profile_add(kind, (uint32_t)queue->id, piece(&done, sizeof done), NOTHING);
    gs_profile_leave();
}

void gs_profile_compiled(uint64_t start, bool is_counting) {
    gs_profile_span span = {.start = start, .end = gs_clock(CLOCK_MONOTONIC), .subject = is_counting};
    if (gs_profile_enter() == NULL)
        return;
    gs_profile_add(GS_PROFILE_COMPILE, 0, piece(&span, sizeof span), NOTHING);
    gs_profile_leave();
}
