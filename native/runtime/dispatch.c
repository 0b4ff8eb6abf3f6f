/* Running a launch: its groups, numbered from 0, are shared between the device's threads (runtime/schedule.h).
 *
 * Waking another thread costs some microseconds, so how a launch is run depends on how long it will take.
 * That is judged by what a group of the same kernel took in its last launch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/group_checks.h"
#include "check/single_groups.h"
#include "check/launch_check.h"
#include "abi/printable.h"
#include "faults/fault.h"
#include "faults/lost_context.h"
#include "faults/watchdog.h"
#include "memory/kernel_memory.h"
#include "metrics/instructions.h"
#include "profile/profile.h"
#include "runtime/activity.h"
#include "runtime/debugging.h"
#include "runtime/launch.h"
#include "runtime/variants.h"
#include "threads/thread.h"
#include "threads/wait.h"

/* A launch that takes no longer than this stays on one thread. */
static const uint64_t SMALL_NANOSECONDS = 10000;
/* One that takes no longer than this, all CPUs together, may run on the thread that appends it. */
static const uint64_t SHORT_NANOSECONDS = 50000;
/* Without a measurement, a launch of a kernel without loops is small up to this number of work-items. */
enum { SMALL_ITEMS = 1024 };
/* From this number of work-items on, what they write is taken for more than the cache holds. */
enum { STREAM_ITEMS = 8 << 20 };
/* A launch that should be small runs in so many steps. */
enum { SMALL_STEPS = 4 };
/* A step is so many times as long as the one before it, until it is as long as it may be. */
enum { STEP_GROWTH = 4 };

/* --- The floating-point environment ------------------------------------------------------------------ */

/* Kernels round to nearest and keep denormals, whatever the program has set for the thread they run on. */
#if defined(__x86_64__)
enum { DEFAULT_MXCSR = 0x1f80 };
typedef uint32_t float_environment;
static float_environment enter_floats(void) {
    uint32_t before = __builtin_ia32_stmxcsr();
    if ((before & ~0x3fu) != DEFAULT_MXCSR) /* the low bits only say what has happened so far */
        __builtin_ia32_ldmxcsr(DEFAULT_MXCSR);
    return before;
}
static void leave_floats(float_environment before) {
    if ((before & ~0x3fu) != DEFAULT_MXCSR)
        __builtin_ia32_ldmxcsr(before);
}
#elif defined(__aarch64__)
typedef uint64_t float_environment;
static float_environment enter_floats(void) {
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    if (before != 0)
        __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)));
    return before;
}
static void leave_floats(float_environment before) {
    if (before != 0)
        __asm__ volatile("msr fpcr, %0" : : "r"(before));
}
#endif

/* --- Parts ------------------------------------------------------------------------------------------- */

typedef struct job {
    const gs_dispatch *dispatch;
    gs_code *code;
    uint64_t first, end;       /* groups */
    gs_schedule *schedule;     /* how they are shared between threads, if they are */
    uint64_t busy;             /* nanoseconds of all threads together, if they are */
} job;

/* Some of a job's groups, for one thread. */
typedef struct group_range {
    const job *job;
    const gs_variant *variant;
    uint64_t first, count;
    char *local; /* the memory of the code, as gs_kernel_memory gave it */
} group_range;

static const uint64_t NO_GROUP = UINT64_MAX;

static void run_group_range(void *argument, uint64_t unused) {
    (void)unused;
    const group_range *of = argument;
    if (of->job->dispatch->group_checks != NULL)
        gs_group_checks_run(of->variant->run, of->job->dispatch, of->first, of->count, of->local);
    else
        of->variant->run(of->job->dispatch, of->first, of->count, of->local);
}

typedef struct position {
    unsigned long long x, y, z;
} position;

static position position_of(uint64_t group, const gs_dispatch *dispatch) {
    const uint64_t *counts = dispatch->group_counts;
    return (position){group % counts[0], group / counts[0] % counts[1], group / counts[0] / counts[1]};
}

