/* Lists, queues, events, images and semaphores. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "work.h"

enum { BYTES = 100000, WAITS = 40 };

static bool run_list(ze_command_list_handle_t list) {
    ze_command_queue_handle_t queue = NULL;
    ze_fence_handle_t fence = NULL;
    TRY(zeCommandListClose(list));
    TRY(zeCommandQueueCreate(on.context, on.device,
                             &(ze_command_queue_desc_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC}, &queue));
    LATER(zeCommandQueueDestroy, queue);
    TRY(zeFenceCreate(queue, &(ze_fence_desc_t){.stype = ZE_STRUCTURE_TYPE_FENCE_DESC}, &fence));
    LATER(zeFenceDestroy, fence);
    TRY(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    TRY(zeFenceHostSynchronize(fence, UINT64_MAX));
    TRY(zeCommandQueueSynchronize(queue, UINT64_MAX));
    return true;
}

static bool append_copies(ze_command_list_handle_t list, char *to, char *from, ze_event_handle_t *events) {
    char pattern[64];
    memset(pattern, 3, sizeof pattern);
    TRY(zeCommandListAppendMemoryFill(list, from, pattern, sizeof pattern, 64 * 1000, events[0], 0, NULL));
    TRY(zeCommandListAppendMemoryCopy(list, to, from, 64 * 1000, events[1], 1, &events[0]));
    const ze_copy_region_t region = {.width = 10, .height = 10};
    TRY(zeCommandListAppendMemoryCopyRegion(list, to + 70000, &region, 100, 0, from, &region, 100, 0, events[2], 2, events));
    TRY(zeCommandListAppendBarrier(list, NULL, 3, events));
    return true;
}

static bool copy(void) {
    char *from = memory_of(BYTES), *to = memory_of(BYTES);
    MADE(from);
    MADE(to);
    ze_event_pool_handle_t pool = pool_of(3, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    MADE(pool);
    ze_event_handle_t events[3];
    for (uint32_t each = 0; each < 3; each++)
        MADE(events[each] = event_of(pool, each));
    ze_command_list_handle_t list = list_of(0);
    MADE(list);
    if (!append_copies(list, to, from, events) || !run_list(list))
        return false;
    REQUIRE(to[0] == 3 && to[63999] == 3);
    TRY(zeCommandListReset(list));
    for (uint32_t each = 0; each < 3; each++)
        TRY(zeEventHostReset(events[each]));
    ze_command_list_handle_t immediate = immediate_of(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    MADE(immediate);
    if (!append_copies(immediate, to, from, events))
        return false;
    TRY(zeCommandListHostSynchronize(immediate, UINT64_MAX));
    return true;
}

/* Many commands, each of which waits for many events. */
static bool wait_for_many(void) {
    ze_event_pool_handle_t pool = pool_of(WAITS, 0);
    MADE(pool);
    ze_event_handle_t events[WAITS];
    for (uint32_t each = 0; each < WAITS; each++)
        MADE(events[each] = event_of(pool, each));
    ze_command_list_handle_t list = list_of(0);
    MADE(list);
    for (uint32_t each = 0; each < WAITS; each++)
        TRY(zeCommandListAppendBarrier(list, events[each], each, events));
    return run_list(list);
}

