#include "faults/lost_context.h"

#include <stdlib.h>
#include <string.h>

#include "faults/fault.h"
#include "graphs/graph.h"
#include "images/image.h"
#include "objects/kernel.h"

_Atomic bool gs_some_context_is_lost;

/* For a sentence that there is no memory to keep. */
static char unknown_loss[] = "a command failed, and there was no memory to note why\0";

/* The excerpt follows behind the sentence. */
static char *loss_of(const char *sentence, const char *excerpt) {
    size_t first = strlen(sentence) + 1, second = strlen(excerpt) + 1;
    char *made = malloc(first + second);
    if (made != NULL) {
        memcpy(made, sentence, first);
        memcpy(made + first, excerpt, second);
    }
    return made;
}

static const char *excerpt_of(const char *loss) { return loss + strlen(loss) + 1; }

void gs_context_lose(gs_context *context, const char *sentence) { gs_context_lose_at(context, sentence, ""); }

void gs_context_lose_at(gs_context *context, const char *sentence, const char *excerpt) {
    char *kept = loss_of(sentence, excerpt), *none = NULL;
    char *loss = kept != NULL ? kept : unknown_loss;
    if (!atomic_compare_exchange_strong(&context->loss, &none, loss)) {
        free(kept);
        return;
    }
    atomic_store(&gs_some_context_is_lost, true);
    gs_fault_stop_others();
}

void gs_context_note_place(gs_context *context, const char *place) {
    char *kept = strdup(place), *none = NULL;
    if (!atomic_compare_exchange_strong(&context->place, &none, kept))
        free(kept);
}

void gs_context_forget_loss(gs_context *context) {
    free(context->place);
    if (context->loss != unknown_loss)
        free(context->loss);
}

/* --- Answering --------------------------------------------------------------------------------------- */

/* The context that an object was made in, or NULL for objects that outlive contexts. */
static const gs_context *context_of(const void *object, enum gs_kind kind) {
    switch (kind) {
    case GS_KIND_CONTEXT:
        return object;
    case GS_KIND_COMMAND_QUEUE:
        return ((const gs_command_queue *)object)->queue.context;
    case GS_KIND_COMMAND_LIST:
        return ((const gs_list *)object)->context;
    case GS_KIND_FENCE:
        return ((const gs_fence *)object)->queue->queue.context;
    case GS_KIND_EVENT_POOL:
        return ((const gs_event_pool *)object)->context;
    case GS_KIND_EVENT:
        return ((const gs_event *)object)->context;
    case GS_KIND_GRAPH:
        return ((const gs_graph *)object)->context;
    case GS_KIND_EXECUTABLE_GRAPH:
        return ((const gs_executable_graph *)object)->source->context;
    case GS_KIND_IMAGE:
        return ((const gs_image *)object)->context;
    case GS_KIND_SAMPLER:
        return ((const gs_sampler *)object)->context;
    case GS_KIND_MODULE:
        return ((const gs_module *)object)->context;
    case GS_KIND_KERNEL:
        return ((const gs_kernel *)object)->module->context;
    default:
        return NULL;
    }
}

bool gs_find_loss(const void *object, enum gs_kind kind) {
    const gs_context *context = context_of(object, kind);
    return context != NULL && gs_context_is_lost(context);
}

static ze_result_t fail_lost(enum gs_function function, const gs_context *context) {
    const char *place = atomic_load(&context->place);
    return gs_fail_at(excerpt_of(context->loss), ZE_RESULT_ERROR_DEVICE_LOST,
                      "%s: the context is lost: %s%s%s; destroy it (zeContextDestroy) and create another",
                      gs_function_names[function], context->loss, place != NULL ? ", " : "", place != NULL ? place : "");
}

ze_result_t gs_fail_lost(enum gs_function function, const void *object, enum gs_kind kind) {
    return fail_lost(function, context_of(object, kind));
}

ze_result_t gs_unless_lost(enum gs_function function, const gs_context *context, ze_result_t result) {
    return gs_context_is_lost(context) ? fail_lost(function, context) : result;
}

/* --- Reclaiming -------------------------------------------------------------------------------------- */

static void end_kernel(void *object) { gs_zeKernelDestroy(object); }
static void end_module(void *object) { gs_object_close(object); }
static void end_executable(void *object) { gs_zeExecutableGraphDestroyExt(object); }
static void end_graph(void *object) { gs_zeGraphDestroyExt(object); }
static void end_list(void *object) { gs_zeCommandListDestroy(object); }
static void end_image(void *object) { gs_zeImageDestroy(object); }
static void end_sampler(void *object) { gs_zeSamplerDestroy(object); }
static void end_fence(void *object) { gs_zeFenceDestroy(object); }
static void end_queue(void *object) { gs_zeCommandQueueDestroy(object); }

/* What was opened from another process is closed, not destroyed. */
static void end_event(void *object) {
    if (gs_zeEventDestroy(object) == ZE_RESULT_ERROR_INVALID_ARGUMENT)
        gs_zeEventCounterBasedCloseIpcHandle(object);
}

static void end_event_pool(void *object) {
    if (gs_zeEventPoolDestroy(object) == ZE_RESULT_ERROR_INVALID_ARGUMENT)
        gs_zeEventPoolCloseIpcHandle(object);
}

/* What is kept in Python for the context. */
static void end_in_python(void *context) {
    gs_call_python(GS_FN_zeContextDestroy, "u", (const gs_word[]){{.p = context}});
}

/* In the order in which a careful program would do it. */
static const struct {
    enum gs_kind kind;
    void (*end)(void *object);
} endings[] = {
    {GS_KIND_KERNEL, end_kernel}, {GS_KIND_CONTEXT, end_in_python},    {GS_KIND_MODULE, end_module},
    {GS_KIND_FENCE, end_fence},   {GS_KIND_COMMAND_LIST, end_list},    {GS_KIND_COMMAND_QUEUE, end_queue},
    {GS_KIND_EVENT, end_event},   {GS_KIND_EVENT_POOL, end_event_pool}, {GS_KIND_IMAGE, end_image},
    {GS_KIND_SAMPLER, end_sampler}, {GS_KIND_EXECUTABLE_GRAPH, end_executable}, {GS_KIND_GRAPH, end_graph},
};

static bool is_idle(void *context) { return !gs_queues_are_busy(context); }

/* Commands of a lost context end soon, but for functions of the program's own, which hold what they need. */
static void come_to_rest(gs_context *context) {
    enum { PATIENCE = 10 };
    for (int moment = 0; moment < PATIENCE && !gs_wait_moment(is_idle, context); moment++)
        continue;
}

void gs_context_reclaim(gs_context *context) {
    come_to_rest(context);
    for (size_t step = 0; step < sizeof endings / sizeof *endings; step++) {
        if (endings[step].kind == GS_KIND_CONTEXT)
            endings[step].end(context);
        else
            gs_object_each(endings[step].kind, context, endings[step].end);
    }
}
