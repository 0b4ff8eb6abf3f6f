/* Commands wait here for their times: those of an immediate list until they have ended, those of a regular list from each
 * execution until its end. An event is good for one measurement at a time; what cannot be told from a later one is left out. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capture/timing/timing.h"
#include "capture/recorder/handles.h"
#include "capture/recorder/slots.h"
#include "capture/stream/journal.h"
#include "capture/timing/timestamp_events.h"

enum { MOST = 64, MANY = 32, CHAIN_LIMIT = 256 };

/* A command with an event that tells when it ran. */
typedef struct command {
    uint64_t append; /* the number of the call's record */
    ze_event_handle_t event;
    bool is_own;   /* the recorder's event */
    bool waits;    /* for its times */
    uint64_t turn; /* of an event of the program: no later command signals it as long as it has the same */
} command;

typedef struct timed_list {
    ze_command_list_handle_t handle;
    ze_context_handle_t context;
    ze_device_handle_t device;
    bool is_immediate, is_excluded;
    bool overlaps;       /* it was executed again before its times were known */
    uint64_t submission; /* the number of the record of its last execution */
    const void *target;  /* the queue or immediate list that executed it */
    ze_fence_handle_t fence;
    command *commands;
    size_t begin, count, capacity; /* those before `begin` are done with */
    struct timed_list *next;   /* of all regular lists that wait for their times */
    bool is_under_way;
} timed_list;

/* The clock of a device. */
typedef struct timer {
    double tick; /* nanoseconds */
    uint64_t mask;
} timer;

static atomic_bool is_on;
static gc_handles lists, timers;
static timed_list *under_way;
static uint64_t turns;

static struct {
    gc_layout_record record;
    gc_layout_times times;
    gc_layout_time all[MOST];
} found = {.record.kind = GC_TIMES};

void gc_times_open(void) {
    is_on = true;
    gc_timed_events_open();
}

static void store(void) {
    found.record.length = (uint32_t)(sizeof found.times + found.times.count * sizeof *found.all);
    if (found.times.count > 0)
        gc_journal_append((const uint8_t *)&found, sizeof found.record + found.record.length);
    found.times.count = 0;
}

void gc_times_close(void) {
    pthread_mutex_lock(&gc_times_lock);
    is_on = false;
    store();
    pthread_mutex_unlock(&gc_times_lock);
}

void gc_times_abandon(void) {
    is_on = false;
    gc_timed_events_abandon();
}

/* --- Measurements ------------------------------------------------------------------------------------------- */

static const timer *timer_of(ze_device_handle_t device) {
    timer *known = gc_handles_get(&timers, device);
    if (known != NULL)
        return known;
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2};
    ze_pfnDeviceGetProperties_t ask = (ze_pfnDeviceGetProperties_t)gc_next[GS_FN_zeDeviceGetProperties];
    known = calloc(1, sizeof *known);
    if (known == NULL || ask(device, &properties) != ZE_RESULT_SUCCESS || properties.timerResolution == 0) {
        free(known);
        return NULL;
    }
    uint32_t bits = properties.kernelTimestampValidBits;
    known->tick = 1e9 / (double)properties.timerResolution;
    known->mask = bits == 0 || bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    free(gc_handles_put(&timers, device, known));
    return gc_handles_get(&timers, device);
}

static void add(const timed_list *list, const command *each, const ze_kernel_timestamp_result_t *times) {
    const timer *clock = timer_of(list->device);
    uint64_t submission = list->is_immediate ? each->append : list->submission;
    if (clock == NULL)
        return;
    uint64_t ticks = (times->global.kernelEnd - times->global.kernelStart) & clock->mask;
    uint64_t start = (uint64_t)((double)times->global.kernelStart * clock->tick);
    found.all[found.times.count++] =
        (gc_layout_time){submission, each->append, start, start + (uint64_t)((double)ticks * clock->tick)};
    if (found.times.count == MOST)
        store();
}

