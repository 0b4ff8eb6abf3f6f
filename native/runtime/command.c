#define _GNU_SOURCE
#include "runtime/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check/host/host.h"
#include "check/order/order.h"
#include "check/uninitialised.h"
#include "faults/fault.h"
#include "memory/crossing.h"
#include "memory/page.h"
#include "metrics/query.h"
#include "metrics/streamer.h"
#include "metrics/tracer.h"
#include "objects/external_semaphore.h"
#include "objects/mutable.h"
#include "runtime/launch.h"
#include "runtime/queue.h"
#include "threads/thread.h"

/* Copies and fills up to this size take less time than waking another thread. A row of a region takes as long as
 * some bytes more than it has. */
enum { SHORT_BYTES = 16 << 10, ROW_BYTES = 64 };

bool gs_command_is_short(const gs_command *command) {
    switch (command->operation) {
    case GS_NOTHING:
    case GS_WRITE_TIMESTAMP:
    case GS_RESET_EVENT:
    case GS_BEGIN_METRIC_QUERY:
    case GS_END_METRIC_QUERY:
    case GS_MARK_METRICS:
    case GS_MARK_GROUP:
        return true;
    case GS_COPY:
        return command->copy.size <= SHORT_BYTES;
    case GS_COPY_REGION:
        return (command->region.width + ROW_BYTES) * command->region.height * command->region.depth <= SHORT_BYTES;
    case GS_FILL:
        return command->fill.size <= SHORT_BYTES;
    case GS_LAUNCH:
        return gs_launch_is_short(command->launch);
    default:
        return false;
    }
}

void gs_command_describe(const void *subject, char *text, size_t capacity) {
    const gs_command *command = subject;
    switch (command->operation) {
    case GS_COPY:
        snprintf(text, capacity, "a copy of %llu bytes from %p to %p", (unsigned long long)command->copy.size,
                 (const void *)command->copy.source, (void *)command->copy.destination);
        break;
    case GS_COPY_REGION:
        snprintf(text, capacity, "a copy of %llu x %llu x %llu bytes from %p to %p",
                 (unsigned long long)command->region.width, (unsigned long long)command->region.height,
                 (unsigned long long)command->region.depth, (const void *)command->region.source,
                 (void *)command->region.destination);
        break;
    case GS_FILL:
        snprintf(text, capacity, "a fill of %llu bytes at %p", (unsigned long long)command->fill.size,
                 (void *)command->fill.destination);
        break;
    case GS_WRITE_TIMESTAMP:
    case GS_QUERY_TIMESTAMPS:
        snprintf(text, capacity, "a command that writes timestamps");
        break;
    case GS_LAUNCH:
        gs_launch_describe(command->launch, text, capacity);
        break;
    default:
        snprintf(text, capacity, "a command");
    }
}

static void write_timestamp(const gs_command *command) {
    const uint64_t now = gs_timestamp();
    gs_write_anywhere(command->timestamp, &now, sizeof now);
}

static void query_timestamps(const gs_command *command) {
    for (uint32_t each = 0; each < command->query.count; each++) {
        const uint64_t *offsets = command->query.offsets;
        uint64_t offset = offsets != NULL ? offsets[each] : each * sizeof(ze_kernel_timestamp_result_t);
        ze_kernel_timestamp_result_t result = gs_event_timestamps(command->query.events[each]);
        gs_write_anywhere(command->query.destination + offset, &result, sizeof result);
    }
}

/* Brings the pages in, as far as the system can: untouched memory gets its pages now. */
static void prefetch(char *start, uint64_t size) {
    uintptr_t first = gs_page_start((uintptr_t)start);
    madvise((void *)first, size + ((uintptr_t)start - first), MADV_POPULATE_WRITE);
}

void gs_command_perform(const gs_command *command, gs_device *device) {
    if (gs_command_cross(command))
        return;
    switch (command->operation) {
    case GS_COPY:
        gs_copy(device->pool, command->copy.destination, command->copy.source, command->copy.size);
        break;
    case GS_COPY_REGION:
        gs_copy_region(device->pool, &command->region);
        break;
    case GS_FILL:
        gs_fill(device->pool, command->fill.destination, command->fill.size,
                command->fill.pattern != NULL ? command->fill.pattern : command->fill.pattern_bytes,
                command->fill.pattern_size);
        break;
    case GS_PREFETCH:
        prefetch(command->prefetch.start, command->prefetch.size);
        break;
    case GS_WRITE_TIMESTAMP:
        write_timestamp(command);
        break;
    case GS_QUERY_TIMESTAMPS:
        query_timestamps(command);
        break;
    case GS_RESET_EVENT:
        if (gs_host_is_checked())
            gs_host_reset(command->reset, GS_FN_zeCommandListAppendEventReset);
        if (gs_order_is_checked())
            gs_order_forget(&command->reset->order);
        gs_futex_set(&command->reset->slot->futex, 0);
        break;
    case GS_HOST_FUNCTION:
        gs_thread_call_program(command->host.function, command->host.argument);
        break;
    case GS_LAUNCH:
        gs_launch_perform(command->launch, device);
        break;
    case GS_BEGIN_METRIC_QUERY:
        gs_metric_query_begin(command->query_object, gs_activity_current().counts);
        break;
    case GS_END_METRIC_QUERY:
        gs_metric_query_end(command->query_object, gs_activity_current().counts);
        break;
    case GS_MARK_METRICS:
        gs_metric_streamer_mark(command->mark.streamer, command->mark.value);
        break;
    case GS_MARK_GROUP:
        gs_metric_group_mark(command->mark_group.group, command->mark_group.value);
        break;
    case GS_NOTHING:
    case GS_SIGNAL_SEMAPHORES:
    case GS_WAIT_SEMAPHORES:
    case GS_RUN_BUFFERS:
        break;
    }
    gs_uninitialised_command(command);
}

