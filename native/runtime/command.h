/* Commands: what a list records and an engine executes. */
#ifndef GS_RUNTIME_COMMAND_H
#define GS_RUNTIME_COMMAND_H

#include "check/host_stack.h"
#include "objects/event.h"

typedef enum gs_operation {
    GS_NOTHING, /* barriers, waits and signals: only their events matter */
    GS_COPY,
    GS_COPY_REGION,
    GS_FILL,
    GS_PREFETCH,
    GS_WRITE_TIMESTAMP,
    GS_QUERY_TIMESTAMPS,
    GS_RESET_EVENT,
    GS_HOST_FUNCTION,
    GS_SIGNAL_SEMAPHORES, /* done before the work of a command, as waiting for events is */
    GS_WAIT_SEMAPHORES,
    GS_LAUNCH,
    GS_BEGIN_METRIC_QUERY,
    GS_END_METRIC_QUERY,
    GS_MARK_METRICS,
    GS_MARK_GROUP,
    GS_RUN_BUFFERS,
} gs_operation;

/* A command buffer: the closed contents of a command list. Runs hold it, so that a list may be reset meanwhile. */
typedef struct gs_command_buffer {
    _Atomic uint32_t references;
    struct gs_command *first, *last;
    gs_event **events; /* every event that a command refers to, once for each reference */
    uint32_t event_count, event_capacity;
    bool waits_for_counters;
    bool was_cloned; /* or is a clone: its counter-based events follow whichever of them runs */
    gs_counter *counter; /* of an in-order list, else NULL */
    uint64_t steps;      /* commands that advance the counter in one run */
    uint64_t runs;
    _Atomic uint32_t pending; /* runs that were started and have not ended; while there are any, nothing changes */
    gs_object *source; /* held: the graph that an executable graph's commands were copied from, or NULL */
    _Atomic bool runs_through; /* nothing in it waits for anything; a device's kind has looked, and it stays so */
    void *of_kind; /* what a device's kind keeps for its runs, or NULL, and how that is freed */
    void (*free_of_kind)(void *of_kind);
    struct gs_mutable *mutables; /* the commands that have a name; the youngest name first */
} gs_command_buffer;

/* One run of a command buffer: its number of steps is added to what earlier runs counted. */
typedef struct gs_run {
    gs_command_buffer *buffer;
    uint64_t base;
} gs_run;

typedef struct gs_region {
    char *destination;
    const char *source;
    uint64_t width, height, depth; /* bytes, rows, slices */
    uint64_t destination_pitch, destination_slice, source_pitch, source_slice;
} gs_region;

enum { GS_INLINE_PATTERN = 16 };

typedef struct gs_command {
    struct gs_command *next;
    gs_operation operation;
    uint32_t target_count;
    gs_target *targets; /* what must be reached before the command starts */
    gs_event *signal;   /* held */
    gs_device *device;  /* that does it, or NULL: the one of the queue */
    gs_counter *counter; /* advanced to `step` when the command has ended, or NULL */
    uint64_t step;
    /* For the checkers of races (check/order) and of uninitialised memory. */
    gs_host_call origin; /* who appended it */
    bool blocks_later;   /* a barrier or a wait: in a list that is not in order, what follows waits for it */
    struct gs_submission *submission;
    const struct gs_node *node; /* of an executable graph, of whose source it is a copy; else NULL */
    union {
        struct {
            char *destination;
            const char *source;
            uint64_t size;
        } copy;
        gs_region region;
        struct {
            char *destination;
            uint64_t size, pattern_size;
            char *pattern; /* NULL: in pattern_bytes */
            char pattern_bytes[GS_INLINE_PATTERN];
        } fill;
        struct {
            char *start;
            uint64_t size;
        } prefetch;
        uint64_t *timestamp;
        struct {
            char *destination;
            uint64_t *offsets; /* NULL: one after the other */
            gs_event **events; /* held */
            uint32_t count;
        } query;
        gs_event *reset; /* held */
        struct gs_metric_query *query_object; /* held */
        struct {
            struct gs_metric_streamer *streamer; /* held */
            uint32_t value;
        } mark;
        struct {
            struct gs_metric_group *group; /* held */
            uint32_t value;
        } mark_group;
        struct {
            struct gs_semaphore **all; /* held */
            uint32_t count;
        } semaphores;
        struct gs_launch *launch; /* owned */
        struct {
            ze_host_function_callback_t function;
            void *argument;
        } host;
        struct {
            gs_run *runs; /* buffers held */
            uint32_t count;
            struct gs_fence *fence; /* held, or NULL */
            gs_counter *turns;      /* held, or NULL: it begins when this has come to `turn` - 1, and ends at `turn` */
            uint64_t turn;
        } run;
    };
} gs_command;

/* Does the work of a command, waits and signals aside. Not for GS_RUN_BUFFERS. */
void gs_command_perform(const gs_command *command, gs_device *device);

/* False for commands that keep no worker busy: those that only wait or signal, and host functions. */
bool gs_command_is_work(const gs_command *command);
bool gs_command_targets_are_reached(const gs_command *command);

/* What a command is, in words: "a copy of 4 bytes from 0x10 to 0x20". */
void gs_command_describe(const void *command, char *text, size_t capacity);

/* True if the command is so short that handing it to another thread would cost more than doing it. */
bool gs_command_is_short(const gs_command *command);

/* Gives a copy of a command, which has no events, what it owns. False if memory ran out; then it owns nothing. */
bool gs_command_copy_contents(gs_command *copy, const gs_command *original);

/* Gives up what a command holds. */
void gs_command_release(gs_command *command);

/* Gives up what a command holds, and the command. */
void gs_command_free(gs_command *command);

gs_command_buffer *gs_command_buffer_new(bool in_order);
void gs_command_buffer_drop(gs_command_buffer *buffer);

/* list.c: adds a command, which passes to the buffer. False if memory ran out; then it does not. */
bool gs_command_buffer_add(gs_command_buffer *buffer, gs_command *command);

/* list.c: what another run of a buffer, which is held for it, is told. Its runs start one after the other. */
gs_run gs_command_buffer_start(gs_command_buffer *buffer);

/* list.c: takes that back for the runs of a command that is not submitted; it still holds the buffers. */
void gs_command_cancel(const gs_command *command);

/* copy.c: the bulk of the work, spread over a device's cores when it is worth it. */
void gs_copy(gs_thread_pool *pool, char *destination, const char *source, uint64_t size);
void gs_copy_region(gs_thread_pool *pool, const gs_region *region);
void gs_fill(gs_thread_pool *pool, char *destination, uint64_t size, const char *pattern, uint64_t pattern_size);

#endif
