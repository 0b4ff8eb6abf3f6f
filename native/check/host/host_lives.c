/* Lives of objects and memory: what is used after its end, ended twice or while it is in use, and what is never ended. */
#include <stdlib.h>
#include <unistd.h>

#include "check/host/device_memory.h"
#include "check/host/host_report.h"
#include "check/host/host_use.h"
#include "graphs/graph.h"
#include "memory/memory.h"
#include "objects/external_semaphore.h"
#include "objects/list.h"
#include "python/interpreter.h"

_Atomic bool gs_host_checks;
static pid_t process;

/* The Python half says what the knob says. True if it is to call gs_host_report_leaks when its interpreter ends. */
GS_EXPORT bool gs_host_check(bool enable) {
    process = getpid();
    atomic_store(&gs_host_checks, enable);
    return gs_python_is_shared;
}

static const gs_host_call NO_CALL = {GS_FN_COUNT, NULL};

/* --- Beginnings ---------------------------------------------------------------------------------------- */

void gs_host_made(enum gs_function function, enum gs_kind kind, const void *handle, const void *parent) {
    gs_host_record made = {.handle = handle, .kind = kind, .parent = parent, .made = gs_host_call_now(function),
                           .ended = NO_CALL, .given = NO_CALL, .reset = NO_CALL, .emptied = NO_CALL};
    if (kind == GS_KIND_COMMAND_LIST) {
        made.is_immediate = ((const gs_list *)handle)->immediate;
        made.is_closed = ((const gs_list *)handle)->closed; /* a clone */
    }
    gs_host_books_enter(&made);
    gs_host_note_progress();
}

void gs_host_made_memory(enum gs_function function, const void *start, uint64_t size, const void *context) {
    gs_host_record made = {.handle = start, .kind = GS_KIND_NONE, .size = size, .parent = context,
                           .made = gs_host_call_now(function), .ended = NO_CALL};
    gs_host_books_enter(&made);
    gs_host_note_progress();
}

/* --- Ends ------------------------------------------------------------------------------------------------ */

/* What stands in the way of destroying an object: NULL if nothing does. */
static const char *use_of(enum gs_kind kind, void *handle) {
    switch (kind) {
    case GS_KIND_COMMAND_QUEUE:
        return gs_queue_is_busy(&((gs_command_queue *)handle)->queue) ? "the device still executes what was submitted to it" : NULL;
    case GS_KIND_COMMAND_LIST:
        return gs_list_is_busy(handle) ? "the device still executes it" : NULL;
    case GS_KIND_EVENT:
        return ((gs_event *)handle)->mode == GS_EVENT_PLAIN && ((gs_event *)handle)->pending > 0
                   ? "a submitted command still waits for it or is to signal it" : NULL;
    case GS_KIND_FENCE:
        return ((gs_fence *)handle)->pending > 0 ? "a submission is still to signal it" : NULL;
    case GS_KIND_EXTERNAL_SEMAPHORE_EXT:
        return ((gs_semaphore *)handle)->pending > 0 ? "a submitted command still waits for it or is to signal it" : NULL;
    case GS_KIND_EXECUTABLE_GRAPH:
        return gs_executable_graph_is_idle(handle) ? NULL : "it still runs";
    case GS_KIND_CONTEXT:
        return gs_queues_are_busy(handle) ? "one of its queues still executes what was submitted to it" : NULL;
    default:
        return NULL;
    }
}

/* What is made of an object and must be destroyed before it, or GS_KIND_NONE. */
static enum gs_kind kind_of_children(enum gs_kind kind) {
    switch (kind) {
    case GS_KIND_EVENT_POOL: return GS_KIND_EVENT;
    case GS_KIND_COMMAND_QUEUE: return GS_KIND_FENCE;
    case GS_KIND_MODULE: return GS_KIND_KERNEL;
    case GS_KIND_GRAPH: return GS_KIND_EXECUTABLE_GRAPH;
    default: return GS_KIND_NONE;
    }
}

