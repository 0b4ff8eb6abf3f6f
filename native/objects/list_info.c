/* What a command list tells about itself, and its clone. */
#include <stdlib.h>
#include <string.h>

#include "objects/mutable.h"
#include "runtime/launch.h"

/* The queue of an immediate list, or NULL with the error recorded. */
static const gs_queue *queue_of(enum gs_function function, ze_command_list_handle_t hCommandList) {
    const gs_list *list = (gs_list *)hCommandList;
    if (list->immediate)
        return &list->queue;
    gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the list is not immediate", gs_function_names[function]);
    return NULL;
}

ze_result_t gs_zeCommandListImmediateGetIndex(ze_command_list_handle_t hCommandListImmediate, uint32_t *pIndex) {
    const gs_queue *queue = queue_of(GS_FN_zeCommandListImmediateGetIndex, hCommandListImmediate);
    if (queue == NULL)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *pIndex = queue->index;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListImmediateGetFlags(ze_command_list_handle_t hCommandList, ze_command_queue_flags_t *pFlags) {
    const gs_queue *queue = queue_of(GS_FN_zeCommandListImmediateGetFlags, hCommandList);
    if (queue == NULL)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *pFlags = queue->flags;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListImmediateGetMode(ze_command_list_handle_t hCommandList, ze_command_queue_mode_t *pMode) {
    const gs_queue *queue = queue_of(GS_FN_zeCommandListImmediateGetMode, hCommandList);
    if (queue == NULL)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *pMode = queue->mode;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListImmediateGetPriority(ze_command_list_handle_t hCommandList,
                                                 ze_command_queue_priority_t *pPriority) {
    const gs_queue *queue = queue_of(GS_FN_zeCommandListImmediateGetPriority, hCommandList);
    if (queue == NULL)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *pPriority = queue->priority;
    return ZE_RESULT_SUCCESS;
}

/* --- Clones ---------------------------------------------------------------------------------------- */

/* Appends the same command, with the same events, to another list. */
static ze_result_t append_again(ze_command_list_handle_t into, const gs_command *original) {
    gs_command command = *original;
    command.next = NULL;
    command.targets = NULL;
    command.target_count = 0;
    command.signal = NULL;
    command.counter = NULL;
    ze_event_handle_t *waits = calloc(original->target_count + 1, sizeof *waits);
    if (waits == NULL || !gs_command_copy_contents(&command, original)) {
        free(waits);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to copy a command");
    }
    for (uint32_t each = 0; each < original->target_count; each++)
        waits[each] = (ze_event_handle_t)original->targets[each].event;
    ze_result_t result = gs_append(GS_FN_zeCommandListCreateCloneExp, into, &command,
                                   (ze_event_handle_t)original->signal, original->target_count, waits);
    free(waits);
    return result;
}

/* What the counter-based events that a command buffer signals stand for now; the last target has no event. */
static gs_target *take_signals(const gs_command_buffer *buffer) {
    uint32_t count = 0;
    for (const gs_command *each = buffer->first; each != NULL; each = each->next)
        count += each->signal != NULL && each->counter != NULL;
    gs_target *taken = calloc(count + 1, sizeof *taken);
    uint32_t next = 0;
    for (const gs_command *each = buffer->first; each != NULL && taken != NULL; each = each->next)
        if (each->signal != NULL && each->counter != NULL)
            gs_target_take(each->signal, &taken[next++]);
    return taken;
}

/* Lets the events stand for that again. */
static void give_back_signals(gs_target *taken) {
    for (gs_target *each = taken; each->event != NULL; each++) {
        if (each->counter != NULL)
            gs_event_track(each->event, each->counter, each->number);
        gs_target_drop(each);
    }
    free(taken);
}

/* Appending lets counter-based events follow the clone, so that its own waits find them. When it is complete they go
 * back: cloning signals nothing and takes no signal away. */
static ze_result_t copy_commands(gs_command_buffer *original, ze_command_list_handle_t clone) {
    ze_result_t result = ZE_RESULT_SUCCESS;
    gs_command_buffer *made = ((gs_list *)clone)->buffer;
    gs_target *signals = take_signals(original);
    if (signals == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to copy a command list");
    for (const gs_command *each = original->first; each != NULL && result == ZE_RESULT_SUCCESS; each = each->next)
        result = append_again(clone, each);
    give_back_signals(signals);
    original->was_cloned = made->was_cloned = true;
    if (result == ZE_RESULT_SUCCESS && !gs_mutable_copy(made, original))
        result = gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to copy a command list");
    return result;
}

/* Called with the original locked, so that several threads may clone it. */
static ze_result_t clone_list(const gs_list *original, ze_command_list_handle_t *cloned) {
    if (!original->closed || original->changed)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zeCommandListCreateCloneExp: close the list first");
    const ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                         .commandQueueGroupOrdinal = original->ordinal,
                                         .flags = original->flags};
    gs_list *clone;
    ze_result_t result = gs_list_make(original->context, original->device, &desc, &clone);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    clone->is_mutable = original->is_mutable;
    result = copy_commands(original->buffer, (ze_command_list_handle_t)clone);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_zeCommandListClose((ze_command_list_handle_t)clone);
    if (result != ZE_RESULT_SUCCESS) {
        gs_object_close(clone);
        return result;
    }
    gs_object_complete(clone, clone->context);
    *cloned = (ze_command_list_handle_t)clone;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListCreateCloneExp(ze_command_list_handle_t hCommandList,
                                           ze_command_list_handle_t *phClonedCommandList) {
    gs_list *original = (gs_list *)hCommandList;
    if (original->immediate || !(original->flags & ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeCommandListCreateCloneExp: the list was not created with ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE");
    gs_lock(&original->lock);
    ze_result_t result = clone_list(original, phClonedCommandList);
    gs_unlock(&original->lock);
    return result;
}
