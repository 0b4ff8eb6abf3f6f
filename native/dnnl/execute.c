/* The functions that programs call for each step of their work, which do without Python unless sizes were left open. */
#include "dnnl/abi.h"
#include "dnnl/primitive.h"

static dnnl_status_t execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int nargs,
                             const dnnl_exec_arg_t *args, int ndeps, const ze_event_handle_t *deps,
                             ze_event_handle_t *return_event) {
    if (!gs_object_is(primitive, GS_PRIMITIVE) || !gs_object_is(stream, GS_STREAM))
        return gs_dnnl_fail(dnnl_invalid_arguments, "a primitive and a stream are needed");
    gs_primitive *what = (gs_primitive *)primitive;
    gs_stream *where = (gs_stream *)stream;
    if (what->engine != where->engine)
        return gs_dnnl_fail(dnnl_invalid_arguments, "the primitive and the stream are of different engines");
    if ((nargs > 0 && args == NULL) || (ndeps > 0 && deps == NULL) || nargs < 0 || ndeps < 0)
        return gs_dnnl_fail(dnnl_invalid_arguments, "arguments or dependencies are announced, but not passed");
    if (what->open)
        return gs_dnnl_status(GS_FN_dnnl_ze_interop_primitive_execute, "uuiuiuu",
                              (const gs_word[]){{.p = primitive},
                                                {.p = stream},
                                                {.i = nargs},
                                                {.p = args},
                                                {.i = ndeps},
                                                {.p = deps},
                                                {.p = return_event}});
    _Static_assert(sizeof(dnnl_exec_arg_t) == sizeof(gs_passed), "one is read as the other");
    size_t size;
    char *text = gs_dnnl_text(&size);
    return (dnnl_status_t)gs_primitive_run(what, where, nargs, (const gs_passed *)args, ndeps, (void *const *)deps,
                                           (void **)return_event, text, size);
}

GS_EXPORT dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int nargs,
                                               const dnnl_exec_arg_t *args) {
    return execute(primitive, stream, nargs, args, 0, NULL, NULL);
}

GS_EXPORT dnnl_status_t dnnl_ze_interop_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                                          int nargs, const dnnl_exec_arg_t *args, int ndeps,
                                                          const ze_event_handle_t *deps,
                                                          ze_event_handle_t *return_event) {
    return execute(primitive, stream, nargs, args, ndeps, deps, return_event);
}

GS_EXPORT dnnl_status_t dnnl_stream_wait(dnnl_stream_t stream) {
    if (!gs_object_is(stream, GS_STREAM))
        return gs_dnnl_fail(dnnl_invalid_arguments, "a stream is needed");
    int result = gs_stream_wait((gs_stream *)stream);
    return result == 0 ? dnnl_success
                       : gs_dnnl_fail(dnnl_runtime_error, "Level Zero answers 0x%x to a wait", (unsigned)result);
}

/* --- Where the data of memory is ------------------------------------------------------------------- */

/* The memory behind a handle, if it is that of a tensor with such a buffer. */
static gs_memory *tensor(const_dnnl_memory_t memory, int index) {
    gs_memory *found = (gs_memory *)memory;
    bool usable = gs_object_is(memory, GS_MEMORY) && index >= 0 && index < found->count;
    return usable ? found : NULL;
}

GS_EXPORT dnnl_status_t dnnl_memory_get_data_handle_v2(const_dnnl_memory_t memory, void **handle, int index) {
    if (handle == NULL)
        return gs_dnnl_fail(dnnl_invalid_arguments, "there is no place for the handle");
    if (memory == NULL) {
        *handle = NULL;
        return dnnl_success;
    }
    gs_memory *found = tensor(memory, index);
    if (found == NULL)
        return gs_dnnl_fail(dnnl_invalid_arguments, "this is no tensor with a buffer %d", index);
    *handle = found->handles[index];
    return dnnl_success;
}

GS_EXPORT dnnl_status_t dnnl_memory_get_data_handle(const_dnnl_memory_t memory, void **handle) {
    return dnnl_memory_get_data_handle_v2(memory, handle, 0);
}

GS_EXPORT dnnl_status_t dnnl_memory_set_data_handle_v2(dnnl_memory_t memory, void *handle, int index) {
    gs_memory *found = tensor(memory, index);
    if (found == NULL)
        return gs_dnnl_fail(dnnl_invalid_arguments, "this is no tensor with a buffer %d", index);
    gs_memory_set(found, index, handle);
    return dnnl_success;
}

GS_EXPORT dnnl_status_t dnnl_memory_set_data_handle(dnnl_memory_t memory, void *handle) {
    return dnnl_memory_set_data_handle_v2(memory, handle, 0);
}
