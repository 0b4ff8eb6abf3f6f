/* Launches on a GPU: from the argument block of a kernel to the parameters of its code. */
#include "runtime/launch.h"

#include <string.h>

#include "images/image.h"
#include "memory/crossing.h"
#include "metrics/counts.h"
#include "nvidia/gpu.h"
#include "runtime/activity.h"

enum { MOST_PARAMETER_BYTES = 4096, CU_ERROR_INVALID_VALUE = 1 };

/* How much of a group's local memory is asked for with the launch; the code itself has the rest. */
static uint32_t dynamic_bytes(const gs_code *code, uint64_t local_bytes) {
    return (uint32_t)(local_bytes - gs_align_local(code->local_bytes));
}

static void put(char *parameters, int32_t offset, const void *value, size_t size) {
    if (offset >= 0)
        memcpy(parameters + offset, value, size);
}

/* What a kernel gets that was given no image. It stays as long as the GPU's context. */
static gs_cu_result need_no_image(gs_gpu *gpu, gs_cu_pointer *view) {
    enum { TEXELS = 256, BYTES = 512 };
    char *base;
    uint64_t span;
    if ((*view = gpu->no_image) != 0)
        return GS_CU_SUCCESS;
    gs_cu_result result = gs_pool_take(&gpu->memory, BYTES, 0, &base, &span);
    if (result != GS_CU_SUCCESS)
        return result;
    char bytes[BYTES] = {0};
    gs_image_view described = gs_no_image;
    described.texels = base + TEXELS;
    memcpy(bytes, &described, sizeof described);
    result = gs_cu.copy_now((gs_cu_pointer)(uintptr_t)base, (gs_cu_pointer)(uintptr_t)bytes, BYTES);
    gs_cu_pointer made = (gs_cu_pointer)(uintptr_t)base;
    if (result != GS_CU_SUCCESS || !atomic_compare_exchange_strong(&gpu->no_image, view, made))
        gs_pool_give(&gpu->memory, base, span); /* or another thread was faster */
    else
        *view = made;
    return result;
}

static gs_cu_result place_image(gs_gpu *gpu, const char *source, char *destination) {
    const gs_image_view *view;
    memcpy(&view, source, sizeof view);
    gs_cu_pointer place = (gs_cu_pointer)(uintptr_t)gs_image_on_device(view);
    gs_cu_result result = place != 0 ? GS_CU_SUCCESS : need_no_image(gpu, &place);
    memcpy(destination, &place, sizeof place);
    return result;
}

static gs_cu_result place_arguments(gs_gpu *gpu, const gs_launch *launch, char *parameters) {
    const gs_gpu_code *code = launch->code->gpu;
    const uint64_t behind = gs_align_local(launch->code->local_bytes);
    gs_cu_result result = GS_CU_SUCCESS;
    for (uint32_t each = 0; each < code->parameter_count && result == GS_CU_SUCCESS; each++) {
        const gs_parameter *parameter = &code->parameters[each];
        const char *source = launch->block + parameter->source;
        char *destination = parameters + parameter->destination;
        if (parameter->kind == GS_ARGUMENT_IMAGE) {
            result = place_image(gpu, source, destination);
        } else if (parameter->kind == GS_ARGUMENT_LOCAL) {
            uint64_t place;
            memcpy(&place, source, sizeof place);
            place -= behind;
            memcpy(destination, &place, parameter->size);
        } else {
            memcpy(destination, source, parameter->size);
        }
    }
    return result;
}

/* As on the CPU: the API has no word for get_work_dim(), so it is as small as the range allows. */
static uint32_t count_dimensions(const uint64_t global_size[3]) {
    return global_size[2] > 1 ? 3 : global_size[1] > 1 ? 2 : 1;
}

static void place_implicit(const gs_gpu_code *code, const gs_dispatch *dispatch, uint64_t print_buffer, char *parameters) {
    uint64_t global_size[3];
    for (int axis = 0; axis < 3; axis++)
        global_size[axis] = dispatch->group_counts[axis] * dispatch->group_size[axis];
    const uint32_t dimensions = count_dimensions(global_size);
    put(parameters, code->global_offset, dispatch->global_offset, sizeof dispatch->global_offset);
    put(parameters, code->global_size, global_size, sizeof global_size);
    put(parameters, code->work_dim, &dimensions, sizeof dimensions);
    put(parameters, code->enqueued_local_size, dispatch->group_size, sizeof dispatch->group_size);
    put(parameters, code->print_buffer, &print_buffer, sizeof print_buffer);
}