/* The global id of a group's first work-item, or of its last. */
static position item_of(position group, const gs_dispatch *dispatch, bool last) {
    const uint32_t *size = dispatch->group_size;
    const uint64_t *offset = dispatch->global_offset;
    return (position){offset[0] + group.x * size[0] + (last ? size[0] - 1 : 0),
                   offset[1] + group.y * size[1] + (last ? size[1] - 1 : 0),
                   offset[2] + group.z * size[2] + (last ? size[2] - 1 : 0)};
}

/* Code says what group it is at, which need not be one of the numbers of its range: it may go through the launch along
 * another axis. Code from an older compiler does not say it. */
static void describe_group_range(const void *argument, char *text, size_t capacity) {
    const group_range *of = argument;
    const gs_dispatch *dispatch = of->job->dispatch;
    gs_fault_name_lines(of->variant->lines);
    uint64_t said = gs_header_of(of->local)->group, end = of->first + of->count - 1;
    bool is_known = said < dispatch->group_counts[0] * dispatch->group_counts[1] * dispatch->group_counts[2];
    position first = position_of(is_known ? said : of->first, dispatch), last = position_of(is_known ? said : end, dispatch);
    position from = item_of(first, dispatch, false), to = item_of(last, dispatch, true);
    char up_to[80] = "";
    if (!is_known && of->count > 1)
        snprintf(up_to, sizeof up_to, " to (%llu, %llu, %llu)", last.x, last.y, last.z);
    int used = snprintf(text, capacity, "kernel '%.100s' in group (%llu, %llu, %llu)%s, work-item", of->job->code->name,
                        first.x, first.y, first.z, up_to);
    bool is_one = from.x == to.x && from.y == to.y && from.z == to.z;
    used += snprintf(text + used, capacity - (size_t)used, "%s (%llu, %llu, %llu)", is_one ? "" : "s", from.x, from.y, from.z);
    snprintf(text + used, capacity - (size_t)used, is_one ? "," : " to (%llu, %llu, %llu),", to.x, to.y, to.z);
}

static void fail_on_exhausted(const char *what, const gs_code *code) {
    char sentence[256];
    const gs_fault_scope *scope = gs_fault_scope_current();
    snprintf(sentence, sizeof sentence, "there is no %s for kernel '%.100s'", what, code->name);
    if (scope != NULL)
        gs_context_lose(scope->context, sentence);
    else if (!gs_fault_scope_is_refused())
        gs_say("", sentence, "; a part of its launch did not run");
}

static void run_range(group_range here) {
    if (here.local == NULL) {
        fail_on_exhausted("memory for local and private variables", here.job->code);
        return;
    }
    gs_header_of(here.local)->group = NO_GROUP;
    float_environment before = enter_floats();
    gs_guard(run_group_range, &here, 0, describe_group_range);
    leave_floats(before);
}

static bool is_lost(void) { return gs_fault_scope_is_lost(gs_fault_scope_current()); }

static void run_ranges(const job *job, const gs_variant *chosen, uint64_t first, uint64_t count) {
    const gs_dispatch *dispatch = job->dispatch;
    if (!gs_runs_single_groups(dispatch)) {
        char *local = gs_kernel_memory(dispatch->local_bytes, chosen->private_bytes, chosen->saved_bytes);
        gs_local_here = (gs_bounds){0, 0};
        run_range((group_range){job, chosen, first, count, local});
        return;
    }
    for (uint64_t group = first; group < first + count && !is_lost(); group++) {
        char *local = gs_single_group_memory(dispatch, chosen->private_bytes, chosen->saved_bytes);
        run_range((group_range){job, chosen, gs_varied_group(dispatch, group), 1, local});
    }
}

static void run_variant(const job *job, uint32_t variant, uint64_t first, uint64_t count) {
    const gs_variant *chosen = &job->code->variants[variant];
    if (!gs_profile_is_on()) {
        run_ranges(job, chosen, first, count);
        return;
    }
    gs_sampler_enter(job->code, chosen);
    run_ranges(job, chosen, first, count);
    gs_sampler_leave();
}

