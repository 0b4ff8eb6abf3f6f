/* Eight threads come to the driver at once, before anyone else did, and each does its own work. */
#include <pthread.h>

#include "common.h"

enum { THREADS = 8, ROUNDS = 50, WORDS = 4096 };

static pthread_barrier_t start;

static void one_round(setup on, ze_command_queue_handle_t queue, uint32_t tag) {
    uint32_t *memory = host_memory(on, WORDS * sizeof(uint32_t));
    void *device = device_memory(on, WORDS * sizeof(uint32_t));
    ze_event_pool_handle_t pool = new_pool(on, 1, 0);
    ze_event_handle_t filled = new_event(pool, 0);
    ze_command_list_handle_t list = new_list(on);
    CHECK(zeCommandListAppendMemoryFill(list, device, &tag, sizeof tag, WORDS * sizeof tag, filled, 0,
                                        NULL));
    CHECK(zeCommandListAppendMemoryCopy(list, memory, device, WORDS * sizeof tag, NULL, 1, &filled));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    for (uint32_t i = 0; i < WORDS; i++)
        REQUIRE(memory[i] == tag);
    CHECK(zeCommandListDestroy(list));
    CHECK(zeEventDestroy(filled));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeMemFree(on.context, device));
    CHECK(zeMemFree(on.context, memory));
}

static void *work(void *argument) {
    uint32_t number = *(uint32_t *)argument;
    pthread_barrier_wait(&start);
    setup on = first_device();
    ze_command_queue_handle_t queue = new_queue(on);
    for (uint32_t round = 0; round < ROUNDS; round++)
        one_round(on, queue, number << 16 | round);
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeContextDestroy(on.context));
    return NULL;
}

int main(void) {
    pthread_t thread[THREADS];
    uint32_t number[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        number[i] = i + 1;
        REQUIRE(pthread_create(&thread[i], NULL, work, &number[i]) == 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    puts("threads ok");
    return 0;
}
