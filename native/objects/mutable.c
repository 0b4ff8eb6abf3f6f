/* Changing commands of a closed list. A launch on a mutable list keeps a copy of its kernel: arguments, group size
 * and offset are set there, with all the checks of a kernel, and the launch is captured from it again when the list
 * is closed. Group counts and events are changed in the command itself. A call changes everything that it names, or
 * fails and changes nothing. */
#include "objects/mutable.h"

#include <stdlib.h>
#include <string.h>

#include "check/host/host.h"
#include "runtime/launch.h"

static _Atomic uint64_t last_id;

/* --- Names ------------------------------------------------------------------------------------------- */

void gs_mutable_bind(gs_command_buffer *buffer, gs_command *command) {
    gs_mutable *youngest = buffer->mutables;
    if (youngest == NULL || youngest->command != NULL)
        return;
    youngest->command = command;
    youngest->wait_count = command->target_count;
}

void gs_mutable_free(gs_mutable *first) {
    for (gs_mutable *next; first != NULL; first = next) {
        next = first->next;
        for (uint32_t each = 0; each < first->kernel_count; each++)
            gs_object_drop(first->kernels[each]);
        free(first->events);
        free(first);
    }
}

/* A name, or one with more kernels to choose from. The old one, if any, is used up unless memory ran out. */
static gs_mutable *add_kernels(gs_mutable *old, uint32_t count, gs_kernel *const *kernels) {
    uint32_t before = old != NULL ? old->kernel_count : 0;
    gs_mutable *made = realloc(old, sizeof *made + ((size_t)before + count) * sizeof *kernels);
    if (made == NULL)
        return NULL;
    if (old == NULL)
        memset(made, 0, sizeof *made);
    for (uint32_t each = 0; each < count; each++) {
        made->kernels[before + each] = kernels[each];
        gs_object_hold(kernels[each]);
    }
    made->kernel_count = before + count;
    return made;
}

static ze_result_t check_flags(enum gs_function function, ze_mutable_command_exp_flags_t flags) {
    if ((flags & ~(2 * ZE_MUTABLE_COMMAND_EXP_FLAG_GRAPH_ARGUMENTS - 1)) != 0)
        return gs_fail_enum(function, "desc->flags", flags);
    if (flags & ZE_MUTABLE_COMMAND_EXP_FLAG_GRAPH_ARGUMENTS)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                       "%s: arguments of graphs cannot change (mutableCommandFlags of the device)",
                       gs_function_names[function]);
    return ZE_RESULT_SUCCESS;
}

