/* Command lists: recorded for later, or immediate. */
#ifndef GS_OBJECTS_LIST_H
#define GS_OBJECTS_LIST_H

#include "runtime/queue.h"
#include "threads/lock.h"

typedef struct gs_list {
    gs_object object;
    gs_context *context;
    gs_device *device;
    uint32_t ordinal;
    ze_command_list_flags_t flags;
    bool immediate, in_order, closed;
    bool is_mutable, changed; /* changed: to be closed again before it runs */
    gs_mutex lock;
    gs_command_buffer *buffer; /* what was recorded; NULL for an immediate list */
    gs_queue queue;      /* of an immediate list */
    gs_counter *counter; /* of an immediate in-order list */
    uint64_t steps;
    struct gs_graph *capture; /* what an immediate list records into, or NULL; graph_session.c guards it */
} gs_list;

/* Adds a command to a list, or runs it on an immediate one. `command` is a filled-in description that is
 * copied; what it holds passes to the list, also on failure. */
ze_result_t gs_append(enum gs_function function, ze_command_list_handle_t list, const gs_command *command,
                      ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits);

/* Whether a command of the list can signal an event, which may be NULL; says what is wrong. */
ze_result_t gs_list_check_signal(enum gs_function function, const gs_list *list, const gs_event *event);

/* For mutable.c, with the list locked: another event to signal, or none, and other events to wait for; those that
 * are null are left out. */
ze_result_t gs_list_change_signal(enum gs_function function, gs_list *list, gs_command *command, gs_event *signal);
ze_result_t gs_list_change_waits(gs_list *list, gs_command *command, uint32_t count, ze_event_handle_t *waits);

/* A regular list, to be completed by the caller. */
ze_result_t gs_list_make(gs_context *context, gs_device *device, const ze_command_list_desc_t *desc, gs_list **made);

/* False once no run of the list is under way, of an immediate list none of its commands. Called without its lock. */
bool gs_list_is_busy(gs_list *list);

/* Whether a queue, or that of an immediate list, can run lists once they are closed; says what is wrong. */
ze_result_t gs_lists_check(enum gs_function function, const gs_queue *queue, uint32_t count,
                           ze_command_list_handle_t *lists);

/* A command that runs lists, if all are closed. */
ze_result_t gs_command_for_lists(enum gs_function function, uint32_t count, ze_command_list_handle_t *lists,
                                 gs_command **made);

/* The command buffer of a list that is closed, else NULL, with the error recorded. Until it is given back it is not changed. */
gs_command_buffer *gs_list_lend(enum gs_function function, uint32_t which, gs_list *list);
void gs_command_buffer_give_back(gs_command_buffer *buffer);

#endif
