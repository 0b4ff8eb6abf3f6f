/* Leaves without destroying anything, with work in flight that can never finish.
 *   abandon return   from main
 *   abandon exit     by exit() in another thread
 *   abandon quick    by _exit()
 *   abandon kill     by SIGKILL to itself */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "common.h"

static void *leave(void *unused) {
    (void)unused;
    exit(0);
}

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    setup on = first_device();
    ze_event_pool_handle_t pool = new_pool(on, 2, ZE_EVENT_POOL_FLAG_IPC);
    ze_event_handle_t never = new_event(pool, 0);
    char *memory = device_memory(on, 1 << 20);
    ze_ipc_mem_handle_t shared;
    CHECK(zeMemGetIpcHandle(on.context, memory, &shared));
    ze_ipc_event_pool_handle_t shared_pool;
    CHECK(zeEventPoolGetIpcHandle(pool, &shared_pool));

    for (int i = 0; i < 2; i++) {
        ze_command_queue_handle_t queue = new_queue(on);
        ze_command_list_handle_t list = new_list(on);
        CHECK(zeCommandListAppendWaitOnEvents(list, 1, &never));
        CHECK(zeCommandListAppendMemoryCopy(list, memory, memory + (1 << 19), 1 << 19, NULL, 0, NULL));
        CHECK(zeCommandListClose(list));
        CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    }
    puts("leaving");
    fflush(stdout);

    if (strcmp(arguments[1], "quick") == 0)
        _exit(0);
    if (strcmp(arguments[1], "kill") == 0)
        raise(SIGKILL);
    if (strcmp(arguments[1], "exit") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, leave, NULL);
        pause();
    }
    return 0;
}
