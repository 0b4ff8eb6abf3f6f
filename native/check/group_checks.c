/* Groups of checked launches: when they begin, where their work-items wait, and what is reported. */
#include "check/group_checks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/abi.h"
#include "check/checks.h"
#include "check/order/footprint.h"
#include "check/order/order.h"
#include "memory/kernel_memory.h"
#include "threads/lock.h"

_Thread_local gs_group_state *gs_group_here;
bool gs_reports_same_values;

/* The Python half says what the knob says. */
GS_EXPORT void gs_report_same_values(bool enable) { gs_reports_same_values = enable; }

/* --- Launches ---------------------------------------------------------------------------------------- */

GS_STATIC_LOCK(numbering, GS_SHORT_LOCK)
static uint32_t next_run = 1, running;
static const uint32_t MOST_RUNS = UINT32_MAX / 2;

/* When numbers run out, all that is known is forgotten, as soon as no launch needs it. A launch of more groups than
 * there are numbers takes some of them for one. */
static uint32_t number_groups(uint32_t count) {
    gs_lock(&numbering);
    if (running++ == 0) {
        gs_forget_synchronisation();
        if (next_run > MOST_RUNS) {
            gs_shadow_forget();
            next_run = 1;
        }
    }
    uint32_t first = next_run;
    next_run += count;
    if (next_run < first || next_run == 0)
        next_run = UINT32_MAX;
    gs_unlock(&numbering);
    return first;
}

/* --- Which arguments are watched --------------------------------------------------------------------- */

static const uint64_t OTHERS = UINT64_C(1) << 63; /* pointers that come from no argument */
static const uint64_t EVERYTHING = UINT64_MAX;

static bool overlap(gs_bounds one, gs_bounds other) { return one.lower < other.upper && other.lower < one.upper; }

/* The work-items of a launch along some axes have numbers of their own, if these have 32 bits. */
static bool is_along(const gs_dispatch *of, uint64_t axes) {
    for (uint64_t axis = 0; axis < 3; axis++) {
        uint64_t most = axis < axes ? INT32_MAX : 1;
        if (of->group_counts[axis] > most / of->group_size[axis])
            return false;
    }
    return true;
}

/* Along one axis; images along as many as they have. */
static bool is_at_numbers(const gs_dispatch *of, const gs_shared_accesses *accesses, uint64_t arguments) {
    return is_along(of, accesses->texels & arguments ? accesses->texel_axes : 1);
}

/* The same for a launch along two axes, in rows whose length an argument says. */
static bool is_in_rows(const gs_dispatch *of, const gs_code *code) {
    const gs_argument *argument = &code->entry_point->arguments[code->accesses.row_argument];
    uint64_t end[2] = {0}, length = 0;
    if (of->group_counts[2] * of->group_size[2] != 1 || argument->size > sizeof length)
        return false;
    memcpy(&length, of->arguments + argument->offset, argument->size);
    for (int axis = 0; axis < 2; axis++) {
        if (of->global_offset[axis] > INT32_MAX || of->group_counts[axis] > INT32_MAX)
            return false;
        end[axis] = of->global_offset[axis] + of->group_counts[axis] * of->group_size[axis];
    }
    return end[0] <= length && length <= INT32_MAX && end[1] <= INT32_MAX / length;
}

/* There is no race in memory that nothing writes to, nor where each work-item uses only what is at its own number. */
static uint64_t watched_arguments(const gs_dispatch *dispatch, const gs_code *code) {
    const gs_shared_accesses *of = &code->accesses;
    uint64_t used = of->read | of->written, watched = OTHERS;
    if (dispatch->bounds == NULL || of->written & OTHERS)
        return EVERYTHING;
    for (uint32_t each = 0; each < code->entry_point->argument_count && each < 63; each++) {
        uint64_t same = 0;
        for (uint32_t other = 0; other < code->entry_point->argument_count && other < 63; other++)
            if (used >> other & 1 && overlap(dispatch->bounds[each], dispatch->bounds[other]))
                same |= UINT64_C(1) << other;
        bool is_at_number = of->rows & same ? is_in_rows(dispatch, code) : is_at_numbers(dispatch, of, same);
        bool is_own = is_at_number && same == UINT64_C(1) << each && !(of->shared & same) && !(used & OTHERS);
        if (of->written & same && !is_own)
            watched |= UINT64_C(1) << each;
    }
    return watched;
}

