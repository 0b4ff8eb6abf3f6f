/* Primitives: launches that are ready, and how arguments of an execution become arguments of kernels. */
#ifndef GS_DNNL_PRIMITIVE_H
#define GS_DNNL_PRIMITIVE_H

#include "dnnl/stream.h"

/* What a parameter of a kernel is: see plan.py, which has the same kinds. */
enum gs_parameter_kind {
    GS_BUFFER = 1,  /* a handle of the memory of an argument */
    GS_SCRATCH,     /* a place in the scratchpad */
    GS_HOST_SCALAR, /* the value of an argument */
    GS_VALUE,       /* a constant; set when the primitive is made */
};

typedef struct gs_parameter {
    enum gs_parameter_kind kind;
    int argument; /* which of the primitive's arguments, by its place in the list */
    int handle;
    size_t value; /* an offset, or a size */
} gs_parameter;

typedef struct gs_launch {
    ze_kernel_handle_t kernel;
    ze_group_count_t groups;
    int count;
    gs_parameter *parameters;
} gs_launch;

typedef struct gs_primitive {
    gs_object head;
    gs_engine *engine;
    pthread_mutex_t lock; /* arguments of kernels are set and captured together */
    int argument_count;
    int *arguments; /* the DNNL_ARG_* that are passed */
    int launch_count;
    gs_launch *launches;
    bool open;             /* sizes are known at execution only: Python makes the launches then */
    bool needs_scratchpad; /* of the caller */
    void *scratchpad;      /* our own */
} gs_primitive;

/* What is passed for an argument. */
typedef struct gs_passed {
    int argument;
    const gs_memory *memory;
} gs_passed;

/* What went wrong, by the words of the API. */
enum gs_outcome { GS_DONE = 0, GS_NO_MEMORY = 1, GS_INVALID = 2, GS_RUNTIME_ERROR = 5 };

GS_EXPORT gs_primitive *gs_primitive_new(gs_engine *engine, int argument_count, const int *arguments,
                                         int launch_count, bool needs_scratchpad, void *scratchpad);
GS_EXPORT int gs_primitive_launch(gs_primitive *primitive, int index, void *kernel, const uint32_t *groups, int count);
GS_EXPORT void gs_primitive_parameter(gs_primitive *primitive, int launch, int index, int kind, int argument,
                                      int handle, size_t value);
GS_EXPORT void gs_primitive_leave_open(gs_primitive *primitive);
GS_EXPORT void gs_primitive_free(gs_primitive *primitive);

/* Appends the launches to a stream. `made`, if given, becomes an event that is signalled at the end, or NULL on a
 * list that is known to be in order. `text` says what went wrong. */
GS_EXPORT int gs_primitive_run(gs_primitive *primitive, gs_stream *stream, int count, const gs_passed *passed,
                               int dependency_count, void *const *dependencies, void **made, char *text, size_t size);

#endif
