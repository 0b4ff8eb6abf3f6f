/* Command queues and fences: the API over queue.c. */
#include <stdlib.h>

#include "check/host/host.h"
#include "check/order/order.h"
#include "faults/lost_context.h"
#include "objects/list.h"

static void release_queue(gs_object *object) { gs_queue_close(&((gs_command_queue *)object)->queue); }

ze_result_t gs_zeCommandQueueCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                    const ze_command_queue_desc_t *desc, ze_command_queue_handle_t *phCommandQueue) {
    gs_context *context = (gs_context *)hContext;
    gs_device *device = (gs_device *)hDevice;
    ze_result_t result = gs_queue_check(GS_FN_zeCommandQueueCreate, context, device, desc->ordinal, desc->index);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_command_queue *created = gs_object_new(GS_KIND_COMMAND_QUEUE, release_queue);
    if (created == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another command queue");
    gs_queue_open(&created->queue, &created->object, context, device, desc);
    gs_object_complete(created, context);
    *phCommandQueue = (ze_command_queue_handle_t)created;
    return ZE_RESULT_SUCCESS;
}

/* What was submitted is still executed: whoever does so holds the queue. */
ze_result_t gs_zeCommandQueueDestroy(ze_command_queue_handle_t hCommandQueue) {
    gs_queue_leave(&((gs_command_queue *)hCommandQueue)->queue);
    gs_object_close(hCommandQueue);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t hCommandQueue, uint32_t numCommandLists,
                                                 ze_command_list_handle_t *phCommandLists, ze_fence_handle_t hFence) {
    gs_queue *queue = &((gs_command_queue *)hCommandQueue)->queue;
    gs_fence *fence = (gs_fence *)hFence;
    ze_result_t result =
        gs_lists_check(GS_FN_zeCommandQueueExecuteCommandLists, queue, numCommandLists, phCommandLists);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (fence != NULL && &fence->queue->queue != queue)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                       "zeCommandQueueExecuteCommandLists: the fence belongs to another queue");
    if (gs_host_is_checked())
        gs_host_execute(GS_FN_zeCommandQueueExecuteCommandLists, queue, numCommandLists, phCommandLists, fence);
    gs_command *command;
    result = gs_command_for_lists(GS_FN_zeCommandQueueExecuteCommandLists, numCommandLists, phCommandLists, &command);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    result = gs_queue_prepare(queue, command);
    if (result != ZE_RESULT_SUCCESS) {
        gs_command_cancel(command);
        gs_command_free(command);
        return result;
    }
    if (fence != NULL) {
        gs_object_hold(fence);
        command->run.fence = fence;
    }
    /* What goes wrong in these lists is for a wait to say, even if they have run when the submission returns. */
    result = gs_unless_lost(GS_FN_zeCommandQueueExecuteCommandLists, queue->context, ZE_RESULT_SUCCESS);
    gs_queue_submit(queue, command);
    if (queue->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
        return gs_unless_lost(GS_FN_zeCommandQueueExecuteCommandLists, queue->context, ZE_RESULT_SUCCESS);
    return result;
}

ze_result_t gs_zeCommandQueueSynchronize(ze_command_queue_handle_t hCommandQueue, uint64_t timeout) {
    gs_queue *queue = &((gs_command_queue *)hCommandQueue)->queue;
    bool done = gs_queue_synchronise(queue, timeout);
    return gs_unless_lost(GS_FN_zeCommandQueueSynchronize, queue->context,
                          done ? ZE_RESULT_SUCCESS : gs_not_ready(GS_FN_zeCommandQueueSynchronize));
}

/* Waits for everything that any context has given the device, or its sub-devices, so far. */
ze_result_t gs_zeDeviceSynchronize(ze_device_handle_t hDevice) {
    gs_queues_wait(NULL, (gs_device *)hDevice);
    return ZE_RESULT_SUCCESS;
}

/* --- Fences -------------------------------------------------------------------------------------- */

static void release_fence(gs_object *object) {
    gs_fence *fence = (gs_fence *)object;
    if (gs_order_is_checked())
        gs_order_forget(&fence->order);
    gs_object_drop(fence->queue);
}

ze_result_t gs_zeFenceCreate(ze_command_queue_handle_t hCommandQueue, const ze_fence_desc_t *desc,
                             ze_fence_handle_t *phFence) {
    gs_fence *fence = gs_object_new(GS_KIND_FENCE, release_fence);
    if (fence == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another fence");
    fence->queue = (gs_command_queue *)hCommandQueue;
    gs_object_hold(fence->queue);
    if (desc->flags & ZE_FENCE_FLAG_SIGNALED)
        gs_futex_set(&fence->futex, 1);
    gs_object_complete(fence, fence->queue->queue.context);
    *phFence = (ze_fence_handle_t)fence;
    return ZE_RESULT_SUCCESS;
}

/* A submission that is still to signal the fence holds it. */
ze_result_t gs_zeFenceDestroy(ze_fence_handle_t hFence) {
    gs_object_close(hFence);
    return ZE_RESULT_SUCCESS;
}

static bool is_signalled(void *fence) {
    return atomic_load_explicit(&((gs_fence *)fence)->futex.value, memory_order_acquire) != 0;
}

static bool is_signalled_or_lost(void *fence) {
    return is_signalled(fence) || gs_context_is_lost(((gs_fence *)fence)->queue->queue.context);
}

ze_result_t gs_zeFenceHostSynchronize(ze_fence_handle_t hFence, uint64_t timeout) {
    gs_fence *fence = (gs_fence *)hFence;
    gs_queue *queue = &fence->queue->queue;
    if (timeout == GS_FOREVER && !is_signalled(fence))
        gs_queue_help(queue, is_signalled_or_lost, fence);
    gs_host_wait wait = {.function = GS_FN_zeFenceHostSynchronize, .fence = fence};
    bool checked = gs_host_is_checked();
    if (checked)
        gs_host_wait_begin(&wait, timeout);
    bool done = gs_futex_wait(&fence->futex, is_signalled_or_lost, fence, timeout, true) == GS_WAIT_DONE;
    if (checked)
        gs_host_wait_end(&wait);
    if (done && gs_order_is_checked())
        gs_order_host_saw_fence(fence);
    return gs_unless_lost(GS_FN_zeFenceHostSynchronize, queue->context,
                          done ? ZE_RESULT_SUCCESS : gs_not_ready(GS_FN_zeFenceHostSynchronize));
}

ze_result_t gs_zeFenceQueryStatus(ze_fence_handle_t hFence) {
    bool done = is_signalled(hFence);
    if (done && gs_order_is_checked())
        gs_order_host_saw_fence((gs_fence *)hFence);
    return done ? ZE_RESULT_SUCCESS : gs_not_ready(GS_FN_zeFenceQueryStatus);
}

ze_result_t gs_zeFenceReset(ze_fence_handle_t hFence) {
    if (gs_host_is_checked())
        gs_host_reset(hFence, GS_FN_zeFenceReset);
    if (gs_order_is_checked())
        gs_order_forget(&((gs_fence *)hFence)->order);
    gs_futex_set(&((gs_fence *)hFence)->futex, 0);
    return ZE_RESULT_SUCCESS;
}
