/* The append functions: each describes one command and hands it to gs_append. */
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "objects/list.h"

/* --- Barriers and events --------------------------------------------------------------------------- */

ze_result_t gs_zeCommandListAppendBarrier(ze_command_list_handle_t hCommandList, ze_event_handle_t hSignalEvent,
                                          uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    return gs_append(GS_FN_zeCommandListAppendBarrier, hCommandList,
                     &(gs_command){.operation = GS_NOTHING, .blocks_later = true}, hSignalEvent, numWaitEvents, phWaitEvents);
}

/* The caches of a CPU are coherent: a barrier for ranges is a barrier. */
ze_result_t gs_zeCommandListAppendMemoryRangesBarrier(ze_command_list_handle_t hCommandList, uint32_t numRanges,
                                                      const size_t *pRangeSizes, const void **pRanges,
                                                      ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                      ze_event_handle_t *phWaitEvents) {
    for (uint32_t each = 0; each < numRanges; each++)
        if (pRanges[each] == NULL && pRangeSizes[each] > 0)
            return gs_fail_pointer(GS_FN_zeCommandListAppendMemoryRangesBarrier, "an element of pRanges");
    return gs_append(GS_FN_zeCommandListAppendMemoryRangesBarrier, hCommandList,
                     &(gs_command){.operation = GS_NOTHING, .blocks_later = true}, hSignalEvent, numWaitEvents,
                     phWaitEvents);
}

ze_result_t gs_zeCommandListAppendSignalEvent(ze_command_list_handle_t hCommandList, ze_event_handle_t hEvent) {
    return gs_append(GS_FN_zeCommandListAppendSignalEvent, hCommandList, &(gs_command){.operation = GS_NOTHING},
                     hEvent, 0, NULL);
}

ze_result_t gs_zeCommandListAppendWaitOnEvents(ze_command_list_handle_t hCommandList, uint32_t numEvents,
                                               ze_event_handle_t *phEvents) {
    return gs_append(GS_FN_zeCommandListAppendWaitOnEvents, hCommandList,
                     &(gs_command){.operation = GS_NOTHING, .blocks_later = true}, NULL, numEvents, phEvents);
}

ze_result_t gs_zeCommandListAppendEventReset(ze_command_list_handle_t hCommandList, ze_event_handle_t hEvent) {
    gs_event *event = (gs_event *)hEvent;
    if (event->mode != GS_EVENT_PLAIN)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeCommandListAppendEventReset: a counter-based event cannot be reset, and need not be");
    gs_object_hold(event);
    return gs_append(GS_FN_zeCommandListAppendEventReset, hCommandList,
                     &(gs_command){.operation = GS_RESET_EVENT, .reset = event}, NULL, 0, NULL);
}

ze_result_t gs_zeCommandListAppendHostFunction(ze_command_list_handle_t hCommandList,
                                               ze_host_function_callback_t pfnHostFunction, void *pUserData,
                                               const void *pNext, ze_event_handle_t hSignalEvent,
                                               uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    if (pNext != NULL)
        return gs_fail_extension(GS_FN_zeCommandListAppendHostFunction);
    if (pfnHostFunction == NULL)
        return gs_fail_pointer(GS_FN_zeCommandListAppendHostFunction, "pfnHostFunction");
    gs_command command = {.operation = GS_HOST_FUNCTION, .host = {pfnHostFunction, pUserData}};
    return gs_append(GS_FN_zeCommandListAppendHostFunction, hCommandList, &command, hSignalEvent, numWaitEvents,
                     phWaitEvents);
}

/* --- Copies ---------------------------------------------------------------------------------------- */

