/* Command lists: creating, closing, resetting, and the one function through which every append goes. */
#include "objects/list.h"

#include <stdlib.h>
#include <string.h>

#include "check/checks.h"
#include "check/host/host.h"
#include "check/order/order.h"
#include "faults/lost_context.h"
#include "graphs/graph.h"
#include "objects/mutable.h"
#include "threads/lock.h"

_Static_assert(sizeof(gs_list) <= GS_SLOT_SIZE && sizeof(gs_command_queue) <= GS_SLOT_SIZE, "the largest objects fit");

/* --- Life ---------------------------------------------------------------------------------------- */

static void release_list(gs_object *object) {
    gs_list *list = (gs_list *)object;
    gs_capture_leave(list); /* if another thread used it after it was destroyed */
    if (list->immediate)
        gs_queue_close(&list->queue);
    gs_command_buffer_drop(list->buffer);
    gs_counter_drop(list->counter);
    gs_mutex_close(&list->lock);
    gs_object_drop(list->context);
}

/* The caller completes it. */
static gs_list *new_list(gs_context *context, gs_device *device, uint32_t ordinal, bool in_order) {
    gs_list *list = gs_object_new(GS_KIND_COMMAND_LIST, release_list);
    if (list == NULL)
        return NULL;
    list->context = context;
    list->device = device;
    list->ordinal = ordinal;
    list->in_order = in_order;
    gs_mutex_open(&list->lock, GS_LONG_LOCK);
    gs_object_hold(context);
    return list;
}

static ze_result_t no_memory(gs_list *list) {
    if (list != NULL)
        gs_object_close(list);
    return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another command list");
}

