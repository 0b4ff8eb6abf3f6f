/* Appending launches: the arguments, the group size and the code of a kernel are captured here. */
#include "runtime/launch.h"

#include <stdlib.h>
#include <string.h>

#include "check/host/host.h"
#include "memory/memory.h"
#include "metrics/group.h"
#include "objects/device_kind.h"
#include "objects/list.h"
#include "profile/profile.h"

/* --- Life ------------------------------------------------------------------------------------------- */

void gs_launch_free(gs_launch *launch) {
    for (gs_launch *next; launch != NULL; launch = next) {
        next = launch->next;
        gs_object_drop(launch->module);
        gs_kernel_free_copy(launch->kernel);
        free(launch);
    }
}

static gs_launch *copy_one(const gs_launch *launch) {
    size_t size = sizeof *launch + launch->block_bytes;
    gs_launch *copy = malloc(size);
    if (copy == NULL)
        return NULL;
    memcpy(copy, launch, size);
    copy->next = NULL;
    copy->dispatch.arguments = copy->block;
    gs_object_hold(copy->module);
    if (launch->kernel != NULL && (copy->kernel = gs_kernel_copy(launch->kernel)) == NULL) {
        gs_launch_free(copy);
        return NULL;
    }
    return copy;
}

gs_launch *gs_launch_copy(const gs_launch *launch) {
    gs_launch *first = NULL, **link = &first;
    for (; launch != NULL; launch = launch->next, link = &(*link)->next) {
        *link = copy_one(launch);
        if (*link == NULL) {
            gs_launch_free(first);
            return NULL;
        }
    }
    return first;
}

/* --- Capturing a kernel ------------------------------------------------------------------------------ */

static ze_result_t check_list(enum gs_function function, const gs_list *list, const gs_kernel *kernel) {
    const char *name = gs_function_names[function];
    const gs_device *made_for = kernel->module->device;
    if (list->ordinal != GS_ORDINAL_COMPUTE)
        return gs_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                       "%s: the list is for queue group %u, which only copies; launches need group %u", name,
                       list->ordinal, GS_ORDINAL_COMPUTE);
    if (list->device != made_for && list->device->parent != made_for)
        return gs_fail(ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE,
                       "%s: the kernel's module was created for another device than the list", name);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t check_arguments(enum gs_function function, const gs_kernel *kernel) {
    if (kernel->unset == 0)
        return ZE_RESULT_SUCCESS;
    uint32_t index = 0;
    while (kernel->is_set[index])
        index++;
    if (gs_host_is_checked())
        gs_host_unset_argument(function, kernel, index);
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "%s: argument %u of the kernel was not set (zeKernelSetArgumentValue)", gs_function_names[function],
                   index);
}

/* Puts the place of each local argument where its size was, and the size behind the block, for checked mode. Returns all
 * the local memory of a group. */
static uint64_t place_local_arguments(gs_launch *launch, const gs_entry_point *entry_point) {
    char *sizes = launch->block + entry_point->block_bytes;
    uint64_t used = gs_align_local(launch->code->local_bytes);
    for (uint32_t each = 0; entry_point->local_argument_count > 0 && each < entry_point->argument_count; each++) {
        const gs_argument *argument = &entry_point->arguments[each];
        if (argument->kind != GS_ARGUMENT_LOCAL)
            continue;
        uint64_t size;
        memcpy(&size, launch->block + argument->offset, sizeof size);
        memcpy(launch->block + argument->offset, &used, sizeof used);
        memcpy(sizes, &size, sizeof size);
        sizes += sizeof size;
        used += gs_align_local(size);
    }
    return used;
}

static ze_result_t check_local(enum gs_function function, const gs_entry_point *entry_point, uint64_t local_bytes) {
    if (local_bytes <= gs_align_local(entry_point->most_local_bytes))
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                   "%s: a group needs %llu bytes of local memory and can have %llu (maxSharedLocalMemory)",
                   gs_function_names[function], (unsigned long long)local_bytes,
                   (unsigned long long)entry_point->most_local_bytes);
}

