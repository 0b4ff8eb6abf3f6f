/* The order of commands, as the specification has it and not as it happened to be: this device executes a queue's commands one
 * after the other, another one may not.
 *
 * Each queue and each immediate list is a timeline, which numbers its commands. All threads of the host are one: how they
 * synchronise cannot be seen. */
#include "check/order/order.h"

#include <stdlib.h>

#include "check/order/host_touches.h"
#include "check/order/records.h"
#include "graphs/graph.h"
#include "objects/list.h"
#include "threads/lock.h"

struct gs_timeline {
    struct gs_timeline *next;
    uint64_t id;
    uint64_t number, ended;   /* of commands */
    const gs_vector_clock *base;     /* every command from here on comes after this */
    const gs_vector_clock *reached;  /* everything so far */
    const gs_vector_clock *now;      /* what the command that is executed comes after */
    const gs_vector_clock **nodes;   /* of a graph that is executed: what comes after each */
    uint32_t node_count;
    bool is_closed;
};
typedef struct gs_timeline timeline;

/* A command that was submitted and is not done. */
typedef struct gs_submission {
    struct gs_submission *next, **link;
    uint64_t number;
    const gs_vector_clock *clock;
} submission;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static timeline *timelines;
static submission *oldest, **youngest = &oldest;
static uint64_t submissions;
static const gs_vector_clock *host;
static _Thread_local bool is_alone; /* there is no list but that of the command which this thread executes, and it is in order */
static _Thread_local bool is_working; /* between the start and the end of a command */
static const uint64_t FEW_WORK_ITEMS = 1 << 16, SOME_WORK_ITEMS = 1 << 13; /* that cost little time */

void gs_order_lock(void) { gs_lock(&lock); }
void gs_order_unlock(void) { gs_unlock(&lock); }

bool gs_timeline_matters(uint64_t id) {
    for (const timeline *each = timelines; each != NULL; each = each->next)
        if (each->id == id)
            return !each->is_closed || gs_records_have(id);
    return false;
}

static void join_into(const gs_vector_clock **place, const gs_vector_clock *clock) { gs_clock_set(place, gs_clock_join(*place, clock)); }

static void collect(void) {
    if (gs_records_collect(host, submissions, oldest != NULL ? oldest->number : UINT64_MAX)) {
        gs_host_pages_forget();
        gs_records_note_pages();
        gs_host_pages_apply();
    }
    for (timeline **link = &timelines; *link != NULL;) {
        timeline *each = *link;
        if (!each->is_closed || gs_records_have(each->id)) {
            link = &each->next;
            continue;
        }
        *link = each->next;
        free(each);
    }
}

/* --- Timelines ------------------------------------------------------------------------------------------ */

/* After everything that has ended on it. */
static const gs_vector_clock *end_of(const timeline *of) {
    return gs_clock_after(of->reached, (gs_moment){of->id, of->ended}, true);
}

static void forget_nodes(timeline *of) {
    for (uint32_t each = 0; each < of->node_count; each++)
        gs_clock_drop(of->nodes[each]);
    free(of->nodes);
    of->nodes = NULL;
    of->node_count = 0;
}

/* Without memory, nothing is known of the queue. */
void gs_order_open(gs_queue *queue) {
    timeline *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->id = queue->id;
        gs_lock(&lock);
        made->next = timelines;
        timelines = made;
        gs_unlock(&lock);
    }
    queue->timeline = made;
}

/* A queue that is destroyed has done everything, which the host must know. */
void gs_order_close(gs_queue *queue) {
    timeline *of = queue->timeline;
    if (of == NULL)
        return;
    gs_order_host_saw_queue(queue);
    gs_lock(&lock);
    of->is_closed = true;
    gs_clock_set(&of->base, NULL);
    gs_clock_set(&of->reached, NULL);
    gs_clock_set(&of->now, NULL);
    forget_nodes(of);
    collect();
    gs_unlock(&lock);
    gs_records_bury();
    queue->timeline = NULL;
}

static void report_touches(void);

/* --- Submissions ---------------------------------------------------------------------------------------- */

void gs_order_submit(gs_command *command) {
    report_touches();
    submission *made = malloc(sizeof *made);
    command->submission = made;
    if (made == NULL)
        return;
    gs_lock(&lock);
    *made = (submission){.number = ++submissions, .clock = gs_clock_hold(host), .link = youngest};
    *youngest = made;
    youngest = &made->next;
    gs_unlock(&lock);
}