/* Where the groups lie of which a large launch has a footprint. A launch that releases or acquires has one of all or none: it
 * says what the launch comes before. */
enum { FOOTPRINT_PLACES = 16 };

/* For a launch that gets no memory. */
static void ignore(void) {}
static const gs_group_checks unchecked = {
    .begin_group = (const void *)ignore,
    .arrive = (const void *)ignore,
    .pass_barrier = (const void *)ignore,
    .subgroup_barrier = (const void *)ignore,
    .fence = (const void *)ignore,
    .access = (const void *)ignore,
    .begin_copy = (const void *)ignore,
    .copy = (const void *)ignore,
    .wait = (const void *)ignore,
    .together = (const void *)ignore,
};

const gs_group_checks *gs_group_checks_begin(const gs_dispatch *dispatch, const gs_code *code) {
    const uint64_t *counts = dispatch->group_counts;
    uint64_t groups = counts[0] * counts[1] * counts[2];
    uint32_t count = groups < MOST_RUNS / 2 ? (uint32_t)groups : MOST_RUNS / 2;
    gs_group_checks *checks = malloc(sizeof *checks);
    if (checks == NULL || dispatch->reports == NULL) {
        free(checks);
        return &unchecked;
    }
    uint64_t watched = watched_arguments(dispatch, code);
    const uint32_t *size = dispatch->group_size;
    uint64_t of_group = (uint64_t)size[0] * size[1] * size[2];
    uint64_t footprint_groups = gs_order_footprint_items(groups * of_group) / of_group;
    bool has_footprint = gs_is_checked(GS_CHECK_RACES) && (footprint_groups == groups || !code->accesses.synchronises);
    gs_footprint *footprint = has_footprint ? gs_footprint_new() : NULL;
    *checks = (gs_group_checks){
        .begin_group = (const void *)gs_group_begin,
        .arrive = (const void *)gs_barrier_arrive,
        .pass_barrier = (const void *)gs_barrier_pass,
        .subgroup_barrier = (const void *)gs_subgroup_barrier,
        .fence = (const void *)gs_fence,
        .access = (const void *)gs_race_access,
        .begin_copy = (const void *)gs_copy_begin,
        .copy = (const void *)gs_race_copy,
        .wait = (const void *)gs_copy_wait,
        .together = (const void *)gs_group_together,
        .first_run = number_groups(count),
        .run_count = count,
        .watched = watched,
        .told = footprint != NULL ? EVERYTHING : watched,
        .footprint = footprint,
        .footprint_step = footprint_groups < groups ? groups / FOOTPRINT_PLACES : groups,
        .footprint_groups = footprint_groups < groups ? footprint_groups / FOOTPRINT_PLACES + 1 : groups,
    };
    return checks;
}

void gs_group_checks_run(gs_run_groups code, const gs_dispatch *dispatch, uint64_t first, uint64_t count, char *local) {
    const gs_group_checks *all = dispatch->group_checks;
    if (all == NULL || all->footprint == NULL || all->footprint_groups >= all->footprint_step) {
        code(dispatch, first, count, local);
        return;
    }
    gs_group_checks few = *all;
    few.told = few.watched;
    few.footprint = NULL;
    gs_dispatch without_footprint = *dispatch;
    without_footprint.group_checks = &few;
    for (uint64_t end = first + count, next; first < end; first = next) {
        uint64_t place = first % all->footprint_step, behind = place < all->footprint_groups ? all->footprint_groups : all->footprint_step;
        next = first + behind - place < end ? first + behind - place : end;
        code(place < all->footprint_groups ? dispatch : &without_footprint, first, next - first, local);
    }
}

