/* Closed lists as graphs of the CUDA driver: a list that runs again, and whose commands are all the GPU's own with no events
 * between them, is recorded once and then launched as one. */
#include <stdlib.h>

#include "nvidia/stream.h"

/* What is kept for a command buffer. */
typedef struct graph {
    gs_gpu *gpu;
    uint32_t generation; /* of the context that has it */
    bool is_unfit;       /* its commands are issued one by one */
    gs_cu_graph_exec made; /* NULL until the second run */
} graph;

GS_STATIC_LOCK(lock, GS_LONG_LOCK)

static void free_graph(void *of_kind) {
    graph *kept = of_kind;
    gs_gpu *gpu = kept->gpu;
    if (kept->made != NULL && !gpu->is_lost && kept->generation == gpu->generation && gs_gpu_enter(gpu)) {
        if (kept->generation == gpu->generation)
            gs_cu.graph_exec_destroy(kept->made);
        gs_gpu_leave(gpu);
    }
    free(kept);
}

static bool is_fit(const gs_gpu *gpu, const gs_command_buffer *buffer) {
    enum { FEWEST = 4 };
    uint32_t count = 0;
    if (!gs_cu.has_graphs || buffer->mutables != NULL)
        return false;
    for (const gs_command *each = buffer->first; each != NULL; each = each->next, count++)
        if (each->signal != NULL || each->counter != NULL || each->target_count > 0 || each->operation == GS_PREFETCH ||
            !gs_gpu_returns_at_once(gpu, each))
            return false;
    return count >= FEWEST;
}

/* Records the commands, which does not execute them. NULL if that does not work. */
static gs_cu_graph_exec record(gs_gpu *gpu, gs_cu_stream stream, const gs_command_buffer *buffer) {
    gs_cu_graph recorded = NULL;
    gs_cu_graph_exec made = NULL;
    if (gs_cu.capture_begin(stream, GS_CU_CAPTURE_RELAXED) != GS_CU_SUCCESS)
        return NULL;
    gs_cu_result result = GS_CU_SUCCESS;
    for (const gs_command *each = buffer->first; each != NULL && result == GS_CU_SUCCESS; each = each->next)
        result = gs_gpu_issue(gpu, stream, each);
    gs_cu_result ended = gs_cu.capture_end(stream, &recorded);
    if (result == GS_CU_SUCCESS && ended == GS_CU_SUCCESS &&
        gs_cu.graph_instantiate(&made, recorded, 0) != GS_CU_SUCCESS)
        made = NULL;
    if (ended == GS_CU_SUCCESS && recorded != NULL)
        gs_cu.graph_destroy(recorded);
    return made;
}

/* The graph of a buffer, or NULL if it has none (yet): the first run notes whether it can have one, the second makes it. */
static gs_cu_graph_exec find(gs_gpu *gpu, gs_cu_stream stream, gs_command_buffer *buffer) {
    gs_cu_graph_exec found = NULL;
    gs_lock(&lock);
    graph *kept = buffer->of_kind;
    if (kept == NULL) {
        if ((kept = calloc(1, sizeof *kept)) != NULL) {
            *kept = (graph){.gpu = gpu, .generation = gpu->generation, .is_unfit = !is_fit(gpu, buffer)};
            buffer->free_of_kind = free_graph;
            buffer->of_kind = kept;
        }
    } else if (!kept->is_unfit && kept->gpu == gpu && kept->generation == gpu->generation) {
        if (kept->made == NULL) {
            kept->is_unfit = (kept->made = record(gpu, stream, buffer)) == NULL;
            buffer->runs_through = kept->made != NULL;
        }
        found = kept->made;
    }
    gs_unlock(&lock);
    return found;
}

bool gs_gpu_has_graph(const gs_gpu *gpu, const gs_command_buffer *buffer) {
    if (!buffer->runs_through)
        return false;
    gs_lock(&lock);
    const graph *kept = buffer->of_kind;
    bool found = kept != NULL && kept->made != NULL && kept->gpu == gpu && kept->generation == gpu->generation;
    gs_unlock(&lock);
    return found;
}

bool gs_stream_launch_graph(gs_stream *stream, gs_command_buffer *buffer, gs_cu_result *result) {
    gs_gate_enter(); /* as around the work of each command */
    gs_cu_graph_exec found = find(stream->gpu, stream->stream, buffer);
    if (found != NULL)
        *result = gs_cu.graph_launch(found, stream->stream);
    gs_gate_leave();
    return found != NULL;
}