/* More local memory than this has to be asked for before a launch. Functions of which that was asked take longer to launch. */
enum { PLENTY_OF_LOCAL_MEMORY = 48 << 10 };

static void allow(const gs_code *code, uint32_t dynamic) {
    if (code->local_bytes + dynamic > PLENTY_OF_LOCAL_MEMORY)
        gs_cu.function_set((gs_cu_function)(uintptr_t)code->gpu->function, GS_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                           (int)dynamic);
}

static gs_cu_result start(gs_cu_stream stream, const gs_launch *launch, const gs_dispatch *dispatch, char *parameters) {
    const gs_gpu_code *code = launch->code->gpu;
    gs_cu_function function = (gs_cu_function)(uintptr_t)code->function;
    size_t bytes = code->parameter_bytes;
    void *extra[] = {GS_CU_LAUNCH_BUFFER_POINTER, parameters, GS_CU_LAUNCH_BUFFER_SIZE, &bytes, GS_CU_LAUNCH_END};
    const uint32_t counts[3] = {(uint32_t)dispatch->group_counts[0], (uint32_t)dispatch->group_counts[1],
                                (uint32_t)dispatch->group_counts[2]};
    const uint32_t *size = dispatch->group_size, shared = dynamic_bytes(launch->code, dispatch->local_bytes);
    allow(launch->code, shared);
    if (!launch->cooperative)
        return gs_cu.launch(function, counts[0], counts[1], counts[2], size[0], size[1], size[2], shared, stream, NULL,
                            bytes > 0 ? extra : NULL);
    if (gs_cu.launch_with == NULL)
        return GS_CU_NOT_SUPPORTED;
    gs_cu_launch_attribute together = {.id = GS_CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.number = 1};
    gs_cu_launch_config config = {.groups = {counts[0], counts[1], counts[2]}, .group_size = {size[0], size[1], size[2]},
                                  .shared_bytes = shared, .stream = stream, .attributes = &together, .attribute_count = 1};
    return gs_cu.launch_with(&config, function, NULL, bytes > 0 ? extra : NULL);
}

/* --- printf -------------------------------------------------------------------------------------------- */

typedef struct print_head {
    uint64_t used, capacity;
} print_head;

/* Runs a launch that prints, waits for it and prints: the kernel writes the same records as on a CPU (runtime/print.c). */
static gs_cu_result start_and_print(gs_gpu *gpu, gs_cu_stream stream, const gs_launch *launch, const gs_dispatch *dispatch,
                                    char *parameters) {
    const print_head empty = {0, GS_PRINT_BYTES};
    uint64_t span;
    char *buffer;
    gs_cu_result result = gs_pool_take(&gpu->memory, sizeof empty + GS_PRINT_BYTES, 0, &buffer, &span);
    if (result != GS_CU_SUCCESS)
        return result;
    gs_cu_pointer at = (gs_cu_pointer)(uintptr_t)buffer;
    place_implicit(launch->code->gpu, dispatch, at, parameters);
    print_head head = empty;
    if ((result = gs_cu.fill_8(at, 0, sizeof empty + GS_PRINT_BYTES, stream)) == GS_CU_SUCCESS &&
        (result = gs_cu.copy(at, (gs_cu_pointer)(uintptr_t)&empty, sizeof empty, stream)) == GS_CU_SUCCESS &&
        (result = start(stream, launch, dispatch, parameters)) == GS_CU_SUCCESS &&
        (result = gs_cu.copy((gs_cu_pointer)(uintptr_t)&head, at, sizeof head, stream)) == GS_CU_SUCCESS)
        result = gs_cu.stream_wait(stream);
    if (result == GS_CU_SUCCESS && head.used > 0) {
        print_head *records = gs_print_begin();
        uint64_t used = head.used < GS_PRINT_BYTES ? head.used : GS_PRINT_BYTES;
        if (records->capacity == GS_PRINT_BYTES) {
            result = gs_cu.copy_now((gs_cu_pointer)(uintptr_t)(records + 1), at + sizeof head, used);
            records->used = result == GS_CU_SUCCESS ? head.used : 0;
        }
        gs_print_end(records, launch->code, gpu->device);
    }
    gs_pool_give(&gpu->memory, buffer, span);
    return result;
}

