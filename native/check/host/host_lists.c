/* Command lists and what is submitted: lists that are changed while they run or run while they are open, and arguments of
 * commands that lead nowhere. */
#include <stdio.h>

#include "check/host/device_memory.h"
#include "check/host/host_report.h"
#include "check/host/host_use.h"
#include "check/quarantine.h"
#include "memory/memory.h"
#include "objects/list.h"
#include "runtime/launch.h"

/* --- Findings about a list ------------------------------------------------------------------------------ */

static void report_list(const char *kind, enum gs_function function, const gs_list *list, const char *what,
                        const char *help) {
    gs_host_report report;
    gs_host_record known;
    gs_host_report_begin(&report, kind, "%s: %s", gs_function_names[function], what);
    gs_host_report_at(&report, gs_host_call_now(function));
    if (gs_host_books_find(list, &known))
        gs_host_report_call(&report, "the list was made by", known.made);
    gs_host_report_note(&report, "help: %s", help);
    gs_host_report_send(&report);
}

static void note_closed(gs_host_record *record, void *unused) {
    (void)unused;
    record->is_closed = true;
}

void gs_host_closed(const gs_list *list) {
    gs_host_books_change(list, note_closed, NULL);
    gs_host_note_progress();
}

static void note_emptied(gs_host_record *record, void *call) {
    record->is_closed = false;
    record->runs = 0;
    record->recording++;
    record->emptied = *(const gs_host_call *)call;
}

void gs_host_resetting(gs_list *list) {
    gs_host_call now = gs_host_call_now(GS_FN_zeCommandListReset);
    if (gs_list_is_busy(list))
        report_list("list-reset-while-running", GS_FN_zeCommandListReset, list,
                    "the list is reset while the device still executes it",
                    "wait for the list first, with a fence, an event or zeCommandQueueSynchronize");
    gs_host_books_change(list, note_emptied, &now);
    gs_host_note_progress();
}

void gs_host_mutating(enum gs_function function, gs_list *list) {
    if (gs_list_is_busy(list))
        report_list("list-change-while-running", function, list, "a command is changed while the device still executes its list",
                    "wait for the list first, with a fence, an event or zeCommandQueueSynchronize");
}

void gs_host_open_list(enum gs_function function, const gs_list *list) {
    report_list("open-list-execution", function, list,
                list->closed ? "the list was changed and not closed again" : "the list is executed and was not closed",
                "call zeCommandListClose after the last command");
}

/* --- Memory that a command names ---------------------------------------------------------------------------- */

typedef struct submission {
    enum gs_function function;
    const gs_context *context;
} submission;

typedef enum { IS_FINE, IS_FREED, IS_NOWHERE, IS_FOREIGN } where;

static where look_for(const gs_context *context, const void *start, gs_host_record *known) {
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_of_any(start);
    const gs_context *owner = found != NULL ? found->context : NULL;
    const void *base = found != NULL ? found->base : NULL;
    gs_memory_unlock();
    if (found != NULL && owner != context && gs_host_books_find(base, known) && known->is_live)
        return IS_FOREIGN;
    if (found != NULL)
        return IS_FINE;
    bool is_readable = gs_is_readable(start, 1);
    bool is_kept = gs_quarantine_holds(start);
    if (gs_host_books_find_freed(start, known) && (!is_readable || is_kept || gs_pages_keep(known->handle)))
        return IS_FREED; /* and has not become memory of the program since */
    return is_readable ? IS_FINE : IS_NOWHERE;
}

static bool check_range(const gs_command *command, const void *start, uint64_t size, int argument, void *with) {
    const submission *of = with;
    gs_host_record known;
    if (size == 0)
        return false;
    where at = look_for(of->context, start, &known);
    if (at == IS_FINE || (at == IS_FOREIGN && argument < 0)) /* copies may be between contexts */
        return false;
    static const char *const KINDS[] = {[IS_FREED] = "freed-memory-argument", [IS_NOWHERE] = "wild-pointer-argument",
                                        [IS_FOREIGN] = "foreign-memory-argument"};
    static const char *const WHATS[] = {[IS_FREED] = "memory that was freed", [IS_NOWHERE] = "where there is no memory",
                                        [IS_FOREIGN] = "memory of another context"};
    char what[160];
    gs_host_report report;
    gs_command_describe(command, what, sizeof what);
    if (argument >= 0)
        gs_host_report_begin(&report, KINDS[at], "%s: argument %d of %s is %p, %s", gs_function_names[of->function], argument,
                             what, start, WHATS[at]);
    else
        gs_host_report_begin(&report, KINDS[at], "%s: %s: %p is %s", gs_function_names[of->function], what, start, WHATS[at]);
    gs_host_report_at(&report, gs_host_call_now(of->function));
    if (at != IS_NOWHERE)
        gs_host_report_call(&report, "allocated by", known.made);
    if (at == IS_FREED)
        gs_host_report_call(&report, "freed by", known.ended);
    gs_host_report_note(&report, "help: %s", at == IS_FREED ? "free the memory after the last command that uses it"
                                             : at == IS_FOREIGN ? "allocate the memory in the context of the kernel's module and list"
                                                                : "set the argument to memory that the device can reach");
    gs_host_report_send(&report);
    return true; /* one for each command is enough */
}

