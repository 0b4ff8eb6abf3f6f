/* Changing commands of a closed list. A launch on a mutable list keeps a copy of its kernel: arguments, group size
 * and offset are set there, with all the checks of a kernel, and the launch is captured from it again when the list
 * is closed. Group counts and events are changed in the command itself. */
#include "mutable.h"

#include <stdlib.h>
#include <string.h>

#include "launch.h"

static _Atomic uint64_t last_id;

/* --- Names ------------------------------------------------------------------------------------------- */

void gs_mutable_bind(gs_program *program, gs_command *command) {
    for (gs_mutable *each = program->mutables; each != NULL && each->command == NULL; each = each->next) {
        each->command = command;
        each->wait_count = command->target_count;
    }
}

void gs_mutable_free(gs_mutable *first) {
    for (gs_mutable *next; first != NULL; first = next) {
        next = first->next;
        for (uint32_t each = 0; each < first->kernel_count; each++)
            gs_object_drop(first->kernels[each]);
        free(first);
    }
}

static gs_mutable *new_mutable(uint64_t id, ze_mutable_command_exp_flags_t flags, uint32_t kernel_count,
                               gs_kernel *const *kernels) {
    gs_mutable *made = calloc(1, sizeof *made + kernel_count * sizeof *kernels);
    if (made == NULL)
        return NULL;
    made->id = id;
    made->flags = flags;
    made->kernel_count = kernel_count;
    for (uint32_t each = 0; each < kernel_count; each++) {
        made->kernels[each] = kernels[each];
        gs_object_hold(kernels[each]);
    }
    return made;
}

static ze_result_t give_id(enum gs_function function, ze_command_list_handle_t hList,
                           const ze_mutable_command_id_exp_desc_t *desc, uint32_t kernel_count,
                           ze_kernel_handle_t *kernels, uint64_t *id) {
    const ze_mutable_command_exp_flags_t all = ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION - 1;
    gs_list *list = (gs_list *)hList;
    if (!list->is_mutable || list->closed)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: %s", gs_function_names[function],
                       list->closed ? "the list is closed"
                                    : "the list is not mutable; pass ze_mutable_command_list_exp_desc_t when it is created");
    gs_mutable *made =
        new_mutable(++last_id, desc->flags != 0 ? desc->flags : all, kernel_count, (gs_kernel *const *)kernels);
    if (made == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another command");
    pthread_mutex_lock(&list->lock);
    made->next = list->program->mutables;
    list->program->mutables = made;
    pthread_mutex_unlock(&list->lock);
    *id = made->id;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListGetNextCommandIdExp(ze_command_list_handle_t hCommandList,
                                                const ze_mutable_command_id_exp_desc_t *desc, uint64_t *pCommandId) {
    return give_id(GS_FN_zeCommandListGetNextCommandIdExp, hCommandList, desc, 0, NULL, pCommandId);
}

ze_result_t gs_zeCommandListGetNextCommandIdWithKernelsExp(ze_command_list_handle_t hCommandList,
                                                           const ze_mutable_command_id_exp_desc_t *desc,
                                                           uint32_t numKernels, ze_kernel_handle_t *phKernels,
                                                           uint64_t *pCommandId) {
    return give_id(GS_FN_zeCommandListGetNextCommandIdWithKernelsExp, hCommandList, desc,
                   phKernels != NULL ? numKernels : 0, phKernels, pCommandId);
}

ze_result_t gs_zeCommandListIsMutableExp(ze_command_list_handle_t hCommandList, ze_bool_t *pIsMutable) {
    *pIsMutable = ((gs_list *)hCommandList)->is_mutable;
    return ZE_RESULT_SUCCESS;
}

static const gs_command *nth(const gs_program *program, const gs_command *like, const gs_program *of) {
    const gs_command *found = program->first;
    for (const gs_command *each = of->first; each != like; each = each->next)
        found = found->next;
    return found;
}

bool gs_mutable_copy(gs_program *clone, const gs_program *original) {
    gs_mutable **link = &clone->mutables;
    for (const gs_mutable *each = original->mutables; each != NULL; each = each->next) {
        gs_mutable *made = new_mutable(each->id, each->flags, each->kernel_count, each->kernels);
        if (made == NULL)
            return false;
        made->command = each->command != NULL ? (gs_command *)nth(clone, each->command, original) : NULL;
        made->wait_count = each->wait_count;
        *link = made;
        link = &made->next;
    }
    return true;
}

/* --- Finding what is to be changed ------------------------------------------------------------------- */

static bool is_idle(void *list) { return ((gs_list *)list)->program->pending == 0; }

/* Before anything is changed. */
static ze_result_t check_list(enum gs_function function, gs_list *list) {
    const char *name = gs_function_names[function];
    if (!list->is_mutable)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the list is not mutable", name);
    if (!gs_wait_moment(is_idle, list))
        return gs_fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "%s: the list still runs; synchronise with it first", name);
    return ZE_RESULT_SUCCESS;
}

