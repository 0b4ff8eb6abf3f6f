/* A graph as a picture: a description in the DOT language, which Graphviz draws. A list is a box, a command a node in
 * it; dashed arrows are waits for events. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/printable.h"
#include "graphs/graph.h"
#include "runtime/launch.h"

/* "zeCommandListAppendMemoryCopy" is "MemoryCopy". */
static const char *short_name(enum gs_function function) {
    static const char prefix[] = "zeCommandListAppend";
    const char *name = gs_function_names[function];
    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name + 2;
}

/* --- Launches ----------------------------------------------------------------------------------------- */

/* The entry point of a module whose code a launch runs. */
static const gs_entry_point *entry_point_of(const gs_launch *launch) {
    const gs_entry_point *each = launch->module->entry_points;
    while (each != NULL && each->name != launch->code->name)
        each = each->next;
    return each;
}

static void put_value(FILE *to, const char *bytes, uint32_t size) {
    uint64_t word = 0;
    if (size <= sizeof word) {
        memcpy(&word, bytes, size);
        fprintf(to, "%" PRIu64 " (%#" PRIx64 ")", word, word);
        return;
    }
    for (uint32_t each = 0; each < size; each++)
        fprintf(to, "%s%02x", each > 0 ? " " : "", (unsigned char)bytes[each]);
}

static void put_argument(FILE *to, uint32_t index, const gs_argument *argument, const char *block) {
    static const char *const kinds[] = {"value", "pointer", "local memory", "image", "sampler"};
    const char *bytes = block + argument->offset;
    uintptr_t address = 0;
    fprintf(to, "\\largument %u, %s", index, kinds[argument->kind]);
    if (argument->kind == GS_ARGUMENT_LOCAL)
        return;
    if (argument->kind == GS_ARGUMENT_VALUE) {
        fprintf(to, " of %u bytes: ", argument->size);
        put_value(to, bytes, argument->size);
        return;
    }
    memcpy(&address, bytes, argument->size < sizeof address ? argument->size : sizeof address);
    fprintf(to, ": %#" PRIxPTR, address);
}

static void put_launch(FILE *to, const gs_launch *launch, bool detailed) {
    const uint64_t *counts = launch->dispatch.group_counts;
    const uint32_t *size = launch->dispatch.group_size;
    fputs("\\lkernel ", to);
    gs_print_quoted(to, launch->code->name);
    if (!detailed)
        return;
    if (launch->indirect_counts != NULL)
        fprintf(to, "\\lgroups read at %p", (const void *)launch->indirect_counts);
    else
        fprintf(to, "\\l%" PRIu64 " x %" PRIu64 " x %" PRIu64 " groups", counts[0], counts[1], counts[2]);
    fprintf(to, " of %u x %u x %u%s", size[0], size[1], size[2], launch->cooperative ? ", cooperative" : "");
    const gs_entry_point *entry_point = entry_point_of(launch);
    for (uint32_t each = 0; entry_point != NULL && each < entry_point->argument_count; each++)
        put_argument(to, each, &entry_point->arguments[each], launch->block);
}

/* --- Nodes -------------------------------------------------------------------------------------------- */

static void put_details(FILE *to, const gs_command *command) {
    char text[256];
    switch (command->operation) {
    case GS_COPY:
    case GS_COPY_REGION:
    case GS_FILL:
        gs_command_describe(command, text, sizeof text);
        fputs("\\l", to);
        gs_print_quoted(to, text);
        break;
    case GS_PREFETCH:
        fprintf(to, "\\l%" PRIu64 " bytes at %p", command->prefetch.size, (void *)command->prefetch.start);
        break;
    case GS_WRITE_TIMESTAMP:
        fprintf(to, "\\lto %p", (void *)command->timestamp);
        break;
    case GS_QUERY_TIMESTAMPS:
        fprintf(to, "\\lof %u events to %p", command->query.count, (void *)command->query.destination);
        break;
    case GS_RESET_EVENT:
        fprintf(to, "\\levent %p", (void *)command->reset);
        break;
    case GS_HOST_FUNCTION:
        fprintf(to, "\\lfunction %#" PRIxPTR "\\lwith %p", (uintptr_t)command->host.function,
                command->host.argument);
        break;
    default:
        break;
    }
    if (command->signal != NULL)
        fprintf(to, "\\lsignals event %p", (void *)command->signal);
}

static void put_node(FILE *to, uint32_t index, const gs_node *node, bool detailed) {
    fprintf(to, "    n%u [label=\"%u: %s", index, index, short_name(node->function));
    if (node->command.operation == GS_LAUNCH)
        for (const gs_launch *each = node->command.launch; each != NULL; each = each->next)
            put_launch(to, each, detailed);
    if (detailed)
        put_details(to, &node->command);
    fputs("\\l\"];\n", to);
}

static void put_strand(FILE *to, const gs_graph *graph, uint32_t strand, bool detailed) {
    uint32_t before = GS_NO_NODE;
    fprintf(to, "  subgraph cluster_%u {\n    label=\"list %u%s, queue group %u\";\n", strand, strand,
            strand == 0 ? " (primary)" : "", graph->strands[strand].ordinal);
    for (uint32_t each = 0; each < graph->node_count; each++) {
        if (graph->nodes[each].strand != strand)
            continue;
        put_node(to, each, &graph->nodes[each], detailed);
        if (before != GS_NO_NODE)
            fprintf(to, "    n%u -> n%u;\n", before, each);
        before = each;
    }
    fputs("  }\n", to);
}

static void put_waits(FILE *to, uint32_t index, const gs_graph *graph) {
    const gs_node *node = &graph->nodes[index];
    for (uint32_t each = 0; each < node->edge_count; each++)
        fprintf(to, "  n%u -> n%u [style=dashed, label=\"event %p\"];\n", node->edges[each], index,
                (void *)graph->nodes[node->edges[each]].command.signal);
    for (uint32_t each = 0; each < node->command.target_count; each++) {
        const void *event = node->command.targets[each].event;
        fprintf(to, "  \"event %p\" [shape=ellipse];\n  \"event %p\" -> n%u [style=dashed];\n", event, event, index);
    }
}

char *gs_graph_to_dot(const gs_graph *graph, bool detailed) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return NULL;
    fputs("digraph graph_of_commands {\n  node [shape=box, fontname=\"monospace\"];\n", to);
    for (uint32_t each = 0; each < graph->strand_count; each++)
        put_strand(to, graph, each, detailed);
    for (uint32_t each = 0; each < graph->node_count; each++)
        put_waits(to, each, graph);
    fputs("}\n", to);
    bool complete = ferror(to) == 0;
    if (fclose(to) == 0 && complete)
        return text;
    free(text);
    return NULL;
}
