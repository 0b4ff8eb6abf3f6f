/* What a capture records. A list that captures hands each command to its graph instead of its queue. Another list
 * joins in by waiting for an event that a command of the graph signals: that is a fork, and it is joined again when
 * the list that it came from waits for an event of the forked one. Everything here happens under one lock. */
#include <stdlib.h>
#include <string.h>

#include "graphs/graph.h"

/* --- Which graph a command belongs to ------------------------------------------------------------------ */

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
                       "%s: an event with both ZE_EVENT_COUNTER_BASED_FLAG_IPC and "
                       "ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL cannot be part of a graph",
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
    if (of_waits != NULL && !gs_list_can_capture(list))
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

bool gs_graph_add_strand(gs_graph *graph, gs_list *list, uint32_t parent) {
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
    if (!gs_graph_add_strand(graph, list, parent))
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory for another list in the graph");
    return ZE_RESULT_SUCCESS;
}

uint32_t gs_graph_strand_of(const gs_graph *graph, const gs_list *list) {
    uint32_t index = 0;
    while (graph->strands[index].list != list)
        index++;
    return index;
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
    node->index = graph->node_count;
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
 * `target` says if it is known. An aggregate may need signals from both. */
static void add_wait(gs_graph *graph, gs_node *node, gs_event *event, const gs_target *target) {
    if (event->capture == graph) {
        const uint32_t from = event->captured_node;
        gs_strand *strand = &graph->strands[graph->nodes[from].strand];
        node->edges[node->edge_count++] = from;
        if (strand->parent == node->strand && strand != &graph->strands[node->strand] &&
            (strand->joined == GS_NO_NODE || strand->joined < from))
            strand->joined = from;
        if (!gs_event_is_aggregate(event))
            return;
    }
    if (target != NULL)
        gs_target_copy(target, &node->command.targets[node->command.target_count++]);
    else
        gs_target_take(event, &node->command.targets[node->command.target_count++]);
}

/* Completes a node that has its waits. */
static void add_node(gs_graph *graph, gs_node *node, const gs_command *contents, gs_event *signal) {
    gs_command *command = &node->command;
    gs_target *targets = command->targets;
    uint32_t target_count = command->target_count, index = graph->node_count++;
    gs_strand *strand = &graph->strands[node->strand];
    *command = *contents;
    command->next = NULL;
    command->node = NULL;
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
    if (result == ZE_RESULT_SUCCESS && graph != NULL && description->operation == GS_RUN_BUFFERS)
        result = gs_fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED,
                         "%s: the list began to record a graph meanwhile, from another thread",
                         gs_function_names[function]);
    *captured = result == ZE_RESULT_SUCCESS && graph != NULL;
    if (*captured)
        result = record(function, graph, gs_graph_strand_of(graph, list), description, signal, wait_count, waits);
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
                                   gs_command_buffer *const *buffers, gs_event *signal, uint32_t wait_count,
                                   ze_event_handle_t *waits) {
    const gs_command nothing = {.operation = GS_NOTHING};
    ze_result_t result = ZE_RESULT_SUCCESS;
    if (wait_count > 0)
        result = record(function, graph, strand, &nothing, NULL, wait_count, waits);
    for (uint32_t each = 0; each < count; each++)
        for (const gs_command *command = buffers[each]->first; command != NULL && result == ZE_RESULT_SUCCESS;
             command = command->next)
            result = record_copy(function, graph, strand, command);
    if (signal != NULL && result == ZE_RESULT_SUCCESS)
        result = record(function, graph, strand, &nothing, signal, 0, NULL);
    return result;
}

ze_result_t gs_capture_buffers(enum gs_function function, gs_list *list, uint32_t count, gs_command_buffer *const *buffers,
                                gs_event *signal, uint32_t wait_count, ze_event_handle_t *waits, bool *captured) {
    gs_graph *graph;
    gs_capture_lock();
    ze_result_t result = find_graph(function, list, signal, wait_count, waits, &graph);
    *captured = result == ZE_RESULT_SUCCESS && graph != NULL;
    if (*captured)
        result = record_programs(function, graph, gs_graph_strand_of(graph, list), count, buffers, signal,
                                 wait_count, waits);
    gs_capture_unlock();
    return result;
}

ze_result_t gs_capture_lists(enum gs_function function, gs_list *list, uint32_t count,
                             ze_command_list_handle_t *lists, gs_event *signal, uint32_t wait_count,
                             ze_event_handle_t *waits, bool *captured) {
    gs_command_buffer **buffers = calloc(count + 1, sizeof *buffers);
    if (buffers == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to record %u command lists", count);
    uint32_t lent = 0;
    while (lent < count && (buffers[lent] = gs_list_lend(function, lent, (gs_list *)lists[lent])) != NULL)
        lent++;
    ze_result_t result = ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (lent == count)
        result = gs_capture_buffers(function, list, count, buffers, signal, wait_count, waits, captured);
    while (lent > 0)
        gs_command_buffer_give_back(buffers[--lent]);
    free(buffers);
    return result;
}