/* Called with the list locked. Who asks twice before a command is appended gets its one name twice. */
static ze_result_t name_next(gs_command_buffer *buffer, ze_mutable_command_exp_flags_t flags, uint32_t kernel_count,
                             gs_kernel *const *kernels, uint64_t *id) {
    gs_mutable *before = buffer->mutables;
    bool again = before != NULL && before->command == NULL;
    gs_mutable *made = add_kernels(again ? before : NULL, kernel_count, kernels);
    if (made == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another command");
    if (!again) {
        made->id = ++last_id;
        made->next = before;
    }
    made->flags |= flags;
    buffer->mutables = made;
    *id = made->id;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t give_id(enum gs_function function, ze_command_list_handle_t hList,
                           const ze_mutable_command_id_exp_desc_t *desc, uint32_t kernel_count,
                           ze_kernel_handle_t *kernels, uint64_t *id) {
    const ze_mutable_command_exp_flags_t all = ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION - 1;
    gs_list *list = (gs_list *)hList;
    ze_result_t result = check_flags(function, desc->flags);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_lock(&list->lock);
    if (!list->is_mutable || list->closed)
        result = gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: %s", gs_function_names[function],
                         !list->is_mutable ? "the list is not mutable; pass ze_mutable_command_list_exp_desc_t when it "
                                             "is created"
                                           : "the list is closed");
    else
        result = name_next(list->buffer, desc->flags != 0 ? desc->flags : all, kernel_count,
                           (gs_kernel *const *)kernels, id);
    gs_unlock(&list->lock);
    return result;
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

static const gs_command *nth(const gs_command_buffer *buffer, const gs_command *like, const gs_command_buffer *of) {
    const gs_command *found = buffer->first;
    for (const gs_command *each = of->first; each != like; each = each->next)
        found = found->next;
    return found;
}

bool gs_mutable_copy(gs_command_buffer *clone, const gs_command_buffer *original) {
    gs_mutable **link = &clone->mutables;
    for (const gs_mutable *each = original->mutables; each != NULL; each = each->next) {
        gs_mutable *made = add_kernels(NULL, each->kernel_count, each->kernels);
        if (made == NULL)
            return false;
        *link = made;
        link = &made->next;
        made->id = each->id;
        made->flags = each->flags;
        made->command = each->command != NULL ? (gs_command *)nth(clone, each->command, original) : NULL;
        made->wait_count = each->wait_count;
        const size_t size = (each->wait_count + 1) * sizeof *made->events;
        if (each->events != NULL && (made->events = malloc(size)) == NULL)
            return false;
        if (each->events != NULL)
            memcpy(made->events, each->events, size);
    }
    return true;
}

/* --- Finding what is to be changed ------------------------------------------------------------------- */

static bool is_idle(void *list) { return !gs_list_is_busy(list); }

static ze_result_t fail_busy(enum gs_function function) {
    return gs_fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "%s: the list still runs; synchronise with it first",
                   gs_function_names[function]);
}

/* Before anything is changed. Takes the list's lock, with which no run of it begins, also if it fails. */
static ze_result_t lock_to_change(enum gs_function function, gs_list *list) {
    if (gs_host_is_checked() && list->is_mutable)
        gs_host_mutating(function, list);
    bool idle = list->is_mutable && gs_wait_moment(is_idle, list);
    gs_lock(&list->lock);
    if (!list->is_mutable)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the list is not mutable", gs_function_names[function]);
    return idle && list->buffer->pending == 0 ? ZE_RESULT_SUCCESS : fail_busy(function);
}

/* The command of a name, if it was appended and said to change in this way. */
static ze_result_t find(enum gs_function function, const gs_list *list, uint64_t id,
                        ze_mutable_command_exp_flags_t flag, gs_mutable **found) {
    const char *name = gs_function_names[function];
    gs_mutable *each = list->buffer->mutables;
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

/* The same for what only launches of one kernel have. */
static ze_result_t find_launch(enum gs_function function, const gs_list *list, uint64_t id,
                               ze_mutable_command_exp_flags_t flag, gs_mutable **found) {
    ze_result_t result = find(function, list, id, flag, found);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const gs_command *command = (*found)->command;
    if (command->operation != GS_LAUNCH || command->launch->next != NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: command %llu launches %s", gs_function_names[function],
                       (unsigned long long)id,
                       command->operation != GS_LAUNCH ? "no kernel" : "several kernels, which cannot change");
    return ZE_RESULT_SUCCESS;
}

/* --- Launches ---------------------------------------------------------------------------------------- */

/* How each struct of a chain begins. */
typedef struct change {
    ze_structure_type_t stype;
    const void *pNext;
    uint64_t command;
} change;

static ze_mutable_command_exp_flags_t flag_of(const change *change) {
    switch (change->stype) {
    case ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC: return ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS;
    case ZE_STRUCTURE_TYPE_MUTABLE_GROUP_COUNT_EXP_DESC: return ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT;
    case ZE_STRUCTURE_TYPE_MUTABLE_GROUP_SIZE_EXP_DESC: return ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_SIZE;
    case ZE_STRUCTURE_TYPE_MUTABLE_GLOBAL_OFFSET_EXP_DESC: return ZE_MUTABLE_COMMAND_EXP_FLAG_GLOBAL_OFFSET;
    default: return 0;
    }
}

static ze_result_t change_counts(const gs_list *list, const ze_mutable_group_count_exp_desc_t *desc,
                                 gs_launch *launch) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandsExp;
    if (desc->pGroupCount == NULL)
        return gs_fail_pointer(function, "pGroupCount");
    if (launch->indirect_counts != NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: command %llu reads its group counts when it runs",
                       gs_function_names[function], (unsigned long long)desc->commandId);
    return gs_launch_set_counts(function, list, launch, desc->pGroupCount);
}

static ze_result_t change_kernel(const change *change, gs_kernel *kernel) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandsExp;
    const ze_mutable_kernel_argument_exp_desc_t *argument = (const void *)change;
    const ze_mutable_group_size_exp_desc_t *size = (const void *)change;
    const ze_mutable_global_offset_exp_desc_t *offset = (const void *)change;
    ze_result_t result;
    switch (change->stype) {
    case ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC:
        result = gs_kernel_set_argument(function, kernel, argument->argIndex, argument->argSize, argument->pArgValue);
        return result == ZE_RESULT_SUCCESS ? result : ZE_RESULT_ERROR_INVALID_ARGUMENT;
    case ZE_STRUCTURE_TYPE_MUTABLE_GROUP_SIZE_EXP_DESC:
        return gs_kernel_set_group_size(function, kernel, size->groupSizeX, size->groupSizeY, size->groupSizeZ);
    default:
        return gs_zeKernelSetGlobalOffsetExp((ze_kernel_handle_t)kernel, offset->offsetX, offset->offsetY,
                                             offset->offsetZ);
    }
}

