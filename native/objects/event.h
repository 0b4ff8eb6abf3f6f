/* Event pools, events and what it means to wait for one. */
#ifndef GS_OBJECTS_EVENT_H
#define GS_OBJECTS_EVENT_H

#include "objects/counter.h"
#include "objects/device.h"

typedef struct gs_event_pool {
    gs_object object;
    gs_context *context;
    ze_event_pool_flags_t flags;
    bool counter_based;
    ze_event_counter_based_flags_t counter_flags;
    uint32_t count;
    bool imported; /* opened from an IPC handle */
    int fd;        /* the memory file of a pool that can be shared, or -1 */
    gs_event_slot *slots;
    uint8_t *used; /* indices at which this process created an event before */
} gs_event_pool;

/* How a word of memory must compare with a value. */
typedef enum gs_comparison { GS_AT_LEAST, GS_EQUAL, GS_NOT_EQUAL, GS_GREATER, GS_LESS, GS_AT_MOST } gs_comparison;

typedef struct gs_word_test {
    void *word;
    uint64_t value;
    gs_comparison comparison;
    bool is_narrow; /* 32 bits, not 64 */
} gs_word_test;

typedef enum gs_event_mode {
    GS_EVENT_PLAIN,    /* a word that is signalled or not */
    GS_EVENT_COUNTER,  /* follows the counter of the list that signalled it last */
    GS_EVENT_EXTERNAL, /* complete when a word of the application reaches a value */
} gs_event_mode;

typedef struct gs_event {
    gs_object object;
    gs_context *context;
    gs_event_pool *pool; /* NULL for an event of zeEventCounterBasedCreate */
    _Atomic gs_event_mode mode;
    gs_event_slot *slot;
    gs_heap *heap;  /* counter-based: the memory that slot->tracked refers to */
    gs_heap mapped; /* the other process's heap, for an opened IPC event */
    _Atomic uint64_t *external;
    uint64_t external_value, external_increment; /* increment 0: the first signal makes it GS_EVENT_COUNTER */
    gs_comparison external_comparison; /* of the word with external_value */
    bool external_is_narrow;
    ze_event_counter_based_flags_t counter_flags;
    ze_event_scope_flags_t signal_scope, wait_scope;
    bool timestamps;
    atomic_flag guard;        /* held while the tracked counter is read or replaced */
    _Atomic uint32_t pending; /* submitted commands that still refer to the event */
    struct gs_graph *_Atomic capture; /* the graph being recorded in which a command signals it, or NULL */
    uint32_t captured_node;           /* the command; graph_session.c guards it */
    _Atomic uint64_t queue;   /* the id of the queue that was last given a command that signals it */
    const struct gs_vector_clock *order; /* for the checker of races: what comes before its signal */
} gs_event;

/* What a waiter waits for, taken when the wait is appended. */
typedef struct gs_target {
    gs_event *event;     /* held */
    gs_counter *counter; /* counter-based: held if it is ours; NULL if the event was never enqueued: reached */
    uint64_t number;     /* counted from the start of the signalling list's run */
    uint64_t resolved;   /* what the counter must reach: fixed at append, or when the waiting list runs */
    _Atomic uint64_t *word; /* of the application, in the place of the counter's */
} gs_target;

/* An event without a handle that is complete while a word fits; NULL if there is no memory, with the error recorded. */
gs_event *gs_event_of_word(gs_context *context, const gs_word_test *test);

void gs_target_take(gs_event *event, gs_target *target);
void gs_target_copy(const gs_target *original, gs_target *copy);
void gs_target_drop(gs_target *target);
bool gs_target_is_reached(const gs_target *target);
gs_wait_result gs_target_wait(const gs_target *target, uint64_t timeout, bool interruptible);

/* Points a counter-based event at a number of a list's counter, instead of what it stood for before. */
void gs_event_track(gs_event *event, gs_counter *counter, uint64_t number);

bool gs_event_is_signalled(gs_event *event);
void gs_event_signal(gs_event *event);

typedef struct gs_interval {
    uint64_t start, end;
} gs_interval;
void gs_event_stamp(gs_event *event, gs_interval interval);
ze_kernel_timestamp_result_t gs_event_timestamps(const gs_event *event);
/* What to do for an event that has none, for an error message. */
const char *gs_event_how_to_have_timestamps(const gs_event *event);

#endif
