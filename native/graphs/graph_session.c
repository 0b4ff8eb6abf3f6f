/* Captures: where they begin and end. One lock guards all of them, and the graphs that are being recorded. */
#include "graphs/graph.h"
#include "threads/lock.h"

_Atomic uint32_t gs_capture_count;

GS_STATIC_LOCK(lock, GS_LONG_LOCK)

void gs_capture_lock(void) { gs_lock(&lock); }
void gs_capture_unlock(void) { gs_unlock(&lock); }

gs_graph *gs_capture_of_list(gs_list *list) {
    gs_capture_lock();
    gs_graph *graph = list->capture;
    gs_capture_unlock();
    return graph;
}

bool gs_list_can_capture(const gs_list *list) {
    return list->immediate && list->queue.mode != ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
}

/* --- Beginning and ending ---------------------------------------------------------------------------------- */

static ze_result_t check_begin(enum gs_function function, const gs_list *list) {
    const char *name = gs_function_names[function];
    if (!gs_list_can_capture(list))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: only an immediate list that is not synchronous can record a graph", name);
    if (list->capture != NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the list records a graph already", name);
    return ZE_RESULT_SUCCESS;
}

/* Called with the lock held. */
static ze_result_t begin(gs_graph *graph, gs_list *list) {
    if (!gs_graph_add_strand(graph, list, 0))
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another graph");
    graph->state = GS_GRAPH_CAPTURING;
    graph->primary = list;
    graph->primary_queue = list->queue.id;
    gs_capture_count++;
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListBeginGraphCaptureExt(ze_command_list_handle_t hCommandList, const void *pNext) {
    const enum gs_function function = GS_FN_zeCommandListBeginGraphCaptureExt;
    gs_list *list = (gs_list *)hCommandList;
    if (pNext != NULL)
        return gs_fail_extension(function);
    gs_capture_lock();
    ze_result_t result = check_begin(function, list);
    if (result == ZE_RESULT_SUCCESS) {
        gs_graph *graph = gs_graph_new(list->context);
        result = graph != NULL ? begin(graph, list) : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        if (graph != NULL)
            graph->is_implicit = true;
        if (result != ZE_RESULT_SUCCESS && graph != NULL)
            gs_object_close(graph);
    }
    gs_capture_unlock();
    return result;
}

static ze_result_t check_empty(const gs_graph *graph, const gs_list *list) {
    const char *name = gs_function_names[GS_FN_zeCommandListBeginCaptureIntoGraphExt];
    if (graph->context != list->context)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: graph and list belong to different contexts", name);
    if (graph->state == GS_GRAPH_INVALID)
        return gs_fail(ZE_RESULT_ERROR_INVALID_GRAPH, "%s: the graph is invalid; destroy it and create another", name);
    if (graph->state == GS_GRAPH_CAPTURING || graph->node_count > 0 || graph->executables > 0)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the graph is not empty and unused", name);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListBeginCaptureIntoGraphExt(ze_command_list_handle_t hCommandList, ze_graph_handle_t hGraph,
                                                     const void *pNext) {
    const enum gs_function function = GS_FN_zeCommandListBeginCaptureIntoGraphExt;
    gs_list *list = (gs_list *)hCommandList;
    gs_graph *graph = (gs_graph *)hGraph;
    if (pNext != NULL)
        return gs_fail_extension(function);
    gs_capture_lock();
    ze_result_t result = check_begin(function, list);
    if (result == ZE_RESULT_SUCCESS)
        result = check_empty(graph, list);
    if (result == ZE_RESULT_SUCCESS) {
        graph->strand_count = 0;
        result = begin(graph, list);
    }
    gs_capture_unlock();
    return result;
}

static bool is_joined(const gs_strand *strand) {
    return strand->joined != GS_NO_NODE && (strand->last_work == GS_NO_NODE || strand->last_work <= strand->joined);
}

static bool has_unjoined_forks(const gs_graph *graph) {
    for (uint32_t each = 1; each < graph->strand_count; each++)
        if (!is_joined(&graph->strands[each]))
            return true;
    return false;
}

/* Called with the lock held. From here on no list records into the graph, and its events are free again. */
static void end(gs_graph *graph, gs_graph_state state) {
    for (uint32_t each = 0; each < graph->strand_count; each++) {
        if (graph->strands[each].list != NULL)
            graph->strands[each].list->capture = NULL;
        graph->strands[each].list = NULL;
    }
    for (uint32_t each = 0; each < graph->node_count; each++) {
        gs_event *signal = graph->nodes[each].command.signal;
        if (signal != NULL && signal->capture == graph)
            signal->capture = NULL;
    }
    graph->state = state;
    gs_capture_count--;
}

void gs_capture_discard(gs_graph *graph) { end(graph, GS_GRAPH_INVALID); }

/* Called with the lock held. An invalid graph is handed out, too: it is to be destroyed. */
static ze_result_t end_primary(gs_graph *graph, ze_graph_handle_t *ended) {
    const bool unjoined = has_unjoined_forks(graph);
    end(graph, unjoined || graph->is_broken ? GS_GRAPH_INVALID : GS_GRAPH_COMPLETE);
    graph->is_implicit = false;
    if (ended != NULL)
        *ended = (ze_graph_handle_t)graph;
    if (graph->is_broken)
        return gs_fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_INVALIDATED,
                       "zeCommandListEndGraphCaptureExt: the graph is incomplete, because memory ran out");
    if (unjoined)
        return gs_fail(ZE_RESULT_ERROR_GRAPH_UNJOINED_FORKS,
                       "zeCommandListEndGraphCaptureExt: the last work on a forked list must be followed by a signal "
                       "for which the list that it was forked from waits");
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zeCommandListEndGraphCaptureExt(ze_command_list_handle_t hCommandList, const void *pNext,
                                               ze_graph_handle_t *phGraph) {
    gs_list *list = (gs_list *)hCommandList;
    if (pNext != NULL)
        return gs_fail_extension(GS_FN_zeCommandListEndGraphCaptureExt);
    gs_capture_lock();
    gs_graph *graph = list->capture;
    ze_result_t result;
    if (graph == NULL)
        result = gs_fail(ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING,
                         "zeCommandListEndGraphCaptureExt: the list does not record a graph");
    else if (graph->primary != list)
        result = gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                         "zeCommandListEndGraphCaptureExt: the capture ends on the list on which it began, not on a fork");
    else if (phGraph == NULL && graph->is_implicit)
        result = gs_fail_pointer(GS_FN_zeCommandListEndGraphCaptureExt, "phGraph"); /* else nobody could destroy it */
    else
        result = end_primary(graph, phGraph);
    gs_capture_unlock();
    return result;
}

void gs_capture_leave(gs_list *list) {
    if (!gs_some_list_captures())
        return;
    gs_capture_lock();
    gs_graph *graph = list->capture;
    bool orphaned = false;
    if (graph != NULL && graph->primary == list) {
        orphaned = graph->is_implicit;
        graph->is_implicit = false;
        if (orphaned)
            gs_object_hold(graph); /* whoever has its handle may destroy it from here on */
        end(graph, GS_GRAPH_INVALID);
    } else if (graph != NULL) {
        graph->strands[gs_graph_strand_of(graph, list)].list = NULL;
        list->capture = NULL;
    }
    gs_capture_unlock();
    if (orphaned) {
        gs_zeGraphDestroyExt((ze_graph_handle_t)graph);
        gs_object_drop(graph);
    }
}

/* --- Queries --------------------------------------------------------------------------------------------- */

ze_result_t gs_zeCommandListIsGraphCaptureEnabledExt(ze_command_list_handle_t hCommandList) {
    return gs_capture_of_list((gs_list *)hCommandList) != NULL ? ZE_RESULT_QUERY_TRUE : ZE_RESULT_QUERY_FALSE;
}

ze_result_t gs_zeCommandListGetGraphExt(ze_command_list_handle_t hCommandList, ze_graph_handle_t *phGraph) {
    *phGraph = (ze_graph_handle_t)gs_capture_of_list((gs_list *)hCommandList);
    if (*phGraph != NULL)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING,
                   "zeCommandListGetGraphExt: the list does not record a graph");
}