/* The command of a name, if it was appended and said to change in this way. */
static ze_result_t find(enum gs_function function, const gs_list *list, uint64_t id,
                        ze_mutable_command_exp_flags_t flag, gs_mutable **found) {
    const char *name = gs_function_names[function];
    gs_mutable *each = list->program->mutables;
    while (each != NULL && each->id != id)
        each = each->next;
    if (each == NULL || each->command == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the list has no command %llu", name,
                       (unsigned long long)id);
    if (!(each->flags & flag))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: command %llu was not to change in this way (flags %#x)",
                       name, (unsigned long long)id, each->flags);
    *found = each;
    return ZE_RESULT_SUCCESS;
}

/* The same for what only launches have. */
static ze_result_t find_launch(enum gs_function function, const gs_list *list, uint64_t id,
                               ze_mutable_command_exp_flags_t flag, gs_mutable **found) {
    ze_result_t result = find(function, list, id, flag, found);
    if (result == ZE_RESULT_SUCCESS && (*found)->command->operation != GS_LAUNCH)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: command %llu launches no kernel",
                       gs_function_names[function], (unsigned long long)id);
    return result;
}

/* --- Launches ---------------------------------------------------------------------------------------- */

static ze_result_t change_argument(const gs_list *list, const ze_mutable_kernel_argument_exp_desc_t *desc) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandsExp;
    gs_mutable *found;
    ze_result_t result =
        find_launch(function, list, desc->commandId, ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS, &found);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    found->changed = true;
    result = gs_kernel_set_argument(function, found->command->launch->kernel, desc->argIndex, desc->argSize,
                                    desc->pArgValue);
    return result == ZE_RESULT_SUCCESS ? result : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_result_t change_counts(const gs_list *list, const ze_mutable_group_count_exp_desc_t *desc) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandsExp;
    gs_mutable *found;
    ze_result_t result =
        find_launch(function, list, desc->commandId, ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT, &found);
    if (result == ZE_RESULT_SUCCESS && desc->pGroupCount == NULL)
        result = gs_fail_pointer(function, "pGroupCount");
    if (result == ZE_RESULT_SUCCESS)
        result = gs_launch_set_counts(function, list, found->command->launch, desc->pGroupCount);
    return result;
}

static ze_result_t change_size(const gs_list *list, const ze_mutable_group_size_exp_desc_t *desc) {
    gs_mutable *found;
    ze_result_t result = find_launch(GS_FN_zeCommandListUpdateMutableCommandsExp, list, desc->commandId,
                                     ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_SIZE, &found);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    found->changed = true;
    return gs_zeKernelSetGroupSize((ze_kernel_handle_t)found->command->launch->kernel, desc->groupSizeX,
                                   desc->groupSizeY, desc->groupSizeZ);
}

static ze_result_t change_offset(const gs_list *list, const ze_mutable_global_offset_exp_desc_t *desc) {
    gs_mutable *found;
    ze_result_t result = find_launch(GS_FN_zeCommandListUpdateMutableCommandsExp, list, desc->commandId,
                                     ZE_MUTABLE_COMMAND_EXP_FLAG_GLOBAL_OFFSET, &found);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    found->changed = true;
    return gs_zeKernelSetGlobalOffsetExp((ze_kernel_handle_t)found->command->launch->kernel, desc->offsetX,
                                         desc->offsetY, desc->offsetZ);
}

static ze_result_t change_one(const gs_list *list, const ze_base_desc_t *desc) {
    switch (desc->stype) {
    case ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC:
        return change_argument(list, (const void *)desc);
    case ZE_STRUCTURE_TYPE_MUTABLE_GROUP_COUNT_EXP_DESC:
        return change_counts(list, (const void *)desc);
    case ZE_STRUCTURE_TYPE_MUTABLE_GROUP_SIZE_EXP_DESC:
        return change_size(list, (const void *)desc);
    case ZE_STRUCTURE_TYPE_MUTABLE_GLOBAL_OFFSET_EXP_DESC:
        return change_offset(list, (const void *)desc);
    default:
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeCommandListUpdateMutableCommandsExp: a struct of type %#x changes nothing", desc->stype);
    }
}

