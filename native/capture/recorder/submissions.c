/* Command lists, what their copies read and write, and when submitted work has ended. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "capture/recorder/handles.h"
#include "capture/recorder/hooks.h"
#include "capture/recorder/slots.h"
#include "capture/timing/timing.h"

/* How long a recorded submission waits for its work, in nanoseconds. Work that waits for the host would wait for ever: the
 * program goes on, and the stream says so. Commands without events wait for the host only if they read its memory
 * again and again. Once some work has not ended, others are not kept for long. */
static const uint64_t PATIENCE = 200000000, GREAT_PATIENCE = 3000000000, IMPATIENCE = 2000000;
enum { NAP = 100000 };
enum { UNENDED_LIMIT = 64 };

/* What is known of a command list. */
typedef struct command_list {
    bool immediate;
    unsigned traits;
    gc_extents reads, targets;
} command_list;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gc_handles lists;
static gc_extents graph_reads, graph_targets; /* of all lists while they recorded graphs */
static unsigned graph_traits;
static atomic_bool graphs_are_used;

/* Queues and immediate lists whose work had not ended when somebody waited for it. */
static struct {
    const void *handle;
    bool is_queue;
} unended[UNENDED_LIMIT];
static atomic_int unended_count;

/* --- Lists ------------------------------------------------------------------------------------------------ */

static void free_list(command_list *list) {
    if (list == NULL)
        return;
    gc_extents_free(&list->reads);
    gc_extents_free(&list->targets);
    free(list);
}

static command_list *enter_list(ze_command_list_handle_t handle, bool immediate) {
    command_list *list = calloc(1, sizeof *list);
    if (list == NULL)
        return NULL;
    list->immediate = immediate;
    free_list(gc_handles_put(&lists, handle, list));
    return gc_handles_get(&lists, handle);
}

/* A list that came from a function that is not known to make lists is asked what it is. */
static command_list *find_list(ze_command_list_handle_t handle) {
    command_list *list = gc_handles_get(&lists, handle);
    if (list != NULL || handle == NULL)
        return list;
    ze_bool_t immediate = 0;
    ze_pfnCommandListIsImmediate_t ask = (ze_pfnCommandListIsImmediate_t)gc_next[GS_FN_zeCommandListIsImmediate];
    return ask(handle, &immediate) == ZE_RESULT_SUCCESS ? enter_list(handle, immediate != 0) : NULL;
}

void gc_made_list(ze_result_t result, const ze_command_list_handle_t *found, bool immediate) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    enter_list(*found, immediate);
    pthread_mutex_unlock(&lock);
}

void gc_cloned_list(ze_result_t result, ze_command_list_handle_t list, const ze_command_list_handle_t *found) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    command_list *clone = enter_list(*found, false);
    const command_list *from = find_list(list);
    if (clone != NULL && from != NULL) {
        gc_extents_join(&clone->reads, &from->reads);
        gc_extents_join(&clone->targets, &from->targets);
        clone->traits = from->traits;
    }
    pthread_mutex_unlock(&lock);
}

void gc_emptied_list(ze_result_t result, ze_command_list_handle_t handle) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    command_list *list = gc_handles_get(&lists, handle);
    if (list != NULL) {
        list->reads.count = list->targets.count = 0;
        list->traits = 0;
    }
    pthread_mutex_unlock(&lock);
}

/* Before the call: its handle may be somebody else's when it returns. */
void gc_unmaking(const void *handle) {
    pthread_mutex_lock(&lock);
    int count = atomic_load(&unended_count);
    for (int each = count - 1; each >= 0; each--)
        if (unended[each].handle == handle)
            unended[each] = unended[--count];
    atomic_store(&unended_count, count);
    pthread_mutex_unlock(&lock);
}

void gc_unmade_list(ze_result_t result, ze_command_list_handle_t list) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    free_list(gc_handles_take(&lists, list));
    pthread_mutex_unlock(&lock);
}

void gc_captures_graph(void) {
    atomic_store(&graphs_are_used, true);
}

