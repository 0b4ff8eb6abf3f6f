/* Recording graphs. A list that captures hands each command to its graph instead of its queue. Another list joins in
 * by waiting for an event that a command of the graph signals: that is a fork, and it is joined again when the list
 * that it came from waits for an event of the forked one. One lock guards all captures. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "lost.h"

_Atomic uint32_t gs_capture_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void gs_capture_lock(void) { pthread_mutex_lock(&lock); }
void gs_capture_unlock(void) { pthread_mutex_unlock(&lock); }

gs_graph *gs_capture_of_list(gs_list *list) {
    gs_capture_lock();
    gs_graph *graph = list->capture;
    gs_capture_unlock();
    return graph;
}

/* --- Which graph a command belongs to ------------------------------------------------------------------ */

bool gs_event_is_graph_internal(const gs_event *event) {
    return event->mode != GS_EVENT_PLAIN && !(event->counter_flags & ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL);
}

static bool can_capture(const gs_list *list) {
    return list->immediate && list->queue.mode != ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
}

/* An event that other processes watch, and that follows each run of a graph, would need a counter of theirs. */
static bool is_shared_and_external(const gs_event *event) {
    const ze_event_counter_based_flags_t both =
        ZE_EVENT_COUNTER_BASED_FLAG_IPC | ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL;
    return event != NULL && event->mode != GS_EVENT_PLAIN && (event->counter_flags & both) == both;
}

static ze_result_t fail_merge(enum gs_function function) {
    return gs_fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT,
                   "%s: a wait event belongs to another graph that is being recorded; graphs cannot be merged",
                   gs_function_names[function]);
}

/* The graph whose events are waited for, or NULL. */
static ze_result_t graph_of_waits(enum gs_function function, uint32_t count, ze_event_handle_t *waits,
                                  gs_graph **found) {
    *found = NULL;
    for (uint32_t each = 0; each < count; each++) {
        gs_graph *graph = ((gs_event *)waits[each])->capture;
        if (graph != NULL && *found != NULL && graph != *found)
            return fail_merge(function);
        *found = graph != NULL ? graph : *found;
    }
    return ZE_RESULT_SUCCESS;
}

/* What cannot be recorded, in a graph that goes on being recorded. */
static ze_result_t check_events(enum gs_function function, const gs_graph *graph, const gs_event *signal,
                                uint32_t wait_count, ze_event_handle_t *waits) {
    bool shared = is_shared_and_external(signal);
    for (uint32_t each = 0; each < wait_count; each++)
        shared |= is_shared_and_external((gs_event *)waits[each]);
    if (shared)
        return gs_fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED,
                       "%s: an event with both ZE_EVENT_COUNTER_BASED_FLAG_IPC and _GRAPH_EXTERNAL cannot be part of a "
                       "graph (ze_record_replay_graph_ext_properties_t)",
                       gs_function_names[function]);
    if (graph->is_broken)
        return gs_fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_INVALIDATED,
                       "%s: the graph is incomplete, because memory ran out; end the capture and record it anew",
                       gs_function_names[function]);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t fork_to(enum gs_function function, gs_graph *graph, gs_list *list, uint32_t parent);

/* Finds the graph that the command is to be recorded into, or NULL, and forks if need be. */
static ze_result_t find_graph(enum gs_function function, gs_list *list, const gs_event *signal, uint32_t wait_count,
                              ze_event_handle_t *waits, gs_graph **found) {
    const char *name = gs_function_names[function];
    gs_graph *of_waits, *graph = list->capture;
    *found = NULL;
    ze_result_t result = graph_of_waits(function, wait_count, waits, &of_waits);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (of_waits != NULL && !can_capture(list))
        return gs_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                       "%s: a wait event belongs to a graph that is being recorded; only immediate lists that are not "
                       "synchronous can take part in that",
                       name);
    if (graph != NULL && of_waits != NULL && of_waits != graph)
        return fail_merge(function);
    if (graph == NULL)
        graph = of_waits;
    const gs_graph *of_signal = signal != NULL ? signal->capture : NULL;
    if (of_signal != NULL && of_signal != graph && gs_event_is_graph_internal(signal))
        return gs_fail(ZE_RESULT_ERROR_GRAPH_INTERNAL_EVENT,
                       "%s: the counter-based event belongs to a graph that is being recorded; create it with "
                       "ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL to use it outside",
                       name);
    if (graph == NULL)
        return ZE_RESULT_SUCCESS;
    result = check_events(function, graph, signal, wait_count, waits);
    for (uint32_t each = 0; result == ZE_RESULT_SUCCESS && list->capture == NULL && each < wait_count; each++) {
        const gs_event *event = (gs_event *)waits[each];
        if (event->capture == graph)
            result = fork_to(function, graph, list, graph->nodes[event->captured_node].strand);
    }
    *found = graph;
    return result;
}

/* --- Strands ------------------------------------------------------------------------------------------- */

