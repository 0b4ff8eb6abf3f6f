/* Primitives on lists of every kind: in order and out of order, immediate and regular, with dependencies, events
 * and times. */
#include "check.h"

typedef struct work {
    place at;
    dnnl_engine_t engine;
    dnnl_memory_desc_t shape;
    float *data[3];
    dnnl_memory_t memory[3];
    dnnl_primitive_t twice, thrice;
} work;

static work prepare(place at) {
    work made = {.at = at};
    OK(dnnl_ze_interop_engine_create(&made.engine, at.driver, at.device, at.context));
    made.shape = vector_of(ELEMENTS);
    for (int each = 0; each < 3; each++) {
        made.data[each] = allocate_shared(at, ELEMENTS * sizeof(float));
        OK(dnnl_ze_interop_memory_create(&made.memory[each], made.shape, made.engine, 1, (void **)&made.data[each]));
    }
    made.twice = scaling(made.engine, made.shape, 2);
    made.thrice = scaling(made.engine, made.shape, 3);
    return made;
}

static void clear(const work *of) {
    for (int each = 0; each < ELEMENTS; each++)
        of->data[0][each] = (float)each, of->data[1][each] = of->data[2][each] = -1;
}

static bool is_sixfold(const work *of) {
    for (int each = 0; each < ELEMENTS; each++)
        if (of->data[2][each] != 6 * (float)each)
            return false;
    return true;
}

/* 0 -> 1 doubled, 1 -> 2 tripled; the second one waits for the first one's event, if there is one. */
static ze_event_handle_t run_both(const work *of, dnnl_stream_t stream, ze_event_handle_t before) {
    dnnl_exec_arg_t first[] = {{DNNL_ARG_SRC, of->memory[0]}, {DNNL_ARG_DST, of->memory[1]}};
    dnnl_exec_arg_t second[] = {{DNNL_ARG_SRC, of->memory[1]}, {DNNL_ARG_DST, of->memory[2]}};
    ze_event_handle_t between = NULL, end = NULL;
    OK(dnnl_ze_interop_primitive_execute(of->twice, stream, 2, first, before != NULL, &before, &between));
    OK(dnnl_ze_interop_primitive_execute(of->thrice, stream, 2, second, between != NULL, &between, &end));
    return end;
}

static ze_event_pool_handle_t make_pool(place at) {
    ze_event_pool_desc_t description = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 4};
    ze_event_pool_handle_t made;
    ZE(zeEventPoolCreate(at.context, &description, 0, NULL, &made));
    return made;
}

static ze_event_handle_t make_event(ze_event_pool_handle_t pool) {
    ze_event_desc_t description = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .signal = ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t made;
    ZE(zeEventCreate(pool, &description, &made));
    return made;
}

static void own_stream(const work *of) {
    dnnl_stream_t stream;
    OK(dnnl_stream_create(&stream, of->engine, dnnl_stream_in_order));
    clear(of);
    EXPECT(run_both(of, stream, NULL) == NULL); /* in order: there is nothing to wait for */
    OK(dnnl_stream_wait(stream));
    EXPECT(is_sixfold(of));
    OK(dnnl_stream_destroy(stream));
    INVALID(dnnl_stream_create(&stream, of->engine, dnnl_stream_out_of_order | dnnl_stream_profiling));
    OK(dnnl_stream_create(&stream, of->engine, dnnl_stream_out_of_order));
    clear(of);
    ze_event_handle_t end = run_both(of, stream, NULL);
    ZE(zeEventHostSynchronize(end, UINT64_MAX));
    EXPECT(is_sixfold(of));
    OK(dnnl_stream_destroy(stream));
}

static void immediate_list(const work *of, bool in_order) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .flags = in_order ? IN_ORDER : 0,
                                           .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_handle_t list, found;
    ZE(zeCommandListCreateImmediate(of->at.context, of->at.device, &description, &list));
    dnnl_stream_t stream;
    OK(dnnl_ze_interop_stream_create(&stream, of->engine, list, 0));
    OK(dnnl_ze_interop_stream_get_list(stream, &found));
    EXPECT(found == list);
    ze_event_pool_handle_t pool = make_pool(of->at);
    ze_event_handle_t gate = make_event(pool);
    clear(of);
    ze_event_handle_t end = run_both(of, stream, gate);
    EXPECT(of->data[2][1] == -1); /* the gate is closed */
    EXPECT(zeEventQueryStatus(end) == ZE_RESULT_NOT_READY);
    ZE(zeEventHostSignal(gate));
    ZE(zeEventHostSynchronize(end, UINT64_MAX));
    EXPECT(is_sixfold(of));
    OK(dnnl_stream_wait(stream));
    OK(dnnl_stream_destroy(stream));
    ZE(zeEventDestroy(gate));
    ZE(zeEventPoolDestroy(pool));
    ZE(zeCommandListDestroy(list)); /* still the caller's */
}