/* Whether commands on an immediate list go into a graph instead of to the device. */
static bool records_graph(ze_command_list_handle_t list) {
    ze_pfnCommandListIsGraphCaptureEnabledExt_t ask =
        (ze_pfnCommandListIsGraphCaptureEnabledExt_t)gc_next[GS_FN_zeCommandListIsGraphCaptureEnabledExt];
    return atomic_load(&graphs_are_used) && ask(list) == ZE_RESULT_QUERY_TRUE;
}

/* --- Waiting ---------------------------------------------------------------------------------------------- */

/* Loaders before 1.9 cannot wait for an immediate list. Our driver behind one can; it refuses handles that are the
 * loader's own. */
static ze_result_t synchronize_list(ze_command_list_handle_t list, uint64_t patience) {
    static _Atomic(ze_pfnCommandListHostSynchronize_t) own;
    ze_result_t result = ((ze_pfnCommandListHostSynchronize_t)gc_next[GS_FN_zeCommandListHostSynchronize])(list, patience);
    if (result != ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
        return result;
    ze_pfnCommandListHostSynchronize_t ask = atomic_load(&own);
    if (ask == NULL) {
        void *driver = gc_memory_driver();
        ask = driver != NULL ? (ze_pfnCommandListHostSynchronize_t)dlsym(driver, "zeCommandListHostSynchronize") : NULL;
        atomic_store(&own, ask);
    }
    return ask != NULL ? ask(list, patience) : result;
}

static gc_outcome wait_for(const void *handle, bool is_queue, uint64_t patience) {
    ze_result_t result = is_queue ? ((ze_pfnCommandQueueSynchronize_t)gc_next[GS_FN_zeCommandQueueSynchronize])(
                                        (ze_command_queue_handle_t)handle, patience)
                                  : synchronize_list((ze_command_list_handle_t)handle, patience);
    switch (result) {
    case ZE_RESULT_NOT_READY:
        return GC_UNDER_WAY;
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
    case ZE_RESULT_ERROR_INVALID_NULL_HANDLE:
        return GC_UNKNOWN;
    default:
        return GC_DONE;
    }
}

static void note_unended(const void *handle, bool is_queue) {
    pthread_mutex_lock(&lock);
    int count = atomic_load(&unended_count);
    for (int each = 0; each < count; each++)
        if (unended[each].handle == handle)
            count = UNENDED_LIMIT;
    if (count < UNENDED_LIMIT) {
        unended[count].handle = handle;
        unended[count].is_queue = is_queue;
        atomic_store(&unended_count, count + 1);
    }
    pthread_mutex_unlock(&lock);
}

/* Whether work from before is still under way. */
static bool is_under_way(void) {
    if (atomic_load(&unended_count) == 0)
        return false;
    pthread_mutex_lock(&lock);
    int count = atomic_load(&unended_count);
    for (int each = count - 1; each >= 0; each--)
        if (wait_for(unended[each].handle, unended[each].is_queue, 0) != GC_UNDER_WAY)
            unended[each] = unended[--count];
    atomic_store(&unended_count, count);
    pthread_mutex_unlock(&lock);
    return count > 0;
}

/* The same after some patience. Nothing is locked meanwhile: another thread may have to bring the work to its end. */
static bool stays_under_way(void) {
    const struct timespec nap = {0, NAP};
    for (int naps = 0; is_under_way(); naps++) {
        if (naps == (int)(PATIENCE / NAP))
            return true;
        nanosleep(&nap, NULL);
    }
    return false;
}

static void finish(gc_call *call, const void *handle, bool is_queue) {
    if (!gc_memory_waits())
        return;
    bool others = atomic_load(&unended_count) > 0;
    gc_outcome outcome = wait_for(handle, is_queue, others ? IMPATIENCE : call->traits != 0 ? PATIENCE : GREAT_PATIENCE);
    if (outcome == GC_UNDER_WAY)
        note_unended(handle, is_queue);
    else if (outcome == GC_DONE)
        gc_times_ended(ZE_RESULT_SUCCESS, handle);
    if (others && is_under_way() && outcome == GC_DONE)
        outcome = GC_UNDER_WAY;
    gc_memory_after(call, &call->targets, outcome);
}

/* --- Submissions ------------------------------------------------------------------------------------------ */

static void begin(gc_call *call) {
    call->submits = true;
    gc_overlap_begin(&call->overlap);
    gc_memory_before(call, &call->reads, is_under_way() || !call->overlap.began_alone);
}

static void end(gc_call *call) {
    if (call->submits)
        gc_overlap_end();
    call->submits = false;
}

void gc_appending(gc_call *call, ze_command_list_handle_t handle, unsigned traits) {
    call->traits |= traits;
    pthread_mutex_lock(&lock);
    const command_list *list = find_list(handle);
    bool submits = list != NULL && list->immediate;
    pthread_mutex_unlock(&lock);
    call->submits = false;
    if (submits && !records_graph(handle))
        begin(call);
}

/* Programs record the same graph again and again. */
static void join_new(gc_extents *to, const gc_extents *from) {
    for (size_t each = 0; each < from->count; each++) {
        bool known = false;
        for (size_t old = 0; old < to->count && !known; old++)
            known = from->all[each].at >= to->all[old].at &&
                    from->all[each].at + from->all[each].size <= to->all[old].at + to->all[old].size;
        if (!known)
            gc_extents_add(to, from->all[each].at, from->all[each].size);
    }
}

void gc_appended(gc_call *call, ze_result_t result, ze_command_list_handle_t handle) {
    bool submitted = call->submits;
    if (submitted && result == ZE_RESULT_SUCCESS)
        finish(call, handle, false);
    end(call);
    if (submitted || result != ZE_RESULT_SUCCESS)
        return;
    if (call->reads.count == 0 && call->targets.count == 0 && call->traits == 0)
        return;
    pthread_mutex_lock(&lock);
    command_list *list = find_list(handle);
    if (list != NULL)
        *(list->immediate ? &graph_traits : &list->traits) |= call->traits;
    if (list != NULL && list->immediate) {
        join_new(&graph_reads, &call->reads);
        join_new(&graph_targets, &call->targets);
    } else if (list != NULL) {
        gc_extents_join(&list->reads, &call->reads);
        gc_extents_join(&list->targets, &call->targets);
    }
    pthread_mutex_unlock(&lock);
}

void gc_gathers(gc_call *call, uint32_t count, const ze_command_list_handle_t *handles) {
    if (!gc_readable(handles, count * sizeof *handles))
        return;
    pthread_mutex_lock(&lock);
    for (uint32_t each = 0; each < count; each++) {
        const command_list *list = gc_handles_get(&lists, handles[each]);
        if (list == NULL)
            continue;
        gc_extents_join(&call->reads, &list->reads);
        gc_extents_join(&call->targets, &list->targets);
        call->traits |= list->traits;
    }
    pthread_mutex_unlock(&lock);
}

/* A graph's commands were appended to lists that recorded it; which graph a list's commands went to is not kept. */
void gc_gathers_graphs(gc_call *call) {
    pthread_mutex_lock(&lock);
    gc_extents_join(&call->reads, &graph_reads);
    gc_extents_join(&call->targets, &graph_targets);
    call->traits |= graph_traits;
    pthread_mutex_unlock(&lock);
}

void gc_executing(gc_call *call) {
    begin(call);
}

void gc_executed(gc_call *call, ze_result_t result, ze_command_queue_handle_t queue) {
    if (result == ZE_RESULT_SUCCESS)
        finish(call, queue, true);
    end(call);
}

void gc_signalling(gc_call *call) {
    call->submits = false;
    if (atomic_load(&unended_count) > 0)
        begin(call);
}

void gc_signalled(gc_call *call, ze_result_t result) {
    if (result == ZE_RESULT_SUCCESS && call->submits && gc_memory_waits())
        gc_memory_after(call, &call->targets, stays_under_way() ? GC_UNDER_WAY : GC_DONE);
    end(call);
}
