/* Commands that were submitted and are not done: from the one that a queue executes now, and the place that it has come to in
 * a command buffer, to the last one. */
#include "check/host/host_use.h"

#include <stdio.h>
#include <string.h>

#include "runtime/launch.h"

/* --- What is not done -------------------------------------------------------------------------------- */

typedef struct walk {
    gs_queue *queue;
    bool (*visit)(const gs_host_pending *pending, void *with);
    void *with;
} walk;

static bool visit_one(const walk *by, const gs_command *command, gs_host_part part, uint64_t base, bool has_passed) {
    return by->visit(&(gs_host_pending){by->queue, command, part, base, has_passed}, by->with);
}

/* `step`: the place that it has come to, of the buffer with this index; 0 if it has not begun. */
static bool walk_buffers(const walk *by, const gs_command *command, uintptr_t step, uint32_t buffer_index) {
    const gs_command *at = (const gs_command *)(step & ~GS_STEP_BITS);
    if (at == NULL && visit_one(by, command, GS_HOST_BEGINNING, 0, false))
        return true;
    for (uint32_t each = at != NULL ? buffer_index : 0; each < command->run.count; each++) {
        const gs_run *run = &command->run.runs[each];
        const gs_command *inner = run->buffer->first;
        bool is_here = at != NULL && each == buffer_index;
        while (is_here && inner != NULL && inner != at)
            inner = inner->next;
        if (is_here && inner != NULL && (step & GS_STEP_IS_DONE))
            inner = inner->next;
        for (; inner != NULL; inner = inner->next)
            if (visit_one(by, inner, GS_HOST_WHOLE, run->base, inner == at && is_here && (step & GS_STEP_HAS_BEGUN)))
                return true;
    }
    return visit_one(by, command, GS_HOST_END, 0, true);
}

static bool walk_command(const walk *by, const gs_command *command, uintptr_t step, uint32_t buffer_index) {
    if (command->operation == GS_RUN_BUFFERS)
        return walk_buffers(by, command, step, buffer_index);
    return !(step & GS_STEP_IS_DONE) && visit_one(by, command, GS_HOST_WHOLE, 0, step & GS_STEP_HAS_BEGUN);
}

bool gs_host_each_pending(gs_queue *queue, bool (*visit)(const gs_host_pending *pending, void *with), void *with) {
    const walk by = {queue, visit, with};
    uintptr_t step = atomic_load(&queue->step);
    if (queue->current != NULL && walk_command(&by, queue->current, step, atomic_load(&queue->step_buffer)))
        return true;
    for (const gs_command *command = queue->first; command != NULL; command = command->next)
        if (walk_command(&by, command, 0, 0))
            return true;
    return false;
}

/* --- Memory ---------------------------------------------------------------------------------------------- */

static uint64_t extent(const gs_region *region, uint64_t pitch, uint64_t slice) {
    return (region->depth - 1) * slice + (region->height - 1) * pitch + region->width;
}

static bool each_argument(const gs_command *command, const gs_launch *launch, gs_host_visit_range visit, void *with) {
    const gs_entry_point *entry_point = launch->code->entry_point;
    for (uint32_t each = 0; entry_point != NULL && each < entry_point->argument_count; each++) {
        const gs_argument *argument = &entry_point->arguments[each];
        const void *pointer;
        if (argument->kind != GS_ARGUMENT_POINTER)
            continue;
        memcpy(&pointer, launch->block + argument->offset, sizeof pointer);
        if (pointer != NULL && visit(command, pointer, 1, (int)each, with))
            return true;
    }
    return false;
}

bool gs_host_each_range(const gs_command *command, gs_host_visit_range visit, void *with) {
    const gs_region *region = &command->region;
    switch (command->operation) {
    case GS_COPY:
        return visit(command, command->copy.destination, command->copy.size, -1, with) ||
               visit(command, command->copy.source, command->copy.size, -1, with);
    case GS_COPY_REGION:
        return visit(command, region->destination, extent(region, region->destination_pitch, region->destination_slice), -1,
                     with) ||
               visit(command, region->source, extent(region, region->source_pitch, region->source_slice), -1, with);
    case GS_FILL:
        return visit(command, command->fill.destination, command->fill.size, -1, with);
    case GS_WRITE_TIMESTAMP:
        return visit(command, command->timestamp, sizeof *command->timestamp, -1, with);
    case GS_LAUNCH:
        for (const gs_launch *launch = command->launch; launch != NULL; launch = launch->next)
            if (each_argument(command, launch, visit, with))
                return true;
        return false;
    default:
        return false;
    }
}

typedef struct memory_use {
    uintptr_t start, end;
    char *text;
    size_t capacity;
    bool found;
} memory_use;

static bool look_at_range(const gs_command *command, const void *start, uint64_t size, int argument, void *with) {
    const memory_use *of = with;
    uintptr_t from = (uintptr_t)start;
    if (from >= of->end || from + size <= of->start)
        return false;
    char what[160];
    gs_command_describe(command, what, sizeof what);
    if (argument >= 0)
        snprintf(of->text, of->capacity, "%s, argument %d", what, argument);
    else
        snprintf(of->text, of->capacity, "%s", what);
    return true;
}

static bool look_at_command(const gs_host_pending *pending, void *with) {
    return pending->part == GS_HOST_WHOLE && gs_host_each_range(pending->command, look_at_range, with);
}

static void look_at_queue(gs_queue *queue, void *with) {
    memory_use *of = with;
    if (of->found)
        return;
    gs_lock(&queue->lock);
    of->found = gs_host_each_pending(queue, look_at_command, of);
    gs_unlock(&queue->lock);
}

bool gs_host_find_use(const void *start, uint64_t size, char *text, size_t capacity) {
    memory_use of = {(uintptr_t)start, (uintptr_t)start + size, text, capacity, false};
    gs_queues_each(look_at_queue, &of);
    return of.found;
}
