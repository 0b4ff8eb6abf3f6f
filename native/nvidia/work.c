/* The work of a command on a GPU: copies, fills, prefetches. Launches are in launch.c. */
#include <string.h>
#include <sys/mman.h>

#include "nvidia/gpu.h"
#include "runtime/command.h"

static gs_cu_pointer address(const void *pointer) { return (gs_cu_pointer)(uintptr_t)pointer; }

/* Whether memory was made by a kind of device: then the CUDA driver knows it. What it does not know is the host's. */
static bool is_known(const void *pointer) {
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_of_any(pointer);
    bool known = found != NULL && found->owner != NULL;
    gs_memory_unlock();
    return known;
}

static bool is_managed(const void *pointer) {
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_of_any(pointer);
    bool managed = found != NULL && found->owner != NULL && found->type == ZE_MEMORY_TYPE_SHARED;
    gs_memory_unlock();
    return managed;
}

/* Whether an address of the program leads to memory. The CUDA driver copies memory that it does not know on the calling thread,
 * and would end the process. */
static bool is_there(const void *pointer, uint64_t size) {
    gs_memory_lock();
    bool is_ours = gs_allocation_of_any(pointer) != NULL;
    gs_memory_unlock();
    uintptr_t first = gs_page_start((uintptr_t)pointer);
    return is_ours || size == 0 || msync((void *)first, size + ((uintptr_t)pointer - first), MS_ASYNC) == 0;
}

static bool are_there(const gs_command *command) {
    const gs_region *region = &command->region;
    switch (command->operation) {
    case GS_COPY:
        return is_there(command->copy.destination, command->copy.size) && is_there(command->copy.source, command->copy.size);
    case GS_COPY_REGION:
        return is_there(region->destination, (region->depth - 1) * region->destination_slice +
                                                 (region->height - 1) * region->destination_pitch + region->width) &&
               is_there(region->source, (region->depth - 1) * region->source_slice +
                                            (region->height - 1) * region->source_pitch + region->width);
    case GS_FILL:
        return is_there(command->fill.destination, command->fill.size);
    default:
        return true;
    }
}

bool gs_gpu_works_on_host(const gs_gpu *gpu, const gs_command *command) {
    if (command->device != NULL && command->device != gpu->device)
        return true;
    switch (command->operation) {
    case GS_WRITE_TIMESTAMP:
    case GS_QUERY_TIMESTAMPS:
    case GS_RESET_EVENT:
    case GS_HOST_FUNCTION:
    case GS_SIGNAL_SEMAPHORES:
    case GS_WAIT_SEMAPHORES:
    case GS_BEGIN_METRIC_QUERY:
    case GS_END_METRIC_QUERY:
    case GS_MARK_METRICS:
    case GS_MARK_GROUP:
        return true;
    default:
        return false;
    }
}

static bool overlaps(const gs_command *command);

/* Memory that the CUDA driver does not know is copied by the calling thread, when the stream has come there. */
bool gs_gpu_returns_at_once(const gs_gpu *gpu, const gs_command *command) {
    if (gs_gpu_works_on_host(gpu, command))
        return false;
    switch (command->operation) {
    case GS_COPY:
        return is_known(command->copy.destination) && is_known(command->copy.source) && !overlaps(command);
    case GS_COPY_REGION:
        return is_known(command->region.destination) && is_known(command->region.source);
    case GS_FILL:
        return is_known(command->fill.destination) && command->fill.pattern == NULL;
    case GS_LAUNCH:
        return gs_gpu_launch_returns_at_once(command->launch);
    default:
        return true;
    }
}

/* --- Copies -------------------------------------------------------------------------------------------- */

static bool overlaps(const gs_command *command) {
    const char *to = command->copy.destination, *from = command->copy.source;
    return to != from && to < from + command->copy.size && from < to + command->copy.size;
}

/* As if through a buffer, piece by piece, beginning where the destination has nothing of the source that is still needed. */
static gs_cu_result copy_overlapping(gs_gpu *gpu, gs_cu_stream stream, const gs_command *command) {
    const uint64_t size = command->copy.size, most = UINT64_C(16) << 20;
    const bool backwards = (const char *)command->copy.destination > (const char *)command->copy.source;
    const gs_cu_pointer to = address(command->copy.destination), from = address(command->copy.source);
    uint64_t span;
    char *buffer;
    gs_cu_result result = gs_pool_take(&gpu->memory, size < most ? size : most, 0, &buffer, &span);
    if (result != GS_CU_SUCCESS)
        return result;
    for (uint64_t done = 0, piece; done < size && result == GS_CU_SUCCESS; done += piece) {
        piece = size - done < most ? size - done : most;
        const uint64_t start = backwards ? size - done - piece : done;
        result = gs_cu.copy(address(buffer), from + start, piece, stream);
        if (result == GS_CU_SUCCESS)
            result = gs_cu.copy(to + start, address(buffer), piece, stream);
    }
    if (result == GS_CU_SUCCESS)
        result = gs_cu.stream_wait(stream);
    gs_pool_give(&gpu->memory, buffer, span);
    return result;
}

/* --- Regions ------------------------------------------------------------------------------------------- */

static const uint64_t LONGEST_PITCH = INT32_MAX; /* CU_DEVICE_ATTRIBUTE_MAX_PITCH of all GPUs */