void gs_group_checks_end(const gs_group_checks *checks) {
    if (checks == &unchecked)
        return;
    gs_lock(&numbering);
    running--;
    gs_unlock(&numbering);
    free((void *)checks);
}

/* --- Groups ------------------------------------------------------------------------------------------ */

static pthread_key_t at_thread_end;

static void release(void *state) {
    gs_local_shadow_release(&((gs_group_state *)state)->shadow);
    munmap(state, sizeof(gs_group_state));
}

__attribute__((constructor)) static void prepare(void) { pthread_key_create(&at_thread_end, release); }

static gs_group_state *make_state(void) {
    void *memory = mmap(NULL, sizeof(gs_group_state), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    pthread_setspecific(at_thread_end, memory);
    return memory;
}

void gs_group_begin(const gs_dispatch *dispatch, uint64_t group, uint64_t shape, const char *local) {
    if (gs_group_here == NULL && (gs_group_here = make_state()) == NULL)
        return;
    gs_group_state *here = gs_group_here;
    const gs_group_checks *checks = dispatch->group_checks;
    here->dispatch = dispatch;
    here->group = group;
    here->first_run = checks->first_run;
    here->run_count = checks->run_count;
    here->run = checks->first_run + (uint32_t)(group % checks->run_count);
    here->items = (uint32_t)shape;
    here->subgroup_size = (uint32_t)(shape >> 32);
    here->tick = here->since[GS_LOCAL_SPACE] = here->since[GS_GLOBAL_SPACE] = here->since[GS_IMAGE_SPACE] = 1;
    here->has_subgroup_barriers = here->has_acquired = false;
    memset(here->has_fenced, 0, sizeof here->has_fenced);
    memset(here->fenced, 0, sizeof here->fenced);
    here->acquired = (gs_acquired){0};
    here->pending_fences = 0;
    here->copies_under_way = here->copy_count = here->ended_count = 0;
    here->has_together = false;
    here->local = (uintptr_t)local;
    gs_local_shadow_clear(&here->shadow, dispatch->local_bytes);
    here->barriers++;
    here->waiting = 0;
    here->is_divergent = false;
}

/* --- Reports ----------------------------------------------------------------------------------------- */

static void place_of(const gs_group_state *here, uint32_t item, uint64_t place[3]) {
    const gs_dispatch *of = here->dispatch;
    uint64_t group = here->group;
    if (item == here->items)
        item = 0; /* the group as a whole */
    for (int axis = 0; axis < 3; axis++) {
        place[axis] = of->global_offset[axis] + group % of->group_counts[axis] * of->group_size[axis] + item % of->group_size[axis];
        group /= of->group_counts[axis];
        item /= of->group_size[axis];
    }
}

void gs_report_in_group(const gs_group_state *here, uint32_t site, uint32_t item, const uint64_t words[4]) {
    gs_site_reports *of = here->dispatch->reports + site;
    _Atomic uint64_t *count = (_Atomic uint64_t *)&of->count;
    enum { ROOM = sizeof of->records / sizeof *of->records };
    uint64_t known = atomic_load_explicit(count, memory_order_relaxed);
    for (uint64_t i = 0; i < known && i < ROOM; i++)
        if (of->records[i].words[0] == words[0])
            return;
    if (known >= ROOM)
        return;
    uint64_t at = atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    if (at >= ROOM)
        return;
    place_of(here, item, of->records[at].work_item);
    memcpy(of->records[at].words, words, sizeof of->records[at].words);
}

/* --- Barriers ---------------------------------------------------------------------------------------- */

void gs_barrier_arrive(uint64_t first_item, uint64_t lanes, uint64_t info) {
    gs_group_state *here = gs_group_here;
    if (here == NULL)
        return;
    uint64_t left = here->items - first_item;
    uint32_t site = info & 0xffff;
    here->is_divergent |= here->waiting > 0 && site != here->first_site;
    here->first_site = here->waiting > 0 ? here->first_site : site;
    uint32_t fences = info >> 16 & ((1u << GS_SPACES) - 1); /* flags that not all give order nothing */
    here->pending_fences = here->waiting > 0 ? here->pending_fences & fences : fences;
    here->waiting += (uint32_t)(lanes < left ? lanes : left);
    here->vector_lanes = (uint32_t)lanes;
    here->waits_at[first_item] = (uint16_t)site;
    here->waits_for[first_item] = here->barriers;
}

/* The site that a work-item waits at, and 1; 0: it has ended. */
static uint32_t place_of_waiting(const gs_group_state *here, uint32_t item) {
    uint32_t first = item / here->vector_lanes * here->vector_lanes;
    return here->waits_for[first] == here->barriers ? here->waits_at[first] + 1u : 0;
}

/* Not all wait where the others do: the first work-item that waits is named, and the first that does not. */
static void report_divergence(const gs_group_state *here) {
    uint32_t waiting = 0, other = 0, here_too = 0, elsewhere = 0, ended = 0;
    while (place_of_waiting(here, waiting) == 0)
        waiting++;
    uint32_t place = place_of_waiting(here, waiting);
    while (place_of_waiting(here, other) == place)
        other++;
    uint32_t other_place = place_of_waiting(here, other);
    for (uint32_t item = 0; item < here->items; item++) {
        uint32_t its = place_of_waiting(here, item);
        here_too += its == place;
        elsewhere += its == other_place;
        ended += its == 0;
    }
    uint64_t words[4] = {GS_DIVERGENT_BARRIER | (uint64_t)other_place << 16, other, here_too | (uint64_t)elsewhere << 32, ended};
    gs_report_in_group(here, place - 1, waiting, words);
}

void gs_barrier_pass(void) {
    gs_group_state *here = gs_group_here;
    if (here == NULL)
        return;
    gs_copies_pass_barrier(here);
    if (here->waiting == 0)
        return; /* all have ended */
    if (here->is_divergent || here->waiting < here->items)
        report_divergence(here);
    here->barriers++;
    here->waiting = 0;
    here->is_divergent = false;
    gs_share_acquired(here);
    gs_group_tick(here);
    for (int space = 0; space < GS_SPACES; space++)
        if (here->pending_fences >> space & 1)
            here->since[space] = here->tick;
    here->pending_fences = 0;
}

void gs_subgroup_barrier(uint64_t first_item, uint64_t info) {
    gs_group_state *here = gs_group_here;
    if (here == NULL)
        return;
    if (!here->has_subgroup_barriers)
        memset(here->subgroup_since, 0, sizeof here->subgroup_since);
    here->has_subgroup_barriers = true;
    gs_fence_acquired(here, (uint32_t)first_item, here->subgroup_size);
    gs_group_tick(here);
    for (int space = 0; space < GS_SPACES; space++)
        if (info >> (16 + space) & 1)
            here->subgroup_since[space][first_item / here->subgroup_size] = here->tick;
}

/* --- Memory ------------------------------------------------------------------------------------------ */

/* A variable may lie on the stack of the thread. */
static bool is_on_stack(uint64_t address) {
    static _Thread_local uint64_t lowest, size;
    if (size == 0) {
        pthread_attr_t facts;
        void *start = NULL;
        size_t bytes = 0;
        if (pthread_getattr_np(pthread_self(), &facts) == 0) {
            pthread_attr_getstack(&facts, &start, &bytes);
            pthread_attr_destroy(&facts);
        }
        lowest = (uintptr_t)start;
        size = bytes + 1;
    }
    return address - lowest < size;
}

bool gs_memory_is_own(uint64_t address, gs_space *space) {
    gs_own_memory kind = gs_kernel_memory_kind((const void *)(uintptr_t)address);
    *space = kind == GS_OWN_LOCAL ? GS_LOCAL_SPACE : GS_GLOBAL_SPACE;
    return kind == GS_OWN_PRIVATE || (kind == GS_NOT_OWN && is_on_stack(address));
}