/* A launch of the kernel as it is set up now; the group counts are still to be filled in. */
static ze_result_t capture(enum gs_function function, const gs_list *list, gs_kernel *kernel, gs_launch **captured) {
    const gs_entry_point *entry_point = kernel->entry_point;
    gs_code *code; /* kernel->code is another if a thread sets the group size meanwhile */
    ze_result_t result = check_list(function, list, kernel);
    if (result == ZE_RESULT_SUCCESS)
        result = check_arguments(function, kernel);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_counts_instructions(list->device) ? gs_kernel_prepare_counting(function, kernel, &code)
                                                      : gs_kernel_prepare(function, kernel, &code);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (gs_profile_is_on())
        gs_profile_prepare(kernel, code);
    gs_module *module = kernel->module;
    const uint64_t block_bytes = entry_point->block_bytes + entry_point->local_argument_count * sizeof(uint64_t);
    gs_launch *launch = malloc(sizeof *launch + block_bytes);
    if (launch == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another launch");
    *launch = (gs_launch){.module = module, .code = code, .block_bytes = block_bytes};
    memcpy(launch->block, kernel->block, entry_point->block_bytes);
    gs_dispatch *dispatch = &launch->dispatch;
    dispatch->arguments = launch->block;
    dispatch->globals = gs_module_globals(module);
    memcpy(dispatch->global_offset, kernel->global_offset, sizeof dispatch->global_offset);
    memcpy(dispatch->group_size, code->group_size, sizeof dispatch->group_size);
    dispatch->local_bytes = place_local_arguments(launch, entry_point);
    gs_object_hold(module);
    result = check_local(function, entry_point, dispatch->local_bytes);
    if (result == ZE_RESULT_SUCCESS && list->is_mutable && (launch->kernel = gs_kernel_copy(kernel)) == NULL)
        result = gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another launch");
    if (result != ZE_RESULT_SUCCESS) {
        gs_launch_free(launch);
        return result;
    }
    *captured = launch;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t append(enum gs_function function, ze_command_list_handle_t list, gs_launch *launch,
                          ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits) {
    gs_command command = {.operation = GS_LAUNCH, .launch = launch};
    return gs_append(function, list, &command, signal, wait_count, waits);
}

/* --- Direct launches --------------------------------------------------------------------------------- */

static ze_result_t check_counts(enum gs_function function, const gs_list *list, const ze_group_count_t *counts,
                                bool cooperative) {
    const char *name = gs_function_names[function];
    unsigned __int128 groups = (unsigned __int128)counts->groupCountX * counts->groupCountY * counts->groupCountZ;
    if (groups > UINT64_MAX / 4)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: %u x %u x %u groups are more than can be counted", name,
                       counts->groupCountX, counts->groupCountY, counts->groupCountZ);
    const gs_device_kind *kind = list->device->kind;
    const uint32_t each[3] = {counts->groupCountX, counts->groupCountY, counts->groupCountZ};
    for (int axis = 0; kind != NULL && axis < 3; axis++)
        if (each[axis] > kind->most_counts[axis])
            return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                           "%s: %u groups along axis %d are more than the device's %u (maxGroupCount)", name, each[axis], axis,
                           kind->most_counts[axis]);
    uint32_t most = gs_thread_pool_width(list->device->pool);
    if (cooperative && kind == NULL && groups > most)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: %u x %u x %u groups cannot run at the same time; the most is %u "
                       "(zeKernelSuggestMaxCooperativeGroupCount)",
                       name, counts->groupCountX, counts->groupCountY, counts->groupCountZ, most);
    return ZE_RESULT_SUCCESS;
}

static void set_counts(gs_launch *launch, const ze_group_count_t *counts) {
    launch->dispatch.group_counts[0] = counts->groupCountX;
    launch->dispatch.group_counts[1] = counts->groupCountY;
    launch->dispatch.group_counts[2] = counts->groupCountZ;
}

ze_result_t gs_launch_set_counts(enum gs_function function, const gs_list *list, gs_launch *launch,
                                 const ze_group_count_t *counts) {
    ze_result_t result = check_counts(function, list, counts, launch->cooperative);
    if (result == ZE_RESULT_SUCCESS)
        set_counts(launch, counts);
    return result;
}

ze_result_t gs_launch_renew(enum gs_function function, const gs_list *list, gs_launch **launch) {
    gs_launch *old = *launch, *fresh;
    ze_result_t result = capture(function, list, old->kernel, &fresh);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    memcpy(fresh->dispatch.group_counts, old->dispatch.group_counts, sizeof fresh->dispatch.group_counts);
    fresh->cooperative = old->cooperative;
    fresh->indirect_counts = old->indirect_counts;
    fresh->indirect_number = old->indirect_number;
    fresh->next = old->next;
    old->next = NULL;
    gs_launch_free(old);
    *launch = fresh;
    return ZE_RESULT_SUCCESS;
}

