/* How long commands ran, measured by the device with kernel timestamps: of the program's own events, or of the recorder's
 * where the program gave none. The times go to the stream as records of their own (docs/reference/stream-format.md). */
#ifndef GC_TIMING_TIMING_H
#define GC_TIMING_TIMING_H

#include "capture/recorder/record.h"

/* Begins to measure; before slots are filled with recorders. */
void gc_times_open(void);
/* Stores the times that are known by now. */
void gc_times_close(void);
void gc_times_abandon(void);

/* Lists. Commands of mutable lists, and of those that were cloned or record graphs, are not measured. */
void gc_times_made_list(ze_result_t result, ze_context_handle_t context, ze_device_handle_t device,
                        const ze_command_list_handle_t *found, bool immediate, const void *desc);
void gc_times_excluded_list(ze_command_list_handle_t list);
void gc_times_emptied_list(ze_result_t result, ze_command_list_handle_t list);
void gc_times_unmaking_list(ze_command_list_handle_t list);
void gc_times_unmade_list(ze_result_t result, ze_command_list_handle_t list);
void gc_times_unmaking_context(ze_context_handle_t context);

/* A command is about to be appended: the event that it shall signal, the program's own if it has one. */
ze_event_handle_t gc_times_event(gc_call *call, ze_command_list_handle_t list, ze_event_handle_t event);
void gc_times_appended(gc_call *call, ze_result_t result, ze_command_list_handle_t list);
/* Lists were given to a queue, or to an immediate list. */
void gc_times_executed(const gc_call *call, ze_result_t result, const void *target, ze_fence_handle_t fence, uint32_t count,
                       const ze_command_list_handle_t *lists);

/* All work of a queue or of an immediate list, all up to a fence, or what signals an event, has ended. */
void gc_times_ended(ze_result_t result, const void *target);
void gc_times_passed(ze_result_t result, ze_fence_handle_t fence);
void gc_times_signalled(ze_result_t result, ze_event_handle_t event);
/* An event is about to lose its timestamps. */
void gc_times_leaving(ze_event_handle_t event);
/* The event will be signalled by something that is not measured. */
void gc_times_superseded(ze_event_handle_t event);
void gc_times_made_event(ze_result_t result, ze_event_pool_handle_t pool, const ze_event_handle_t *found);
void gc_times_unmaking_event(ze_event_handle_t event);

#endif