static ze_result_t try_kernel(const change *change, const gs_kernel *kernel) {
    gs_kernel *copy = gs_kernel_copy(kernel);
    if (copy == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another kernel");
    ze_result_t result = change_kernel(change, copy);
    gs_kernel_free_copy(copy);
    return result;
}

/* Tries what one struct of a chain says, or really does it. */
static ze_result_t change_launch(const gs_list *list, const change *change, bool really) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandsExp;
    const ze_mutable_command_exp_flags_t flag = flag_of(change);
    if (flag == 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: a struct of type %#x changes nothing",
                       gs_function_names[function], change->stype);
    gs_mutable *found;
    ze_result_t result = find_launch(function, list, change->command, flag, &found);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_launch *launch = found->command->launch, trial = *launch;
    if (flag == ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT)
        return change_counts(list, (const void *)change, really ? launch : &trial);
    found->changed |= really;
    return really ? change_kernel(change, launch->kernel) : try_kernel(change, launch->kernel);
}

static ze_result_t change_launches(const gs_list *list, const change *first, bool really) {
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (const change *each = first; each != NULL && result == ZE_RESULT_SUCCESS; each = each->pNext)
        result = change_launch(list, each, really);
    return result;
}

ze_result_t gs_zeCommandListUpdateMutableCommandsExp(ze_command_list_handle_t hCommandList,
                                                     const ze_mutable_commands_exp_desc_t *desc) {
    gs_list *list = (gs_list *)hCommandList;
    ze_result_t result = lock_to_change(GS_FN_zeCommandListUpdateMutableCommandsExp, list);
    if (result == ZE_RESULT_SUCCESS && desc->flags != 0)
        result = gs_fail_enum(GS_FN_zeCommandListUpdateMutableCommandsExp, "desc->flags", desc->flags);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_check_chain(GS_FN_zeCommandListUpdateMutableCommandsExp, desc->pNext, sizeof(change));
    if (result == ZE_RESULT_SUCCESS)
        result = change_launches(list, desc->pNext, false);
    if (result == ZE_RESULT_SUCCESS)
        result = change_launches(list, desc->pNext, true);
    list->changed |= result == ZE_RESULT_SUCCESS;
    gs_unlock(&list->lock);
    return result;
}

/* --- Kernels ----------------------------------------------------------------------------------------- */

static ze_result_t find_choice(const gs_list *list, uint64_t id, const gs_kernel *kernel, gs_mutable **found) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandKernelsExp;
    ze_result_t result = find_launch(function, list, id, ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION, found);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    for (uint32_t each = 0; each < (*found)->kernel_count; each++)
        if ((*found)->kernels[each] == kernel)
            return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE,
                   "%s: the kernel was not among those of command %llu (zeCommandListGetNextCommandIdWithKernelsExp)",
                   gs_function_names[function], (unsigned long long)id);
}

/* The copy takes over what is set on the kernel now; what the command was given before was for another kernel. */
static ze_result_t replace_kernel(gs_mutable *found, const gs_kernel *kernel) {
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
    gs_mutable *found = NULL;
    ze_result_t result = lock_to_change(GS_FN_zeCommandListUpdateMutableCommandKernelsExp, list);
    for (uint32_t each = 0; each < numKernels && result == ZE_RESULT_SUCCESS; each++)
        result = find_choice(list, pCommandId[each], (gs_kernel *)phKernels[each], &found);
    for (uint32_t each = 0; each < numKernels && result == ZE_RESULT_SUCCESS; each++) {
        list->changed = true;
        find_choice(list, pCommandId[each], (gs_kernel *)phKernels[each], &found);
        result = replace_kernel(found, (gs_kernel *)phKernels[each]);
    }
    gs_unlock(&list->lock);
    return result;
}