void gs_order_begin(gs_queue *queue, gs_command *command) {
    timeline *of = queue->timeline;
    if (command->submission == NULL)
        gs_order_submit(command);
    if (of == NULL || command->submission == NULL)
        return;
    gs_lock(&lock);
    join_into(&of->base, command->submission->clock);
    gs_unlock(&lock);
}

void gs_order_done(gs_command *command) {
    submission *of = command->submission;
    if (of == NULL)
        return;
    gs_lock(&lock);
    *of->link = of->next;
    if (of->next != NULL)
        of->next->link = of->link;
    else
        youngest = of->link;
    gs_clock_drop(of->clock);
    collect();
    gs_unlock(&lock);
    gs_records_bury();
    free(of);
    command->submission = NULL;
}

/* --- Commands ------------------------------------------------------------------------------------------- */

/* Nobody knows who signals what another process or the program itself sees to: then all that has ended comes before. */
static const gs_vector_clock *everything_so_far(void) {
    const gs_vector_clock *all = gs_clock_hold(host);
    for (const timeline *each = timelines; each != NULL; each = each->next) {
        const gs_vector_clock *end = end_of(each);
        gs_clock_set(&all, gs_clock_join(all, end));
        gs_clock_drop(end);
    }
    return all;
}

static bool is_known(const gs_event *event) {
    return event->order != NULL && event->mode != GS_EVENT_EXTERNAL && (event->pool == NULL || !event->pool->imported) &&
           event->heap != &event->mapped;
}

/* The program may look at words of memory to see how far a command has come. */
static bool is_seen_elsewhere(const gs_command *command) {
    return command->signal != NULL && (command->signal->mode == GS_EVENT_EXTERNAL || command->signal->heap == &command->signal->mapped);
}

static void join_unknown(const gs_vector_clock **place) {
    const gs_vector_clock *all = everything_so_far();
    join_into(place, all);
    gs_clock_drop(all);
}

static void join_event(const gs_vector_clock **place, const gs_event *event) {
    if (is_known(event))
        join_into(place, event->order);
    else
        join_unknown(place);
}

static void join_waits(const gs_vector_clock **place, const gs_command *command) {
    for (uint32_t each = 0; each < command->target_count; each++)
        join_event(place, command->targets[each].event);
    if (command->operation == GS_WAIT_SEMAPHORES)
        join_unknown(place);
}

uint64_t gs_order_footprint_items(uint64_t work_items) {
    return is_alone && work_items > FEW_WORK_ITEMS ? SOME_WORK_ITEMS : work_items;
}

static bool is_only_open_one(const timeline *of) {
    for (const timeline *each = timelines; each != NULL; each = each->next)
        if (each != of && !each->is_closed)
            return false;
    return true;
}

/* --- Graphs: a list that was recorded is in order, and so is what waits for the events of another ---------- */

/* The nodes before it on its own list come before it, and those that it waits for. */
static void join_nodes(timeline *of, const gs_node *node) {
    const gs_node *all = node - node->index;
    for (uint32_t each = 0; each < node->index && each < of->node_count; each++)
        if (all[each].strand == node->strand)
            join_into(&of->now, of->nodes[each]);
    for (uint32_t each = 0; each < node->edge_count; each++)
        if (node->edges[each] < of->node_count)
            join_into(&of->now, of->nodes[node->edges[each]]);
}

/* Without memory, what follows comes after everything. */
static void end_node(timeline *of, const gs_node *node, const gs_vector_clock *after) {
    uint32_t count = node->index + 1;
    const gs_vector_clock **nodes = count > of->node_count ? realloc(of->nodes, count * sizeof *nodes) : of->nodes;
    if (nodes == NULL) {
        gs_clock_set(&of->base, end_of(of));
        return;
    }
    of->nodes = nodes;
    for (; of->node_count < count; of->node_count++)
        nodes[of->node_count] = NULL;
    gs_clock_set(&nodes[node->index], gs_clock_hold(after));
}

/* What the program itself has touched so far is compared while it is known what the host has seen by then. */
static void report_touches(void) {
    gs_host_touch touch;
    while (gs_host_touch_take(&touch)) {
        gs_lock(&lock);
        const gs_vector_clock *seen = gs_clock_hold(host);
        gs_unlock(&lock);
        gs_records_compare_touch(&touch, seen);
        gs_lock(&lock);
        gs_clock_drop(seen);
        gs_unlock(&lock);
    }
}

void gs_order_end_program(void) {
    if (gs_order_is_checked())
        report_touches();
}