static void report_children(enum gs_function function, enum gs_kind kind, const void *handle) {
    gs_host_record child;
    enum gs_kind children = kind_of_children(kind);
    if (children == GS_KIND_NONE || !gs_host_books_find_child(handle, children, &child))
        return;
    gs_host_report report;
    gs_host_report_begin(&report, "destroy-before-children", "%s: %s %s of this %s is still there",
                         gs_function_names[function], gs_host_article(children), gs_host_noun(children), gs_host_noun(kind));
    gs_host_report_at(&report, gs_host_call_now(function));
    gs_host_report_call(&report, "still there: made by", child.made);
    gs_host_report_note(&report, "help: destroy every %s before the %s that it was made of", gs_host_noun(children),
                        gs_host_noun(kind));
    gs_host_report_send(&report);
}

void gs_host_ending(enum gs_function function, enum gs_kind kind, void *handle) {
    const char *use = use_of(kind, handle);
    if (use == NULL) {
        report_children(function, kind, handle);
        return;
    }
    gs_host_record known = {.made = NO_CALL};
    gs_host_report report;
    gs_host_books_find(handle, &known);
    gs_host_report_begin(&report, "destroy-while-in-use", "%s: the %s is destroyed while %s", gs_function_names[function],
                         gs_host_noun(kind), use);
    gs_host_report_at(&report, gs_host_call_now(function));
    gs_host_report_call(&report, "made by", known.made);
    gs_host_report_note(&report, "help: wait for the work first, with an event, a fence or a synchronise");
    gs_host_report_send(&report);
}

static void end(gs_host_record *record, void *call) {
    record->is_live = false;
    record->ended = *(const gs_host_call *)call;
}

void gs_host_ended(enum gs_function function, const void *handle, ze_result_t result) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    gs_host_call now = gs_host_call_now(function);
    gs_host_books_change(handle, end, &now);
    gs_host_note_progress();
}

/* --- Memory ---------------------------------------------------------------------------------------------- */

void gs_host_freeing(enum gs_function function, const void *start) {
    gs_device_memory_report();
    gs_host_record known;
    char use[256];
    if (!gs_host_books_find(start, &known) || !known.is_live || known.kind != GS_KIND_NONE ||
        !gs_host_find_use(start, known.size, use, sizeof use))
        return;
    gs_host_report report;
    gs_host_report_begin(&report, "free-while-in-use", "%s: %llu bytes are freed while submitted work uses them: %s",
                         gs_function_names[function], (unsigned long long)known.size, use);
    gs_host_report_at(&report, gs_host_call_now(function));
    gs_host_report_call(&report, "allocated by", known.made);
    gs_host_report_note(&report, "help: wait for the work before the memory is freed, or free it with zeMemFreeExt and "
                                 "ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE");
    gs_host_report_send(&report);
}

static void report_bad_free(enum gs_function function, const void *start) {
    gs_host_record known;
    gs_host_report report;
    const char *name = gs_function_names[function];
    bool is_known = gs_host_books_find(start, &known) && known.kind == GS_KIND_NONE;
    if (is_known && known.is_live)
        return; /* with another function than that for what it is; the answer says so */
    if (is_known)
        gs_host_report_begin(&report, "double-free", "%s: this memory was freed before", name);
    else
        gs_host_report_begin(&report, "invalid-free", "%s: %p is not the start of any memory of this context", name, start);
    gs_host_report_at(&report, gs_host_call_now(function));
    if (is_known) {
        gs_host_report_call(&report, "allocated by", known.made);
        gs_host_report_call(&report, "freed by", known.ended);
    }
    gs_host_report_note(&report, is_known ? "help: free it once" : "help: free the pointer that the allocation gave, and nothing else");
    gs_host_report_send(&report);
}

void gs_host_freed(enum gs_function function, const void *start, ze_result_t result) {
    if (result == ZE_RESULT_SUCCESS)
        gs_host_ended(function, start, result);
    else if (result == ZE_RESULT_ERROR_INVALID_ARGUMENT)
        report_bad_free(function, start);
}

/* --- Handles that are not live --------------------------------------------------------------------------- */

