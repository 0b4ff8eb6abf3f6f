#include "memory/crossing.h"

#include <stdlib.h>
#include <string.h>

#include "faults/fault.h"
#include "faults/lost_context.h"
#include "memory/memory.h"
#include "objects/device_kind.h"

static gs_device *device_between(const void *one, const void *other) {
    gs_device *device = gs_memory_only_of(one);
    return device != NULL ? device : gs_memory_only_of(other);
}

/* If it fails there, the context that the calling thread works for is lost. */
static bool transfer(gs_device *device, void *to, const void *from, uint64_t size) {
    if (device->kind->transfer(device, to, from, size))
        return true;
    const gs_fault_scope *scope = gs_fault_scope_current();
    if (scope != NULL)
        gs_context_lose(scope->context, "a copy to or from the memory of another device failed there");
    return false;
}

static void copy_bytes(void *argument, uint64_t size) {
    void **ends = argument;
    memcpy(ends[0], ends[1], size);
}

/* The memory of the program may not be there: then this is a fault as that of any command. */
static bool copy_anywhere(void *to, const void *from, uint64_t size) {
    gs_device *device = device_between(to, from);
    if (device != NULL)
        return transfer(device, to, from, size);
    void *ends[2] = {to, (void *)from};
    return gs_guard(copy_bytes, ends, size, NULL);
}

bool gs_write_anywhere(void *to, const void *from, uint64_t size) { return copy_anywhere(to, from, size); }
bool gs_read_anywhere(void *to, const void *from, uint64_t size) { return copy_anywhere(to, from, size); }

static void copy_rows(gs_device *device, const gs_region *region) {
    for (uint64_t slice = 0; slice < region->depth; slice++)
        for (uint64_t row = 0; row < region->height; row++)
            if (!transfer(device, region->destination + slice * region->destination_slice + row * region->destination_pitch,
                          region->source + slice * region->source_slice + row * region->source_pitch, region->width))
                return;
}

enum { PIECE = 1 << 20 };

/* By pieces of whole patterns. */
static void fill(gs_device *device, char *to, uint64_t size, const char *pattern, uint64_t pattern_size) {
    uint64_t piece = pattern_size < PIECE ? PIECE - PIECE % pattern_size : pattern_size;
    piece = piece < size ? piece : size;
    char *bytes = malloc(piece + 1);
    if (bytes == NULL) {
        gs_context_lose(gs_fault_scope_current()->context, "there was no memory for the pattern of a fill");
        return;
    }
    for (uint64_t done = 0; done < piece; done += pattern_size)
        memcpy(bytes + done, pattern, pattern_size < piece - done ? pattern_size : piece - done);
    bool works = true;
    for (uint64_t done = 0; works && done < size; done += piece)
        works = transfer(device, to + done, bytes, piece < size - done ? piece : size - done);
    free(bytes);
}

bool gs_command_cross(const gs_command *command) {
    if (!atomic_load_explicit(&gs_some_device_has_kind, memory_order_relaxed))
        return false;
    gs_device *device = NULL;
    if (command->operation == GS_COPY && (device = device_between(command->copy.destination, command->copy.source)) != NULL)
        transfer(device, command->copy.destination, command->copy.source, command->copy.size);
    else if (command->operation == GS_COPY_REGION &&
             (device = device_between(command->region.destination, command->region.source)) != NULL)
        copy_rows(device, &command->region);
    else if (command->operation == GS_FILL && (device = gs_memory_only_of(command->fill.destination)) != NULL)
        fill(device, command->fill.destination, command->fill.size,
             command->fill.pattern != NULL ? command->fill.pattern : command->fill.pattern_bytes,
             command->fill.pattern_size);
    return device != NULL;
}