/* How many groups run at once on a device that is no CPU depends on the kernel. */
static ze_result_t check_cooperation(enum gs_function function, const gs_device *device, const gs_launch *launch) {
    if (!launch->cooperative || device->kind == NULL)
        return ZE_RESULT_SUCCESS;
    const uint64_t *counts = launch->dispatch.group_counts;
    uint32_t most = device->kind->most_groups(device, launch->code, launch->dispatch.local_bytes);
    if (counts[0] * counts[1] * counts[2] <= most)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "%s: %u x %u x %u groups cannot run at the same time; the most is %u "
                   "(zeKernelSuggestMaxCooperativeGroupCount)",
                   gs_function_names[function], (unsigned)counts[0], (unsigned)counts[1], (unsigned)counts[2], most);
}

static ze_result_t append_direct(enum gs_function function, ze_command_list_handle_t hList, ze_kernel_handle_t hKernel,
                                 const ze_group_count_t *counts, bool cooperative, ze_event_handle_t signal,
                                 uint32_t wait_count, ze_event_handle_t *waits) {
    const gs_list *list = (gs_list *)hList;
    gs_launch *launch;
    ze_result_t result = check_counts(function, list, counts, cooperative);
    if (result == ZE_RESULT_SUCCESS)
        result = capture(function, list, (gs_kernel *)hKernel, &launch);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    set_counts(launch, counts);
    launch->cooperative = cooperative;
    result = check_cooperation(function, list->device, launch);
    if (result != ZE_RESULT_SUCCESS) {
        gs_launch_free(launch);
        return result;
    }
    return append(function, hList, launch, signal, wait_count, waits);
}

ze_result_t gs_zeCommandListAppendLaunchKernel(ze_command_list_handle_t hCommandList, ze_kernel_handle_t hKernel,
                                               const ze_group_count_t *pLaunchFuncArgs, ze_event_handle_t hSignalEvent,
                                               uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    return append_direct(GS_FN_zeCommandListAppendLaunchKernel, hCommandList, hKernel, pLaunchFuncArgs, false,
                         hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t gs_zeCommandListAppendLaunchCooperativeKernel(ze_command_list_handle_t hCommandList,
                                                          ze_kernel_handle_t hKernel,
                                                          const ze_group_count_t *pLaunchFuncArgs,
                                                          ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                          ze_event_handle_t *phWaitEvents) {
    return append_direct(GS_FN_zeCommandListAppendLaunchCooperativeKernel, hCommandList, hKernel, pLaunchFuncArgs,
                         true, hSignalEvent, numWaitEvents, phWaitEvents);
}

/* Reads the chain of parameters; there is one kind. */
static ze_result_t read_parameters(enum gs_function function, const void *next, bool *cooperative) {
    typedef ze_command_list_append_launch_kernel_param_cooperative_desc_t parameter;
    *cooperative = false;
    if (next == NULL)
        return ZE_RESULT_SUCCESS;
    ze_result_t result = gs_check_chain(function, next, sizeof(ze_base_desc_t));
    for (const parameter *link = next; link != NULL && result == ZE_RESULT_SUCCESS; link = link->pNext) {
        if (link->stype != ZE_STRUCTURE_TYPE_COMMAND_LIST_APPEND_PARAM_COOPERATIVE_DESC)
            return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "%s: the parameter of type %#x in pNext is not known",
                           gs_function_names[function], link->stype);
        *cooperative = link->isCooperative;
    }
    return result;
}

ze_result_t gs_zeCommandListAppendLaunchKernelWithParameters(ze_command_list_handle_t hCommandList,
                                                             ze_kernel_handle_t hKernel,
                                                             const ze_group_count_t *pGroupCounts, const void *pNext,
                                                             ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                             ze_event_handle_t *phWaitEvents) {
    const enum gs_function function = GS_FN_zeCommandListAppendLaunchKernelWithParameters;
    bool cooperative;
    ze_result_t result = read_parameters(function, pNext, &cooperative);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    return append_direct(function, hCommandList, hKernel, pGroupCounts, cooperative, hSignalEvent, numWaitEvents,
                         phWaitEvents);
}

/* One pointer for each argument: to its value, or for local memory to its size (a size_t). */
static ze_result_t set_arguments(enum gs_function function, gs_kernel *kernel, void **values) {
    const gs_entry_point *entry_point = kernel->entry_point;
    ze_result_t result = ZE_RESULT_SUCCESS;
    if (values == NULL && entry_point->argument_count > 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "%s: pArguments is null, but kernel '%s' has %u arguments",
                       gs_function_names[function], entry_point->name, entry_point->argument_count);
    for (uint32_t each = 0; each < entry_point->argument_count && result == ZE_RESULT_SUCCESS; each++) {
        const gs_argument *argument = &entry_point->arguments[each];
        if (argument->kind != GS_ARGUMENT_LOCAL)
            result = gs_kernel_set_argument(function, kernel, each, argument->size, values[each]);
        else if (values[each] != NULL)
            result = gs_kernel_set_argument(function, kernel, each, *(size_t *)values[each], NULL);
        else
            result = gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
                             "%s: argument %u is local memory: pass a pointer to its size", gs_function_names[function],
                             each);
    }
    return result;
}

