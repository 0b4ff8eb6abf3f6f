/* Who waits for whom, and whether it can end.
 *
 * What the queues still have to do is copied, and then done on paper: a queue goes on as long as what its next command waits for
 * has come, or is signalled by a command that another queue gets to. Whatever is unknown is taken to end well: kernels and host
 * functions that run, semaphores, other processes. A wait for what no queue gets to signal has no end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/host/host_use.h"
#include "check/host/host_waits.h"
#include "faults/lost_context.h"
#include "runtime/launch.h"

enum { MOST_LINKS = 16 };

typedef struct step {
    size_t first_target, target_count; /* in targets */
    gs_host_signal signal, counted;
    const void *fence;
    uint64_t submission; /* which of the queue's it belongs to */
    bool has_passed;
    char what[64];
} step;

typedef struct line { /* a queue */
    uint64_t id;
    const void *owner;
    size_t first, end, at; /* in steps; at: the first that is not reached */
} line;

typedef struct graph {
    step *steps;
    gs_host_signal *targets, *signals; /* what is not reached; what will be signalled */
    line *lines;
    size_t step_count, step_capacity, target_count, target_capacity, signal_count, signal_capacity, line_count,
        line_capacity;
    bool program_runs; /* a function of the program, which may do anything */
    bool is_broken;    /* there was no memory */
} graph;

/* --- Copying ------------------------------------------------------------------------------------------------- */

static void *extend(graph *of, void *array, size_t *count, size_t *capacity, size_t size) {
    if (*count == *capacity) {
        size_t more = *capacity == 0 ? 64 : 2 * *capacity;
        void *larger = realloc(array, more * size);
        if (larger == NULL) {
            of->is_broken = true;
            return array;
        }
        array = larger;
        *capacity = more;
    }
    memset((char *)array + (*count)++ * size, 0, size);
    return array;
}

