/* Waiting for events and signalling them. The functions that create events are in event_pool.c. */
#include "objects/event.h"

#include <string.h>

#include "check/host/host.h"
#include "check/order/order.h"
#include "faults/lost_context.h"
#include "graphs/graph.h"
#include "runtime/queue.h"

static void lock_event(gs_event *event) {
    while (atomic_flag_test_and_set_explicit(&event->guard, memory_order_acquire))
        gs_relax();
}

static void unlock_event(gs_event *event) {
    atomic_flag_clear_explicit(&event->guard, memory_order_release);
}

/* --- Counter-based events: where a counter lies and a number, packed in one word ------------------- */

enum { NUMBER_BITS = 42, UNIT = 16 };

_Static_assert(GS_HEAP_BYTES / UNIT <= UINT64_C(1) << (64 - NUMBER_BITS), "every offset fits beside a number");
_Static_assert(offsetof(gs_event_slot, own) % UNIT == 0, "an event's own counter lies at a whole unit");

static uint64_t pack(const gs_heap *heap, const gs_counter *counter, uint64_t number) {
    uint64_t offset = (uint64_t)((const char *)counter - heap->base);
    return (offset / UNIT) << NUMBER_BITS | number;
}

static gs_counter *unpack(const gs_heap *heap, uint64_t tracked, uint64_t *number) {
    *number = tracked & GS_COUNTER_MAX;
    return (gs_counter *)(heap->base + (tracked >> NUMBER_BITS) * UNIT);
}

/* An event opened from another process refers to that process's counters, which are not ours to hold. */
static bool owns_heap(const gs_event *event) { return event->heap != &event->mapped; }

void gs_event_track(gs_event *event, gs_counter *counter, uint64_t number) {
    gs_counter *before = NULL;
    uint64_t unused;
    lock_event(event);
    if (owns_heap(event)) {
        gs_counter_hold(counter);
        if (event->slot->tracked != 0)
            before = unpack(event->heap, event->slot->tracked, &unused);
    }
    event->slot->tracked = pack(event->heap, counter, number);
    event->mode = GS_EVENT_COUNTER;
    unlock_event(event);
    if (before != NULL && before != &event->slot->own)
        gs_counter_drop(before);
}

/* --- Targets ------------------------------------------------------------------------------------- */

void gs_target_take(gs_event *event, gs_target *target) {
    *target = (gs_target){.event = event};
    gs_object_hold(event);
    if (event->mode == GS_EVENT_PLAIN)
        return;
    lock_event(event);
    uint64_t tracked = event->slot->tracked;
    if (event->mode == GS_EVENT_EXTERNAL) {
        target->word = event->external;
        target->resolved = event->external_value;
    } else if (tracked != 0) {
        target->counter = unpack(event->heap, tracked, &target->number);
        target->resolved = target->counter->base + target->number;
        if (owns_heap(event))
            gs_counter_hold(target->counter);
    }
    unlock_event(event);
}

/* An event's own counter lives as long as the event, and a foreign one is not ours to hold. */
static bool holds_counter(const gs_target *target) {
    return target->counter != NULL && owns_heap(target->event) && target->counter != &target->event->slot->own;
}

void gs_target_copy(const gs_target *original, gs_target *copy) {
    *copy = *original;
    copy->resolved = __atomic_load_n(&original->resolved, __ATOMIC_RELAXED);
    gs_object_hold(copy->event);
    if (holds_counter(copy))
        gs_counter_hold(copy->counter);
}

void gs_target_drop(gs_target *target) {
    if (holds_counter(target))
        gs_counter_drop(target->counter);
    gs_object_drop(target->event);
}

static bool fits(const gs_event *event, const _Atomic uint64_t *word, uint64_t value) {
    const uint64_t found = event->external_is_narrow
                               ? atomic_load_explicit((const _Atomic uint32_t *)word, memory_order_acquire)
                               : atomic_load_explicit(word, memory_order_acquire);
    switch (event->external_comparison) {
    case GS_AT_LEAST: return found >= value;
    case GS_EQUAL: return found == value;
    case GS_NOT_EQUAL: return found != value;
    case GS_GREATER: return found > value;
    case GS_LESS: return found < value;
    case GS_AT_MOST: return found <= value;
    }
    return false;
}

bool gs_target_is_reached(const gs_target *target) {
    uint64_t needed = __atomic_load_n(&target->resolved, __ATOMIC_RELAXED);
    if (target->word != NULL)
        return fits(target->event, target->word, needed);
    if (target->counter != NULL)
        return atomic_load_explicit(&target->counter->done, memory_order_acquire) >= needed;
    const gs_event *event = target->event;
    return event->mode != GS_EVENT_PLAIN || atomic_load_explicit(&event->slot->futex.value, memory_order_acquire) != 0;
}

static bool is_reached(void *target) { return gs_target_is_reached(target); }