bool gs_command_targets_are_reached(const gs_command *command) {
    for (uint32_t each = 0; each < command->target_count; each++)
        if (!gs_target_is_reached(&command->targets[each]))
            return false;
    return true;
}

bool gs_command_is_work(const gs_command *command) {
    switch (command->operation) {
    case GS_LAUNCH:
    case GS_COPY:
    case GS_COPY_REGION:
    case GS_FILL:
    case GS_PREFETCH:
        return true;
    default:
        return false;
    }
}

static void *copy_of(const void *bytes, size_t size) {
    void *copy = bytes != NULL ? malloc(size) : NULL;
    return copy != NULL ? memcpy(copy, bytes, size) : NULL;
}

bool gs_command_copy_contents(gs_command *copy, const gs_command *original) {
    switch (original->operation) {
    case GS_FILL:
        copy->fill.pattern = copy_of(original->fill.pattern, original->fill.pattern_size);
        return (copy->fill.pattern == NULL) == (original->fill.pattern == NULL);
    case GS_RESET_EVENT:
        gs_object_hold(copy->reset);
        return true;
    case GS_BEGIN_METRIC_QUERY:
    case GS_END_METRIC_QUERY:
        gs_object_hold(copy->query_object);
        return true;
    case GS_MARK_METRICS:
        gs_object_hold(copy->mark.streamer);
        return true;
    case GS_MARK_GROUP:
        gs_object_hold(copy->mark_group.group);
        return true;
    case GS_LAUNCH:
        copy->launch = gs_launch_copy(original->launch);
        return copy->launch != NULL;
    case GS_QUERY_TIMESTAMPS:
        copy->query.events = copy_of(original->query.events, original->query.count * sizeof(gs_event *));
        copy->query.offsets = copy_of(original->query.offsets, original->query.count * sizeof(uint64_t));
        if (copy->query.events == NULL || (copy->query.offsets == NULL) != (original->query.offsets == NULL)) {
            free(copy->query.events);
            free(copy->query.offsets);
            return false;
        }
        for (uint32_t each = 0; each < original->query.count; each++)
            gs_object_hold(original->query.events[each]);
        return true;
    case GS_SIGNAL_SEMAPHORES:
    case GS_WAIT_SEMAPHORES:
        copy->semaphores.all = copy_of(original->semaphores.all, original->semaphores.count * sizeof(gs_semaphore *));
        for (uint32_t each = 0; copy->semaphores.all != NULL && each < original->semaphores.count; each++)
            gs_object_hold(original->semaphores.all[each]);
        return copy->semaphores.all != NULL || original->semaphores.count == 0;
    default:
        return true;
    }
}

void gs_command_release(gs_command *command) {
    for (uint32_t each = 0; each < command->target_count; each++)
        gs_target_drop(&command->targets[each]);
    free(command->targets);
    if (command->signal != NULL)
        gs_object_drop(command->signal);
    if (command->operation == GS_FILL) {
        free(command->fill.pattern);
    } else if (command->operation == GS_RESET_EVENT) {
        gs_object_drop(command->reset);
    } else if (command->operation == GS_BEGIN_METRIC_QUERY || command->operation == GS_END_METRIC_QUERY) {
        gs_object_drop(command->query_object);
    } else if (command->operation == GS_MARK_METRICS) {
        gs_object_drop(command->mark.streamer);
    } else if (command->operation == GS_MARK_GROUP) {
        gs_object_drop(command->mark_group.group);
    } else if (gs_command_has_semaphores(command)) {
        gs_semaphores_drop(command);
    } else if (command->operation == GS_LAUNCH) {
        gs_launch_free(command->launch);
    } else if (command->operation == GS_QUERY_TIMESTAMPS) {
        for (uint32_t each = 0; each < command->query.count; each++)
            gs_object_drop(command->query.events[each]);
        free(command->query.events);
        free(command->query.offsets);
    } else if (command->operation == GS_RUN_BUFFERS) {
        for (uint32_t each = 0; each < command->run.count; each++)
            gs_command_buffer_drop(command->run.runs[each].buffer);
        free(command->run.runs);
        if (command->run.fence != NULL)
            gs_object_drop(command->run.fence);
        gs_counter_drop(command->run.turns);
    }
}

void gs_command_free(gs_command *command) {
    gs_command_release(command);
    free(command);
}

gs_command_buffer *gs_command_buffer_new(bool in_order) {
    gs_command_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL)
        return NULL;
    buffer->references = 1;
    if (in_order && (buffer->counter = gs_counter_new()) == NULL) {
        free(buffer);
        return NULL;
    }
    return buffer;
}

void gs_command_buffer_drop(gs_command_buffer *buffer) {
    if (buffer == NULL || atomic_fetch_sub(&buffer->references, 1) != 1)
        return;
    if (buffer->of_kind != NULL)
        buffer->free_of_kind(buffer->of_kind);
    for (gs_command *each = buffer->first, *next; each != NULL; each = next) {
        next = each->next;
        gs_command_free(each);
    }
    gs_mutable_free(buffer->mutables);
    gs_counter_drop(buffer->counter);
    free(buffer->events);
    if (buffer->source != NULL)
        gs_object_drop(buffer->source);
    free(buffer);
}
