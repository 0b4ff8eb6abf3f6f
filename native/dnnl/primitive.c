/* Executes primitives: sets the arguments of kernels and appends their launches, without Python. */
#include "dnnl/primitive.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCHPAD = 80 }; /* DNNL_ARG_SCRATCHPAD */

/* --- Making ---------------------------------------------------------------------------------------- */

gs_primitive *gs_primitive_new(gs_engine *engine, int argument_count, const int *arguments, int launch_count,
                               bool needs_scratchpad, void *scratchpad) {
    gs_primitive *primitive = gs_object_new(GS_PRIMITIVE, sizeof *primitive);
    if (primitive == NULL)
        return NULL;
    pthread_mutex_init(&primitive->lock, NULL);
    primitive->engine = gs_engine_hold(engine);
    primitive->arguments = calloc((size_t)argument_count + 1, sizeof *arguments);
    primitive->launches = calloc((size_t)launch_count + 1, sizeof *primitive->launches);
    if (primitive->arguments == NULL || primitive->launches == NULL) {
        gs_primitive_free(primitive);
        return NULL;
    }
    memcpy(primitive->arguments, arguments, (size_t)argument_count * sizeof *arguments);
    primitive->argument_count = argument_count;
    primitive->launch_count = launch_count;
    primitive->needs_scratchpad = needs_scratchpad;
    primitive->scratchpad = scratchpad;
    return primitive;
}

int gs_primitive_launch(gs_primitive *primitive, int index, void *kernel, const uint32_t *groups, int count) {
    gs_launch *launch = &primitive->launches[index];
    launch->parameters = calloc((size_t)count + 1, sizeof *launch->parameters);
    if (launch->parameters == NULL)
        return GS_NO_MEMORY;
    launch->kernel = kernel;
    launch->groups = (ze_group_count_t){groups[0], groups[1], groups[2]};
    launch->count = count;
    return GS_DONE;
}

void gs_primitive_parameter(gs_primitive *primitive, int launch, int index, int kind, int argument, int handle,
                            size_t value) {
    primitive->launches[launch].parameters[index] = (gs_parameter){
        .kind = (enum gs_parameter_kind)kind,
        .argument = argument,
        .handle = handle,
        .value = value,
    };
}

void gs_primitive_leave_open(gs_primitive *primitive) { primitive->open = true; }

void gs_primitive_free(gs_primitive *primitive) {
    for (int each = 0; each < primitive->launch_count; each++)
        free(primitive->launches[each].parameters);
    free(primitive->launches);
    free(primitive->arguments);
    pthread_mutex_destroy(&primitive->lock);
    gs_engine *engine = primitive->engine;
    gs_object_free(primitive);
    gs_engine_drop(engine);
}

/* --- Executing ------------------------------------------------------------------------------------- */

typedef struct execution {
    gs_primitive *primitive;
    gs_stream *stream;
    const gs_memory **memories; /* for each argument of the primitive */
    char *scratchpad;
    char *text;
    size_t size;
} execution;

