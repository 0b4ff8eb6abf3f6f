/* Copies of images. Each becomes a copy of memory: of bytes in a row where there are no gaps, else row by row. */
#include "images/image.h"
#include "memory/memory.h"
#include "objects/list.h"

/* A block of rows in memory. */
typedef struct box {
    char *start;
    uint64_t width, rows, slices; /* width in bytes */
    uint64_t row_pitch, slice_pitch;
} box;

/* The three axes of an image as a region counts them; an axis that it does not have has one element. */
typedef struct axes {
    int count; /* that the image has */
    uint64_t extent[3];
    uint64_t pitch[3]; /* bytes from element to element */
} axes;

/* The layers of a 1D array are its second axis, those of a 2D array its third. */
static axes axes_of(const gs_image *image) {
    const gs_image_view *view = &image->view;
    bool is_1d_array = image->type == ZE_IMAGE_TYPE_1DARRAY, is_2d = image->type == ZE_IMAGE_TYPE_2D;
    bool is_flat = image->type == ZE_IMAGE_TYPE_1D || image->type == ZE_IMAGE_TYPE_BUFFER;
    return (axes){is_flat ? 1 : is_1d_array || is_2d ? 2 : 3,
                  {view->width, is_1d_array ? view->layers : view->height,
                   image->type == ZE_IMAGE_TYPE_2DARRAY ? view->layers : view->depth},
                  {view->texel_bytes, is_1d_array ? view->slice_pitch : view->row_pitch, view->slice_pitch}};
}

/* Where a region begins along each axis, and how far it goes. */
typedef struct range {
    uint64_t first[3], count[3];
} range;

/* Checks a region. No region means the whole image; what it says of axes that the image does not have is ignored. A
 * region without width is empty: such a copy does nothing but signal. */
static ze_result_t read_region(enum gs_function function, const char *parameter, const gs_image *image,
                               const ze_image_region_t *region, range *found) {
    axes of = axes_of(image);
    *found = (range){{0}, {of.extent[0], of.extent[1], of.extent[2]}};
    if (region == NULL)
        return ZE_RESULT_SUCCESS;
    const uint32_t first[] = {region->originX, region->originY, region->originZ};
    const uint32_t count[] = {region->width, region->height, region->depth};
    for (int axis = 0; axis < of.count; axis++) {
        found->first[axis] = first[axis];
        found->count[axis] = axis > 0 && count[axis] == 0 ? 1 : count[axis];
        if (found->first[axis] + found->count[axis] > of.extent[axis])
            return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: %s has %llu elements from %llu on along %c; the image has %llu",
                           gs_function_names[function], parameter, (unsigned long long)found->count[axis],
                           (unsigned long long)found->first[axis], "xyz"[axis], (unsigned long long)of.extent[axis]);
    }
    return ZE_RESULT_SUCCESS;
}

static box box_of(const gs_image *image, const range *region) {
    axes of = axes_of(image);
    char *start = image->view.texels;
    for (int axis = 0; axis < 3; axis++)
        start += region->first[axis] * of.pitch[axis];
    return (box){start, region->count[0] * of.pitch[0], region->count[1], region->count[2], of.pitch[1], of.pitch[2]};
}

static uint64_t bytes_of(const box *of) {
    return (of->slices - 1) * of->slice_pitch + (of->rows - 1) * of->row_pitch + of->width;
}

/* --- Appending --------------------------------------------------------------------------------------- */

/* Rows without gaps between them, on both sides, are one row. */
static void join_rows(gs_region *region) {
    for (int axis = 0; axis < 2; axis++) {
        bool no_gaps = region->height == 1 ||
                       (region->width == region->destination_pitch && region->width == region->source_pitch);
        if (!no_gaps)
            return;
        region->width *= region->height;
        region->height = region->depth;
        region->depth = 1;
        region->destination_pitch = region->destination_slice;
        region->source_pitch = region->source_slice;
    }
}

/* Who signals and who is waited for. */
typedef struct events {
    ze_event_handle_t signal;
    uint32_t wait_count;
    ze_event_handle_t *waits;
} events;

static ze_result_t append(enum gs_function function, ze_command_list_handle_t list, const box *to, const box *from,
                          events events) {
    gs_region region = {to->start,      from->start,     to->width,        to->rows, to->slices, to->row_pitch,
                        to->slice_pitch, from->row_pitch, from->slice_pitch};
    join_rows(&region);
    gs_command command = {.operation = GS_COPY_REGION, .region = region};
    if (region.height == 1 && region.depth == 1)
        command = (gs_command){.operation = GS_COPY, .copy = {region.destination, region.source, region.width}};
    return gs_append(function, list, &command, events.signal, events.wait_count, events.waits);
}

/* --- From image to image ----------------------------------------------------------------------------- */