static ze_result_t append_copy(enum gs_function function, ze_command_list_handle_t list, void *destination,
                               const void *source, size_t size, ze_event_handle_t signal, uint32_t wait_count,
                               ze_event_handle_t *waits) {
    ze_result_t result = gs_memory_check_range(function, "dstptr", destination, size);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_memory_check_range(function, "srcptr", source, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_command command = {.operation = GS_COPY, .copy = {destination, source, size}};
    return gs_append(function, list, &command, signal, wait_count, waits);
}

ze_result_t gs_zeCommandListAppendMemoryCopy(ze_command_list_handle_t hCommandList, void *dstptr, const void *srcptr,
                                             size_t size, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                             ze_event_handle_t *phWaitEvents) {
    return append_copy(GS_FN_zeCommandListAppendMemoryCopy, hCommandList, dstptr, srcptr, size, hSignalEvent,
                       numWaitEvents, phWaitEvents);
}

ze_result_t gs_zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t hCommandList, void *dstptr,
                                                           const void *srcptr, size_t size, const void *pNext,
                                                           ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                           ze_event_handle_t *phWaitEvents) {
    if (pNext != NULL)
        return gs_fail_extension(GS_FN_zeCommandListAppendMemoryCopyWithParameters);
    return append_copy(GS_FN_zeCommandListAppendMemoryCopyWithParameters, hCommandList, dstptr, srcptr, size,
                       hSignalEvent, numWaitEvents, phWaitEvents);
}

/* All contexts of a process share its address space. */
ze_result_t gs_zeCommandListAppendMemoryCopyFromContext(ze_command_list_handle_t hCommandList, void *dstptr,
                                                        ze_context_handle_t hContextSrc, const void *srcptr,
                                                        size_t size, ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    (void)hContextSrc;
    return append_copy(GS_FN_zeCommandListAppendMemoryCopyFromContext, hCommandList, dstptr, srcptr, size,
                       hSignalEvent, numWaitEvents, phWaitEvents);
}

/* Where a region starts, and how far it reaches. A depth or height of zero means one, as for 2D and 1D. */
typedef struct extent {
    uint64_t start, end;
} extent;

/* False if the region ends beyond what an address can say. */
static bool find_extent(const ze_copy_region_t *region, uint64_t pitch, uint64_t slice, extent *found) {
    uint64_t height = region->height > 0 ? region->height : 1, depth = region->depth > 0 ? region->depth : 1;
    unsigned __int128 rows = region->originY + height - 1, slices = region->originZ + depth - 1;
    unsigned __int128 end = slices * slice + rows * pitch + region->originX + region->width;
    *found = (extent){region->originX + region->originY * pitch + region->originZ * slice, (uint64_t)end};
    return end < INT64_MAX;
}

/* True if the boxes share a byte. Exact when both use the same layout over the same base, else by extent. */
static bool regions_overlap(const char *destination, const ze_copy_region_t *to, extent to_extent, const char *source,
                            const ze_copy_region_t *from, extent from_extent, bool same_layout) {
    uintptr_t first = (uintptr_t)destination, second = (uintptr_t)source;
    if (first + to_extent.start >= second + from_extent.end || second + from_extent.start >= first + to_extent.end)
        return false;
    if (destination != source || !same_layout)
        return true;
    return to->originX < from->originX + from->width && from->originX < to->originX + to->width &&
           (to->height == 0 || (to->originY < from->originY + from->height && from->originY < to->originY + to->height)) &&
           (to->depth == 0 || (to->originZ < from->originZ + from->depth && from->originZ < to->originZ + to->depth));
}