void gs_host_unset_argument(enum gs_function function, const gs_kernel *kernel, uint32_t index) {
    gs_host_report report;
    gs_host_record known;
    gs_host_report_begin(&report, "unset-argument", "%s: argument %u of kernel '%s' was never set",
                         gs_function_names[function], index, kernel->entry_point->name);
    gs_host_report_at(&report, gs_host_call_now(function));
    if (gs_host_books_find(kernel, &known))
        gs_host_report_call(&report, "the kernel was made by", known.made);
    gs_host_report_note(&report, "help: call zeKernelSetArgumentValue for every argument before the launch");
    gs_host_report_send(&report);
}

/* The rest is 0 here, and anything elsewhere. */
void gs_host_short_argument(enum gs_function function, const gs_kernel *kernel, uint32_t index, size_t size) {
    gs_host_report report;
    gs_host_report_begin(&report, "short-argument", "%s: argument %u of kernel '%s' has %u bytes, and is given %zu",
                         gs_function_names[function], index, kernel->entry_point->name,
                         kernel->entry_point->arguments[index].size, size);
    gs_host_report_at(&report, gs_host_call_now(function));
    gs_host_report_note(&report, "help: pass a value of the type that the kernel takes");
    gs_host_report_send(&report);
}

/* --- Appending and executing ---------------------------------------------------------------------------------- */

typedef struct gift {
    gs_host_call call;
    const void *list;
    uint64_t number, recording;
} gift;

static void note_given(gs_host_record *record, void *with) {
    const gift *from = with;
    record->given = from->call;
    record->given_to = from->list;
    record->given_number = from->number;
    record->given_recording = from->recording;
    record->was_reset = false;
}

/* Before the list is locked. */
void gs_host_append(enum gs_function function, gs_list *list, const gs_command *command, const gs_event *signal) {
    gs_device_memory_report();
    gs_host_note_progress();
    if (list->closed) {
        report_list("append-to-closed-list", function, list, "the list was closed",
                    "append before zeCommandListClose, or call zeCommandListReset to record the list anew");
        return;
    }
    if (list->immediate && command->operation != GS_RUN_BUFFERS)
        gs_host_each_range(command, check_range, &(submission){function, list->context});
    if (signal == NULL)
        return;
    gs_host_record known = {0};
    gs_host_books_find(list, &known);
    gift given = {gs_host_call_now(function), list, known.number, known.recording};
    gs_host_books_change(signal, note_given, &given);
}

typedef struct start {
    const gs_queue *queue;
} start;

static void note_run(gs_host_record *record, void *with) {
    record->runs++;
    record->queue = ((const start *)with)->queue->owner;
}

static void check_second_queue(enum gs_function function, const gs_queue *queue, gs_list *list) {
    gs_host_record known;
    if (!gs_list_is_busy(list) || !gs_host_books_find(list, &known) || known.queue == NULL || known.queue == queue->owner)
        return;
    report_list("list-on-two-queues", function, list, "the list is executed on a queue while another one still executes it",
                "wait for the first run, or record a list for each queue");
}

/* The list is locked while its commands are looked at; what is found is reported all the same, which a long lock allows. */
static void check_recorded(enum gs_function function, gs_list *list) {
    submission of = {function, list->context};
    gs_lock(&list->lock);
    for (const gs_command *command = list->closed ? list->buffer->first : NULL; command != NULL; command = command->next)
        gs_host_each_range(command, check_range, &of);
    gs_unlock(&list->lock);
}

void gs_host_execute(enum gs_function function, gs_queue *queue, uint32_t count, ze_command_list_handle_t *lists,
                     const gs_fence *fence) {
    gs_device_memory_report();
    gs_host_note_progress();
    for (uint32_t each = 0; each < count; each++) {
        gs_list *list = (gs_list *)lists[each];
        check_second_queue(function, queue, list);
        check_recorded(function, list);
        if (list->closed)
            gs_host_books_change(list, note_run, &(start){queue});
    }
    if (fence != NULL) {
        gift given = {.call = gs_host_call_now(function), .list = queue->owner};
        gs_host_books_change(fence, note_given, &given);
    }
}

/* --- Signals and resets ------------------------------------------------------------------------------------------ */

static void note_signal(gs_host_record *record, void *unused) {
    (void)unused;
    record->signals++;
    record->was_reset = false;
}

void gs_host_signalled(const void *event) {
    gs_host_books_change(event, note_signal, NULL);
    gs_host_note_progress();
}

static void note_reset(gs_host_record *record, void *call) {
    record->reset = *(const gs_host_call *)call;
    record->was_reset = record->signals > 0;
}

/* What the device resets, it does on a thread of ours. */
void gs_host_reset(const void *event, enum gs_function by) {
    bool is_host = by != GS_FN_zeCommandListAppendEventReset;
    gs_host_call now = {by, is_host ? gs_host_stack_take() : NULL};
    gs_host_books_change(event, note_reset, &now);
    gs_host_note_progress();
}
