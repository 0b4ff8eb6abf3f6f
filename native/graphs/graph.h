/* Graphs: what immediate lists were given while they recorded, to be run later and often. */
#ifndef GS_GRAPHS_GRAPH_H
#define GS_GRAPHS_GRAPH_H

#include "objects/list.h"
#include "threads/lock.h"

enum { GS_NO_NODE = UINT32_MAX };

/* One command of a graph. Its targets are events that the graph itself does not signal before. */
typedef struct gs_node {
    uint32_t index;            /* in its graph */
    enum gs_function function; /* that appended it */
    uint32_t strand;
    gs_command command;
    uint32_t edge_count;
    uint32_t *edges; /* the nodes whose events it waits for; all come before it */
} gs_node;

/* What one list contributed to a graph. */
typedef struct gs_strand {
    gs_list *list;      /* while it captures, else NULL */
    gs_device *device;
    uint32_t ordinal;
    uint32_t parent;    /* the strand that it was forked from; the first one's is itself */
    uint32_t last_work; /* its youngest node that does more than wait and signal */
    uint32_t joined;    /* its youngest node for which the parent waited */
} gs_strand;

typedef struct gs_destruction_callback {
    zex_mem_graph_free_callback_fn_t function;
    void *argument;
} gs_destruction_callback;

typedef enum gs_graph_state {
    GS_GRAPH_NEW,
    GS_GRAPH_CAPTURING,
    GS_GRAPH_COMPLETE,
    GS_GRAPH_INVALID, /* forks were not joined, or something failed while it was recorded */
} gs_graph_state;

/* Nodes stand in the order in which they were appended, on whichever list: each comes after all it waits for. */
typedef struct gs_graph {
    gs_object object;
    gs_context *context;
    bool is_implicit; /* made by zeCommandListBeginGraphCaptureExt: nobody's until the capture ends */
    bool is_broken;   /* memory ran out while it was recorded */
    gs_graph_state state;
    gs_node *nodes;
    uint32_t node_count, node_capacity;
    gs_strand *strands; /* the primary list's comes first */
    uint32_t strand_count;
    gs_list *primary; /* not held: valid only if its queue still has this number */
    uint64_t primary_queue;
    gs_destruction_callback *callbacks;
    uint32_t callback_count;
    _Atomic uint32_t executables; /* live handles, and those that were destroyed while they ran */
} gs_graph;

typedef struct gs_executable_graph {
    gs_object object;
    gs_graph *source; /* held */
    gs_mutex lock; /* held while a run is submitted: runs come in the order of their turns */
    gs_command_buffer *buffer;
    bool follows_events; /* it waits for events that stand for something else in each run */
    gs_counter *turns;
    _Atomic uint64_t submitted;
} gs_executable_graph;

/* --- Captures (graph_session.c) ----------------------------------------------------------------------- */

/* How many captures go on. Appending looks at nothing else while it is zero. */
extern _Atomic uint32_t gs_capture_count;
static inline bool gs_some_list_captures(void) { return __builtin_expect(gs_capture_count != 0, false); }

/* What keeps the contents of all graphs that are being recorded. */
void gs_capture_lock(void);
void gs_capture_unlock(void);

/* The graph that a list records into, or NULL. */
gs_graph *gs_capture_of_list(gs_list *list);

/* Immediate lists that nobody waits for in each append. */
bool gs_list_can_capture(const gs_list *list);

/* The end of a capture whose graph is destroyed. Called with the lock held. */
void gs_capture_discard(gs_graph *graph);

/* Before a list is destroyed: it no longer captures. Without its primary list a capture is over, in vain. */
void gs_capture_leave(gs_list *list);

/* --- What they record (graph_capture.c) --------------------------------------------------------------- */

/* Lets a list record into a graph from here on; false if memory ran out. Called with the lock held. */
bool gs_graph_add_strand(gs_graph *graph, gs_list *list, uint32_t parent);

/* The strand of a list that records into the graph. */
uint32_t gs_graph_strand_of(const gs_graph *graph, const gs_list *list);

/* Records a command that is appended to a list, if the list captures or begins to by waiting for an event of a
 * capture: then `captured` is true. What the description holds passes to the graph only if it is recorded. */
ze_result_t gs_capture(enum gs_function function, gs_list *list, const gs_command *description, gs_event *signal,
                       uint32_t wait_count, ze_event_handle_t *waits, bool *captured);

/* The same for a copy of all commands of closed lists or of command buffers, with a wait before and a signal after. */
ze_result_t gs_capture_lists(enum gs_function function, gs_list *list, uint32_t count,
                             ze_command_list_handle_t *lists, gs_event *signal, uint32_t wait_count,
                             ze_event_handle_t *waits, bool *captured);
ze_result_t gs_capture_buffers(enum gs_function function, gs_list *list, uint32_t count, gs_command_buffer *const *buffers,
                                gs_event *signal, uint32_t wait_count, ze_event_handle_t *waits, bool *captured);

/* --- Graphs (graph.c) --------------------------------------------------------------------------------- */

gs_graph *gs_graph_new(gs_context *context);

/* Whether all of its runs have ended. */
bool gs_executable_graph_is_idle(const gs_executable_graph *executable);

/* An event to which each signal adds; it happens when there were enough of them, from wherever. */
static inline bool gs_event_is_aggregate(const gs_event *event) {
    return event->mode == GS_EVENT_EXTERNAL && event->external_increment != 0;
}

/* An event that follows counters only inside a graph, and means nothing outside of it. */
static inline bool gs_event_is_graph_internal(const gs_event *event) {
    return event->mode != GS_EVENT_PLAIN && !gs_event_is_aggregate(event) &&
           !(event->counter_flags & ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL);
}

/* graph_dump.c: the graph in the DOT language, to be freed, or NULL if memory ran out. */
char *gs_graph_to_dot(const gs_graph *graph, bool detailed);

#endif
