/* Threads that share an engine and a primitive, each with a stream and memory of its own, while others make and
 * destroy objects. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50 };

typedef struct shared {
    place at;
    dnnl_engine_t engine;
    dnnl_memory_desc_t shape;
    dnnl_primitive_t twice;
} shared;

static void *execute(void *argument) {
    const shared *of = argument;
    dnnl_stream_t stream;
    dnnl_memory_t memory[2];
    float *data[2];
    OK(dnnl_stream_create(&stream, of->engine, dnnl_stream_in_order));
    for (int each = 0; each < 2; each++) {
        data[each] = allocate_shared(of->at, ELEMENTS * sizeof(float));
        OK(dnnl_ze_interop_memory_create(&memory[each], of->shape, of->engine, 1, (void **)&data[each]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int each = 0; each < ELEMENTS; each++)
            data[0][each] = (float)(round + each);
        dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, memory[0]}, {DNNL_ARG_DST, memory[1]}};
        OK(dnnl_primitive_execute(of->twice, stream, 2, arguments));
        OK(dnnl_stream_wait(stream));
        for (int each = 0; each < ELEMENTS; each++)
            EXPECT(data[1][each] == 2 * (float)(round + each));
    }
    for (int each = 0; each < 2; each++) {
        OK(dnnl_memory_destroy(memory[each]));
        ZE(zeMemFree(of->at.context, data[each]));
    }
    OK(dnnl_stream_destroy(stream));
    return NULL;
}

static void *make_and_destroy(void *argument) {
    const shared *of = argument;
    for (int round = 0; round < ROUNDS; round++) {
        dnnl_memory_desc_t shape = vector_of(1 + round);
        dnnl_memory_t memory;
        void *none = DNNL_MEMORY_NONE;
        OK(dnnl_ze_interop_memory_create(&memory, shape, of->engine, 1, &none));
        OK(dnnl_memory_desc_destroy(shape));
        OK(dnnl_memory_destroy(memory));
    }
    return NULL;
}

int main(void) {
    shared of = {.at = find_place()};
    OK(dnnl_ze_interop_engine_create(&of.engine, of.at.driver, of.at.device, of.at.context));
    of.shape = vector_of(ELEMENTS);
    of.twice = scaling(of.engine, of.shape, 2);
    pthread_t threads[THREADS];
    for (int each = 0; each < THREADS; each++)
        EXPECT(pthread_create(&threads[each], NULL, each % 2 ? make_and_destroy : execute, &of) == 0);
    for (int each = 0; each < THREADS; each++)
        pthread_join(threads[each], NULL);
    OK(dnnl_primitive_destroy(of.twice));
    OK(dnnl_memory_desc_destroy(of.shape));
    OK(dnnl_engine_destroy(of.engine));
    ZE(zeContextDestroy(of.at.context));
    puts("threads: all is as it should be");
    return 0;
}