static void regular_list(const work *of) {
    ze_command_list_desc_t list_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_queue_desc_t queue_description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                                 .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_handle_t list;
    ze_command_queue_handle_t queue;
    dnnl_stream_t stream;
    ZE(zeCommandListCreate(of->at.context, of->at.device, &list_description, &list));
    ZE(zeCommandQueueCreate(of->at.context, of->at.device, &queue_description, &queue));
    OK(dnnl_ze_interop_stream_create(&stream, of->engine, list, 0));
    clear(of);
    ze_event_handle_t end = run_both(of, stream, NULL);
    EXPECT(end != NULL && zeEventQueryStatus(end) == ZE_RESULT_NOT_READY);
    ZE(zeCommandListClose(list));
    EXPECT(of->data[2][1] == -1);
    ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    ZE(zeEventHostSynchronize(end, UINT64_MAX));
    EXPECT(is_sixfold(of));
    ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
    OK(dnnl_stream_destroy(stream));
    ZE(zeCommandListDestroy(list));
    ZE(zeCommandQueueDestroy(queue));
}

static void times(const work *of) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .flags = IN_ORDER,
                                           .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_handle_t list;
    ZE(zeCommandListCreateImmediate(of->at.context, of->at.device, &description, &list));
    dnnl_stream_t streams[2], plain;
    OK(dnnl_ze_interop_stream_create(&streams[0], of->engine, list, 1));
    OK(dnnl_stream_create(&streams[1], of->engine, dnnl_stream_in_order | dnnl_stream_profiling));
    for (int each = 0; each < 2; each++) {
        int count = -1;
        uint64_t nanoseconds[2] = {0};
        run_both(of, streams[each], NULL);
        OK(dnnl_stream_wait(streams[each]));
        OK(dnnl_query_profiling_data(streams[each], dnnl_profiling_data_kind_time, &count, NULL));
        EXPECT(count == 2);
        OK(dnnl_query_profiling_data(streams[each], dnnl_profiling_data_kind_time, &count, nanoseconds));
        EXPECT(nanoseconds[0] > 0 && nanoseconds[1] > 0);
        OK(dnnl_reset_profiling(streams[each]));
        OK(dnnl_query_profiling_data(streams[each], dnnl_profiling_data_kind_time, &count, NULL));
        EXPECT(count == 0);
        INVALID(dnnl_query_profiling_data(streams[each], dnnl_profiling_data_kind_undef, &count, NULL));
        OK(dnnl_stream_destroy(streams[each]));
    }
    OK(dnnl_stream_create(&plain, of->engine, dnnl_stream_in_order));
    INVALID(dnnl_reset_profiling(plain));
    OK(dnnl_stream_destroy(plain));
    ZE(zeCommandListDestroy(list));
}

static void refusals(const work *of) {
    dnnl_engine_t other;
    dnnl_stream_t stream, stranger;
    dnnl_memory_t empty;
    OK(dnnl_engine_create(&other, dnnl_gpu, 0));
    OK(dnnl_stream_create(&stream, of->engine, dnnl_stream_in_order));
    OK(dnnl_stream_create(&stranger, other, dnnl_stream_in_order));
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, of->memory[0]}, {DNNL_ARG_DST, of->memory[1]}};
    dnnl_exec_arg_t doubled[] = {arguments[0], arguments[1], arguments[0]};
    INVALID(dnnl_primitive_execute(NULL, stream, 2, arguments));
    INVALID(dnnl_primitive_execute(of->twice, NULL, 2, arguments));
    INVALID(dnnl_primitive_execute(of->twice, stranger, 2, arguments));
    INVALID(dnnl_primitive_execute(of->twice, stream, 2, NULL));
    INVALID(dnnl_primitive_execute(of->twice, stream, 1, arguments));
    INVALID(dnnl_primitive_execute(of->twice, stream, 3, doubled));
    INVALID(dnnl_ze_interop_primitive_execute(of->twice, stream, 2, arguments, 1, NULL, NULL));
    void *none = DNNL_MEMORY_NONE;
    OK(dnnl_ze_interop_memory_create(&empty, of->shape, of->engine, 1, &none));
    arguments[0].memory = empty;
    INVALID(dnnl_primitive_execute(of->twice, stream, 2, arguments));
    EXPECT(strstr(groundstate_dnnl_last_error(), "no data") != NULL);
    OK(dnnl_memory_destroy(empty));
    INVALID(dnnl_primitive_execute(of->twice, stream, 2, arguments)); /* destroyed */
    OK(dnnl_stream_destroy(stranger));
    OK(dnnl_stream_destroy(stream));
    OK(dnnl_engine_destroy(other));
}

int main(void) {
    place at = find_place();
    work of = prepare(at);
    own_stream(&of);
    immediate_list(&of, true);
    immediate_list(&of, false);
    regular_list(&of);
    times(&of);
    refusals(&of);
    for (int each = 0; each < 3; each++) {
        OK(dnnl_memory_destroy(of.memory[each]));
        ZE(zeMemFree(at.context, of.data[each]));
    }
    OK(dnnl_primitive_destroy(of.twice));
    OK(dnnl_primitive_destroy(of.thrice));
    OK(dnnl_memory_desc_destroy(of.shape));
    OK(dnnl_engine_destroy(of.engine));
    ZE(zeContextDestroy(at.context));
    puts("execution: all is as it should be");
    return 0;
}
