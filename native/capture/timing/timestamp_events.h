/* Events with kernel timestamps. */
#ifndef GC_TIMING_TIMESTAMP_EVENTS_H
#define GC_TIMING_TIMESTAMP_EVENTS_H

#include <pthread.h>

#include "capture/recorder/record.h"

/* Guards all that is known of events, lists and their commands. All functions but the first two are called with it. */
extern pthread_mutex_t gc_times_lock;

/* What is known of an event of the program that has timestamps. */
typedef struct gc_timed_event {
    bool is_upgraded;      /* its pool has timestamps that only the recorder asked for */
    uint64_t turn;         /* of the command that signals it next, or has signalled it last */
    ze_command_list_handle_t list; /* which that command belongs to */
} gc_timed_event;

/* Lets pools have timestamps from now on, which the program did not ask for and does not see. */
void gc_timed_events_open(void);
void gc_timed_events_abandon(void);

gc_timed_event *gc_timed_events_get(ze_event_handle_t event);
void gc_timed_events_put(ze_event_pool_handle_t pool, ze_event_handle_t event);
void gc_timed_events_take(ze_event_handle_t event);

/* False if the event has not been signalled, or has no timestamps. */
bool gc_timed_events_read(ze_event_handle_t event, ze_kernel_timestamp_result_t *times);

/* An event of the recorder's; NULL if there is none to be had. */
ze_event_handle_t gc_timed_events_lend(ze_context_handle_t context);
/* The event is reset, and lent to others from now on. */
void gc_timed_events_return(ze_context_handle_t context, ze_event_handle_t event);
/* Destroys the recorder's events of a context. */
void gc_timed_events_end(ze_context_handle_t context);

#endif