ze_result_t gs_list_make(gs_context *context, gs_device *device, const ze_command_list_desc_t *desc, gs_list **made) {
    ze_result_t result =
        gs_queue_check(GS_FN_zeCommandListCreate, context, device, desc->commandQueueGroupOrdinal, 0);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const ze_mutable_command_list_exp_desc_t *mutable =
        gs_find_next(desc->pNext, ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC);
    if (mutable != NULL && (mutable->flags & ~ZE_MUTABLE_COMMAND_LIST_EXP_FLAG_RESERVED) != 0)
        return gs_fail_enum(GS_FN_zeCommandListCreate, "ze_mutable_command_list_exp_desc_t.flags", mutable->flags);
    bool in_order = desc->flags & ZE_COMMAND_LIST_FLAG_IN_ORDER;
    if (in_order && (desc->flags & ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                       "zeCommandListCreate: IN_ORDER and RELAXED_ORDERING cannot be combined");
    gs_list *list = new_list(context, device, desc->commandQueueGroupOrdinal, in_order);
    if (list == NULL || (list->buffer = gs_command_buffer_new(in_order)) == NULL)
        return no_memory(list);
    list->flags = desc->flags;
    list->is_mutable = mutable != NULL;
    *made = list;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                   const ze_command_list_desc_t *desc, ze_command_list_handle_t *phCommandList) {
    gs_list *list;
    ze_result_t result = gs_list_make((gs_context *)hContext, (gs_device *)hDevice, desc, &list);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_object_complete(list, list->context);
    *phCommandList = (ze_command_list_handle_t)list;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListCreateImmediate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                            const ze_command_queue_desc_t *altdesc,
                                            ze_command_list_handle_t *phCommandList) {
    gs_context *context = (gs_context *)hContext;
    gs_device *device = (gs_device *)hDevice;
    ze_result_t result =
        gs_queue_check(GS_FN_zeCommandListCreateImmediate, context, device, altdesc->ordinal, altdesc->index);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    bool in_order = altdesc->flags & ZE_COMMAND_QUEUE_FLAG_IN_ORDER;
    gs_list *list = new_list(context, device, altdesc->ordinal, in_order);
    if (list == NULL || (in_order && (list->counter = gs_counter_new()) == NULL))
        return no_memory(list);
    list->immediate = true;
    list->flags = in_order ? ZE_COMMAND_LIST_FLAG_IN_ORDER : 0;
    if (altdesc->flags & ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY)
        list->flags |= ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY;
    if (altdesc->flags & ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT)
        list->flags |= ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT;
    gs_queue_open(&list->queue, &list->object, context, device, altdesc);
    gs_object_complete(list, context);
    *phCommandList = (ze_command_list_handle_t)list;
    return ZE_RESULT_SUCCESS;
}

/* With the lock: a reset in another thread replaces the buffer. */
bool gs_list_is_busy(gs_list *list) {
    if (list->immediate)
        return gs_queue_is_busy(&list->queue);
    gs_lock(&list->lock);
    bool busy = list->buffer->pending > 0;
    gs_unlock(&list->lock);
    return busy;
}

/* Its runs hold what was recorded, and whoever executes the commands of an immediate list holds that. */
ze_result_t gs_zeCommandListDestroy(ze_command_list_handle_t hCommandList) {
    gs_list *list = (gs_list *)hCommandList;
    if (list->immediate)
        gs_queue_leave(&list->queue);
    gs_capture_leave(list);
    gs_object_close(list);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListReset(ze_command_list_handle_t hCommandList) {
    gs_list *list = (gs_list *)hCommandList;
    if (list->immediate)
        return ZE_RESULT_SUCCESS;
    if (gs_host_is_checked())
        gs_host_resetting(list);
    gs_command_buffer *fresh = gs_command_buffer_new(list->in_order);
    if (fresh == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to reset the command list");
    gs_lock(&list->lock);
    gs_command_buffer *old = list->buffer;
    list->buffer = fresh;
    list->closed = list->changed = false;
    gs_unlock(&list->lock);
    gs_command_buffer_drop(old);
    return ZE_RESULT_SUCCESS;
}

/* --- Appending ----------------------------------------------------------------------------------- */

/* The rules of counter-based events: in-order lists only, and of the type the event was made for. */
ze_result_t gs_list_check_signal(enum gs_function function, const gs_list *list, const gs_event *event) {
    if (event == NULL || event->mode == GS_EVENT_PLAIN)
        return ZE_RESULT_SUCCESS;
    const char *name = gs_function_names[function];
    if (!list->in_order)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: a counter-based event needs an in-order list (ZE_COMMAND_LIST_FLAG_IN_ORDER)", name);
    ze_event_counter_based_flags_t needed =
        list->immediate ? ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE : ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE;
    if (!(event->counter_flags & needed))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the counter-based event was created for %s lists only",
                       name, list->immediate ? "regular" : "immediate");
    return ZE_RESULT_SUCCESS;
}

static ze_result_t take_targets(gs_command *command, uint32_t count, ze_event_handle_t *waits) {
    if (count == 0)
        return ZE_RESULT_SUCCESS;
    command->targets = malloc(count * sizeof *command->targets);
    if (command->targets == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for %u wait events", count);
    command->target_count = count;
    for (uint32_t each = 0; each < count; each++)
        gs_target_take((gs_event *)waits[each], &command->targets[each]);
    return ZE_RESULT_SUCCESS;
}

/* Gives the command its number in the list's counter and lets a counter-based event follow it. */
static void number_command(gs_list *list, gs_command *command, gs_event *signal) {
    if (signal == NULL || signal->mode == GS_EVENT_PLAIN)
        return;
    if (signal->mode == GS_EVENT_EXTERNAL && signal->external_increment != 0)
        return; /* an aggregate is added to, and goes on standing for the application's word */
    if (signal->heap == &signal->mapped) { /* another process watches the event's own counter, not ours */
        command->counter = &signal->slot->own;
        command->step = ++signal->slot->own_issued;
    } else {
        command->counter = list->immediate ? list->counter : list->buffer->counter;
        command->step = list->immediate ? ++list->steps : ++list->buffer->steps;
    }
    gs_event_track(signal, command->counter, command->step);
}

/* Makes room to note so many more events. */
static bool reserve_events(gs_command_buffer *buffer, uint64_t more) {
    uint64_t needed = buffer->event_count + more, capacity = buffer->event_capacity;
    if (needed <= capacity)
        return true;
    capacity = needed > 2 * capacity ? needed + 16 : 2 * capacity;
    gs_event **events = capacity <= UINT32_MAX ? realloc(buffer->events, capacity * sizeof *events) : NULL;
    if (events == NULL)
        return false;
    buffer->events = events;
    buffer->event_capacity = (uint32_t)capacity;
    return true;
}

/* Notes that the command buffer refers to events, for the check when they are destroyed. There is room for them. */
static void note_events(gs_command_buffer *buffer, const gs_command *command) {
    for (uint32_t each = 0; each < command->target_count; each++) {
        buffer->events[buffer->event_count++] = command->targets[each].event;
        buffer->waits_for_counters |= command->targets[each].counter != NULL;
    }
    if (command->signal != NULL)
        buffer->events[buffer->event_count++] = command->signal;
}

bool gs_command_buffer_add(gs_command_buffer *buffer, gs_command *command) {
    if (!reserve_events(buffer, (uint64_t)command->target_count + 1))
        return false;
    note_events(buffer, command);
    if (buffer->first == NULL)
        buffer->first = command;
    else
        buffer->last->next = command;
    buffer->last = command;
    gs_mutable_bind(buffer, command);
    return true;
}

/* After commands have got other events. */
static ze_result_t note_events_again(gs_command_buffer *buffer) {
    uint64_t count = 0;
    for (const gs_command *command = buffer->first; command != NULL; command = command->next)
        count += (uint64_t)command->target_count + 1;
    if (!reserve_events(buffer, count))
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another event");
    buffer->event_count = 0;
    for (const gs_command *command = buffer->first; command != NULL; command = command->next)
        note_events(buffer, command);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t apply_changes(gs_list *list) {
    if (!list->changed)
        return ZE_RESULT_SUCCESS;
    ze_result_t result = gs_mutable_apply(list);
    return result == ZE_RESULT_SUCCESS ? note_events_again(list->buffer) : result;
}

/* An immediate list never needs closing; the call is accepted and changes nothing. */
ze_result_t gs_zeCommandListClose(ze_command_list_handle_t hCommandList) {
    gs_list *list = (gs_list *)hCommandList;
    gs_lock(&list->lock);
    ze_result_t result = apply_changes(list);
    list->closed = !list->immediate;
    list->changed = result != ZE_RESULT_SUCCESS;
    gs_unlock(&list->lock);
    if (gs_host_is_checked())
        gs_host_closed(list);
    return result;
}

ze_result_t gs_list_change_signal(enum gs_function function, gs_list *list, gs_command *command, gs_event *signal) {
    ze_result_t result = gs_list_check_signal(function, list, signal);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (signal != NULL)
        gs_object_hold(signal);
    if (command->signal != NULL)
        gs_object_drop(command->signal);
    command->signal = signal;
    if (command->counter != list->buffer->counter)
        command->counter = NULL; /* it was the old event's own */
    if (command->counter == NULL)
        number_command(list, command, signal);
    else if (signal != NULL)
        gs_event_track(signal, command->counter, command->step);
    list->changed = true;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_list_change_waits(gs_list *list, gs_command *command, uint32_t count, ze_event_handle_t *waits) {
    gs_command fresh = {.operation = GS_NOTHING};
    ze_event_handle_t *some = calloc(count + 1, sizeof *some);
    if (some == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for %u wait events", count);
    uint32_t there = 0;
    for (uint32_t each = 0; each < count; each++)
        if (waits[each] != NULL)
            some[there++] = waits[each];
    ze_result_t result = take_targets(&fresh, there, some);
    free(some);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_command spent = {.operation = GS_NOTHING, .targets = command->targets, .target_count = command->target_count};
    command->targets = fresh.targets;
    command->target_count = fresh.target_count;
    gs_command_release(&spent);
    list->changed = true;
    return ZE_RESULT_SUCCESS;
}

/* On an idle immediate list whose waits are over, a short command is done here and now; not if the device has CPUs
 * of its own, of which this thread knows nothing, or is no CPU. */
static bool do_at_once(gs_list *list, const gs_command *description, gs_event *signal, uint32_t wait_count,
                       ze_event_handle_t *waits) {
    bool is_work = description->operation != GS_NOTHING;
    if (gs_order_is_checked() && wait_count > 0)
        return false; /* what it waits for is part of the command */
    const gs_device *device = list->queue.device;
    if (is_work && (device->affinity != NULL || device->kind != NULL))
        return false;
    if (!gs_command_is_short(description))
        return false;
    for (uint32_t each = 0; each < wait_count; each++)
        if (!gs_event_is_signalled((gs_event *)waits[each]))
            return false;
    if (!gs_queue_claim(&list->queue))
        return false;
    gs_command command = *description;
    command.signal = signal;
    number_command(list, &command, signal);
    gs_queue_do_claimed(&list->queue, &command);
    command.signal = NULL; /* was never held */
    gs_command_release(&command);
    return true;
}

/* Gives up a command that is not submitted after all. */
static void refuse(const gs_command *description) {
    gs_command spent = *description;
    gs_command_cancel(&spent);
    gs_command_release(&spent);
}

static ze_result_t append_later(gs_list *list, const gs_command *description, gs_event *signal, uint32_t wait_count,
                                ze_event_handle_t *waits) {
    gs_command *command = malloc(sizeof *command);
    if (command == NULL || (!list->immediate && !reserve_events(list->buffer, (uint64_t)wait_count + 1))) {
        free(command);
        refuse(description);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another command");
    }
    *command = *description;
    ze_result_t result = take_targets(command, wait_count, waits);
    if (result == ZE_RESULT_SUCCESS && list->immediate)
        result = gs_queue_prepare(&list->queue, command);
    if (result != ZE_RESULT_SUCCESS) {
        refuse(command);
        free(command);
        return result;
    }
    if (signal != NULL)
        gs_object_hold(signal);
    command->signal = signal;
    number_command(list, command, signal);
    if (list->immediate)
        gs_queue_submit(&list->queue, command);
    else
        gs_command_buffer_add(list->buffer, command);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_append(enum gs_function function, ze_command_list_handle_t hList, const gs_command *description,
                      ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits) {
    gs_list *list = (gs_list *)hList;
    gs_command with_origin;
    if (gs_order_is_checked() || gs_is_checked(GS_CHECK_UNINIT)) {
        with_origin = *description;
        with_origin.origin = gs_host_call_now(function);
        description = &with_origin;
    }
    ze_result_t result = gs_list_check_signal(function, list, (gs_event *)signal);
    bool captured = false;
    if (gs_host_is_checked())
        gs_host_append(function, list, description, (gs_event *)signal);
    gs_lock(&list->lock);
    if (result == ZE_RESULT_SUCCESS && list->closed)
        result = gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                         "%s: the list is closed; call zeCommandListReset to record it anew",
                         gs_function_names[function]);
    if (result == ZE_RESULT_SUCCESS && gs_some_list_captures())
        result = gs_capture(function, list, description, (gs_event *)signal, wait_count, waits, &captured);
    if (result != ZE_RESULT_SUCCESS) {
        refuse(description);
    } else if (!captured && (!list->immediate || !do_at_once(list, description, (gs_event *)signal, wait_count, waits))) {
        result = append_later(list, description, (gs_event *)signal, wait_count, waits);
    }
    gs_unlock(&list->lock);
    return gs_unless_lost(function, list->context, result);
}

/* --- Running closed lists ------------------------------------------------------------------------ */

/* Fixes what a wait on a counter-based event means in this run: the latest run of the list that signals. */
static void resolve_waits(gs_command_buffer *buffer) {
    for (gs_command *command = buffer->first; command != NULL; command = command->next)
        for (uint32_t each = 0; each < command->target_count; each++) {
            gs_target *target = &command->targets[each];
            if (target->counter != NULL)
                __atomic_store_n(&target->resolved, target->counter->base + target->number, __ATOMIC_RELAXED);
        }
}

/* Points the counter-based events that a command buffer signals at its own counter; a clone of it signals them, too. */
static void claim_events(gs_command_buffer *buffer) {
    for (gs_command *command = buffer->first; command != NULL; command = command->next)
        if (command->signal != NULL && command->counter != NULL && command->counter == buffer->counter)
            gs_event_track(command->signal, command->counter, command->step);
}

gs_run gs_command_buffer_start(gs_command_buffer *buffer) {
    buffer->references++;
    buffer->pending++;
    if (buffer->waits_for_counters)
        resolve_waits(buffer);
    gs_run run = {buffer, buffer->runs++ * buffer->steps};
    if (buffer->counter != NULL)
        buffer->counter->base = run.base;
    if (buffer->was_cloned)
        claim_events(buffer);
    return run;
}

static void cancel(const gs_run *run) {
    gs_command_buffer *buffer = run->buffer;
    buffer->pending--;
    if (buffer->runs == 0 || (buffer->runs - 1) * buffer->steps != run->base)
        return; /* another run was started meanwhile */
    buffer->runs--;
    if (buffer->counter != NULL)
        buffer->counter->base = buffer->runs > 0 ? (buffer->runs - 1) * buffer->steps : 0;
}

void gs_command_cancel(const gs_command *command) {
    for (uint32_t each = 0; command->operation == GS_RUN_BUFFERS && each < command->run.count; each++)
        cancel(&command->run.runs[each]);
}

static ze_result_t fail_open(enum gs_function function, uint32_t which, const gs_list *list) {
    if (gs_host_is_checked())
        gs_host_open_list(function, list);
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: list %u is still open; call zeCommandListClose",
                   gs_function_names[function], which);
}

/* Called with the lock held. */
static bool is_closed(const gs_list *list) { return list->closed && !list->changed; }

gs_command_buffer *gs_list_lend(enum gs_function function, uint32_t which, gs_list *list) {
    gs_lock(&list->lock);
    gs_command_buffer *buffer = is_closed(list) ? list->buffer : NULL;
    if (buffer != NULL) {
        buffer->references++;
        buffer->pending++;
    }
    gs_unlock(&list->lock);
    if (buffer == NULL)
        fail_open(function, which, list);
    return buffer;
}

void gs_command_buffer_give_back(gs_command_buffer *buffer) {
    buffer->pending--;
    gs_command_buffer_drop(buffer);
}

ze_result_t gs_command_for_lists(enum gs_function function, uint32_t count, ze_command_list_handle_t *lists,
                                 gs_command **made) {
    gs_command *command = calloc(1, sizeof *command);
    gs_run *runs = calloc(count, sizeof *runs);
    if (command == NULL || runs == NULL) {
        free(command);
        free(runs);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to run %u command lists", count);
    }
    command->operation = GS_RUN_BUFFERS;
    command->run.runs = runs;
    for (uint32_t each = 0; each < count; each++) {
        gs_list *list = (gs_list *)lists[each];
        gs_lock(&list->lock);
        bool closed = is_closed(list);
        if (closed)
            runs[command->run.count++] = gs_command_buffer_start(list->buffer);
        gs_unlock(&list->lock);
        if (!closed) {
            gs_command_cancel(command);
            gs_command_free(command);
            return fail_open(function, each, list);
        }
    }
    *made = command;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t check_list(const char *name, const gs_queue *queue, uint32_t which, const gs_list *list) {
    if (list->immediate)
        return gs_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                       "%s: list %u is immediate; its commands run as they are appended", name, which);
    if (list->ordinal != queue->ordinal)
        return gs_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                       "%s: list %u was created for queue group %u, the queue for group %u", name, which,
                       list->ordinal, queue->ordinal);
    if (list->context != queue->context)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: list %u belongs to another context than the queue", name,
                       which);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_lists_check(enum gs_function function, const gs_queue *queue, uint32_t count,
                           ze_command_list_handle_t *lists) {
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (uint32_t each = 0; each < count && result == ZE_RESULT_SUCCESS; each++)
        result = check_list(gs_function_names[function], queue, each, (gs_list *)lists[each]);
    return result;
}

static ze_result_t append_lists(enum gs_function function, ze_command_list_handle_t hList, uint32_t count,
                                ze_command_list_handle_t *lists, ze_event_handle_t signal, uint32_t wait_count,
                                ze_event_handle_t *waits) {
    gs_list *into = (gs_list *)hList;
    const char *name = gs_function_names[function];
    if (!into->immediate)
        return gs_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                       "%s: the first argument must be an immediate list", name);
    ze_result_t result = gs_lists_check(function, &into->queue, count, lists);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_list_check_signal(function, into, (gs_event *)signal);
    bool captured = false;
    if (result == ZE_RESULT_SUCCESS && gs_some_list_captures())
        result = gs_capture_lists(function, into, count, lists, (gs_event *)signal, wait_count, waits, &captured);
    if (result != ZE_RESULT_SUCCESS || captured)
        return result;
    if (gs_host_is_checked())
        gs_host_execute(function, &into->queue, count, lists, NULL);
    gs_command *command;
    result = gs_command_for_lists(function, count, lists, &command);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_command description = *command;
    free(command);
    return gs_append(function, hList, &description, signal, wait_count, waits);
}

ze_result_t gs_zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t hCommandListImmediate,
                                                           uint32_t numCommandLists,
                                                           ze_command_list_handle_t *phCommandLists,
                                                           ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                           ze_event_handle_t *phWaitEvents) {
    return append_lists(GS_FN_zeCommandListImmediateAppendCommandListsExp, hCommandListImmediate, numCommandLists,
                        phCommandLists, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t gs_zeCommandListImmediateAppendCommandListsWithParameters(
    ze_command_list_handle_t hCommandListImmediate, uint32_t numCommandLists, ze_command_list_handle_t *phCommandLists,
    const void *pNext, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    if (pNext != NULL)
        return gs_fail_extension(GS_FN_zeCommandListImmediateAppendCommandListsWithParameters);
    return append_lists(GS_FN_zeCommandListImmediateAppendCommandListsWithParameters, hCommandListImmediate,
                        numCommandLists, phCommandLists, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t gs_zeCommandListHostSynchronize(ze_command_list_handle_t hCommandList, uint64_t timeout) {
    gs_list *list = (gs_list *)hCommandList;
    if (!list->immediate)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeCommandListHostSynchronize: only an immediate list can be waited for; synchronise with "
                       "the queue, a fence or an event");
    if (gs_some_list_captures() && gs_capture_of_list(list) != NULL)
        return gs_fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED,
                       "zeCommandListHostSynchronize: the list records a graph, so that nothing runs; end the capture "
                       "(zeCommandListEndGraphCaptureExt) first");
    bool done = gs_queue_synchronise(&list->queue, timeout);
    return gs_unless_lost(GS_FN_zeCommandListHostSynchronize, list->context,
                          done ? ZE_RESULT_SUCCESS : gs_not_ready(GS_FN_zeCommandListHostSynchronize));
}