static ze_result_t check_pitch(const char *side, const ze_copy_region_t *region, uint32_t pitch, uint32_t slice) {
    if (region->height > 1 && pitch < region->width)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                       "zeCommandListAppendMemoryCopyRegion: %sPitch %u is less than the region's width %u", side,
                       pitch, region->width);
    if (region->depth > 1 && slice < (uint64_t)pitch * region->height)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                       "zeCommandListAppendMemoryCopyRegion: %sSlicePitch %u is less than %u rows of %u bytes", side,
                       slice, region->height, pitch);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListAppendMemoryCopyRegion(ze_command_list_handle_t hCommandList, void *dstptr,
                                                   const ze_copy_region_t *dstRegion, uint32_t dstPitch,
                                                   uint32_t dstSlicePitch, const void *srcptr,
                                                   const ze_copy_region_t *srcRegion, uint32_t srcPitch,
                                                   uint32_t srcSlicePitch, ze_event_handle_t hSignalEvent,
                                                   uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    const enum gs_function function = GS_FN_zeCommandListAppendMemoryCopyRegion;
    if (dstRegion->width != srcRegion->width || dstRegion->height != srcRegion->height ||
        dstRegion->depth != srcRegion->depth)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                       "zeCommandListAppendMemoryCopyRegion: the regions must have the same width, height and depth");
    ze_result_t result = check_pitch("dst", dstRegion, dstPitch, dstSlicePitch);
    if (result == ZE_RESULT_SUCCESS)
        result = check_pitch("src", srcRegion, srcPitch, srcSlicePitch);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    extent to, from;
    if (!find_extent(dstRegion, dstPitch, dstSlicePitch, &to) || !find_extent(srcRegion, srcPitch, srcSlicePitch, &from))
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                       "zeCommandListAppendMemoryCopyRegion: a region reaches past the end of all memory");
    result = gs_memory_check_range(function, "dstptr", dstptr, to.end);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_memory_check_range(function, "srcptr", srcptr, from.end);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    bool same_layout = dstPitch == srcPitch && dstSlicePitch == srcSlicePitch;
    if (regions_overlap(dstptr, dstRegion, to, srcptr, srcRegion, from, same_layout))
        return gs_fail(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
                       "zeCommandListAppendMemoryCopyRegion: source and destination overlap");
    gs_command command = {.operation = GS_COPY_REGION,
                          .region = {.destination = (char *)dstptr + to.start,
                                     .source = (const char *)srcptr + from.start,
                                     .width = dstRegion->width,
                                     .height = dstRegion->height > 0 ? dstRegion->height : 1,
                                     .depth = dstRegion->depth > 0 ? dstRegion->depth : 1,
                                     .destination_pitch = dstPitch,
                                     .destination_slice = dstSlicePitch,
                                     .source_pitch = srcPitch,
                                     .source_slice = srcSlicePitch}};
    return gs_append(function, hCommandList, &command, hSignalEvent, numWaitEvents, phWaitEvents);
}

/* --- Fills ----------------------------------------------------------------------------------------- */