static int fail(execution *of, int outcome, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int fail(execution *of, int outcome, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(of->text, of->size, format, arguments);
    va_end(arguments);
    return outcome;
}

static int place_of(const gs_primitive *primitive, int argument) {
    for (int each = 0; each < primitive->argument_count; each++)
        if (primitive->arguments[each] == argument)
            return each;
    return -1;
}

/* Finds the memory of each argument: all must be there, each once. Others are passed over. */
static int take_arguments(execution *of, int count, const gs_passed *passed) {
    const gs_primitive *primitive = of->primitive;
    of->scratchpad = primitive->scratchpad;
    for (int each = 0; each < count; each++) {
        const gs_memory *memory = passed[each].memory;
        int argument = passed[each].argument, place = place_of(primitive, argument);
        if (memory == NULL)
            continue;
        if (!gs_object_is(memory, GS_MEMORY))
            return fail(of, GS_INVALID, "the memory of argument %d was destroyed or never made", argument);
        if (argument == SCRATCHPAD && primitive->needs_scratchpad)
            of->scratchpad = memory->handles[0];
        if (place < 0)
            continue;
        if (of->memories[place] != NULL)
            return fail(of, GS_INVALID, "argument %d is passed twice", argument);
        of->memories[place] = memory;
    }
    for (int each = 0; each < primitive->argument_count; each++)
        if (of->memories[each] == NULL)
            return fail(of, GS_INVALID, "argument %d is missing", primitive->arguments[each]);
    if (primitive->needs_scratchpad && of->scratchpad == NULL)
        return fail(of, GS_INVALID, "the scratchpad is missing: its mode is `user`");
    return GS_DONE;
}

/* Set each time, even if it is what it was: the memory there may be another allocation by now, which some drivers
 * look up when an argument is set. */
static ze_result_t set_pointer(const execution *of, const gs_launch *launch, int index, void *pointer) {
    return of->primitive->engine->ze->zeKernelSetArgumentValue(launch->kernel, (uint32_t)index, sizeof pointer,
                                                               &pointer);
}

/* Everything that could be wrong is found before the first launch is appended. */
static int check_parameter(execution *of, const gs_parameter *parameter) {
    if (parameter->kind != GS_BUFFER && parameter->kind != GS_HOST_SCALAR)
        return GS_DONE;
    const gs_memory *memory = of->memories[parameter->argument];
    int argument = of->primitive->arguments[parameter->argument];
    if (parameter->kind == GS_HOST_SCALAR)
        return memory->scalar_size == parameter->value
                   ? GS_DONE
                   : fail(of, GS_INVALID, "argument %d is a value of the host, of %zu bytes", argument,
                          parameter->value);
    bool there = parameter->handle < memory->count && memory->handles[parameter->handle] != NULL;
    return there ? GS_DONE : fail(of, GS_INVALID, "the memory of argument %d has no data", argument);
}

static int check_parameters(execution *of) {
    int outcome = GS_DONE;
    for (int each = 0; each < of->primitive->launch_count; each++) {
        const gs_launch *launch = &of->primitive->launches[each];
        for (int index = 0; outcome == GS_DONE && index < launch->count; index++)
            outcome = check_parameter(of, &launch->parameters[index]);
    }
    return outcome;
}

static ze_result_t set_parameter(const execution *of, const gs_launch *launch, int index) {
    const gs_parameter *parameter = &launch->parameters[index];
    const gs_memory *memory;
    switch (parameter->kind) {
    case GS_BUFFER:
        return set_pointer(of, launch, index, of->memories[parameter->argument]->handles[parameter->handle]);
    case GS_SCRATCH:
        return set_pointer(of, launch, index, of->scratchpad + parameter->value);
    case GS_HOST_SCALAR:
        memory = of->memories[parameter->argument];
        return of->primitive->engine->ze->zeKernelSetArgumentValue(launch->kernel, (uint32_t)index,
                                                                   memory->scalar_size, memory->scalar);
    case GS_VALUE:
        break;
    }
    return ZE_RESULT_SUCCESS;
}

/* Which events an execution signals: at the end, and for its time at the beginning as well. */
typedef struct signals {
    ze_event_handle_t first, last;
} signals;

static int make_signals(execution *of, bool wanted, signals *made) {
    gs_stream *stream = of->stream;
    *made = (signals){0};
    bool timed = stream->profiled && of->primitive->launch_count > 0;
    if (!wanted && !timed)
        return GS_DONE;
    made->last = gs_stream_event(stream);
    made->first = timed && of->primitive->launch_count > 1 ? gs_stream_event(stream) : made->last;
    if (made->last == NULL || made->first == NULL || (timed && !gs_stream_record(stream, made->first, made->last)))
        return fail(of, GS_NO_MEMORY, "there are no more events");
    return GS_DONE;
}

static int append_launch(execution *of, int index, const signals *events, uint32_t count, ze_event_handle_t *waits) {
    const gs_ze *ze = of->primitive->engine->ze;
    const gs_launch *launch = &of->primitive->launches[index];
    bool first = index == 0, last = index == of->primitive->launch_count - 1;
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (int each = 0; result == ZE_RESULT_SUCCESS && each < launch->count; each++)
        result = set_parameter(of, launch, each);
    if (result == ZE_RESULT_SUCCESS && !first && !of->stream->in_order)
        result = ze->zeCommandListAppendBarrier(of->stream->list, NULL, 0, NULL);
    ze_event_handle_t signal = last ? events->last : first && of->stream->profiled ? events->first : NULL;
    if (result == ZE_RESULT_SUCCESS)
        result = ze->zeCommandListAppendLaunchKernel(of->stream->list, launch->kernel, &launch->groups, signal,
                                                     first ? count : 0, first ? waits : NULL);
    return result == ZE_RESULT_SUCCESS
               ? GS_DONE
               : fail(of, GS_RUNTIME_ERROR, "a kernel cannot be launched: Level Zero answers 0x%x", result);
}

static int append_all(execution *of, bool wanted, uint32_t count, ze_event_handle_t *waits, signals *events) {
    int outcome = make_signals(of, wanted, events);
    for (int each = 0; outcome == GS_DONE && each < of->primitive->launch_count; each++)
        outcome = append_launch(of, each, events, count, waits);
    if (outcome != GS_DONE || of->primitive->launch_count > 0 || (events->last == NULL && count == 0))
        return outcome;
    ze_result_t result = of->primitive->engine->ze->zeCommandListAppendBarrier(of->stream->list, events->last, count,
                                                                               count > 0 ? waits : NULL);
    return result == ZE_RESULT_SUCCESS
               ? GS_DONE
               : fail(of, GS_RUNTIME_ERROR, "a barrier cannot be appended: Level Zero answers 0x%x", result);
}

int gs_primitive_run(gs_primitive *primitive, gs_stream *stream, int count, const gs_passed *passed,
                     int dependency_count, void *const *dependencies, void **made, char *text, size_t size) {
    const gs_memory *memories[primitive->argument_count + 1];
    memset(memories, 0, sizeof memories);
    execution of = {primitive, stream, memories, NULL, text, size};
    int outcome = take_arguments(&of, count, passed);
    if (outcome == GS_DONE)
        outcome = check_parameters(&of);
    if (outcome != GS_DONE)
        return outcome;
    signals events;
    bool wanted = made != NULL && !stream->in_order;
    pthread_mutex_lock(&primitive->lock);
    pthread_mutex_lock(&stream->lock);
    outcome = append_all(&of, wanted, (uint32_t)dependency_count, (ze_event_handle_t *)dependencies, &events);
    pthread_mutex_unlock(&stream->lock);
    pthread_mutex_unlock(&primitive->lock);
    if (outcome == GS_DONE && made != NULL)
        *made = wanted ? events.last : NULL;
    return outcome;
}