static bool is_latest(const command *each) {
    const gc_timed_event *event = each->is_own ? NULL : gc_timed_events_get(each->event);
    return each->is_own || (event != NULL && event->turn == each->turn);
}

/* Takes a command's times if they are there. It waits no more if so, or if `ended` says that they will never come. */
static void take_times(timed_list *list, command *each, bool ended) {
    ze_kernel_timestamp_result_t times;
    bool latest = is_latest(each);
    bool is_there = latest && gc_timed_events_read(each->event, &times);
    if (is_there)
        add(list, each, &times);
    each->waits = latest && !is_there && !ended;
    if (!each->waits && each->is_own && list->is_immediate)
        gc_timed_events_return(list->context, each->event);
    else if (is_there && each->is_own)
        ((ze_pfnEventHostReset_t)gc_next[GS_FN_zeEventHostReset])(each->event);
}

/* Takes the times of commands in their order, up to the first one that is still to come unless all have ended. */
static void take_all(timed_list *list, bool ended) {
    if (list->overlaps && !ended)
        return;
    size_t each = list->begin;
    while (each < list->count && !list->commands[each].waits)
        each++;
    for (; each < list->count; each++) {
        if (list->commands[each].waits)
            take_times(list, &list->commands[each], ended);
        if (list->commands[each].waits)
            break;
    }
    if (!list->is_immediate)
        return;
    list->begin = each;
    if (list->begin == list->count)
        list->begin = list->count = 0;
}

static bool still_waits(const timed_list *list) {
    for (size_t each = list->begin; each < list->count; each++)
        if (list->commands[each].waits)
            return true;
    return false;
}

static void remove_under_way(timed_list *list) {
    for (timed_list **at = &under_way; *at != NULL; at = &(*at)->next)
        if (*at == list) {
            *at = list->next;
            break;
        }
    list->is_under_way = list->overlaps = false;
}

/* --- Lists -------------------------------------------------------------------------------------------------- */

static bool is_mutable(const void *desc) {
    const ze_base_desc_t *link = desc;
    for (int links = 0; links < CHAIN_LIMIT && gc_readable(link, sizeof *link); link = link->pNext, links++)
        if ((uint32_t)link->stype == ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC)
            return true;
    return false;
}

/* Forgets the commands of a list that will not run again. */
static void forget_commands(timed_list *list) {
    for (size_t each = list->begin; each < list->count; each++)
        if (list->commands[each].is_own)
            gc_timed_events_return(list->context, list->commands[each].event);
    list->begin = list->count = 0;
    if (list->is_under_way)
        remove_under_way(list);
}

static void drop_list(ze_command_list_handle_t handle) {
    timed_list *list = gc_handles_take(&lists, handle);
    if (list == NULL)
        return;
    forget_commands(list);
    free(list->commands);
    free(list);
}

void gc_times_made_list(ze_result_t result, ze_context_handle_t context, ze_device_handle_t device,
                        const ze_command_list_handle_t *made, bool immediate, const void *desc) {
    if (!is_on || result != ZE_RESULT_SUCCESS)
        return;
    timed_list *list = calloc(1, sizeof *list);
    if (list == NULL)
        return;
    *list = (timed_list){.handle = *made, .context = context, .device = device, .is_immediate = immediate};
    list->is_excluded = is_mutable(desc);
    pthread_mutex_lock(&gc_times_lock);
    drop_list(*made);
    free(gc_handles_put(&lists, *made, list));
    pthread_mutex_unlock(&gc_times_lock);
}

/* The list's events belong to another list as well, or to a graph: they tell nothing any more. */
void gc_times_excluded_list(ze_command_list_handle_t handle) {
    pthread_mutex_lock(&gc_times_lock);
    timed_list *list = gc_handles_get(&lists, handle);
    if (list != NULL)
        list->is_excluded = true;
    for (size_t each = 0; list != NULL && each < list->count; each++)
        list->commands[each].waits = false;
    pthread_mutex_unlock(&gc_times_lock);
}