/* The specification asks for memory that is aligned to the pattern. Other drivers do without, and so does a CPU. */
static ze_result_t append_fill(enum gs_function function, ze_command_list_handle_t list, void *destination,
                               const void *pattern, size_t pattern_size, size_t size, ze_event_handle_t signal,
                               uint32_t wait_count, ze_event_handle_t *waits) {
    const char *name = gs_function_names[function];
    if (pattern_size == 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: pattern_size must not be zero", name);
    ze_result_t result = gs_memory_check_range(function, "ptr", destination, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_command command = {.operation = GS_FILL,
                          .fill = {.destination = destination, .size = size, .pattern_size = pattern_size}};
    char *bytes = command.fill.pattern_bytes;
    if (pattern_size > GS_INLINE_PATTERN && (bytes = command.fill.pattern = malloc(pattern_size)) == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "%s: no memory to keep a pattern of %zu bytes", name,
                       pattern_size);
    memcpy(bytes, pattern, pattern_size);
    return gs_append(function, list, &command, signal, wait_count, waits);
}

ze_result_t gs_zeCommandListAppendMemoryFill(ze_command_list_handle_t hCommandList, void *ptr, const void *pattern,
                                             size_t pattern_size, size_t size, ze_event_handle_t hSignalEvent,
                                             uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    return append_fill(GS_FN_zeCommandListAppendMemoryFill, hCommandList, ptr, pattern, pattern_size, size,
                       hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t gs_zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t hCommandList, void *ptr,
                                                           const void *pattern, size_t pattern_size, size_t size,
                                                           const void *pNext, ze_event_handle_t hSignalEvent,
                                                           uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    if (pNext != NULL)
        return gs_fail_extension(GS_FN_zeCommandListAppendMemoryFillWithParameters);
    return append_fill(GS_FN_zeCommandListAppendMemoryFillWithParameters, hCommandList, ptr, pattern, pattern_size,
                       size, hSignalEvent, numWaitEvents, phWaitEvents);
}

/* --- Hints ----------------------------------------------------------------------------------------- */

ze_result_t gs_zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t hCommandList, const void *ptr, size_t size) {
    ze_result_t result = gs_memory_check_range(GS_FN_zeCommandListAppendMemoryPrefetch, "ptr", ptr, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_command command = {.operation = GS_PREFETCH, .prefetch = {(char *)ptr, size}};
    return gs_append(GS_FN_zeCommandListAppendMemoryPrefetch, hCommandList, &command, NULL, 0, NULL);
}

/* Advice is about migrating pages between host and device, which here are one memory: nothing to do, and so nothing
 * to append. Programs take advice back through the list they gave it with, which is closed by then. Advice is a hint,
 * so a range may be longer than its memory: PoCL gives the size of a buffer with the address of a part of it. */
ze_result_t gs_zeCommandListAppendMemAdvise(ze_command_list_handle_t hCommandList, ze_device_handle_t hDevice,
                                            const void *ptr, size_t size, ze_memory_advice_t advice) {
    (void)advice, (void)size;
    const gs_list *list = (gs_list *)hCommandList;
    ze_result_t result =
        gs_context_check_device(GS_FN_zeCommandListAppendMemAdvise, list->context, (gs_device *)hDevice);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_memory_check_range(GS_FN_zeCommandListAppendMemAdvise, "ptr", ptr, 1);
    return result;
}

/* --- Timestamps ------------------------------------------------------------------------------------ */

ze_result_t gs_zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t hCommandList, uint64_t *dstptr,
                                                       ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                       ze_event_handle_t *phWaitEvents) {
    const enum gs_function function = GS_FN_zeCommandListAppendWriteGlobalTimestamp;
    if ((uintptr_t)dstptr % sizeof *dstptr != 0)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
                       "zeCommandListAppendWriteGlobalTimestamp: dstptr %p is not 8-byte aligned", (void *)dstptr);
    ze_result_t result = gs_memory_check_range(function, "dstptr", dstptr, sizeof *dstptr);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_command command = {.operation = GS_WRITE_TIMESTAMP, .timestamp = dstptr};
    return gs_append(function, hCommandList, &command, hSignalEvent, numWaitEvents, phWaitEvents);
}

/* Whether the results of a query fit where they are to go. */
static ze_result_t check_timestamps(enum gs_function function, const void *destination, uint32_t count,
                                    const size_t *offsets) {
    const uint64_t each_bytes = sizeof(ze_kernel_timestamp_result_t);
    uint64_t end = offsets == NULL ? count * each_bytes : 0;
    for (uint32_t each = 0; offsets != NULL && each < count; each++) {
        uint64_t own_end = offsets[each] < UINT64_MAX - each_bytes ? offsets[each] + each_bytes : UINT64_MAX;
        end = own_end > end ? own_end : end;
    }
    return gs_memory_check_range(function, "dstptr", destination, end);
}

ze_result_t gs_zeCommandListAppendQueryKernelTimestamps(ze_command_list_handle_t hCommandList, uint32_t numEvents,
                                                        ze_event_handle_t *phEvents, void *dstptr,
                                                        const size_t *pOffsets, ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    const enum gs_function function = GS_FN_zeCommandListAppendQueryKernelTimestamps;
    for (uint32_t each = 0; each < numEvents; each++)
        if (!((gs_event *)phEvents[each])->timestamps)
            return gs_fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                           "zeCommandListAppendQueryKernelTimestamps: event %u has no timestamps; %s", each,
                           gs_event_how_to_have_timestamps((gs_event *)phEvents[each]));
    ze_result_t result = check_timestamps(function, dstptr, numEvents, pOffsets);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_command command = {.operation = GS_QUERY_TIMESTAMPS, .query = {.destination = dstptr, .count = numEvents}};
    command.query.events = malloc(numEvents * sizeof(gs_event *));
    command.query.offsets = pOffsets != NULL ? malloc(numEvents * sizeof(uint64_t)) : NULL;
    if (command.query.events == NULL || (pOffsets != NULL && command.query.offsets == NULL)) {
        free(command.query.events);
        free(command.query.offsets);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for a query of %u events", numEvents);
    }
    for (uint32_t each = 0; each < numEvents; each++) {
        command.query.events[each] = (gs_event *)phEvents[each];
        gs_object_hold(phEvents[each]);
        if (pOffsets != NULL)
            command.query.offsets[each] = pOffsets[each];
    }
    return gs_append(function, hCommandList, &command, hSignalEvent, numWaitEvents, phWaitEvents);
}
