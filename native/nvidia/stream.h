/* Streams of the CUDA driver, one for each queue of a GPU. The thread that executes a queue has the stream do the work and goes
 * on to the next command without waiting; what comes after the work (timestamps, retiring, signalling) is done in the same
 * order when the stream has come there. The stream writes a number to memory of the host where somebody has to be told. */
#ifndef GS_NVIDIA_STREAM_H
#define GS_NVIDIA_STREAM_H

#include "nvidia/gpu.h"
#include "runtime/execution.h"

/* A command that the stream has not finished. */
typedef struct gs_pending {
    struct gs_pending *next;
    gs_command *command;   /* what is done; a run of buffers for its end */
    gs_command *last_of;   /* the submitted command that retires with it, or NULL */
    gs_command *submitted; /* the one that is complete then, or NULL */
    uint64_t base;
    uint64_t begun; /* of a run of buffers */
    bool is_run, run_has_retired;
    bool is_counted; /* for metrics */
    bool is_marked; /* the stream will write `mark` behind it */
    uint32_t mark;
    gs_cu_event start, end; /* of a command with timestamps, else NULL */
} gs_pending;

enum { GS_SPARE_EVENTS = 64 };

typedef struct gs_stream {
    gs_gpu *gpu;
    uint32_t generation;
    gs_cu_stream stream;
    char *word; /* pinned: where the stream writes marks */
    uint64_t word_span;
    uint32_t last_mark;
    gs_pending *first, *last, *first_unmarked;
    uint32_t unmarked; /* how many come from there on */
    bool is_awaited; /* lately each command was waited for before the next one came: then it is marked at once */
    gs_cu_event spare[GS_SPARE_EVENTS];
    uint32_t spare_count;
    uint64_t asked;     /* when the CUDA driver was asked last whether all is well, */
    uint64_t pause;     /* and how long it is left alone after that */
    gs_cu_event anchor; /* the end of the command that was timed last, or NULL, */
    uint64_t anchor_time; /* and when that was by the clock of the host */
    uint64_t anchored;    /* when both clocks were read last */
    /* attendant.c: */
    struct gs_queue *queue;
    struct gs_stream *next_attended, **attended; /* its place in the list, or NULL */
    uint32_t due; /* the round in which somebody has to look at it */
} gs_stream;

/* Called inside the GPU's context. */
gs_cu_result gs_stream_open(gs_stream *made, ze_command_queue_priority_t priority);

/* The queue's stream, made when it is first needed; NULL if it cannot be: then the context is lost. */
gs_stream *gs_stream_need(gs_queue *queue, gs_gpu *gpu);

void gs_stream_set_anchor(gs_stream *stream);
gs_cu_event gs_stream_take_event(gs_stream *stream);
void gs_stream_give_event(gs_stream *stream, gs_cu_event event);

/* What comes after the work of a command, and of all that are pending in a lost context, where nothing comes any more. */
void gs_stream_finish(gs_queue *queue, gs_stream *stream, gs_pending *done);
void gs_stream_finish_done(gs_queue *queue, gs_stream *stream);
void gs_stream_finish_lost(gs_queue *queue, gs_stream *stream);

/* After a call for a command that failed. The GPU itself is lost only if its context has failed: a call may also be refused. */
void gs_stream_lose(gs_queue *queue, gs_stream *stream, gs_cu_result error, const gs_command *command);

/* Has the stream say when it has come to the last command. A GPU whose driver cannot is asked instead. */
void gs_stream_mark(gs_queue *queue, gs_stream *stream);

/* Waits for a moment, without the GPU's context, for what is marked: what is short costs no further call of the CUDA driver. False if
 * it was not enough, or if something needs the context. */
bool gs_stream_pass(gs_queue *queue, gs_stream *stream, bool (*is_enough)(void *state), void *state);

/* How long somebody has waited for a stream already. */
typedef struct gs_patience {
    uint64_t since;
    bool is_over; /* it may take long */
} gs_patience;

/* A look at the stream, which has something pending, or a moment of rest. */
void gs_stream_watch(gs_queue *queue, gs_stream *stream, gs_patience *patience);

/* The same without rest, for the attendant. */
void gs_stream_glance(gs_queue *queue, gs_stream *stream);

/* Waits for all that is pending. */
void gs_stream_drain(gs_queue *queue, gs_stream *stream);

/* graph.c: has the stream do a whole buffer at once. False: its commands have to be issued one by one. */
bool gs_stream_launch_graph(gs_stream *stream, gs_command_buffer *buffer, gs_cu_result *result);

/* Whether that has been prepared. */
bool gs_gpu_has_graph(const gs_gpu *gpu, const gs_command_buffer *buffer);

/* attendant.c */
void gs_attendant_forget(gs_stream *stream);

#endif
