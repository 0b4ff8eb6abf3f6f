/* What profilers do with the tracing functions of a loader, by the loader's own headers. Prints "tracers ok". */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common.h"
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>

enum { THREADS = 4, CALLS = 500 };

static zel_tracer_handle_t new_tracer(void *user_data) {
    zel_tracer_desc_t description = {.stype = ZEL_STRUCTURE_TYPE_TRACER_DESC, .pUserData = user_data};
    zel_tracer_handle_t tracer = NULL;
    CHECK(zelTracerCreate(&description, &tracer));
    REQUIRE(tracer != NULL);
    return tracer;
}

/* --- What callbacks are given, and may change ---------------------------------------------------- */

typedef struct seen {
    int before, after;
    void *memory;
    ze_result_t result;
} seen;

static void before_alloc(ze_mem_alloc_host_params_t *params, ze_result_t result, void *user_data, void **instance) {
    seen *here = user_data;
    REQUIRE(result == ZE_RESULT_SUCCESS && *instance == NULL);
    REQUIRE((*params->phost_desc)->stype == ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
    REQUIRE(*params->psize == 4096 && *params->palignment == 64);
    *params->psize = 8192;
    *instance = here;
    here->before++;
    uint32_t count = 0;
    CHECK(zeDriverGet(&count, NULL)); /* of a callback: not traced */
}

static void after_alloc(ze_mem_alloc_host_params_t *params, ze_result_t result, void *user_data, void **instance) {
    seen *here = user_data;
    REQUIRE(*instance == here);
    here->after++;
    here->result = result;
    here->memory = **params->ppptr;
}

static void on_driver_get(ze_driver_get_params_t *params, ze_result_t result, void *user_data, void **instance) {
    (void)params, (void)result, (void)user_data, (void)instance;
    REQUIRE(!"a call of a callback is traced");
}

static void check_parameters(setup on) {
    seen one = {.result = ZE_RESULT_NOT_READY};
    zel_tracer_handle_t tracer = new_tracer(&one);
    CHECK(zelTracerMemAllocHostRegisterCallback(tracer, ZEL_REGISTER_PROLOGUE, before_alloc));
    CHECK(zelTracerMemAllocHostRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, after_alloc));
    CHECK(zelTracerDriverGetRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, on_driver_get));
    CHECK(zeMemFree(on.context, host_memory(on, 4096)));
    REQUIRE(one.before == 0); /* not enabled yet */
    CHECK(zelTracerSetEnabled(tracer, true));
    void *memory = host_memory(on, 4096), *base = NULL;
    size_t size = 0;
    CHECK(zeMemGetAddressRange(on.context, memory, &base, &size));
    REQUIRE(size >= 8192);
    REQUIRE(one.before == 1 && one.after == 1 && one.memory == memory && one.result == ZE_RESULT_SUCCESS);
    REQUIRE(zelTracerMemAllocHostRegisterCallback(tracer, ZEL_REGISTER_PROLOGUE, NULL) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
    REQUIRE(zelTracerDestroy(tracer) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
    CHECK(zelTracerSetEnabled(tracer, false));
    CHECK(zeMemFree(on.context, memory));
    CHECK(zeMemFree(on.context, host_memory(on, 4096)));
    REQUIRE(one.before == 1);
    CHECK(zelTracerDestroy(tracer));
}

/* --- Two tracers, by tables of callbacks --------------------------------------------------------- */

static char order[8];

static void note(ze_mem_free_params_t *params, ze_result_t result, void *user_data, void **instance) {
    (void)result, (void)instance;
    REQUIRE(*params->phContext != NULL && *params->pptr != NULL);
    strncat(order, user_data, 1);
}

static void check_two_tracers(setup on) {
    zel_tracer_handle_t first = new_tracer("1"), second = new_tracer("2");
    zel_core_callbacks_t callbacks = {.Mem.pfnFreeCb = note};
    CHECK(zelTracerSetPrologues(first, &callbacks));
    CHECK(zelTracerSetPrologues(second, &callbacks));
    CHECK(zelTracerSetEpilogues(second, &callbacks));
    CHECK(zelTracerSetEnabled(first, true));
    CHECK(zelTracerSetEnabled(second, true));
    CHECK(zeMemFree(on.context, host_memory(on, 64)));
    REQUIRE(strcmp(order, "122") == 0);
    CHECK(zelTracerSetEnabled(first, false));
    CHECK(zelTracerSetEnabled(second, false));
    CHECK(zelTracerDestroy(second));
    CHECK(zelTracerDestroy(first));
}

/* --- Threads ------------------------------------------------------------------------------------- */

static atomic_int begun, ended, failed;

static void count_begin(ze_event_query_status_params_t *params, ze_result_t result, void *user_data, void **instance) {
    (void)result, (void)user_data;
    *instance = *params->phEvent;
    begun++;
}

static void count_end(ze_event_query_status_params_t *params, ze_result_t result, void *user_data, void **instance) {
    (void)user_data;
    if (*instance != *params->phEvent || result != ZE_RESULT_NOT_READY)
        failed++;
    ended++;
}

static void *ask(void *event) {
    for (int i = 0; i < CALLS; i++)
        REQUIRE(zeEventQueryStatus(event) == ZE_RESULT_NOT_READY);
    return NULL;
}

static void check_threads(setup on) {
    ze_event_pool_desc_t pool_description = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = THREADS};
    ze_event_pool_handle_t pool;
    CHECK(zeEventPoolCreate(on.context, &pool_description, 0, NULL, &pool));
    zel_tracer_handle_t tracer = new_tracer(&begun);
    CHECK(zelTracerEventQueryStatusRegisterCallback(tracer, ZEL_REGISTER_PROLOGUE, count_begin));
    CHECK(zelTracerEventQueryStatusRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, count_end));
    CHECK(zelTracerSetEnabled(tracer, true));
    pthread_t threads[THREADS];
    ze_event_handle_t events[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        ze_event_desc_t description = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i};
        CHECK(zeEventCreate(pool, &description, &events[i]));
        REQUIRE(pthread_create(&threads[i], NULL, ask, events[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(zelTracerSetEnabled(tracer, false));
    CHECK(zelTracerDestroy(tracer));
    REQUIRE(begun == THREADS * CALLS && ended == begun && failed == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(zeEventDestroy(events[i]));
    CHECK(zeEventPoolDestroy(pool));
}

/* --- The end of a tracer waits for its callbacks -------------------------------------------------- */

static atomic_int is_in_callback, has_left;

static void linger(ze_context_get_status_params_t *params, ze_result_t result, void *user_data, void **instance) {
    (void)params, (void)result, (void)user_data, (void)instance;
    is_in_callback = 1;
    usleep(30000);
    has_left = 1;
}

static void *ask_status(void *context) {
    CHECK(zeContextGetStatus(context));
    return NULL;
}

static void check_end_waits(setup on) {
    zel_tracer_handle_t tracer = new_tracer(&has_left);
    CHECK(zelTracerContextGetStatusRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, linger));
    CHECK(zelTracerSetEnabled(tracer, true));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, ask_status, on.context) == 0);
    while (!is_in_callback)
        usleep(100);
    CHECK(zelTracerSetEnabled(tracer, false));
    CHECK(zelTracerDestroy(tracer));
    REQUIRE(has_left);
    pthread_join(thread, NULL);
}

int main(void) {
    setup on = first_device();
    check_parameters(on);
    check_two_tracers(on);
    check_threads(on);
    check_end_waits(on);
    CHECK(zeContextDestroy(on.context));
    puts("tracers ok");
    return 0;
}