static gs_cu_result copy_rows(const gs_region *region, char *to, const char *from, gs_cu_stream stream) {
    gs_cu_result result = GS_CU_SUCCESS;
    for (uint64_t row = 0; row < region->height && result == GS_CU_SUCCESS; row++)
        result = gs_cu.copy(address(to + row * region->destination_pitch), address(from + row * region->source_pitch),
                            region->width, stream);
    return result;
}

static gs_cu_result copy_slice(const gs_region *region, char *to, const char *from, gs_cu_stream stream) {
    bool is_dense = region->destination_pitch == region->width && region->source_pitch == region->width;
    if (region->height == 1 || is_dense)
        return gs_cu.copy(address(to), address(from), region->width * region->height, stream);
    if (region->destination_pitch > LONGEST_PITCH || region->source_pitch > LONGEST_PITCH)
        return copy_rows(region, to, from, stream);
    gs_cu_copy_2d copy = {.source_pitch = region->source_pitch,
                          .destination_pitch = region->destination_pitch,
                          .width = region->width,
                          .height = region->height,
                          .source_type = is_known(from) ? GS_CU_MEMORYTYPE_UNIFIED : GS_CU_MEMORYTYPE_HOST,
                          .destination_type = is_known(to) ? GS_CU_MEMORYTYPE_UNIFIED : GS_CU_MEMORYTYPE_HOST};
    if (copy.source_type == GS_CU_MEMORYTYPE_HOST)
        copy.source_host = from;
    else
        copy.source_device = address(from);
    if (copy.destination_type == GS_CU_MEMORYTYPE_HOST)
        copy.destination_host = to;
    else
        copy.destination_device = address(to);
    return gs_cu.copy_2d(&copy, stream);
}

static gs_cu_result copy_region(const gs_region *region, gs_cu_stream stream) {
    gs_cu_result result = GS_CU_SUCCESS;
    if (region->width == 0)
        return result;
    for (uint64_t slice = 0; slice < region->depth && result == GS_CU_SUCCESS; slice++)
        result = copy_slice(region, region->destination + slice * region->destination_slice,
                            region->source + slice * region->source_slice, stream);
    return result;
}

/* --- Fills ------------------------------------------------------------------------------------------------ */

/* The fewest bytes, a power of two up to 4, of which a pattern is a repetition; 0 if there are none. */
static uint64_t period(const char *pattern, uint64_t size) {
    for (uint64_t bytes = 1; bytes <= 4 && bytes <= size; bytes *= 2)
        if (size % bytes == 0 && memcmp(pattern, pattern + bytes, size - bytes) == 0)
            return bytes;
    return 0;
}

/* The pattern once, then copies of what is there, ever twice as much. */
static gs_cu_result fill_by_copies(char *to, uint64_t size, const char *pattern, uint64_t pattern_size, gs_cu_stream stream) {
    uint64_t done = pattern_size < size ? pattern_size : size;
    gs_cu_result result = gs_cu.copy(address(to), address(pattern), done, stream);
    while (result == GS_CU_SUCCESS && done < size) {
        uint64_t step = done < size - done ? done : size - done;
        result = gs_cu.copy(address(to + done), address(to), step, stream);
        done += step;
    }
    return result;
}

static gs_cu_result fill(const gs_command *command, gs_cu_stream stream) {
    const char *pattern = command->fill.pattern != NULL ? command->fill.pattern : command->fill.pattern_bytes;
    char *to = command->fill.destination;
    uint64_t size = command->fill.size, bytes = period(pattern, command->fill.pattern_size);
    if (size == 0)
        return GS_CU_SUCCESS;
    if (bytes == 0 || size % bytes != 0 || (uintptr_t)to % bytes != 0 || !is_known(to))
        return fill_by_copies(to, size, pattern, command->fill.pattern_size, stream);
    uint32_t value = 0;
    memcpy(&value, pattern, bytes);
    if (bytes == 1)
        return gs_cu.fill_8(address(to), (unsigned char)value, size, stream);
    if (bytes == 2)
        return gs_cu.fill_16(address(to), (unsigned short)value, size / 2, stream);
    return gs_cu.fill_32(address(to), value, size / 4, stream);
}

gs_cu_result gs_gpu_issue(gs_gpu *gpu, gs_cu_stream stream, const gs_command *command) {
    if (!are_there(command))
        return GS_CU_ILLEGAL_ADDRESS;
    switch (command->operation) {
    case GS_COPY:
        if (command->copy.size == 0)
            return GS_CU_SUCCESS;
        if (overlaps(command))
            return copy_overlapping(gpu, stream, command);
        return gs_cu.copy(address(command->copy.destination), address(command->copy.source), command->copy.size, stream);
    case GS_COPY_REGION:
        return copy_region(&command->region, stream);
    case GS_FILL:
        return fill(command, stream);
    case GS_PREFETCH: /* other memory stays where it is */
        if (!is_managed(command->prefetch.start) || command->prefetch.size == 0)
            return GS_CU_SUCCESS;
        return gs_cu.prefetch(address(command->prefetch.start), command->prefetch.size, gpu->number, stream);
    case GS_LAUNCH:
        return gs_gpu_launch(gpu, stream, command->launch);
    default:
        return GS_CU_SUCCESS;
    }
}