/* For the host, which must not wait for a signal that will not come. */
static bool is_reached_or_lost(void *state) {
    const gs_target *target = state;
    return gs_target_is_reached(target) || gs_context_is_lost(target->event->context);
}

/* Nobody notifies of a word that the application writes: look at it ever more slowly. */
static gs_wait_result poll_external(const gs_target *target, uint64_t timeout, bool interruptible,
                                    bool (*done)(void *target)) {
    gs_futex never = {0};
    uint64_t start = gs_clock(CLOCK_MONOTONIC), pause = 1000;
    for (;;) {
        uint64_t passed = gs_clock(CLOCK_MONOTONIC) - start;
        uint64_t left = timeout == GS_FOREVER ? GS_FOREVER : timeout > passed ? timeout - passed : 0;
        gs_wait_result result =
            gs_futex_wait(&never, done, (void *)target, pause < left ? pause : left, interruptible);
        if (result != GS_WAIT_TIMEOUT || left == 0)
            return result;
        pause = pause < 200000 ? 2 * pause : pause;
    }
}

static gs_wait_result wait_for(const gs_target *target, uint64_t timeout, bool interruptible,
                               bool (*done)(void *target)) {
    if (target->word != NULL)
        return poll_external(target, timeout, interruptible, done);
    gs_futex *futex = target->counter != NULL ? &target->counter->futex : &target->event->slot->futex;
    return gs_futex_wait(futex, done, (void *)target, timeout, interruptible);
}

gs_wait_result gs_target_wait(const gs_target *target, uint64_t timeout, bool interruptible) {
    return wait_for(target, timeout, interruptible, is_reached);
}

/* --- Signals and timestamps ---------------------------------------------------------------------- */

void gs_event_signal(gs_event *event) {
    if (gs_host_is_checked())
        gs_host_signalled(event);
    if (event->mode == GS_EVENT_PLAIN)
        gs_futex_set(&event->slot->futex, 1);
    else if (event->mode == GS_EVENT_EXTERNAL && event->external_increment != 0)
        atomic_fetch_add(event->external, event->external_increment);
}

bool gs_event_is_signalled(gs_event *event) {
    if (event->mode == GS_EVENT_PLAIN)
        return atomic_load_explicit(&event->slot->futex.value, memory_order_acquire) != 0;
    gs_target now;
    gs_target_take(event, &now);
    bool reached = gs_target_is_reached(&now);
    gs_target_drop(&now);
    return reached;
}

void gs_event_stamp(gs_event *event, gs_interval interval) {
    gs_event_slot *slot = event->slot;
    slot->global_start = slot->context_start = interval.start;
    slot->global_end = slot->context_end = interval.end;
}

ze_kernel_timestamp_result_t gs_event_timestamps(const gs_event *event) {
    const gs_event_slot *slot = event->slot;
    return (ze_kernel_timestamp_result_t){.global = {slot->global_start, slot->global_end},
                                          .context = {slot->context_start, slot->context_end}};
}

/* --- Host functions of the API ------------------------------------------------------------------- */

static ze_result_t forbid_counter_based(enum gs_function function, const gs_event *event, const char *what) {
    if (event->mode == GS_EVENT_PLAIN)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "%s: a counter-based event cannot be %s; it is signalled by the command it was last given to",
                   gs_function_names[function], what);
}