static bool measure(void) {
    ze_event_pool_handle_t pool = pool_of(2, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    MADE(pool);
    ze_event_handle_t events[2];
    for (uint32_t each = 0; each < 2; each++)
        MADE(events[each] = event_of(pool, each));
    ze_command_list_handle_t list = list_of(ZE_COMMAND_LIST_FLAG_IN_ORDER);
    MADE(list);
    char *memory = memory_of(4096);
    MADE(memory);
    const size_t offsets[] = {0, 512};
    TRY(zeCommandListAppendBarrier(list, events[0], 0, NULL));
    TRY(zeCommandListAppendBarrier(list, events[1], 0, NULL));
    TRY(zeCommandListAppendQueryKernelTimestamps(list, 2, events, memory, offsets, NULL, 2, events));
    TRY(zeCommandListAppendWriteGlobalTimestamp(list, (uint64_t *)(memory + 1024), NULL, 0, NULL));
    return run_list(list);
}

static bool share_events(void) {
    ze_event_pool_handle_t pool = pool_of(2, ZE_EVENT_POOL_FLAG_IPC | ZE_EVENT_POOL_FLAG_HOST_VISIBLE), opened = NULL;
    MADE(pool);
    ze_event_handle_t event = event_of(pool, 0), other = NULL;
    MADE(event);
    ze_ipc_event_pool_handle_t handle;
    TRY(zeEventPoolGetIpcHandle(pool, &handle));
    TRY(zeEventPoolOpenIpcHandle(on.context, handle, &opened));
    LATER(zeEventPoolCloseIpcHandle, opened);
    MADE(other = event_of(opened, 0));
    TRY(zeEventHostSignal(event));
    REQUIRE(zeEventQueryStatus(other) == ZE_RESULT_SUCCESS);
    TRY(zeEventPoolPutIpcHandle(on.context, handle));
    return true;
}

static bool share_counter_events(void) {
    ze_event_handle_t event = counter_event_of(ZE_EVENT_COUNTER_BASED_FLAG_IPC | ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE);
    MADE(event);
    ze_command_list_handle_t list = immediate_of(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    MADE(list);
    TRY(zeCommandListAppendSignalEvent(list, event));
    TRY(zeEventHostSynchronize(event, UINT64_MAX));
    ze_ipc_event_counter_based_handle_t handle;
    TRY(zeEventCounterBasedGetIpcHandle(event, &handle));
    ze_event_handle_t opened = NULL;
    TRY(zeEventCounterBasedOpenIpcHandle(on.context, handle, &opened));
    LATER(zeEventCounterBasedCloseIpcHandle, opened);
    REQUIRE(zeEventQueryStatus(opened) == ZE_RESULT_SUCCESS);
    return true;
}

static bool clone(void) {
    char *memory = memory_of(BYTES);
    MADE(memory);
    ze_command_list_handle_t list = list_of(ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE), cloned = NULL;
    MADE(list);
    char pattern[64] = {1};
    ze_event_pool_handle_t pool = pool_of(1, 0);
    MADE(pool);
    ze_event_handle_t event = event_of(pool, 0);
    MADE(event);
    TRY(zeCommandListAppendMemoryFill(list, memory, pattern, sizeof pattern, 6400, event, 0, NULL));
    TRY(zeCommandListAppendMemoryFill(list, memory, pattern, sizeof pattern, 6400, NULL, 1, &event));
    TRY(zeCommandListClose(list));
    TRY(zeCommandListCreateCloneExp(list, &cloned));
    LATER(zeCommandListDestroy, cloned);
    ze_command_list_handle_t immediate = immediate_of(0);
    MADE(immediate);
    TRY(zeCommandListImmediateAppendCommandListsExp(immediate, 1, &list, NULL, 0, NULL));
    TRY(zeCommandListHostSynchronize(immediate, UINT64_MAX));
    return true;
}

/* --- Images ----------------------------------------------------------------------------------------------- */

static ze_image_desc_t description(ze_image_format_layout_t layout) {
    return (ze_image_desc_t){
        .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
        .type = ZE_IMAGE_TYPE_2D,
        .format = {layout, ZE_IMAGE_FORMAT_TYPE_UINT, ZE_IMAGE_FORMAT_SWIZZLE_R, ZE_IMAGE_FORMAT_SWIZZLE_G,
                   ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A},
        .width = 100,
        .height = 100,
    };
}

static bool use_images(void) {
    char *memory = memory_of(BYTES);
    MADE(memory);
    const ze_image_desc_t of_image = description(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8);
    const ze_image_desc_t of_view = description(ZE_IMAGE_FORMAT_LAYOUT_16_16);
    ze_image_handle_t image = NULL, view = NULL;
    ze_sampler_handle_t sampler = NULL;
    TRY(zeImageCreate(on.context, on.device, &of_image, &image));
    LATER(zeImageDestroy, image);
    TRY(zeImageViewCreateExt(on.context, on.device, &of_view, image, &view));
    LATER(zeImageDestroy, view);
    TRY(zeSamplerCreate(on.context, on.device, &(ze_sampler_desc_t){.stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC}, &sampler));
    LATER(zeSamplerDestroy, sampler);
    ze_command_list_handle_t list = immediate_of(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    MADE(list);
    TRY(zeContextMakeImageResident(on.context, on.device, image));
    TRY(zeCommandListAppendImageCopyFromMemory(list, image, memory, NULL, NULL, 0, NULL));
    TRY(zeCommandListAppendImageCopyToMemory(list, memory, view, NULL, NULL, 0, NULL));
    TRY(zeCommandListHostSynchronize(list, UINT64_MAX));
    return true;
}

/* --- Semaphores ------------------------------------------------------------------------------------------- */

static bool use_semaphore(void) {
    int file = eventfd(0, 0);
    if (file < 0) {
        take_own_failure("eventfd");
        return false;
    }
    const ze_external_semaphore_fd_ext_desc_t given = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_FD_EXT_DESC, .fd = file};
    const ze_external_semaphore_ext_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_EXT_DESC,
                                                     .pNext = &given,
                                                     .flags = ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_OPAQUE_FD};
    ze_external_semaphore_ext_handle_t semaphore = NULL;
    ze_result_t result = zeDeviceImportExternalSemaphoreExt(on.device, &wanted, &semaphore);
    close(file);
    TRY(result);
    LATER(zeDeviceReleaseExternalSemaphoreExt, semaphore);
    ze_command_list_handle_t list = immediate_of(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    MADE(list);
    ze_external_semaphore_signal_params_ext_t signal = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_EXT};
    ze_external_semaphore_wait_params_ext_t wait = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_WAIT_PARAMS_EXT};
    TRY(zeCommandListAppendSignalExternalSemaphoreExt(list, 1, &semaphore, &signal, NULL, 0, NULL));
    TRY(zeCommandListHostSynchronize(list, UINT64_MAX));
    TRY(zeCommandListAppendWaitExternalSemaphoreExt(list, 1, &semaphore, &wait, NULL, 0, NULL));
    TRY(zeCommandListHostSynchronize(list, UINT64_MAX));
    return true;
}

const work command_work[] = {{"copy", copy},
                             {"wait_for_many", wait_for_many},
                             {"measure", measure},
                             {"share_events", share_events},
                             {"share_counter_events", share_counter_events},
                             {"clone", clone},
                             {"use_images", use_images},
                             {"use_semaphore", use_semaphore},
                             {NULL, NULL}};
