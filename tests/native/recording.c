/* Threads that write memory, copy it, share lists' tables and free all of it again, while they are recorded. The work is
 * done in a second process, so that this one can look at a stream that is finished. */
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 4, TURNS = 200 / SLOWER, SIZE = 5 * 4096, FOOTER = 24 };

static ze_command_queue_handle_t queue;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

/* A regular list that reads the thread's own memory. Queues are for one thread at a time. */
static void execute(const void *own, void *device) {
    ze_command_list_handle_t list = new_list(0);
    CHECK(zeCommandListAppendMemoryCopy(list, device, own, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    pthread_mutex_lock(&queue_lock);
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    pthread_mutex_unlock(&queue_lock);
    CHECK(zeCommandListDestroy(list));
}

static void *work(void *number) {
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    unsigned char *own = malloc(SIZE);
    void *device = new_device_memory(SIZE);
    for (int turn = 0; turn < TURNS; turn++) {
        unsigned char *host = new_memory(SIZE);
        memset(host, turn, SIZE / 2);
        memset(own, (int)(uintptr_t)number + turn, SIZE);
        CHECK(zeCommandListAppendMemoryCopy(list, device, host, SIZE, NULL, 0, NULL));
        CHECK(zeCommandListAppendMemoryCopy(list, host, own, SIZE, NULL, 0, NULL));
        CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
        REQUIRE(host[SIZE - 1] == (unsigned char)((uintptr_t)number + (unsigned)turn));
        if (turn % 4 == 0)
            execute(own, device);
        CHECK(zeMemFree(on.context, host));
    }
    CHECK(zeMemFree(on.context, device));
    CHECK(zeCommandListDestroy(list));
    free(own);
    return NULL;
}

/* A host's signal for which work waits, while other threads submit theirs. */
static void *wait_for_host(void *number) {
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    ze_event_pool_handle_t pool = new_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    ze_event_handle_t event = new_event(pool, 0);
    unsigned char *host = new_memory(SIZE);
    void *device = new_device_memory(SIZE);
    memset(host, 7, SIZE);
    CHECK(zeCommandListAppendMemoryCopy(list, device, host, SIZE, NULL, 1, &event));
    CHECK(zeEventHostSignal(event));
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    CHECK(zeMemFree(on.context, device));
    CHECK(zeMemFree(on.context, host));
    CHECK(zeEventDestroy(event));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeCommandListDestroy(list));
    return number;
}

static void *part_of(void *number) {
    return (uintptr_t)number == THREADS ? wait_for_host(number) : work(number);
}

/* The last bytes of a stream that was finished. */
static void check_stream(const char *path) {
    char footer[FOOTER] = "";
    FILE *stream = fopen(path, "rb");
    REQUIRE(stream != NULL && fseek(stream, -FOOTER, SEEK_END) == 0);
    REQUIRE(fread(footer, 1, FOOTER, stream) == FOOTER && memcmp(footer, "GSINDEX1", 8) == 0);
    fclose(stream);
    REQUIRE(unlink(path) == 0);
}

static void record(char *program, char *pages) {
    extern char **environ;
    char *arguments[] = {program, "work", NULL}, path[4096];
    const char *folder = getenv("GROUNDSTATE_CAPTURE_OUT");
    int status;
    pid_t child;
    REQUIRE(folder != NULL && setenv("GROUNDSTATE_CAPTURE_PAGES", pages, 1) == 0);
    REQUIRE(posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    snprintf(path, sizeof path, "%s/%s-%d.gsstream", folder, strrchr(program, '/') + 1, (int)child);
    check_stream(path);
}

int main(int count, char **arguments) {
    if (count == 1) {
        record(arguments[0], "userfaultfd");
        record(arguments[0], "compare");
        return 0;
    }
    set_up();
    queue = new_queue();
    on_threads(THREADS + 1, part_of);
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeContextDestroy(on.context));
    return 0;
}