ze_result_t gs_zeEventHostSignal(ze_event_handle_t hEvent) {
    gs_event *event = (gs_event *)hEvent;
    ze_result_t result = forbid_counter_based(GS_FN_zeEventHostSignal, event, "signalled from the host");
    if (result != ZE_RESULT_SUCCESS)
        return result;
    uint64_t now = event->timestamps ? gs_timestamp() : 0;
    if (event->timestamps)
        gs_event_stamp(event, (gs_interval){now, now});
    if (gs_order_is_checked())
        gs_order_host_signals(event);
    gs_event_signal(event);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeEventHostReset(ze_event_handle_t hEvent) {
    gs_event *event = (gs_event *)hEvent;
    ze_result_t result = forbid_counter_based(GS_FN_zeEventHostReset, event, "reset");
    if (result == ZE_RESULT_SUCCESS && gs_host_is_checked())
        gs_host_reset(event, GS_FN_zeEventHostReset);
    if (result == ZE_RESULT_SUCCESS && gs_order_is_checked())
        gs_order_forget(&event->order);
    if (result == ZE_RESULT_SUCCESS)
        gs_futex_set(&event->slot->futex, 0);
    return result;
}

/* The host looks at an event: what came before its signal has come before whatever the host does next. */
static bool host_sees_signal(gs_event *event) {
    bool is_signalled = gs_event_is_signalled(event);
    if (is_signalled && gs_order_is_checked())
        gs_order_host_saw_event(event);
    return is_signalled;
}

ze_result_t gs_zeEventQueryStatus(ze_event_handle_t hEvent) {
    return host_sees_signal((gs_event *)hEvent) ? ZE_RESULT_SUCCESS : gs_not_ready(GS_FN_zeEventQueryStatus);
}

ze_result_t gs_zeEventHostSynchronize(ze_event_handle_t hEvent, uint64_t timeout) {
    gs_event *event = (gs_event *)hEvent;
    if (gs_some_list_captures() && event->capture != NULL)
        return gs_fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED,
                       "zeEventHostSynchronize: the event is signalled by a graph that is being recorded, so that "
                       "nothing runs; end the capture (zeCommandListEndGraphCaptureExt) first");
    if (host_sees_signal(event))
        return ZE_RESULT_SUCCESS;
    if (timeout == 0)
        return gs_not_ready(GS_FN_zeEventHostSynchronize);
    gs_target target;
    gs_target_take(event, &target);
    if (timeout == GS_FOREVER)
        gs_queue_help_with(event->queue, is_reached_or_lost, &target);
    gs_host_wait wait = {.function = GS_FN_zeEventHostSynchronize, .target = &target};
    bool checked = gs_host_is_checked();
    if (checked)
        gs_host_wait_begin(&wait, timeout);
    bool reached = wait_for(&target, timeout, true, is_reached_or_lost) == GS_WAIT_DONE;
    if (checked)
        gs_host_wait_end(&wait);
    if (reached && gs_order_is_checked())
        gs_order_host_saw_event(event);
    gs_target_drop(&target);
    return gs_unless_lost(GS_FN_zeEventHostSynchronize, event->context,
                          reached ? ZE_RESULT_SUCCESS : gs_not_ready(GS_FN_zeEventHostSynchronize));
}

const char *gs_event_how_to_have_timestamps(const gs_event *event) {
    return event->mode == GS_EVENT_PLAIN ? "create its pool with ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP"
                                         : "create it with ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP";
}

static ze_result_t check_timestamps(enum gs_function function, const gs_event *event) {
    if (event->timestamps)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the event has no timestamps; %s",
                   gs_function_names[function], gs_event_how_to_have_timestamps(event));
}

ze_result_t gs_zeEventQueryKernelTimestamp(ze_event_handle_t hEvent, ze_kernel_timestamp_result_t *dstptr) {
    gs_event *event = (gs_event *)hEvent;
    ze_result_t result = check_timestamps(GS_FN_zeEventQueryKernelTimestamp, event);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (!host_sees_signal(event))
        return gs_not_ready(GS_FN_zeEventQueryKernelTimestamp);
    *dstptr = gs_event_timestamps(event);
    return ZE_RESULT_SUCCESS;
}

/* A device of ours keeps one pair of timestamps for each event, however many cores took part. */
static ze_result_t answer_one(enum gs_function function, gs_event *event, uint32_t *count, bool wants_results,
                              bool *answer) {
    *answer = false;
    if (*count == 0 || !wants_results) {
        *count = 1; /* also of an event that has none, as other drivers answer */
        return ZE_RESULT_SUCCESS;
    }
    ze_result_t result = check_timestamps(function, event);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (!host_sees_signal(event))
        return gs_not_ready(function);
    *count = 1;
    *answer = true;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeEventQueryTimestampsExp(ze_event_handle_t hEvent, ze_device_handle_t hDevice, uint32_t *pCount,
                                         ze_kernel_timestamp_result_t *pTimestamps) {
    (void)hDevice;
    bool answer;
    ze_result_t result =
        answer_one(GS_FN_zeEventQueryTimestampsExp, (gs_event *)hEvent, pCount, pTimestamps != NULL, &answer);
    if (answer)
        pTimestamps[0] = gs_event_timestamps((gs_event *)hEvent);
    return result;
}

ze_result_t gs_zeEventQueryKernelTimestampsExt(ze_event_handle_t hEvent, ze_device_handle_t hDevice,
                                               uint32_t *pCount,
                                               ze_event_query_kernel_timestamps_results_ext_properties_t *pResults) {
    (void)hDevice;
    bool answer;
    gs_event *event = (gs_event *)hEvent;
    bool wants = pResults != NULL && pResults->pKernelTimestampsBuffer != NULL;
    ze_result_t result = answer_one(GS_FN_zeEventQueryKernelTimestampsExt, event, pCount, wants, &answer);
    if (!answer)
        return result;
    ze_kernel_timestamp_result_t stamps = gs_event_timestamps(event);
    pResults->pKernelTimestampsBuffer[0] = stamps;
    if (pResults->pSynchronizedTimestampsBuffer != NULL)
        pResults->pSynchronizedTimestampsBuffer[0] = (ze_synchronized_timestamp_result_ext_t){
            .global = {stamps.global.kernelStart, stamps.global.kernelEnd},
            .context = {stamps.context.kernelStart, stamps.context.kernelEnd}};
    return ZE_RESULT_SUCCESS;
}