static bool overlap(const gs_image *to, const range *to_region, const gs_image *from, const range *from_region) {
    box left = box_of(to, to_region), right = box_of(from, from_region);
    if (left.start >= right.start + bytes_of(&right) || right.start >= left.start + bytes_of(&left))
        return false;
    bool same_layout = to->view.texels == from->view.texels && left.row_pitch == right.row_pitch &&
                       left.slice_pitch == right.slice_pitch;
    for (int axis = 0; same_layout && axis < 3; axis++)
        if (to_region->first[axis] >= from_region->first[axis] + from_region->count[axis] ||
            from_region->first[axis] >= to_region->first[axis] + to_region->count[axis])
            return false;
    return true;
}

/* Pixels in several planes are copied as a whole, or plane by plane through views. */
static ze_result_t copy_planes(enum gs_function function, ze_command_list_handle_t list, const gs_image *to,
                               const gs_image *from, bool whole, events events) {
    if (!whole || to->layout != from->layout || to->view.width != from->view.width ||
        to->view.height != from->view.height || to->size != from->size)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: images of several planes are copied whole, to one like them; for parts, copy views of planes",
                       gs_function_names[function]);
    if (to->view.texels == from->view.texels)
        return gs_fail(ZE_RESULT_ERROR_OVERLAPPING_REGIONS, "%s: source and destination are the same image",
                       gs_function_names[function]);
    const box into = {to->view.texels, to->size, 1, 1, 0, 0}, outof = {from->view.texels, from->size, 1, 1, 0, 0};
    return append(function, list, &into, &outof, events);
}

static ze_result_t copy_image(enum gs_function function, ze_command_list_handle_t list, const gs_image *to,
                              const ze_image_region_t *to_region, const gs_image *from,
                              const ze_image_region_t *from_region, events events) {
    const char *name = gs_function_names[function];
    if (gs_format_planes(to->layout) > 1 || gs_format_planes(from->layout) > 1)
        return copy_planes(function, list, to, from, to_region == NULL && from_region == NULL, events);
    if (to->view.texel_bytes != from->view.texel_bytes)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: texels of %u bytes cannot become texels of %u bytes; the formats must be the same", name,
                       from->view.texel_bytes, to->view.texel_bytes);
    range into, outof;
    ze_result_t result = read_region(function, "pDstRegion", to, to_region, &into);
    if (result == ZE_RESULT_SUCCESS)
        result = read_region(function, "pSrcRegion", from, from_region, &outof);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    for (int axis = 0; axis < 3; axis++)
        if (into.count[axis] != outof.count[axis])
            return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                           "%s: source and destination must have the same width, height and depth", name);
    if (overlap(to, &into, from, &outof))
        return gs_fail(ZE_RESULT_ERROR_OVERLAPPING_REGIONS, "%s: source and destination overlap", name);
    const box to_box = box_of(to, &into), from_box = box_of(from, &outof);
    return append(function, list, &to_box, &from_box, events);
}

ze_result_t gs_zeCommandListAppendImageCopy(ze_command_list_handle_t hCommandList, ze_image_handle_t hDstImage,
                                            ze_image_handle_t hSrcImage, ze_event_handle_t hSignalEvent,
                                            uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    return copy_image(GS_FN_zeCommandListAppendImageCopy, hCommandList, (gs_image *)hDstImage, NULL,
                      (gs_image *)hSrcImage, NULL, (events){hSignalEvent, numWaitEvents, phWaitEvents});
}

ze_result_t gs_zeCommandListAppendImageCopyRegion(ze_command_list_handle_t hCommandList, ze_image_handle_t hDstImage,
                                                  ze_image_handle_t hSrcImage, const ze_image_region_t *pDstRegion,
                                                  const ze_image_region_t *pSrcRegion, ze_event_handle_t hSignalEvent,
                                                  uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    return copy_image(GS_FN_zeCommandListAppendImageCopyRegion, hCommandList, (gs_image *)hDstImage, pDstRegion,
                      (gs_image *)hSrcImage, pSrcRegion, (events){hSignalEvent, numWaitEvents, phWaitEvents});
}

/* --- Between an image and memory --------------------------------------------------------------------- */

/* The pitches that a caller gave for memory, 0: no gaps. */
typedef struct pitches {
    uint64_t row, slice;
} pitches;

static ze_result_t check_pitch(enum gs_function function, const char *what, uint64_t pitch, uint64_t least) {
    if (pitch >= least)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: the %s pitch is %llu bytes; the region needs %llu",
                   gs_function_names[function], what, (unsigned long long)pitch, (unsigned long long)least);
}

/* The memory that goes with a box of the image. A pitch of an axis that the image does not have is ignored; the
 * layers of a 1D array are as far apart as the slice pitch says. */
