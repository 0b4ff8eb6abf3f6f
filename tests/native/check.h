/* What the C tests share: checks that say what failed, the first device, objects in one line each. */
#ifndef CHECK_H
#define CHECK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generated/ze_types.h"
#include "generated/functions.h"

/* A sanitizer makes everything many times slower; the number of turns is divided by this. */
#if defined(__SANITIZE_THREAD__)
enum { SLOWER = 5, ALLOCATOR_MAY_STAY_LOCKED = 0 };
#elif defined(__SANITIZE_ADDRESS__)
enum { SLOWER = 2, ALLOCATOR_MAY_STAY_LOCKED = 1 }; /* in a child: the sanitizer does nothing about it, the C library does */
#else
enum { SLOWER = 1, ALLOCATOR_MAY_STAY_LOCKED = 0 };
#endif

#define REQUIRE(condition)                                                                                         \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                              \
            _Exit(1);                                                                                              \
        }                                                                                                          \
    } while (0)

#define CHECK(call)                                                                                                \
    do {                                                                                                           \
        ze_result_t check_result = (call);                                                                         \
        if (check_result != ZE_RESULT_SUCCESS) {                                                                   \
            fprintf(stderr, "%s:%d: %s -> %#x: %s\n", __FILE__, __LINE__, #call, (unsigned)check_result,           \
                    last_error());                                                                                 \
            _Exit(1);                                                                                              \
        }                                                                                                          \
    } while (0)

/* ThreadSanitizer follows no more than 64 locks of a thread, and a thread that forks takes all there are. It also ends
 * children that start threads. */
#define THIS_TEST_FORKS                                                                                            \
    const char *__tsan_default_options(void);                                                                      \
    const char *__tsan_default_options(void) { return "detect_deadlocks=0:die_after_fork=0"; }

/* How many handles are live, of one kind or (0) of all. */
uint64_t gs_live_objects(int kind);

static struct {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
} on;

static inline const char *last_error(void) {
    const char *text = "";
    if (on.driver != NULL)
        zeDriverGetLastErrorDescription(on.driver, &text);
    return text;
}

static inline ze_context_handle_t new_context(void) {
    ze_context_handle_t made;
    CHECK(zeContextCreate(on.driver, &(ze_context_desc_t){.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC}, &made));
    return made;
}

static inline void set_up(void) {
    uint32_t count = 1;
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&count, &on.driver));
    CHECK(zeDeviceGet(on.driver, &count, &on.device));
    on.context = new_context();
}

/* Everything that a test made must be gone by now, the context and what the driver keeps aside. */
static inline void tear_down(uint64_t live_before) {
    REQUIRE(gs_live_objects(0) == live_before);
    CHECK(zeContextDestroy(on.context));
}

static inline void *new_memory(size_t size) {
    void *made;
    CHECK(zeMemAllocHost(on.context, &(ze_host_mem_alloc_desc_t){.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC}, size,
                         0, &made));
    return made;
}

static inline void *new_device_memory(size_t size) {
    void *made;
    CHECK(zeMemAllocDevice(on.context, &(ze_device_mem_alloc_desc_t){.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC},
                           size, 0, on.device, &made));
    return made;
}

static inline ze_command_queue_handle_t new_queue(void) {
    ze_command_queue_handle_t made;
    CHECK(zeCommandQueueCreate(on.context, on.device,
                               &(ze_command_queue_desc_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC}, &made));
    return made;
}

static inline ze_command_list_handle_t new_list(ze_command_list_flags_t flags) {
    ze_command_list_handle_t made;
    CHECK(zeCommandListCreate(
        on.context, on.device,
        &(ze_command_list_desc_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .flags = flags}, &made));
    return made;
}

static inline ze_command_list_handle_t new_immediate(ze_command_queue_flags_t flags) {
    ze_command_list_handle_t made;
    CHECK(zeCommandListCreateImmediate(
        on.context, on.device,
        &(ze_command_queue_desc_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .flags = flags}, &made));
    return made;
}

static inline ze_event_pool_handle_t new_pool(uint32_t count, ze_event_pool_flags_t flags) {
    ze_event_pool_handle_t made;
    CHECK(zeEventPoolCreate(
        on.context,
        &(ze_event_pool_desc_t){.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = flags, .count = count}, 0, NULL,
        &made));
    return made;
}

static inline ze_event_handle_t new_event(ze_event_pool_handle_t pool, uint32_t index) {
    ze_event_handle_t made;
    CHECK(zeEventCreate(pool, &(ze_event_desc_t){.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = index}, &made));
    return made;
}

static inline ze_event_handle_t new_counter_event(ze_event_counter_based_flags_t flags) {
    ze_event_handle_t made;
    CHECK(zeEventCounterBasedCreate(
        on.context, on.device,
        &(ze_event_counter_based_desc_t){.stype = ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC, .flags = flags}, &made));
    return made;
}

static inline ze_fence_handle_t new_fence(ze_command_queue_handle_t queue) {
    ze_fence_handle_t made;
    CHECK(zeFenceCreate(queue, &(ze_fence_desc_t){.stype = ZE_STRUCTURE_TYPE_FENCE_DESC}, &made));
    return made;
}

/* Runs `body(number)` on `count` threads at once and waits for all. */
static inline void on_threads(uintptr_t count, void *(*body)(void *number)) {
    pthread_t threads[64];
    REQUIRE(count <= 64);
    for (uintptr_t each = 0; each < count; each++)
        REQUIRE(pthread_create(&threads[each], NULL, body, (void *)each) == 0);
    for (uintptr_t each = 0; each < count; each++)
        pthread_join(threads[each], NULL);
}

/* A stream of numbers that is the same in every run. */
static inline uint64_t next_random(uint64_t *state) {
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = (*state ^ (*state >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

#endif