static uint64_t time_variant(const job *job, uint32_t variant, uint64_t first, uint64_t count) {
    uint64_t start = gs_clock(CLOCK_THREAD_CPUTIME_ID); /* whoever else gets this CPU does not count */
    run_variant(job, variant, first, count);
    return gs_clock(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* One side of a trial: first what loads code and tables, and lets the CPU learn its branches. */
static uint64_t time_side(const job *job, uint32_t variant, uint64_t first, gs_trial trial) {
    if (trial.warm_up > 0)
        run_variant(job, variant, first, trial.warm_up);
    return is_lost() ? 0 : time_variant(job, variant, first + trial.warm_up, trial.groups);
}

/* Runs some of the groups in two ways, which take turns at being the first. Returns how many groups. */
static uint64_t run_trial(const job *job, uint64_t first, uint64_t count) {
    gs_trial trial = gs_trial_begin(job->code, count);
    if (trial.groups == 0)
        return 0;
    uint32_t each = trial.is_tried ? trial.tried : trial.preferred, other = trial.is_tried ? trial.preferred : trial.tried;
    uint64_t side = trial.warm_up + trial.groups, one = time_side(job, each, first, trial), two = 0;
    if (!trial.is_half && !is_lost())
        two = time_side(job, other, first + side, trial);
    if (!is_lost() && trial.is_half)
        gs_trial_end_half(job->code, trial, one);
    else if (!is_lost())
        gs_trial_end(job->code, trial, trial.is_tried ? one : two, trial.is_tried ? two : one);
    return trial.is_half ? 1 : 2 * side;
}

static void run_groups(const job *job, uint64_t first, uint64_t count) {
    uint64_t end = first + count, tried = job->code->variant_count > 1;
    while (tried > 0 && first < end && !is_lost())
        first += tried = run_trial(job, first, end - first);
    if (first < end && !is_lost())
        run_variant(job, job->code->preferred, first, end - first);
}

static void run_part(void *argument, gs_taken taken) {
    const job *job = argument;
    uint64_t start = gs_clock(CLOCK_MONOTONIC);
    run_groups(job, job->first + taken.first, taken.count);
    gs_schedule_spend(job->schedule, taken, gs_clock(CLOCK_MONOTONIC) - start);
}

/* How long the rest of a job will take on one CPU, in nanoseconds; 0: nobody knows. */
static double estimate(const gs_code *code, uint64_t groups) {
    return (double)atomic_load_explicit(&code->group_picoseconds, memory_order_relaxed) * (double)groups / 1000;
}

static void expect_cost(gs_code *code, uint64_t nanoseconds, uint64_t groups) {
    double each = (double)nanoseconds * 1000 / (double)groups;
    uint64_t cost = each < 1 ? 1 : (uint64_t)each;
    atomic_store_explicit(&code->group_picoseconds, cost, memory_order_relaxed);
}

static void remember_cost(gs_code *code, uint64_t nanoseconds, uint64_t groups) {
    expect_cost(code, nanoseconds, groups);
    atomic_fetch_add_explicit(&code->busy_nanoseconds, nanoseconds, memory_order_relaxed);
}

/* Runs a job that should be small, in steps, and gives up if it turns out not to be. Returns the time.
 * Without loops a group takes what it took before, and looking at the clock is not worth it for a job that should be over in
 * a moment. With loops a group may take a thousand times longer than in the last launch: the first one runs by itself, and a
 * step is longer than the one before it only while they turn out to be short. */
static uint64_t run_small(job *job) {
    uint64_t start = gs_clock(CLOCK_MONOTONIC), spent = 0, groups = job->end - job->first;
    bool is_tiny = estimate(job->code, groups) * SMALL_STEPS < (double)SMALL_NANOSECONDS;
    uint64_t longest = is_tiny ? groups : (groups + SMALL_STEPS - 1) / SMALL_STEPS;
    uint64_t step = job->code->has_loops ? 1 : longest;
    while (job->first < job->end && spent <= 2 * SMALL_NANOSECONDS && !is_lost()) {
        uint64_t left = job->end - job->first, count = left < step ? left : step;
        run_groups(job, job->first, count);
        job->first += count;
        spent = gs_clock(CLOCK_MONOTONIC) - start;
        step = step * STEP_GROWTH < longest ? step * STEP_GROWTH : longest;
    }
    return spent;
}

static uint64_t items_of(const gs_code *code) {
    return (uint64_t)code->group_size[0] * code->group_size[1] * code->group_size[2];
}

static bool takes_at_most(const gs_code *code, uint64_t groups, uint64_t nanoseconds) {
    double expected = estimate(code, groups);
    if (expected > 0)
        return expected <= (double)nanoseconds;
    return !code->has_loops && groups <= SMALL_ITEMS / items_of(code);
}

/* Runs a job on this thread. Without loops its cost is plain to see; with them it is remembered, and if there are other
 * variants, which are compiled and compared when the kernel has run for some time. */
static void run_alone(job *job) {
    gs_code *code = job->code;
    uint64_t groups = job->end - job->first;
    bool has_variants = code->variant_count > 1 || code->variants_to_come > 0;
    bool is_timed = code->has_loops || (has_variants && groups > 1);
    uint64_t start = is_timed ? gs_clock(CLOCK_MONOTONIC) : 0;
    run_groups(job, job->first, groups);
    if (is_timed)
        remember_cost(code, gs_clock(CLOCK_MONOTONIC) - start, groups);
}

/* Runs what is left of a job on all threads; returns how long that took them together. A group that may wait for another
 * may rely on those before it having been started. */
static uint64_t share_out(job *job, gs_thread_pool *pool) {
    gs_code *code = job->code;
    uint64_t groups = job->end - job->first;
    gs_job_facts facts = {.count = groups, .nanoseconds = (uint64_t)estimate(code, groups), .profile = &code->profile,
                          .in_order = code->may_wait, .in_long_parts = code->writes_back || gs_suits_long_parts(code),
                          .in_short_parts = gs_priorities_are_used()};
    gs_schedule schedule;
    gs_schedule_begin(&schedule, &facts, gs_thread_pool_width(pool));
    job->schedule = &schedule;
    gs_thread_pool_share(pool, run_part, job, &schedule);
    gs_schedule_end(&schedule, &code->profile);
    return gs_schedule_spent(&schedule);
}

static void run_shared(job *job, gs_thread_pool *pool) {
    uint64_t groups = job->end - job->first, spent = 0;
    if (takes_at_most(job->code, groups, SMALL_NANOSECONDS))
        spent = run_small(job);
    if (job->first > 0 && job->first < job->end)
        expect_cost(job->code, spent, job->first); /* not small after all: the rest is shared out by what that took */
    if (job->first < job->end)
        spent += share_out(job, pool);
    remember_cost(job->code, spent, groups);
    job->busy = spent;
}

/* --- Cooperative launches ---------------------------------------------------------------------------- */

/* Each group has a thread of its own, so that they may wait for each other. */
typedef struct cooperation {
    const job *job;
    const gs_fault_scope *scope;
    gs_activity work;
    _Atomic uint64_t next;  /* the group that the next thread to come takes */
    _Atomic uint64_t ended; /* threads, without the one that waits for them */
    uint64_t started;
} cooperation;

/* Not in the cooperation, which is gone as soon as the last thread has ended. */
static gs_futex ending;

static void run_next(cooperation *together) { run_groups(together->job, together->next++, 1); }

static void *run_cooperating(void *argument) {
    cooperation *together = argument;
    gs_fault_scope_enter(together->scope);
    gs_activity_begin(together->work);
    run_next(together);
    gs_activity_end();
    gs_fault_scope_enter(NULL);
    together->ended++;
    gs_futex_notify(&ending);
    return NULL;
}

static bool all_have_ended(void *state) {
    cooperation *together = state;
    return together->ended == together->started;
}

/* The last group runs here. If not every group gets a thread, those that did would wait for ever. */
static void run_cooperatively(const job *job) {
    cooperation together = {.job = job, .scope = gs_fault_scope_current(), .work = gs_activity_current()};
    while (together.started + 1 < job->end && !gs_fault_scope_is_lost(together.scope) &&
           gs_thread_start("gs-group", run_cooperating, &together))
        together.started++;
    if (together.started + 1 == job->end)
        run_next(&together);
    else
        fail_on_exhausted("thread for each group", job->code);
    gs_activity_end(); /* waiting is not working */
    gs_futex_wait(&ending, all_have_ended, &together, GS_FOREVER, false);
    gs_activity_begin(together.work);
}

/* --- Launches ---------------------------------------------------------------------------------------- */

/* The number of groups, or 0 if it is beyond what can be counted, let alone run. */
static uint64_t count_groups(const gs_dispatch *dispatch) {
    unsigned __int128 plane = (unsigned __int128)dispatch->group_counts[0] * dispatch->group_counts[1];
    if (plane > UINT64_MAX / 4 || plane * dispatch->group_counts[2] > UINT64_MAX / 4)
        return 0;
    return (uint64_t)plane * dispatch->group_counts[2];
}

/* What get_work_dim() answers: the API has no word for it, so it is as small as the range allows. */
static uint32_t count_dimensions(const gs_dispatch *dispatch) {
    for (uint32_t axis = 2; axis > 0; axis--)
        if (dispatch->group_counts[axis] * dispatch->group_size[axis] > 1)
            return axis + 1;
    return 1;
}

/* Words that a program left for when the launch runs. */
typedef struct indirection {
    const void *from;
    uint32_t words[3];
} indirection;

static void read_words(void *argument, uint64_t count) {
    indirection *reading = argument;
    memcpy(reading->words, reading->from, count * sizeof(uint32_t));
}

static void count_launch(gs_queue_counts *counts, const job *job) {
    GS_COUNT(counts, kernels, 1);
    GS_COUNT(counts, groups, count_groups(job->dispatch));
    GS_COUNT(counts, items, count_groups(job->dispatch) * items_of(job->code));
}

static void run_job(const gs_launch *launch, job *job, gs_device *device) {
    if (launch->cooperative)
        run_cooperatively(job);
    else if (job->end - job->first == 1 || (gs_thread_pool_width(device->pool) == 1 && !gs_priorities_are_used()))
        run_alone(job);
    else
        run_shared(job, device->pool);
}

/* Counts some groups of a launch for a profile: the first ones of each slice. The others take their time. */
static void run_counted(const gs_launch *launch, job *all, gs_dispatch *dispatch, gs_device *device,
                        gs_profiled_launch *profiled) {
    uint64_t groups = all->end, counted = 0, slices = profiled->slices;
    if (!gs_instructions_begin(dispatch, profiled->counting)) {
        profiled->counting = NULL;
        run_job(launch, all, device);
        return;
    }
    for (uint64_t slice = 0; slice < slices && !is_lost(); slice++) {
        uint64_t first = groups * slice / slices, end = groups * (slice + 1) / slices;
        uint64_t some = slices == 1 ? groups : (end - first) / slices;
        job part = {.dispatch = dispatch, .code = profiled->counting, .first = first, .end = first + some};
        run_job(launch, &part, device);
        counted += some;
        if (first + some == end)
            continue;
        uint64_t start = gs_clock(CLOCK_MONOTONIC);
        job rest = {.dispatch = dispatch, .code = all->code, .first = first + some, .end = end};
        run_job(launch, &rest, device);
        profiled->plain += gs_clock(CLOCK_MONOTONIC) - start;
        profiled->plain_groups += end - first - some;
        all->busy += rest.busy;
    }
    gs_profile_take_counts(profiled, launch, dispatch, counted);
}

_Atomic bool gs_launches_are_debugged;

GS_EXPORT void gs_debug_launches(bool enable) { gs_launches_are_debugged = enable; }

/* Runs the groups of a job from the first on, which are all of a launch unless it is debugged. */
static void perform_job(const gs_launch *launch, gs_device *device, gs_dispatch *dispatch, job job) {
    if (gs_most_items != 0 && (items_of(job.code) > gs_most_items || dispatch->local_bytes > gs_most_local) &&
        gs_report_limits(job.code, dispatch->local_bytes))
        gs_context_lose(launch->module->context, "a launch asks for more than GROUNDSTATE_CHECK_DEVICE has");
    if (job.code->site_count > 0 && !gs_launch_check_begin(dispatch, launch))
        return;
    if (job.code->block_count > 0 && !gs_instructions_begin(dispatch, job.code)) {
        fail_on_exhausted("memory for counters", job.code);
        return;
    }
    if (job.code->format_count > 0)
        dispatch->print_buffer = gs_print_begin();
    gs_watched_launch limited;
    gs_watchdog_begin(&limited, job.code);
    gs_profiled_launch profiled;
    const bool is_profiled = gs_profile_is_on() && !gs_launches_are_debugged;
    if (is_profiled)
        gs_profile_launch_begin(&profiled, launch, job.end);
    if (is_profiled && profiled.counting != NULL)
        run_counted(launch, &job, dispatch, device, &profiled);
    else
        run_job(launch, &job, device);
    if (is_profiled)
        gs_profile_launch_end(&profiled, launch, dispatch, job.busy, gs_thread_pool_width(device->pool));
    gs_watchdog_end(&limited);
    gs_queue_counts *metrics = gs_activity_current().counts;
    if (metrics != NULL)
        count_launch(metrics, &job);
    if (job.code->block_count > 0)
        gs_instructions_end(dispatch, job.code, metrics);
    uint32_t wishes = gs_variant_wishes(job.code);
    if (wishes != 0)
        gs_variant_request(job.code, wishes);
    if (dispatch->print_buffer != NULL)
        gs_print_end(dispatch->print_buffer, job.code, NULL);
    if (job.code->site_count > 0)
        gs_launch_check_end(dispatch, launch);
}

/* The debugger executes the groups that somebody wants to look into, and says how many others come before the next. */
static void perform_debugged(const gs_launch *launch, gs_device *device, const job *all) {
    gs_debugged_groups groups = {.dispatch = all->dispatch, .context = launch->module->context};
    while (groups.next < all->end && !is_lost()) {
        groups.stepped = groups.next;
        gs_debug_launch(all->code, &groups);
        gs_dispatch dispatch = *all->dispatch;
        job rest = {.dispatch = &dispatch, .code = all->code, .first = groups.stepped, .end = groups.next};
        if (rest.first < rest.end)
            perform_job(launch, device, &dispatch, rest);
    }
}

static void perform_one(const gs_launch *launch, gs_device *device) {
    gs_dispatch dispatch = launch->dispatch;
    indirection counts = {.from = launch->indirect_counts};
    if (launch->indirect_counts != NULL) {
        gs_guard(read_words, &counts, 3, NULL);
        for (int axis = 0; axis < 3; axis++)
            dispatch.group_counts[axis] = counts.words[axis];
    }
    job job = {.dispatch = &dispatch, .code = launch->code, .end = count_groups(&dispatch)};
    if (job.end == 0)
        return;
    dispatch.work_dimensions = count_dimensions(&dispatch);
    dispatch.streams = job.end >= STREAM_ITEMS / items_of(job.code);
    if (gs_launches_are_debugged && !launch->cooperative)
        perform_debugged(launch, device, &job);
    else
        perform_job(launch, device, &dispatch, job);
}

void gs_launch_perform(const gs_launch *launch, gs_device *device) {
    indirection number = {launch->indirect_number, {UINT32_MAX}};
    if (number.from != NULL && !gs_guard(read_words, &number, 1, NULL))
        return;
    uint32_t limit = number.words[0];
    for (; launch != NULL && launch->index < limit && !gs_fault_scope_is_lost(gs_fault_scope_current()); launch = launch->next)
        perform_one(launch, device);
}

void gs_launch_describe(const gs_launch *launch, char *text, size_t capacity) {
    snprintf(text, capacity, "kernel '%.100s'", launch->code->name);
}

bool gs_launch_is_short(const gs_launch *launch) {
    if (launch->cooperative || launch->indirect_counts != NULL || launch->code->may_wait)
        return false;
    return takes_at_most(launch->code, count_groups(&launch->dispatch), SHORT_NANOSECONDS);
}