ze_result_t gs_zeCommandListAppendLaunchKernelWithArguments(ze_command_list_handle_t hCommandList,
                                                            ze_kernel_handle_t hKernel,
                                                            const ze_group_count_t groupCounts,
                                                            const ze_group_size_t groupSizes, void **pArguments,
                                                            const void *pNext, ze_event_handle_t hSignalEvent,
                                                            uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    const enum gs_function function = GS_FN_zeCommandListAppendLaunchKernelWithArguments;
    bool cooperative;
    ze_result_t result = read_parameters(function, pNext, &cooperative);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_kernel_set_group_size(function, (gs_kernel *)hKernel, groupSizes.groupSizeX, groupSizes.groupSizeY,
                                          groupSizes.groupSizeZ);
    if (result == ZE_RESULT_SUCCESS)
        result = set_arguments(function, (gs_kernel *)hKernel, pArguments);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    return append_direct(function, hCommandList, hKernel, &groupCounts, cooperative, hSignalEvent, numWaitEvents,
                         phWaitEvents);
}

/* --- Indirect launches ------------------------------------------------------------------------------- */

static ze_result_t check_buffer(enum gs_function function, const char *parameter, const void *start, uint64_t size) {
    if ((uintptr_t)start % sizeof(uint32_t) != 0)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "%s: %s (%p) is not 4-byte aligned",
                       gs_function_names[function], parameter, start);
    return gs_memory_check_range(function, parameter, start, size);
}

ze_result_t gs_zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t hCommandList,
                                                       ze_kernel_handle_t hKernel,
                                                       const ze_group_count_t *pLaunchArgumentsBuffer,
                                                       ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                       ze_event_handle_t *phWaitEvents) {
    const enum gs_function function = GS_FN_zeCommandListAppendLaunchKernelIndirect;
    gs_launch *launch;
    ze_result_t result =
        check_buffer(function, "pLaunchArgumentsBuffer", pLaunchArgumentsBuffer, sizeof *pLaunchArgumentsBuffer);
    if (result == ZE_RESULT_SUCCESS)
        result = capture(function, (gs_list *)hCommandList, (gs_kernel *)hKernel, &launch);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    launch->indirect_counts = pLaunchArgumentsBuffer;
    return append(function, hCommandList, launch, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t gs_zeCommandListAppendLaunchMultipleKernelsIndirect(
    ze_command_list_handle_t hCommandList, uint32_t numKernels, ze_kernel_handle_t *phKernels,
    const uint32_t *pCountBuffer, const ze_group_count_t *pLaunchArgumentsBuffer, ze_event_handle_t hSignalEvent,
    uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    const enum gs_function function = GS_FN_zeCommandListAppendLaunchMultipleKernelsIndirect;
    ze_result_t result = check_buffer(function, "pCountBuffer", pCountBuffer, sizeof *pCountBuffer);
    if (result == ZE_RESULT_SUCCESS)
        result = check_buffer(function, "pLaunchArgumentsBuffer", pLaunchArgumentsBuffer,
                              (uint64_t)numKernels * sizeof *pLaunchArgumentsBuffer);
    gs_launch *first = NULL, **link = &first;
    for (uint32_t each = 0; each < numKernels && result == ZE_RESULT_SUCCESS; each++) {
        result = capture(function, (gs_list *)hCommandList, (gs_kernel *)phKernels[each], link);
        if (result != ZE_RESULT_SUCCESS)
            break;
        (*link)->indirect_counts = &pLaunchArgumentsBuffer[each];
        (*link)->indirect_number = pCountBuffer;
        (*link)->index = each;
        link = &(*link)->next;
    }
    if (result != ZE_RESULT_SUCCESS) {
        gs_launch_free(first);
        return result;
    }
    if (first == NULL)
        return gs_append(function, hCommandList, &(gs_command){.operation = GS_NOTHING}, hSignalEvent, numWaitEvents,
                         phWaitEvents);
    return append(function, hCommandList, first, hSignalEvent, numWaitEvents, phWaitEvents);
}