ze_result_t gs_zeCommandListUpdateMutableCommandsExp(ze_command_list_handle_t hCommandList,
                                                     const ze_mutable_commands_exp_desc_t *desc) {
    gs_list *list = (gs_list *)hCommandList;
    ze_result_t result = check_list(GS_FN_zeCommandListUpdateMutableCommandsExp, list);
    pthread_mutex_lock(&list->lock);
    const ze_base_desc_t *each = desc->pNext;
    for (; each != NULL && result == ZE_RESULT_SUCCESS; each = each->pNext) {
        list->changed = true;
        result = change_one(list, each);
    }
    pthread_mutex_unlock(&list->lock);
    return result;
}

static ze_result_t change_kernel(const gs_list *list, uint64_t id, gs_kernel *kernel) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandKernelsExp;
    gs_mutable *found;
    ze_result_t result = find_launch(function, list, id, ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION, &found);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    uint32_t index = 0;
    while (index < found->kernel_count && found->kernels[index] != kernel)
        index++;
    if (index == found->kernel_count)
        return gs_fail(ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE,
                       "%s: the kernel was not among those of command %llu (zeCommandListGetNextCommandIdWithKernelsExp)",
                       gs_function_names[function], (unsigned long long)id);
    gs_kernel *copy = gs_kernel_copy(kernel);
    if (copy == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another kernel");
    gs_kernel_free_copy(found->command->launch->kernel);
    found->command->launch->kernel = copy;
    found->changed = true;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListUpdateMutableCommandKernelsExp(ze_command_list_handle_t hCommandList, uint32_t numKernels,
                                                           uint64_t *pCommandId, ze_kernel_handle_t *phKernels) {
    gs_list *list = (gs_list *)hCommandList;
    ze_result_t result = check_list(GS_FN_zeCommandListUpdateMutableCommandKernelsExp, list);
    pthread_mutex_lock(&list->lock);
    for (uint32_t each = 0; each < numKernels && result == ZE_RESULT_SUCCESS; each++) {
        list->changed = true;
        result = change_kernel(list, pCommandId[each], (gs_kernel *)phKernels[each]);
    }
    pthread_mutex_unlock(&list->lock);
    return result;
}

ze_result_t gs_mutable_apply(gs_list *list) {
    for (gs_mutable *each = list->program->mutables; each != NULL; each = each->next) {
        if (!each->changed)
            continue;
        ze_result_t result = gs_launch_renew(GS_FN_zeCommandListClose, list, &each->command->launch);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        each->changed = false;
    }
    return ZE_RESULT_SUCCESS;
}

/* --- Events ------------------------------------------------------------------------------------------ */

static bool same_mode(const gs_event *left, const gs_event *right) {
    return (left->mode == GS_EVENT_PLAIN) == (right->mode == GS_EVENT_PLAIN);
}

static ze_result_t fail_mode(enum gs_function function) {
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "%s: an event can only take the place of one of its kind, counter-based or not",
                   gs_function_names[function]);
}

ze_result_t gs_zeCommandListUpdateMutableCommandSignalEventExp(ze_command_list_handle_t hCommandList,
                                                               uint64_t commandId, ze_event_handle_t hSignalEvent) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandSignalEventExp;
    gs_list *list = (gs_list *)hCommandList;
    gs_event *signal = (gs_event *)hSignalEvent;
    gs_mutable *found = NULL;
    ze_result_t result = check_list(function, list);
    pthread_mutex_lock(&list->lock);
    if (result == ZE_RESULT_SUCCESS)
        result = find(function, list, commandId, ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT, &found);
    if (result == ZE_RESULT_SUCCESS && signal != NULL && found->command->signal != NULL &&
        !same_mode(signal, found->command->signal))
        result = fail_mode(function);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_list_change_signal(function, list, found->command, signal);
    pthread_mutex_unlock(&list->lock);
    return result;
}

ze_result_t gs_zeCommandListUpdateMutableCommandWaitEventsExp(ze_command_list_handle_t hCommandList,
                                                              uint64_t commandId, uint32_t numWaitEvents,
                                                              ze_event_handle_t *phWaitEvents) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandWaitEventsExp;
    gs_list *list = (gs_list *)hCommandList;
    gs_mutable *found = NULL;
    ze_result_t result = check_list(function, list);
    pthread_mutex_lock(&list->lock);
    if (result == ZE_RESULT_SUCCESS)
        result = find(function, list, commandId, ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS, &found);
    if (result == ZE_RESULT_SUCCESS && phWaitEvents != NULL && numWaitEvents != found->wait_count)
        result = gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: command %llu was appended with %u wait events, not %u",
                         gs_function_names[function], (unsigned long long)commandId, found->wait_count, numWaitEvents);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_list_change_waits(list, found->command, phWaitEvents != NULL ? numWaitEvents : 0, phWaitEvents);
    pthread_mutex_unlock(&list->lock);
    return result;
}