void gs_order_start(gs_queue *queue, const gs_command *command, bool in_order) {
    timeline *of = queue->timeline;
    report_touches();
    gs_host_pages_open();
    is_working = true;
    is_alone = of == NULL;
    if (of == NULL)
        return;
    gs_lock(&lock);
    is_alone = in_order && is_only_open_one(of) && !gs_records_have_others(of->id);
    gs_clock_set(&of->now, gs_clock_hold(of->base));
    join_waits(&of->now, command);
    if (command->node != NULL)
        join_nodes(of, command->node);
    of->number++;
    if (command->operation == GS_HOST_FUNCTION)
        join_into(&host, of->now);
    gs_unlock(&lock);
}

static void stop_working(void) {
    if (is_working)
        gs_host_pages_close();
    is_working = false;
}

void gs_order_abandon(void) {
    gs_records_abandon();
    stop_working();
}

/* A barrier that waits for events waits for nothing else; so does a wait. Both hold up what follows. */
static void pass_barrier(timeline *of, const gs_command *command) {
    if (command->target_count == 0)
        gs_clock_set(&of->base, end_of(of));
    join_into(&of->base, of->now);
}

void gs_order_end(gs_queue *queue, const gs_command *command, bool in_order) {
    timeline *of = queue->timeline;
    if (of == NULL) {
        gs_order_abandon();
        return;
    }
    const gs_moment moment = {of->id, of->number};
    gs_records_add(queue, command, moment, of->now);
    stop_working();
    gs_lock(&lock);
    of->ended = of->number;
    join_into(&of->reached, of->now);
    const bool is_barrier = command->blocks_later && command->node == NULL;
    if (in_order)
        gs_clock_set(&of->base, end_of(of));
    else if (is_barrier)
        pass_barrier(of, command);
    bool is_all = in_order || (is_barrier && command->target_count == 0);
    const gs_vector_clock *after = is_all ? end_of(of) : gs_clock_after(of->now, moment, false);
    if (command->signal != NULL)
        join_into(&command->signal->order, after);
    if (command->operation == GS_HOST_FUNCTION || is_seen_elsewhere(command)) {
        join_into(&host, after);
        collect();
    }
    if (command->node != NULL)
        end_node(of, command->node, after);
    gs_clock_drop(after);
    gs_unlock(&lock);
}

/* --- Buffers -------------------------------------------------------------------------------------------- */

void gs_order_enter_buffers(gs_queue *queue, const gs_command *command) {
    timeline *of = queue->timeline;
    if (of == NULL)
        return;
    gs_lock(&lock);
    gs_clock_set(&of->base, end_of(of));
    join_waits(&of->base, command);
    gs_unlock(&lock);
}

void gs_order_between_buffers(gs_queue *queue) {
    timeline *of = queue->timeline;
    if (of == NULL)
        return;
    gs_lock(&lock);
    join_into(&of->reached, of->base);
    gs_clock_set(&of->base, end_of(of));
    forget_nodes(of);
    gs_unlock(&lock);
}

void gs_order_leave_buffers(gs_queue *queue, gs_event *signal, gs_fence *fence) {
    gs_order_between_buffers(queue);
    timeline *of = queue->timeline;
    if (of == NULL)
        return;
    gs_lock(&lock);
    if (signal != NULL)
        join_into(&signal->order, of->base);
    if (fence != NULL)
        join_into(&fence->order, of->base);
    gs_unlock(&lock);
}

/* --- The host ------------------------------------------------------------------------------------------- */

void gs_order_host_signals(gs_event *event) {
    gs_lock(&lock);
    if (host == NULL) /* so that it is known who did it */
        host = gs_clock_after(NULL, (gs_moment){0, 0}, true);
    join_into(&event->order, host);
    gs_unlock(&lock);
}

void gs_order_host_saw_event(const gs_event *event) {
    report_touches();
    gs_lock(&lock);
    join_event(&host, event);
    collect();
    gs_unlock(&lock);
    gs_records_bury();
}

void gs_order_host_saw_fence(const gs_fence *fence) {
    report_touches();
    gs_lock(&lock);
    join_into(&host, fence->order);
    collect();
    gs_unlock(&lock);
    gs_records_bury();
}

void gs_order_host_saw_queue(const gs_queue *queue) {
    const timeline *of = queue->timeline;
    report_touches();
    if (of == NULL)
        return;
    gs_lock(&lock);
    const gs_vector_clock *end = end_of(of);
    join_into(&host, end);
    gs_clock_drop(end);
    collect();
    gs_unlock(&lock);
    gs_records_bury();
}

void gs_order_forget(const gs_vector_clock **clock) {
    gs_lock(&lock);
    gs_clock_set(clock, NULL);
    gs_unlock(&lock);
}