void gs_host_bad_handle(enum gs_function function, const char *parameter, const void *handle, enum gs_kind kind) {
    gs_host_record known;
    gs_host_report report;
    const char *name = gs_function_names[function];
    if (handle == NULL)
        return;
    bool is_known = gs_host_books_find(handle, &known) && known.kind != GS_KIND_NONE;
    bool is_dead = is_known && !known.is_live;
    if (is_known && !is_dead && known.kind == kind)
        return; /* it went with a context that was lost */
    if (is_dead && known.ended.function == function)
        gs_host_report_begin(&report, "double-destroy", "%s: the %s was destroyed before", name, gs_host_noun(known.kind));
    else if (is_dead)
        gs_host_report_begin(&report, "use-after-destroy", "%s: %s is %s %s that was destroyed", name, parameter,
                             gs_host_article(known.kind), gs_host_noun(known.kind));
    else if (is_known)
        gs_host_report_begin(&report, "invalid-handle", "%s: %s is %s %s, not %s %s", name, parameter,
                             gs_host_article(known.kind), gs_host_noun(known.kind), gs_host_article(kind),
                             gs_host_noun(kind));
    else
        gs_host_report_begin(&report, "invalid-handle", "%s: %s (%p) is no handle of this driver", name, parameter, handle);
    gs_host_report_at(&report, gs_host_call_now(function));
    if (is_known)
        gs_host_report_call(&report, "made by", known.made);
    if (is_dead) {
        gs_host_report_call(&report, "destroyed by", known.ended);
        gs_host_report_note(&report, "help: destroy it after its last use, and once");
    }
    gs_host_report_send(&report);
}

/* --- Leaks ----------------------------------------------------------------------------------------------- */

/* Leaks of one call of the program: they are one finding. */
typedef struct leak {
    struct leak *next;
    gs_host_record first;
    uint64_t count, bytes;
    bool context_is_gone;
} leak;

static bool is_same(const leak *one, const gs_host_record *record) {
    return one->first.kind == record->kind && one->first.made.function == record->made.function &&
           one->first.made.stack == record->made.stack;
}

static bool is_gone(const void *context) {
    gs_host_record known;
    return gs_host_books_find(context, &known) && known.kind == GS_KIND_CONTEXT && !known.is_live;
}

static void collect(const gs_host_record *record, void *with) {
    leak **leaks = with, *found = *leaks;
    if (record->kind != GS_KIND_NONE && !gs_is_live(record->handle, record->kind))
        return; /* it went with a context that was lost */
    while (found != NULL && !is_same(found, record))
        found = found->next;
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return;
        found->first = *record;
        found->context_is_gone = is_gone(record->parent);
        found->next = *leaks;
        *leaks = found;
    }
    if (record->number < found->first.number)
        found->first = *record;
    found->count++;
    found->bytes += record->size;
}

static void report_leak(const leak *one) {
    gs_host_report report;
    const char *made_by = gs_function_names[one->first.made.function];
    unsigned long long count = one->count, bytes = one->bytes;
    if (one->first.kind == GS_KIND_NONE)
        gs_host_report_begin(&report, "leaked-allocation", "%llu bytes that %s gave were never freed", bytes, made_by);
    else if (count == 1)
        gs_host_report_begin(&report, "leaked-object", "%s %s was never destroyed", gs_host_article(one->first.kind),
                             gs_host_noun(one->first.kind));
    else
        gs_host_report_begin(&report, "leaked-object", "%llu %ss that were made here were never destroyed", count,
                             gs_host_noun(one->first.kind));
    gs_host_report_at(&report, one->first.made);
    if (one->context_is_gone)
        gs_host_report_note(&report, "its context was destroyed while it was there");
    gs_host_report_count(&report, one->count);
    gs_host_report_send(&report);
}

/* Oldest first, as a reader would look for them. */
static void report_oldest(leak **leaks) {
    leak **oldest = leaks;
    for (leak **each = leaks; *each != NULL; each = &(*each)->next)
        if ((*each)->first.number < (*oldest)->first.number)
            oldest = each;
    leak *reported = *oldest;
    *oldest = reported->next;
    report_leak(reported);
    free(reported);
}

/* When the program ends. A process that was forked has its own end, but nothing that it made. */
GS_EXPORT void gs_host_report_leaks(void) {
    if (!gs_host_is_checked() || getpid() != process)
        return;
    leak *leaks = NULL;
    gs_device_memory_report();
    gs_host_books_each_live(collect, &leaks);
    while (leaks != NULL)
        report_oldest(&leaks);
    atomic_store(&gs_host_checks, false);
}

/* After the handlers and destructors of the program. An interpreter that the program shares has ended by then, and has
 * reported before. */
__attribute__((destructor)) static void end_of_process(void) {
    if (gs_host_is_checked() && !gs_python_is_shared)
        gs_host_report_leaks();
}
