/* Graphs and executable graphs. An executable graph is a command buffer like that of a closed list, with the commands of all
 * lists that were recorded, in the order in which they were appended. That order already fulfils every wait of one
 * command for another, so that only waits for events from outside are left. */
#include "graphs/graph.h"
#include "threads/lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intel/intel.h"
#include "memory/resources.h"
#include "threads/thread.h"

/* --- Graphs ------------------------------------------------------------------------------------------- */

static void call_back(gs_graph *graph) {
    for (uint32_t each = 0; each < graph->callback_count; each++)
        gs_thread_call_program(graph->callbacks[each].function, graph->callbacks[each].argument);
    graph->callback_count = 0;
}

static void release_graph(gs_object *object) {
    gs_graph *graph = (gs_graph *)object;
    call_back(graph);
    for (uint32_t each = 0; each < graph->node_count; each++) {
        gs_command_release(&graph->nodes[each].command);
        free(graph->nodes[each].edges);
    }
    free(graph->nodes);
    free(graph->strands);
    free(graph->callbacks);
    gs_object_drop(graph->context);
}

gs_graph *gs_graph_new(gs_context *context) {
    gs_graph *graph = gs_object_new(GS_KIND_GRAPH, release_graph);
    if (graph == NULL) {
        gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another graph");
        return NULL;
    }
    graph->context = context;
    gs_object_hold(context);
    gs_object_complete(graph, context);
    return graph;
}