static ze_result_t read_memory(enum gs_function function, const gs_image *image, const box *texels, pitches given,
                               box *memory) {
    int axis_count = axes_of(image).count;
    bool layers_are_rows = image->type == ZE_IMAGE_TYPE_1DARRAY && given.slice > 0;
    uint64_t row = layers_are_rows ? given.slice : given.row;
    memory->width = texels->width;
    memory->rows = texels->rows;
    memory->slices = texels->slices;
    memory->row_pitch = axis_count > 1 && row > 0 ? row : texels->width;
    ze_result_t result = check_pitch(function, "row", memory->row_pitch, texels->width);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    uint64_t whole = memory->row_pitch * texels->rows;
    memory->slice_pitch = axis_count > 2 && given.slice > 0 ? given.slice : whole;
    return check_pitch(function, "slice", memory->slice_pitch, whole);
}

/* Finds both sides of a copy between an image and the memory at `pointer`. */
static ze_result_t pair(enum gs_function function, const gs_image *image, const char *region_name,
                        const ze_image_region_t *region, const char *pointer_name, const void *pointer, pitches given,
                        box *texels, box *memory) {
    if (gs_format_planes(image->layout) > 1)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT,
                       "%s: the image has several planes; copy views of them (zeImageViewCreateExt)",
                       gs_function_names[function]);
    range found;
    ze_result_t result = read_region(function, region_name, image, region, &found);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    *texels = box_of(image, &found);
    result = read_memory(function, image, texels, given, memory);
    memory->start = (char *)pointer;
    return result == ZE_RESULT_SUCCESS ? gs_memory_check_range(function, pointer_name, pointer, bytes_of(memory)) : result;
}

static ze_result_t copy_to_memory(enum gs_function function, ze_command_list_handle_t list, void *pointer,
                                  ze_image_handle_t image, const ze_image_region_t *region, pitches given,
                                  events events) {
    box texels, memory;
    ze_result_t result =
        pair(function, (gs_image *)image, "pSrcRegion", region, "dstptr", pointer, given, &texels, &memory);
    return result == ZE_RESULT_SUCCESS ? append(function, list, &memory, &texels, events) : result;
}

static ze_result_t copy_from_memory(enum gs_function function, ze_command_list_handle_t list, ze_image_handle_t image,
                                    const void *pointer, const ze_image_region_t *region, pitches given,
                                    events events) {
    box texels, memory;
    ze_result_t result =
        pair(function, (gs_image *)image, "pDstRegion", region, "srcptr", pointer, given, &texels, &memory);
    return result == ZE_RESULT_SUCCESS ? append(function, list, &texels, &memory, events) : result;
}

ze_result_t gs_zeCommandListAppendImageCopyToMemory(ze_command_list_handle_t hCommandList, void *dstptr,
                                                    ze_image_handle_t hSrcImage, const ze_image_region_t *pSrcRegion,
                                                    ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                    ze_event_handle_t *phWaitEvents) {
    return copy_to_memory(GS_FN_zeCommandListAppendImageCopyToMemory, hCommandList, dstptr, hSrcImage, pSrcRegion,
                          (pitches){0, 0}, (events){hSignalEvent, numWaitEvents, phWaitEvents});
}

ze_result_t gs_zeCommandListAppendImageCopyFromMemory(ze_command_list_handle_t hCommandList,
                                                      ze_image_handle_t hDstImage, const void *srcptr,
                                                      const ze_image_region_t *pDstRegion,
                                                      ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                      ze_event_handle_t *phWaitEvents) {
    return copy_from_memory(GS_FN_zeCommandListAppendImageCopyFromMemory, hCommandList, hDstImage, srcptr, pDstRegion,
                            (pitches){0, 0}, (events){hSignalEvent, numWaitEvents, phWaitEvents});
}

ze_result_t gs_zeCommandListAppendImageCopyToMemoryExt(ze_command_list_handle_t hCommandList, void *dstptr,
                                                       ze_image_handle_t hSrcImage, const ze_image_region_t *pSrcRegion,
                                                       uint32_t destRowPitch, uint32_t destSlicePitch,
                                                       ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                       ze_event_handle_t *phWaitEvents) {
    return copy_to_memory(GS_FN_zeCommandListAppendImageCopyToMemoryExt, hCommandList, dstptr, hSrcImage, pSrcRegion,
                          (pitches){destRowPitch, destSlicePitch}, (events){hSignalEvent, numWaitEvents, phWaitEvents});
}

ze_result_t gs_zeCommandListAppendImageCopyFromMemoryExt(ze_command_list_handle_t hCommandList,
                                                         ze_image_handle_t hDstImage, const void *srcptr,
                                                         const ze_image_region_t *pDstRegion, uint32_t srcRowPitch,
                                                         uint32_t srcSlicePitch, ze_event_handle_t hSignalEvent,
                                                         uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    return copy_from_memory(GS_FN_zeCommandListAppendImageCopyFromMemoryExt, hCommandList, hDstImage, srcptr,
                            pDstRegion, (pitches){srcRowPitch, srcSlicePitch},
                            (events){hSignalEvent, numWaitEvents, phWaitEvents});
}
