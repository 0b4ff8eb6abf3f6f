/* Modules, kernels, launches of all kinds, mutable lists and graphs. */
#include <unistd.h>

#include "work.h"

static ze_module_handle_t module_of_kernels(void) {
    const ze_module_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                     .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                     .inputSize = kernels_size,
                                     .pInputModule = kernels};
    ze_module_handle_t module = NULL;
    ze_result_t result = zeModuleCreate(on.context, on.device, &wanted, &module, NULL);
    if (result != ZE_RESULT_SUCCESS) {
        take_failure("zeModuleCreate", result);
        return NULL;
    }
    LATER(zeModuleDestroy, module);
    return module;
}

static ze_kernel_handle_t kernel_of(ze_module_handle_t module, const char *name, uint32_t size) {
    const ze_kernel_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t kernel = NULL;
    ze_result_t result = zeKernelCreate(module, &wanted, &kernel);
    if (result == ZE_RESULT_SUCCESS) {
        LATER(zeKernelDestroy, kernel);
        result = zeKernelSetGroupSize(kernel, size, 1, 1);
    }
    if (result == ZE_RESULT_SUCCESS)
        return kernel;
    take_failure("zeKernelCreate or zeKernelSetGroupSize", result);
    return NULL;
}

static bool launch(void) {
    ze_module_handle_t module = module_of_kernels();
    MADE(module);
    ze_kernel_handle_t kernel = kernel_of(module, "count", 16);
    MADE(kernel);
    int32_t *total = memory_of(64);
    ze_group_count_t *counts = memory_of(sizeof *counts);
    MADE(total);
    MADE(counts);
    *total = 0;
    *counts = (ze_group_count_t){200, 1, 1};
    TRY(zeKernelSetArgumentValue(kernel, 0, sizeof total, &total));
    TRY(zeKernelSetArgumentValue(kernel, 1, 64, NULL));
    ze_command_list_handle_t list = immediate_of(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    MADE(list);
    TRY(zeCommandListAppendLaunchKernel(list, kernel, counts, NULL, 0, NULL));
    TRY(zeCommandListAppendLaunchKernelIndirect(list, kernel, counts, NULL, 0, NULL));
    TRY(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(*total == 400);
    return true;
}

static bool launch_together(void) {
    ze_module_handle_t module = module_of_kernels();
    MADE(module);
    ze_kernel_handle_t kernel = kernel_of(module, "meet", 1);
    MADE(kernel);
    int32_t *total = memory_of(64);
    MADE(total);
    *total = 0;
    TRY(zeKernelSetArgumentValue(kernel, 0, sizeof total, &total));
    ze_command_list_handle_t list = immediate_of(0);
    MADE(list);
    TRY(zeCommandListAppendLaunchCooperativeKernel(list, kernel, &(ze_group_count_t){4, 1, 1}, NULL, 0, NULL));
    TRY(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(*total == 20);
    int32_t *kept = NULL;
    TRY(zeModuleGetGlobalPointer(module, "kept", NULL, (void **)&kept));
    REQUIRE(*kept == 5);
    return true;
}

static bool print(void) {
    ze_module_handle_t module = module_of_kernels();
    MADE(module);
    ze_kernel_handle_t kernel = kernel_of(module, "say", 1);
    MADE(kernel);
    int32_t *total = memory_of(64);
    MADE(total);
    *total = 0;
    TRY(zeKernelSetArgumentValue(kernel, 0, sizeof total, &total));
    ze_command_list_handle_t list = immediate_of(0);
    MADE(list);
    TRY(zeCommandListAppendLaunchKernel(list, kernel, &(ze_group_count_t){3, 1, 1}, NULL, 0, NULL));
    TRY(zeCommandListHostSynchronize(list, UINT64_MAX));
    REQUIRE(*total == 3);
    return true;
}

static bool ask(void) {
    ze_module_handle_t module = module_of_kernels();
    MADE(module);
    ze_kernel_handle_t kernel = kernel_of(module, "count", 8);
    MADE(kernel);
    ze_kernel_properties_t about = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
    TRY(zeKernelGetProperties(kernel, &about));
    REQUIRE(about.numKernelArgs == 2);
    size_t size = 0;
    TRY(zeModuleGetNativeBinary(module, &size, NULL));
    uint32_t count = 0;
    TRY(zeModuleGetKernelNames(module, &count, NULL));
    REQUIRE(count == 3);
    ze_device_properties_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    TRY(zeDeviceGetProperties(on.device, &device));
    return true;
}

/* --- Mutable lists ---------------------------------------------------------------------------------------- */

static bool change(void) {
    ze_module_handle_t module = module_of_kernels();
    MADE(module);
    ze_kernel_handle_t kernel = kernel_of(module, "say", 1), other = kernel_of(module, "meet", 1);
    MADE(kernel);
    MADE(other);
    int32_t *totals = memory_of(256), *second = totals + 16;
    MADE(totals);
    memset(totals, 0, 256);
    TRY(zeKernelSetArgumentValue(kernel, 0, sizeof totals, &totals));
    TRY(zeKernelSetArgumentValue(other, 0, sizeof totals, &totals));
    ze_event_pool_handle_t pool = pool_of(2, 0);
    MADE(pool);
    ze_event_handle_t events[2];
    for (uint32_t each = 0; each < 2; each++)
        MADE(events[each] = event_of(pool, each));
    const ze_mutable_command_list_exp_desc_t mutable = {.stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC};
    const ze_command_list_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .pNext = &mutable};
    ze_command_list_handle_t list = NULL;
    TRY(zeCommandListCreate(on.context, on.device, &wanted, &list));
    LATER(zeCommandListDestroy, list);
    uint64_t first = 0, chosen = 0;
    const ze_mutable_command_id_exp_desc_t all = {.stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC};
    const ze_mutable_command_id_exp_desc_t kernels = {.stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC,
                                                      .flags = ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION};
    ze_kernel_handle_t choice[] = {kernel, other};
    TRY(zeCommandListGetNextCommandIdExp(list, &all, &first));
    TRY(zeCommandListAppendLaunchKernel(list, kernel, &(ze_group_count_t){1, 1, 1}, events[1], 1, events));
    TRY(zeCommandListGetNextCommandIdWithKernelsExp(list, &kernels, 2, choice, &chosen));
    TRY(zeCommandListAppendLaunchKernel(list, kernel, &(ze_group_count_t){1, 1, 1}, NULL, 0, NULL));
    TRY(zeCommandListClose(list));
    ze_mutable_kernel_argument_exp_desc_t argument = {.stype = ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC,
                                                      .commandId = first, .argSize = sizeof second, .pArgValue = &second};
    const ze_mutable_commands_exp_desc_t changes = {.stype = ZE_STRUCTURE_TYPE_MUTABLE_COMMANDS_EXP_DESC, .pNext = &argument};
    TRY(zeCommandListUpdateMutableCommandsExp(list, &changes));
    TRY(zeCommandListUpdateMutableCommandWaitEventsExp(list, first, 1, &events[0]));
    TRY(zeCommandListUpdateMutableCommandKernelsExp(list, 1, &chosen, &other));
    TRY(zeCommandListClose(list));
    TRY(zeEventHostSignal(events[0]));
    ze_command_list_handle_t immediate = immediate_of(0);
    MADE(immediate);
    TRY(zeCommandListImmediateAppendCommandListsExp(immediate, 1, &list, NULL, 0, NULL));
    TRY(zeCommandListHostSynchronize(immediate, UINT64_MAX));
    REQUIRE(*second == 1 && *totals == 5);
    return true;
}

/* --- Graphs ----------------------------------------------------------------------------------------------- */

static void add_one(void *counter) { ++*(uint64_t *)counter; }
static void do_nothing(void *unused) { (void)unused; }

static bool record(ze_command_list_handle_t list, ze_command_list_handle_t child, ze_event_handle_t *events, uint64_t *counter,
                   char *memory) {
    const uint8_t pattern[32] = {1};
    TRY(zeCommandListAppendHostFunction(list, add_one, counter, NULL, events[0], 0, NULL));
    TRY(zeCommandListAppendMemoryFill(child, memory, pattern, sizeof pattern, 3200, events[1], 1, &events[0]));
    TRY(zeCommandListAppendHostFunction(list, add_one, counter, NULL, NULL, 1, &events[1]));
    return true;
}

static bool run_graph(ze_command_list_handle_t list, ze_graph_handle_t graph) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/injection-%d.dot", (int)getpid());
    ze_executable_graph_handle_t executable = NULL;
    TRY(zeGraphSetDestructionCallbackExt(graph, do_nothing, NULL, NULL));
    ze_result_t result = zeGraphDumpContentsExt(graph, path, NULL);
    unlink(path);
    TRY(result);
    TRY(zeGraphInstantiateExt(graph, NULL, &executable));
    LATER(zeExecutableGraphDestroyExt, executable);
    TRY(zeCommandListAppendGraphExt(list, executable, NULL, NULL, 0, NULL));
    TRY(zeCommandListHostSynchronize(list, UINT64_MAX));
    return true;
}

static bool use_graph(void) {
    static uint64_t counter;
    char *memory = memory_of(4096);
    MADE(memory);
    ze_event_pool_handle_t pool = pool_of(2, 0);
    MADE(pool);
    ze_event_handle_t events[2];
    for (uint32_t each = 0; each < 2; each++)
        MADE(events[each] = event_of(pool, each));
    ze_command_list_handle_t list = immediate_of(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    ze_command_list_handle_t child = immediate_of(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    MADE(list);
    MADE(child);
    ze_graph_handle_t graph = NULL;
    counter = 0;
    TRY(zeCommandListBeginGraphCaptureExt(list, NULL));
    bool recorded = record(list, child, events, &counter, memory);
    ze_result_t ended = zeCommandListEndGraphCaptureExt(list, NULL, &graph);
    if (graph != NULL) /* also if it is invalid */
        LATER(zeGraphDestroyExt, graph);
    if (!recorded)
        return false;
    TRY(ended);
    if (!run_graph(list, graph))
        return false;
    REQUIRE(counter == 2);
    return true;
}

const work kernel_work[] = {{"launch", launch}, {"launch_together", launch_together}, {"print", print}, {"ask", ask},
                            {"change", change}, {"use_graph", use_graph},             {NULL, NULL}};