ze_result_t gs_zeGraphCreateExt(ze_context_handle_t hContext, const void *pNext, ze_graph_handle_t *phGraph) {
    if (pNext != NULL)
        return gs_fail_extension(GS_FN_zeGraphCreateExt);
    gs_graph *graph = gs_graph_new((gs_context *)hContext);
    if (graph == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    *phGraph = (ze_graph_handle_t)graph;
    return ZE_RESULT_SUCCESS;
}

/* The callbacks may free what the graph uses. They are called without the lock, and when the handle is no longer one; if
 * executable graphs are left, with the last of these or of their runs. */
ze_result_t gs_zeGraphDestroyExt(ze_graph_handle_t hGraph) {
    gs_graph *graph = (gs_graph *)hGraph;
    gs_object_hold(graph);
    gs_capture_lock();
    if (graph->state == GS_GRAPH_CAPTURING)
        gs_capture_discard(graph);
    bool unused = gs_object_close(graph) && graph->executables == 0;
    gs_capture_unlock();
    if (unused)
        call_back(graph);
    gs_object_drop(graph);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeGraphSetDestructionCallbackExt(ze_graph_handle_t hGraph, zex_mem_graph_free_callback_fn_t pfnCallback,
                                                void *pUserData, const void *pNext) {
    gs_graph *graph = (gs_graph *)hGraph;
    if (pNext != NULL)
        return gs_fail_extension(GS_FN_zeGraphSetDestructionCallbackExt);
    gs_capture_lock();
    gs_destruction_callback *callbacks =
        realloc(graph->callbacks, (graph->callback_count + 1) * sizeof *callbacks);
    if (callbacks != NULL) {
        graph->callbacks = callbacks;
        callbacks[graph->callback_count++] = (gs_destruction_callback){pfnCallback, pUserData};
    }
    gs_capture_unlock();
    return callbacks != NULL ? ZE_RESULT_SUCCESS
                             : gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another callback");
}

/* --- Queries ------------------------------------------------------------------------------------------ */

ze_result_t gs_zeGraphIsEmptyExt(ze_graph_handle_t hGraph) {
    const gs_graph *graph = (gs_graph *)hGraph;
    gs_capture_lock();
    const bool valid = graph->state != GS_GRAPH_INVALID && !graph->is_broken, empty = graph->node_count == 0;
    gs_capture_unlock();
    if (!valid)
        return gs_fail(ZE_RESULT_ERROR_INVALID_GRAPH, "zeGraphIsEmptyExt: the graph was not recorded to its end");
    return empty ? ZE_RESULT_QUERY_TRUE : ZE_RESULT_QUERY_FALSE;
}

ze_result_t gs_zeGraphGetPrimaryCommandListExt(ze_graph_handle_t hGraph, ze_command_list_handle_t *phCommandList) {
    const gs_graph *graph = (gs_graph *)hGraph;
    gs_capture_lock();
    gs_list *primary = graph->primary;
    const uint64_t queue = graph->primary_queue;
    gs_capture_unlock();
    GS_PIN void *pinned = primary != NULL ? gs_pin(primary, GS_KIND_COMMAND_LIST) : NULL;
    if (pinned == NULL || primary->queue.id != queue)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zeGraphGetPrimaryCommandListExt: %s",
                       primary == NULL ? "the graph was not recorded yet" : "the list was destroyed");
    *phCommandList = (ze_command_list_handle_t)primary;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t choose_detail(const void *next, bool *detailed) {
    const ze_record_replay_graph_ext_dump_desc_t *desc =
        gs_find_next(next, ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXT_DUMP_DESC);
    if (desc == NULL)
        desc = gs_find_next(next, ZEX_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXP_DUMP_DESC);
    *detailed = true;
    if (next == NULL)
        return ZE_RESULT_SUCCESS;
    if (desc == NULL)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                       "zeGraphDumpContentsExt: pNext must be null or a ze_record_replay_graph_ext_dump_desc_t");
    if (desc->mode != ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_DETAILED &&
        desc->mode != ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_SIMPLE)
        return gs_fail_enum(GS_FN_zeGraphDumpContentsExt, "ze_record_replay_graph_ext_dump_desc_t.mode", desc->mode);
    *detailed = desc->mode == ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_DETAILED;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeGraphDumpContentsExt(ze_graph_handle_t hGraph, const char *filePath, const void *pNext) {
    bool detailed;
    ze_result_t result = choose_detail(pNext, &detailed);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_capture_lock();
    char *text = gs_graph_to_dot((gs_graph *)hGraph, detailed);
    gs_capture_unlock();
    if (text == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to describe the graph");
    gs_may_wait("a file");
    errno = 0;
    FILE *file = fopen(filePath, "w");
    bool written = file != NULL && fputs(text, file) >= 0;
    if (file != NULL)
        written &= fclose(file) == 0;
    int reason = errno;
    free(text);
    if (written)
        return ZE_RESULT_SUCCESS;
    if (gs_is_exhaustion(reason))
        return gs_fail_errno(reason, "zeGraphDumpContentsExt: the file cannot be written");
    return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zeGraphDumpContentsExt: '%s' cannot be written: %s", filePath,
                   strerror(reason));
}

/* --- Making a command buffer --------------------------------------------------------------------------- */

/* An event that stands for something else in each run, on both sides. */
static bool is_external(const gs_event *event) {
    return event->mode != GS_EVENT_PLAIN && !gs_event_is_aggregate(event) && !gs_event_is_graph_internal(event);
}

static bool copy_targets(gs_command *copy, const gs_command *original) {
    if (original->target_count == 0)
        return true;
    copy->targets = malloc(original->target_count * sizeof *copy->targets);
    if (copy->targets == NULL)
        return false;
    copy->target_count = original->target_count;
    for (uint32_t each = 0; each < original->target_count; each++)
        if (is_external(original->targets[each].event))
            gs_target_take(original->targets[each].event, &copy->targets[each]);
        else
            gs_target_copy(&original->targets[each], &copy->targets[each]);
    return true;
}

/* A counter-based event of the graph's own needs no signal, because nobody waits for it; only its timestamps, if it
 * has any, are still to be written. */
static void copy_signal(gs_command_buffer *buffer, gs_command *copy, gs_event *signal) {
    if (signal == NULL || (gs_event_is_graph_internal(signal) && !signal->timestamps))
        return;
    gs_object_hold(signal);
    copy->signal = signal;
    if (is_external(signal)) {
        copy->counter = buffer->counter;
        copy->step = ++buffer->steps;
    }
}

static bool add_copy(gs_command_buffer *buffer, const gs_node *node) {
    const gs_command *original = &node->command;
    gs_command *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return false;
    *copy = *original;
    copy->node = node;
    copy->targets = NULL;
    copy->target_count = 0;
    copy->signal = NULL;
    if (!gs_command_copy_contents(copy, original)) {
        free(copy);
        return false;
    }
    bool complete = copy_targets(copy, original);
    if (complete)
        copy_signal(buffer, copy, original->signal);
    if (complete && gs_command_buffer_add(buffer, copy))
        return true;
    gs_command_free(copy);
    return false;
}

static bool signals_outside(const gs_graph *graph) {
    for (uint32_t each = 0; each < graph->node_count; each++) {
        const gs_event *signal = graph->nodes[each].command.signal;
        if (signal != NULL && is_external(signal))
            return true;
    }
    return false;
}

static bool follows_events(const gs_graph *graph) {
    for (uint32_t node = 0; node < graph->node_count; node++) {
        const gs_command *command = &graph->nodes[node].command;
        for (uint32_t each = 0; each < command->target_count; each++)
            if (is_external(command->targets[each].event))
                return true;
    }
    return false;
}

/* Each command buffer has its own counter for the events that are used outside; they follow the one that ran last. */
static gs_command_buffer *make_program(gs_graph *graph) {
    const bool counts = signals_outside(graph);
    gs_command_buffer *buffer = gs_command_buffer_new(counts);
    if (buffer == NULL)
        return NULL;
    gs_object_hold(graph);
    buffer->source = &graph->object;
    buffer->was_cloned = counts;
    for (uint32_t each = 0; each < graph->node_count; each++)
        if (!add_copy(buffer, &graph->nodes[each])) {
            gs_command_buffer_drop(buffer);
            return NULL;
        }
    return buffer;
}

/* --- Executable graphs -------------------------------------------------------------------------------- */

static void release_executable(gs_object *object) {
    gs_executable_graph *executable = (gs_executable_graph *)object;
    gs_command_buffer_drop(executable->buffer);
    gs_counter_drop(executable->turns);
    gs_mutex_close(&executable->lock);
    gs_object_drop(executable->source);
}

/* Called with the lock of all captures held, so that the graph stays what it is. */
static ze_result_t check_complete(const gs_graph *graph) {
    if (graph->state == GS_GRAPH_INVALID)
        return gs_fail(ZE_RESULT_ERROR_INVALID_GRAPH, "zeGraphInstantiateExt: the graph was not recorded to its end");
    if (graph->state != GS_GRAPH_COMPLETE)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zeGraphInstantiateExt: %s",
                       graph->state == GS_GRAPH_NEW ? "nothing was recorded into the graph yet"
                                                    : "the graph is being recorded; end the capture first");
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeGraphInstantiateExt(ze_graph_handle_t hGraph, const void *pNext,
                                     ze_executable_graph_handle_t *phExecutableGraph) {
    gs_graph *graph = (gs_graph *)hGraph;
    if (pNext != NULL)
        return gs_fail_extension(GS_FN_zeGraphInstantiateExt);
    gs_capture_lock();
    ze_result_t result = check_complete(graph);
    graph->executables += result == ZE_RESULT_SUCCESS; /* from here on the graph neither changes nor goes */
    gs_capture_unlock();
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_executable_graph *made = gs_object_new(GS_KIND_EXECUTABLE_GRAPH, release_executable);
    if (made != NULL) {
        gs_mutex_open(&made->lock, GS_LONG_LOCK);
        made->source = graph;
        gs_object_hold(graph);
        made->follows_events = follows_events(graph);
        made->turns = gs_counter_new();
        made->buffer = make_program(graph);
    }
    if (made == NULL || made->turns == NULL || made->buffer == NULL) {
        graph->executables--;
        if (made != NULL)
            gs_object_close(made);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another executable graph");
    }
    gs_object_complete(made, graph->context);
    *phExecutableGraph = (ze_executable_graph_handle_t)made;
    return ZE_RESULT_SUCCESS;
}

bool gs_executable_graph_is_idle(const gs_executable_graph *executable) {
    return executable->turns->done >= executable->submitted;
}

/* Its runs hold its commands, and these the graph. */
ze_result_t gs_zeExecutableGraphDestroyExt(ze_executable_graph_handle_t hGraph) {
    gs_executable_graph *executable = (gs_executable_graph *)hGraph;
    bool idle = gs_executable_graph_is_idle(executable);
    if (gs_object_close(executable) && idle)
        executable->source->executables--; /* the caller keeps the object until it has returned */
    return ZE_RESULT_SUCCESS;
}

/* --- Running ------------------------------------------------------------------------------------------ */

static ze_result_t check_destination(const gs_list *list, const gs_graph *graph) {
    const char *name = gs_function_names[GS_FN_zeCommandListAppendGraphExt];
    const gs_strand *primary = &graph->strands[0];
    if (!list->immediate || list->ordinal != primary->ordinal)
        return gs_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                       "%s: the graph runs on immediate lists of queue group %u, like the one that recorded it", name,
                       primary->ordinal);
    if (list->context != graph->context || list->device != primary->device)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: the list is for another context or device than the one that recorded the graph", name);
    return ZE_RESULT_SUCCESS;
}

/* Called with the executable graph locked. */
static ze_result_t append_run(gs_executable_graph *executable, gs_list *list, ze_event_handle_t signal,
                              uint32_t wait_count, ze_event_handle_t *waits) {
    gs_command_buffer *fresh = executable->follows_events ? make_program(executable->source) : NULL;
    gs_run *run = malloc(sizeof *run);
    if (run == NULL || (executable->follows_events && fresh == NULL)) {
        free(run);
        gs_command_buffer_drop(fresh);
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to run the graph");
    }
    *run = gs_command_buffer_start(fresh != NULL ? fresh : executable->buffer);
    gs_command_buffer_drop(fresh); /* the run holds it */
    gs_counter_hold(executable->turns);
    gs_command command = {
        .operation = GS_RUN_BUFFERS,
        .run = {.runs = run, .count = 1, .turns = executable->turns, .turn = executable->submitted + 1}};
    ze_result_t result = gs_append(GS_FN_zeCommandListAppendGraphExt, (ze_command_list_handle_t)list, &command, signal,
                                   wait_count, waits);
    executable->submitted += result == ZE_RESULT_SUCCESS;
    return result;
}

ze_result_t gs_zeCommandListAppendGraphExt(ze_command_list_handle_t hCommandList, ze_executable_graph_handle_t hGraph,
                                           const void *pNext, ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                           ze_event_handle_t *phWaitEvents) {
    const enum gs_function function = GS_FN_zeCommandListAppendGraphExt;
    gs_executable_graph *executable = (gs_executable_graph *)hGraph;
    gs_list *list = (gs_list *)hCommandList;
    gs_event *signal = (gs_event *)hSignalEvent;
    if (pNext != NULL)
        return gs_fail_extension(function);
    if (numWaitEvents > 0 && phWaitEvents == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: numWaitEvents is %u, but phWaitEvents is null",
                       gs_function_names[function], numWaitEvents);
    ze_result_t result = check_destination(list, executable->source);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_list_check_signal(function, list, signal);
    bool captured = false;
    if (result == ZE_RESULT_SUCCESS && gs_some_list_captures())
        result = gs_capture_buffers(function, list, 1, &executable->buffer, signal, numWaitEvents, phWaitEvents,
                                     &captured);
    if (result != ZE_RESULT_SUCCESS || captured)
        return result;
    gs_lock(&executable->lock);
    result = append_run(executable, list, hSignalEvent, numWaitEvents, phWaitEvents);
    gs_unlock(&executable->lock);
    return result;
}