ze_result_t gs_mutable_apply(gs_list *list) {
    for (gs_mutable *each = list->buffer->mutables; each != NULL; each = each->next) {
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

/* What an event must have in common with the one whose place it takes. 0: there was none. */
static uint32_t kind_of(const gs_event *event, ze_event_scope_flags_t scope) {
    enum { EVENT = 1, COUNTER = 2, AGGREGATE = 4, FOREIGN = 8, TIMESTAMPS = 16, SCOPE = 32 };
    const bool aggregate = event->mode == GS_EVENT_EXTERNAL && event->external_increment != 0;
    return EVENT | (event->mode != GS_EVENT_PLAIN ? COUNTER : 0) | (aggregate ? AGGREGATE : 0) |
           (event->heap == &event->mapped ? FOREIGN : 0) | (event->timestamps ? TIMESTAMPS : 0) | scope * SCOPE;
}

/* Before the first change of a command's events: remembers what they were. */
static ze_result_t learn_kinds(gs_mutable *of) {
    if (of->events != NULL)
        return ZE_RESULT_SUCCESS;
    of->events = calloc(of->wait_count + 1, sizeof *of->events);
    if (of->events == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for %u wait events", of->wait_count);
    const gs_command *command = of->command;
    for (uint32_t each = 0; each < of->wait_count; each++)
        of->events[each] = kind_of(command->targets[each].event, command->targets[each].event->wait_scope);
    if (command->signal != NULL)
        of->events[of->wait_count] = kind_of(command->signal, command->signal->signal_scope);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t check_kind(enum gs_function function, uint32_t before, uint32_t now) {
    if (before == 0 || before == now)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "%s: an event can only take the place of one of its kind: counter-based or not, with timestamps or "
                   "not, and of the same scope",
                   gs_function_names[function]);
}

/* The command whose events are to change; the kinds of those that it was appended with are known. */
static ze_result_t find_events(enum gs_function function, const gs_list *list, uint64_t id,
                               ze_mutable_command_exp_flags_t flag, gs_mutable **found) {
    ze_result_t result = find(function, list, id, flag, found);
    return result == ZE_RESULT_SUCCESS ? learn_kinds(*found) : result;
}

ze_result_t gs_zeCommandListUpdateMutableCommandSignalEventExp(ze_command_list_handle_t hCommandList,
                                                               uint64_t commandId, ze_event_handle_t hSignalEvent) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandSignalEventExp;
    gs_list *list = (gs_list *)hCommandList;
    gs_event *signal = (gs_event *)hSignalEvent;
    gs_mutable *found = NULL;
    ze_result_t result = lock_to_change(function, list);
    if (result == ZE_RESULT_SUCCESS)
        result = find_events(function, list, commandId, ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT, &found);
    if (result == ZE_RESULT_SUCCESS && signal != NULL)
        result = check_kind(function, found->events[found->wait_count], kind_of(signal, signal->signal_scope));
    if (result == ZE_RESULT_SUCCESS)
        result = gs_list_change_signal(function, list, found->command, signal);
    gs_unlock(&list->lock);
    return result;
}

static ze_result_t check_waits(enum gs_function function, const gs_mutable *of, uint32_t count,
                               ze_event_handle_t *waits) {
    if (count != of->wait_count)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: command %llu was appended with %u wait events, not %u",
                       gs_function_names[function], (unsigned long long)of->id, of->wait_count, count);
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (uint32_t each = 0; each < count && result == ZE_RESULT_SUCCESS; each++) {
        const gs_event *event = (gs_event *)waits[each];
        if (event != NULL)
            result = check_kind(function, of->events[each], kind_of(event, event->wait_scope));
    }
    return result;
}

ze_result_t gs_zeCommandListUpdateMutableCommandWaitEventsExp(ze_command_list_handle_t hCommandList,
                                                              uint64_t commandId, uint32_t numWaitEvents,
                                                              ze_event_handle_t *phWaitEvents) {
    const enum gs_function function = GS_FN_zeCommandListUpdateMutableCommandWaitEventsExp;
    gs_list *list = (gs_list *)hCommandList;
    gs_mutable *found = NULL;
    ze_result_t result = lock_to_change(function, list);
    if (result == ZE_RESULT_SUCCESS)
        result = find_events(function, list, commandId, ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS, &found);
    if (result == ZE_RESULT_SUCCESS && phWaitEvents != NULL)
        result = check_waits(function, found, numWaitEvents, phWaitEvents);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_list_change_waits(list, found->command, phWaitEvents != NULL ? numWaitEvents : 0, phWaitEvents);
    gs_unlock(&list->lock);
    return result;
}