void gc_times_emptied_list(ze_result_t result, ze_command_list_handle_t handle) {
    pthread_mutex_lock(&gc_times_lock);
    timed_list *list = result == ZE_RESULT_SUCCESS ? gc_handles_get(&lists, handle) : NULL;
    if (list != NULL)
        forget_commands(list);
    pthread_mutex_unlock(&gc_times_lock);
}

void gc_times_unmaking_list(ze_command_list_handle_t handle) {
    pthread_mutex_lock(&gc_times_lock);
    timed_list *list = gc_handles_get(&lists, handle);
    if (list != NULL)
        take_all(list, false);
    pthread_mutex_unlock(&gc_times_lock);
}

void gc_times_unmade_list(ze_result_t result, ze_command_list_handle_t handle) {
    pthread_mutex_lock(&gc_times_lock);
    if (result == ZE_RESULT_SUCCESS)
        drop_list(handle);
    pthread_mutex_unlock(&gc_times_lock);
}

/* Lists that are still there keep no event of it. */
void gc_times_unmaking_context(ze_context_handle_t context) {
    pthread_mutex_lock(&gc_times_lock);
    for (size_t each = 0; each < lists.capacity; each++) {
        timed_list *list = lists.entries[each].value;
        if (list != NULL && list->context == context) {
            forget_commands(list);
            list->is_excluded = true;
        }
    }
    gc_timed_events_end(context);
    pthread_mutex_unlock(&gc_times_lock);
}

/* --- Commands ----------------------------------------------------------------------------------------------- */

static bool make_room(timed_list *list) {
    if (list->count < list->capacity)
        return true;
    if (list->begin > list->capacity / 2) { /* what has been done with makes room */
        memmove(list->commands, list->commands + list->begin, (list->count - list->begin) * sizeof *list->commands);
        list->count -= list->begin;
        list->begin = 0;
        return true;
    }
    size_t capacity = list->capacity * 2 + 16;
    command *commands = realloc(list->commands, capacity * sizeof *commands);
    if (commands == NULL)
        return false;
    list->commands = commands;
    list->capacity = capacity;
    return true;
}

ze_event_handle_t gc_times_event(gc_call *call, ze_command_list_handle_t handle, ze_event_handle_t event) {
    call->timed_event = NULL;
    if (!is_on)
        return event;
    pthread_mutex_lock(&gc_times_lock);
    timed_list *list = gc_handles_get(&lists, handle);
    if (list != NULL && list->is_immediate && list->count - list->begin >= MANY)
        take_all(list, false); /* gives back events */
    bool is_measured = list != NULL && !list->is_excluded && call->submits == list->is_immediate && make_room(list);
    if (is_measured && event == NULL) {
        call->timed_event = event = gc_timed_events_lend(list->context);
        call->timed_event_is_own = true;
    } else if (is_measured && gc_timed_events_get(event) != NULL) {
        call->timed_event = event;
        call->timed_event_is_own = false;
    }
    pthread_mutex_unlock(&gc_times_lock);
    return event;
}

static void signals(const timed_list *list, command *each) {
    gc_timed_event *event = each->is_own ? NULL : gc_timed_events_get(each->event);
    if (event == NULL)
        return;
    event->turn = each->turn = ++turns;
    event->list = list->handle;
}

void gc_times_appended(gc_call *call, ze_result_t result, ze_command_list_handle_t handle) {
    if (call->timed_event == NULL)
        return;
    pthread_mutex_lock(&gc_times_lock);
    timed_list *list = gc_handles_get(&lists, handle);
    bool done = list != NULL && result == ZE_RESULT_SUCCESS && make_room(list);
    if (done) {
        command *new = &list->commands[list->count++];
        *new = (command){.append = call->number, .event = call->timed_event, .is_own = call->timed_event_is_own};
        new->waits = list->is_immediate;
        if (list->is_immediate)
            signals(list, new);
    } else if (list != NULL && call->timed_event_is_own) {
        gc_timed_events_return(list->context, call->timed_event);
    }
    pthread_mutex_unlock(&gc_times_lock);
}