/* --- Launches ------------------------------------------------------------------------------------------- */

/* Reads words that a program left for when the launch runs: when the stream has come here. */
static gs_cu_result read_words(gs_cu_stream stream, uint32_t *words, const void *from, uint32_t count) {
    gs_cu_result result = gs_cu.stream_wait(stream);
    return result == GS_CU_SUCCESS ? gs_cu.copy_now((gs_cu_pointer)(uintptr_t)words, (gs_cu_pointer)(uintptr_t)from,
                                                    count * sizeof *words)
                                   : result;
}

static void count_launch(const gs_dispatch *dispatch) {
    gs_queue_counts *counts = gs_activity_current().counts;
    uint64_t groups = dispatch->group_counts[0] * dispatch->group_counts[1] * dispatch->group_counts[2];
    const uint32_t *size = dispatch->group_size;
    GS_COUNT(counts, kernels, 1);
    GS_COUNT(counts, groups, groups);
    GS_COUNT(counts, items, groups * size[0] * size[1] * size[2]);
}

static gs_cu_result launch_one(gs_gpu *gpu, gs_cu_stream stream, const gs_launch *launch) {
    gs_dispatch dispatch = launch->dispatch;
    const gs_gpu_code *code = launch->code->gpu;
    char parameters[MOST_PARAMETER_BYTES];
    if (launch->indirect_counts != NULL) {
        uint32_t counts[3];
        gs_cu_result result = read_words(stream, counts, launch->indirect_counts, 3);
        if (result != GS_CU_SUCCESS)
            return result;
        for (int axis = 0; axis < 3; axis++) {
            dispatch.group_counts[axis] = counts[axis];
            if (counts[axis] > gs_nvidia_kind.most_counts[axis])
                return CU_ERROR_INVALID_VALUE;
        }
    }
    if (dispatch.group_counts[0] == 0 || dispatch.group_counts[1] == 0 || dispatch.group_counts[2] == 0)
        return GS_CU_SUCCESS;
    if (code == NULL || code->generation != gpu->generation || code->parameter_bytes > sizeof parameters)
        return CU_ERROR_INVALID_VALUE; /* code of another device, or of a context that is gone */
    count_launch(&dispatch);
    memset(parameters, 0, code->parameter_bytes);
    gs_cu_result result = place_arguments(gpu, launch, parameters);
    if (result != GS_CU_SUCCESS)
        return result;
    if (code->print_buffer >= 0)
        return start_and_print(gpu, stream, launch, &dispatch, parameters);
    place_implicit(code, &dispatch, 0, parameters);
    return start(stream, launch, &dispatch, parameters);
}

gs_cu_result gs_gpu_launch(gs_gpu *gpu, gs_cu_stream stream, const gs_launch *launch) {
    uint32_t limit = UINT32_MAX;
    gs_cu_result result = GS_CU_SUCCESS;
    if (launch->indirect_number != NULL)
        result = read_words(stream, &limit, launch->indirect_number, 1);
    for (; launch != NULL && launch->index < limit && result == GS_CU_SUCCESS; launch = launch->next)
        result = launch_one(gpu, stream, launch);
    return result;
}

/* False for one that has to be waited for: it prints, or something is read when the stream has come to it. */
bool gs_gpu_launch_returns_at_once(const gs_launch *launch) {
    bool reads = launch->indirect_number != NULL;
    for (; launch != NULL && !reads; launch = launch->next)
        reads = launch->indirect_counts != NULL || launch->code->gpu == NULL || launch->code->gpu->print_buffer >= 0;
    return !reads;
}

uint32_t gs_gpu_most_groups(const gs_device *device, const gs_code *code, uint64_t local_bytes) {
    gs_gpu *gpu = gs_gpu_of(device);
    int blocks = 0;
    const uint32_t *size = code->group_size;
    if (gs_cu.launch_with == NULL || !gs_gpu_enter(gpu))
        return 0;
    allow(code, dynamic_bytes(code, gs_align_local(local_bytes)));
    gs_cu.occupancy(&blocks, (gs_cu_function)(uintptr_t)code->gpu->function, (int)(size[0] * size[1] * size[2]),
                    dynamic_bytes(code, gs_align_local(local_bytes)));
    gs_gpu_leave(gpu);
    return (uint32_t)blocks * gpu->multiprocessors;
}