#define EXTEND(of, array, one) \
    ((of)->array = extend(of, (of)->array, &(of)->one##_count, &(of)->one##_capacity, sizeof *(of)->array))

static void copy_targets(graph *of, step *into, const gs_command *command) {
    for (uint32_t each = 0; each < command->target_count && !of->is_broken; each++) {
        bool is_over;
        gs_host_signal wanted = gs_host_signal_of(&command->targets[each], &is_over);
        if (is_over)
            continue;
        EXTEND(of, targets, target);
        if (of->is_broken)
            return;
        of->targets[of->target_count - 1] = wanted;
        into->target_count++;
    }
}

static void name_step(step *into, const gs_command *command) {
    if (command->operation == GS_NOTHING)
        snprintf(into->what, sizeof into->what, "a signal or barrier");
    else if (command->operation == GS_RUN_BUFFERS)
        snprintf(into->what, sizeof into->what, "the end of its lists");
    else
        gs_command_describe(command, into->what, sizeof into->what);
}

typedef struct copying {
    graph *graph;
    const gs_command *last;
    uint64_t submission;
} copying;

static bool copy_step(const gs_host_pending *pending, void *with) {
    copying *by = with;
    graph *of = by->graph;
    const gs_command *command = pending->command;
    EXTEND(of, steps, step);
    if (of->is_broken)
        return true;
    step *into = &of->steps[of->step_count - 1];
    into->first_target = of->target_count;
    into->has_passed = pending->has_passed;
    into->submission = by->submission;
    of->program_runs |= pending->has_passed && command->operation == GS_HOST_FUNCTION && pending->part == GS_HOST_WHOLE;
    name_step(into, command);
    if (pending->part != GS_HOST_END && !pending->has_passed)
        copy_targets(of, into, command);
    if (pending->part == GS_HOST_BEGINNING)
        return of->is_broken;
    if (command->signal != NULL && command->signal->mode == GS_EVENT_PLAIN)
        into->signal = (gs_host_signal){command->signal->slot, 1, command->signal};
    if (command->counter != NULL)
        into->counted = (gs_host_signal){command->counter, pending->base + command->step, command->signal};
    if (pending->part == GS_HOST_END)
        into->fence = command->run.fence;
    bool ends_submission = pending->part == GS_HOST_END || pending->command == pending->queue->current;
    for (const gs_command *each = pending->queue->first; !ends_submission && each != NULL; each = each->next)
        ends_submission = each == command;
    by->submission += ends_submission;
    return of->is_broken;
}

static void copy_queue(gs_queue *queue, void *with) {
    graph *of = with;
    EXTEND(of, lines, line);
    if (of->is_broken)
        return;
    line *into = &of->lines[of->line_count - 1];
    *into = (line){.id = queue->id, .owner = queue->owner, .first = of->step_count, .at = of->step_count};
    gs_lock(&queue->lock);
    copying by = {of, NULL, atomic_load(&queue->completed) + 1};
    gs_host_each_pending(queue, copy_step, &by);
    gs_unlock(&queue->lock);
    into->end = of->step_count;
}

/* --- Doing it on paper ----------------------------------------------------------------------------------------- */

static bool is_signalled(const graph *of, gs_host_signal wanted) {
    for (size_t each = 0; each < of->signal_count; each++)
        if (of->signals[each].word == wanted.word && of->signals[each].number >= wanted.number)
            return true;
    return false;
}

static void signal(graph *of, gs_host_signal one) {
    if (one.word == NULL || is_signalled(of, one))
        return;
    EXTEND(of, signals, signal);
    if (!of->is_broken)
        of->signals[of->signal_count - 1] = one;
}

/* The first thing that a step waits for in vain, or NULL. */
static const gs_host_signal *obstacle(const graph *of, const step *at) {
    for (size_t each = 0; each < at->target_count; each++)
        if (!is_signalled(of, of->targets[at->first_target + each]))
            return &of->targets[at->first_target + each];
    return NULL;
}

static bool go_on(graph *of, line *queue) {
    size_t before = queue->at;
    for (; queue->at < queue->end && obstacle(of, &of->steps[queue->at]) == NULL && !of->is_broken; queue->at++) {
        const step *done = &of->steps[queue->at];
        signal(of, done->signal);
        signal(of, done->counted);
        signal(of, (gs_host_signal){done->fence, 1, done->fence});
    }
    return queue->at != before;
}

static void do_on_paper(graph *of) {
    for (bool changed = true; changed && !of->is_broken;) {
        changed = false;
        for (size_t each = 0; each < of->line_count; each++)
            changed |= go_on(of, &of->lines[each]);
    }
}

/* --- Explaining -------------------------------------------------------------------------------------------------- */

/* A queue that is held up, what holds it up, and the command behind that which somebody waits for. */
typedef struct link {
    const line *queue;
    gs_host_signal wanted;
    const step *signals;
} link;

typedef struct chain {
    link links[MOST_LINKS];
    size_t count;
    bool is_circle;
    gs_host_signal root; /* what nobody signals, if it is none */
} chain;

static bool gives(const step *one, gs_host_signal wanted) {
    return (one->signal.word == wanted.word && wanted.word != NULL) || one->fence == wanted.word ||
           (one->counted.word == wanted.word && one->counted.number >= wanted.number);
}

/* The held-up queue that has a command which would signal it, or NULL. */
static const line *find_giver(const graph *of, gs_host_signal wanted, const step **giver) {
    for (const line *queue = of->lines; queue < of->lines + of->line_count; queue++)
        for (size_t each = queue->at; each < queue->end; each++)
            if (gives(&of->steps[each], wanted)) {
                *giver = &of->steps[each];
                return queue;
            }
    return NULL;
}

static bool add_link(const graph *of, chain *to, const line *queue, const step *giver) {
    for (size_t each = 0; each < to->count; each++)
        to->is_circle |= to->links[each].queue == queue;
    if (to->is_circle || to->count == MOST_LINKS)
        return false;
    to->root = *obstacle(of, &of->steps[queue->at]);
    to->links[to->count++] = (link){queue, to->root, giver};
    return true;
}

static chain follow(const graph *of, const gs_host_waiter *waiter) {
    chain to = {.root = waiter->wanted};
    const step *giver = NULL;
    const line *queue = NULL;
    if (waiter->wanted.word != NULL)
        queue = find_giver(of, waiter->wanted, &giver);
    else
        for (queue = of->lines; queue->id != waiter->queue; queue++)
            continue;
    while (queue != NULL && add_link(of, &to, queue, giver))
        queue = find_giver(of, to.root, &giver);
    return to;
}

typedef struct reason {
    const char *kind, *sentence, *help;
    const char *what; /* the call that matters, in words */
    gs_host_call call;
} reason;

/* Why what nobody signals will not be signalled. */
static reason reason_for(gs_host_signal root) {
    gs_host_record known, list;
    const gs_host_call none = {GS_FN_COUNT, NULL};
    if (!gs_host_books_find(root.object, &known))
        return (reason){"wait-without-signal", "nothing that is submitted signals it", "", "", none};
    if (known.was_reset)
        return (reason){"wait-after-reset", "it was signalled, and then reset",
                        "reset it after the wait, or have it signalled again", "reset by", known.reset};
    if (known.given.function == GS_FN_COUNT)
        return (reason){"wait-without-signal", known.kind == GS_KIND_FENCE ? "no submission was ever given this fence"
                        : "no command was ever given this event to signal, and the host did not signal it",
                        known.kind == GS_KIND_FENCE ? "pass the fence to zeCommandQueueExecuteCommandLists"
                        : "pass the event as hSignalEvent of the command to wait for, or signal it", "", none};
    bool is_there = known.kind == GS_KIND_EVENT && gs_host_books_find(known.given_to, &list) && list.number == known.given_number;
    if (is_there && !list.is_immediate && list.recording != known.given_recording)
        return (reason){"wait-for-discarded-list", "the list with the command that signals it was reset before it was executed",
                        "execute the list before it is reset", "the list was reset by", list.emptied};
    if (is_there && !list.is_immediate && list.runs == 0 && !list.is_live)
        return (reason){"wait-for-discarded-list", "the list with the command that signals it was destroyed before it was executed",
                        "execute the list before it is destroyed", "the list was destroyed by", list.ended};
    if (is_there && !list.is_immediate && !list.is_closed)
        return (reason){"wait-for-open-list", "the list with the command that signals it was never closed, and so never executed",
                        "call zeCommandListClose, then zeCommandQueueExecuteCommandLists", "signalled by", known.given};
    if (is_there && !list.is_immediate && list.runs == 0)
        return (reason){"wait-for-unexecuted-list", "the closed list with the command that signals it was never executed",
                        "call zeCommandQueueExecuteCommandLists with the list", "signalled by", known.given};
    return (reason){"wait-without-signal", "the command that signals it is done or was given up", "", "last given to", known.given};
}

static const char *noun_of(const void *object) {
    gs_host_record known;
    return gs_host_noun(gs_host_books_find(object, &known) ? known.kind : GS_KIND_EVENT);
}

static void add_made(gs_host_report *report, const char *what, const void *object) {
    gs_host_record known;
    if (gs_host_books_find(object, &known))
        gs_host_report_call(report, what, known.made);
}

static void add_links(gs_host_report *report, const chain *to) {
    char text[200];
    for (const link *each = to->links; each < to->links + to->count; each++) {
        if (each->signals != NULL)
            gs_host_report_note(report, "it is to be signalled by %s, on a %s that is held up", each->signals->what,
                                noun_of(each->queue->owner));
        snprintf(text, sizeof text, "the %s that waits was made by", noun_of(each->queue->owner));
        add_made(report, text, each->queue->owner);
        add_made(report, "it waits for an event made by", each->wanted.object);
    }
}

static void report_one(const graph *of, const gs_host_waiter *waiter, bool others_may_act) {
    gs_host_report report;
    bool is_host = waiter->function != GS_FN_COUNT;
    chain to = follow(of, waiter);
    reason why = reason_for(to.root);
    if (to.is_circle)
        why = (reason){"deadlock", to.count == 1 ? "a queue waits for what only it would signal, later"
                                                 : "queues wait for each other",
                       "let the command that signals come first, or wait for its event in one direction only", "",
                       {GS_FN_COUNT, NULL}};
    const char *name = is_host ? gs_function_names[waiter->function] : "a command on the device";
    const char *what = waiter->wanted.word == NULL ? "work that is held up by an event that nothing will signal"
                       : noun_of(waiter->wanted.object)[0] == 'f' ? "a fence that nothing will signal"
                                                                  : "an event that nothing will signal";
    gs_host_report_begin(&report, why.kind, "%s waits for %s: %s", name, what, why.sentence);
    gs_host_report_at(&report, (gs_host_call){is_host ? waiter->function : GS_FN_COUNT, waiter->stack});
    if (waiter->wanted.object != NULL)
        add_made(&report, "waited for: made by", waiter->wanted.object);
    add_links(&report, &to);
    gs_host_report_call(&report, why.what, why.call);
    if (others_may_act)
        gs_host_report_note(&report, "another thread of the program could still signal it, and has not for 10 seconds");
    if (why.help[0] != 0)
        gs_host_report_note(&report, "help: %s", why.help);
    if (gs_host_report_send(&report))
        gs_context_lose(waiter->context, "a wait that nothing will end was stopped (GROUNDSTATE_CHECK_STOP)");
}

static bool is_endless(const graph *of, const gs_host_waiter *waiter) {
    if (waiter->wanted.word != NULL)
        return !is_signalled(of, waiter->wanted);
    for (const line *queue = of->lines; queue < of->lines + of->line_count; queue++)
        if (queue->id == waiter->queue)
            return queue->at < queue->end && of->steps[queue->at].submission <= waiter->number;
    return false;
}

bool gs_host_report_endless(gs_host_waiter *waiters, size_t count, bool others_may_act) {
    graph of = {0};
    bool found = false;
    gs_queues_each(copy_queue, &of);
    if (!of.is_broken)
        do_on_paper(&of);
    for (size_t each = 0; each < count && !of.is_broken && !of.program_runs; each++)
        if (!waiters[each].is_over && !gs_context_is_lost(waiters[each].context) && is_endless(&of, &waiters[each])) {
            report_one(&of, &waiters[each], others_may_act);
            found = true;
        }
    free(of.steps);
    free(of.targets);
    free(of.signals);
    free(of.lines);
    return found;
}