static void begin_run(timed_list *list, uint64_t submission, const void *target, ze_fence_handle_t fence) {
    if (list->is_under_way)
        take_all(list, false);
    bool overlaps = list->is_under_way && still_waits(list);
    if (!list->is_under_way) {
        list->next = under_way;
        under_way = list;
    }
    list->is_under_way = true;
    list->overlaps = overlaps;
    list->submission = submission;
    list->target = target;
    list->fence = fence;
    for (size_t each = 0; each < list->count; each++) {
        list->commands[each].waits = !list->is_excluded;
        signals(list, &list->commands[each]);
    }
}

void gc_times_executed(const gc_call *call, ze_result_t result, const void *target, ze_fence_handle_t fence,
                       uint32_t count, const ze_command_list_handle_t *handles) {
    if (!is_on || result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&gc_times_lock);
    for (uint32_t each = 0; each < count; each++) {
        timed_list *list = gc_handles_get(&lists, handles[each]);
        if (list != NULL && list->count > 0)
            begin_run(list, call->number, target, fence);
    }
    pthread_mutex_unlock(&gc_times_lock);
}

/* --- Ends --------------------------------------------------------------------------------------------------- */

static void end_runs(const void *target, ze_fence_handle_t fence) {
    for (timed_list *list = under_way, *next; list != NULL; list = next) {
        next = list->next;
        if (list->target != target && (fence == NULL || list->fence != fence))
            continue;
        take_all(list, true);
        remove_under_way(list);
    }
}

void gc_times_ended(ze_result_t result, const void *target) {
    if (!is_on || result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&gc_times_lock);
    timed_list *list = gc_handles_get(&lists, target);
    if (list != NULL)
        take_all(list, true);
    end_runs(target, NULL);
    pthread_mutex_unlock(&gc_times_lock);
}

void gc_times_passed(ze_result_t result, ze_fence_handle_t fence) {
    if (!is_on || result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&gc_times_lock);
    end_runs(NULL, fence);
    pthread_mutex_unlock(&gc_times_lock);
}

/* The list of the event's command, first what came before it, and then the command itself. */
static void take_times_of(ze_event_handle_t handle) {
    gc_timed_event *event = gc_timed_events_get(handle);
    timed_list *list = event != NULL ? gc_handles_get(&lists, event->list) : NULL;
    if (list == NULL || list->overlaps)
        return;
    take_all(list, false);
    for (size_t each = list->begin; each < list->count; each++)
        if (list->commands[each].waits && list->commands[each].event == handle)
            take_times(list, &list->commands[each], false);
}

void gc_times_signalled(ze_result_t result, ze_event_handle_t event) {
    if (!is_on || result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&gc_times_lock);
    take_times_of(event);
    pthread_mutex_unlock(&gc_times_lock);
}

void gc_times_leaving(ze_event_handle_t event) {
    gc_times_signalled(ZE_RESULT_SUCCESS, event);
}

void gc_times_superseded(ze_event_handle_t handle) {
    if (!is_on || handle == NULL)
        return;
    pthread_mutex_lock(&gc_times_lock);
    take_times_of(handle);
    gc_timed_event *event = gc_timed_events_get(handle);
    if (event != NULL)
        event->turn = ++turns;
    pthread_mutex_unlock(&gc_times_lock);
}

void gc_times_made_event(ze_result_t result, ze_event_pool_handle_t pool, const ze_event_handle_t *made) {
    if (!is_on || result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&gc_times_lock);
    gc_timed_events_put(pool, *made);
    pthread_mutex_unlock(&gc_times_lock);
}

/* Before the call: its handle may be somebody else's when it returns. */
void gc_times_unmaking_event(ze_event_handle_t event) {
    gc_times_leaving(event);
    pthread_mutex_lock(&gc_times_lock);
    gc_timed_events_take(event);
    pthread_mutex_unlock(&gc_times_lock);
}