/* Lets a list record into the graph from here on. */
static bool add_strand(gs_graph *graph, gs_list *list, uint32_t parent) {
    gs_strand *strands = realloc(graph->strands, (graph->strand_count + 1) * sizeof *strands);
    if (strands == NULL)
        return false;
    graph->strands = strands;
    strands[graph->strand_count++] = (gs_strand){.list = list,
                                                 .device = list->device,
                                                 .ordinal = list->ordinal,
                                                 .parent = parent,
                                                 .last_work = GS_NO_NODE,
                                                 .joined = GS_NO_NODE};
    list->capture = graph;
    return true;
}

static ze_result_t fork_to(enum gs_function function, gs_graph *graph, gs_list *list, uint32_t parent) {
    if (list->context != graph->context)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: the list belongs to another context than the graph that it would be recorded into",
                       gs_function_names[function]);
    if (!add_strand(graph, list, parent))
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another list in the graph");
    return ZE_RESULT_SUCCESS;
}

static uint32_t strand_of(const gs_graph *graph, const gs_list *list) {
    uint32_t index = 0;
    while (graph->strands[index].list != list)
        index++;
    return index;
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

/* --- Recording ----------------------------------------------------------------------------------------- */

/* A place for one more node, with room for as many edges and targets as it has waits; NULL if memory ran out. */
static gs_node *next_node(gs_graph *graph, uint32_t wait_count) {
    if (graph->node_count == graph->node_capacity) {
        uint32_t capacity = graph->node_capacity > 0 ? 2 * graph->node_capacity : 16;
        gs_node *nodes = realloc(graph->nodes, capacity * sizeof *nodes);
        if (nodes == NULL)
            return NULL;
        graph->nodes = nodes;
        graph->node_capacity = capacity;
    }
    gs_node *node = &graph->nodes[graph->node_count];
    memset(node, 0, sizeof *node);
    if (wait_count == 0)
        return node;
    node->edges = malloc(wait_count * sizeof *node->edges);
    node->command.targets = malloc(wait_count * sizeof *node->command.targets);
    if (node->edges != NULL && node->command.targets != NULL)
        return node;
    free(node->edges);
    free(node->command.targets);
    return NULL;
}

/* The node waits for an event: for an earlier node, or else for what the event stands for outside the graph, which
 * `target` says if it is known. */
static void add_wait(gs_graph *graph, gs_node *node, gs_event *event, const gs_target *target) {
    if (event->capture == graph) {
        const uint32_t from = event->captured_node;
        gs_strand *strand = &graph->strands[graph->nodes[from].strand];
        node->edges[node->edge_count++] = from;
        if (strand->parent == node->strand && strand != &graph->strands[node->strand] &&
            (strand->joined == GS_NO_NODE || strand->joined < from))
            strand->joined = from;
    } else if (target != NULL) {
        gs_target_copy(target, &node->command.targets[node->command.target_count++]);
    } else {
        gs_target_take(event, &node->command.targets[node->command.target_count++]);
    }
}

/* Completes a node that has its waits. */
static void add_node(gs_graph *graph, gs_node *node, const gs_command *contents, gs_event *signal) {
    gs_command *command = &node->command;
    gs_target *targets = command->targets;
    uint32_t target_count = command->target_count, index = graph->node_count++;
    gs_strand *strand = &graph->strands[node->strand];
    *command = *contents;
    command->next = NULL;
    command->targets = targets;
    command->target_count = target_count;
    command->counter = NULL;
    command->signal = signal;
    if (command->device == NULL && strand->device != graph->strands[0].device)
        command->device = strand->device;
    if (command->operation == GS_RESET_EVENT && command->reset->capture == graph)
        command->reset->capture = NULL; /* who waits for it now waits for somebody outside */
    else if (command->operation != GS_NOTHING && command->operation != GS_RESET_EVENT)
        strand->last_work = index;
    if (signal == NULL)
        return;
    gs_object_hold(signal);
    signal->capture = graph;
    signal->captured_node = index;
}

static ze_result_t fail_memory(gs_graph *graph) {
    graph->is_broken = true;
    return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another command in the graph");
}

static ze_result_t record(enum gs_function function, gs_graph *graph, uint32_t strand, const gs_command *contents,
                          gs_event *signal, uint32_t wait_count, ze_event_handle_t *waits) {
    gs_node *node = next_node(graph, wait_count);
    if (node == NULL)
        return fail_memory(graph);
    node->function = function;
    node->strand = strand;
    for (uint32_t each = 0; each < wait_count; each++)
        add_wait(graph, node, (gs_event *)waits[each], NULL);
    add_node(graph, node, contents, signal);
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_capture(enum gs_function function, gs_list *list, const gs_command *description, gs_event *signal,
                       uint32_t wait_count, ze_event_handle_t *waits, bool *captured) {
    gs_graph *graph;
    gs_capture_lock();
    ze_result_t result = find_graph(function, list, signal, wait_count, waits, &graph);
    if (result == ZE_RESULT_SUCCESS && graph != NULL && description->operation == GS_RUN_PROGRAMS)
        result = gs_fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED,
                         "%s: the list began to record a graph meanwhile, from another thread",
                         gs_function_names[function]);
    *captured = result == ZE_RESULT_SUCCESS && graph != NULL;
    if (*captured)
        result = record(function, graph, strand_of(graph, list), description, signal, wait_count, waits);
    gs_capture_unlock();
    return result;
}

/* --- Recording what was recorded before ------------------------------------------------------------------ */

static ze_result_t record_copy(enum gs_function function, gs_graph *graph, uint32_t strand,
                               const gs_command *original) {
    gs_command contents = *original;
    gs_node *node = next_node(graph, original->target_count);
    if (node == NULL)
        return fail_memory(graph);
    if (!gs_command_copy_contents(&contents, original)) {
        free(node->edges);
        free(node->command.targets);
        return fail_memory(graph);
    }
    node->function = function;
    node->strand = strand;
    for (uint32_t each = 0; each < original->target_count; each++)
        add_wait(graph, node, original->targets[each].event, &original->targets[each]);
    add_node(graph, node, &contents, original->signal);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t record_programs(enum gs_function function, gs_graph *graph, uint32_t strand, uint32_t count,
                                   gs_program *const *programs, gs_event *signal, uint32_t wait_count,
                                   ze_event_handle_t *waits) {
    const gs_command nothing = {.operation = GS_NOTHING};
    ze_result_t result = ZE_RESULT_SUCCESS;
    if (wait_count > 0)
        result = record(function, graph, strand, &nothing, NULL, wait_count, waits);
    for (uint32_t each = 0; each < count; each++)
        for (const gs_command *command = programs[each]->first; command != NULL && result == ZE_RESULT_SUCCESS;
             command = command->next)
            result = record_copy(function, graph, strand, command);
    if (signal != NULL && result == ZE_RESULT_SUCCESS)
        result = record(function, graph, strand, &nothing, signal, 0, NULL);
    return result;
}

ze_result_t gs_capture_programs(enum gs_function function, gs_list *list, uint32_t count, gs_program *const *programs,
                                gs_event *signal, uint32_t wait_count, ze_event_handle_t *waits, bool *captured) {
    gs_graph *graph;
    gs_capture_lock();
    ze_result_t result = find_graph(function, list, signal, wait_count, waits, &graph);
    *captured = result == ZE_RESULT_SUCCESS && graph != NULL;
    if (*captured)
        result = record_programs(function, graph, strand_of(graph, list), count, programs, signal, wait_count, waits);
    gs_capture_unlock();
    return result;
}

ze_result_t gs_capture_lists(enum gs_function function, gs_list *list, uint32_t count,
                             ze_command_list_handle_t *lists, gs_event *signal, uint32_t wait_count,
                             ze_event_handle_t *waits, bool *captured) {
    gs_program **programs = calloc(count + 1, sizeof *programs);
    if (programs == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to record %u command lists", count);
    for (uint32_t each = 0; each < count; each++) {
        gs_list *source = (gs_list *)lists[each];
        pthread_mutex_lock(&source->lock);
        programs[each] = source->program;
        programs[each]->references++;
        pthread_mutex_unlock(&source->lock);
    }
    ze_result_t result =
        gs_capture_programs(function, list, count, programs, signal, wait_count, waits, captured);
    for (uint32_t each = 0; each < count; each++)
        gs_program_drop(programs[each]);
    free(programs);
    return result;
}

/* --- Beginning and ending ---------------------------------------------------------------------------------- */

static ze_result_t check_begin(enum gs_function function, const gs_list *list) {
    const char *name = gs_function_names[function];
    if (!can_capture(list))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: only an immediate list that is not synchronous can record a graph", name);
    if (list->capture != NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: the list records a graph already", name);
    return ZE_RESULT_SUCCESS;
}

/* Called with the lock held. */
static ze_result_t begin(gs_graph *graph, gs_list *list) {
    if (!add_strand(graph, list, 0))
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

/* Called with the lock held. An invalid graph is handed out, too: it is to be destroyed. */
static ze_result_t end_primary(gs_graph *graph, ze_graph_handle_t *ended) {
    const bool unjoined = has_unjoined_forks(graph);
    end(graph, unjoined || graph->is_broken ? GS_GRAPH_INVALID : GS_GRAPH_COMPLETE);
    graph->is_implicit = false;
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
                         "zeCommandListEndGraphCaptureExt: end the capture on the list on which it began, not on a fork");
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
        end(graph, GS_GRAPH_INVALID);
    } else if (graph != NULL) {
        graph->strands[strand_of(graph, list)].list = NULL;
        list->capture = NULL;
    }
    gs_capture_unlock();
    if (orphaned)
        gs_zeGraphDestroyExt((ze_graph_handle_t)graph);
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
