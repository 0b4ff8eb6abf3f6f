/* Programs in C, one for each word: what the checker says of them names these lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "generated/functions.h"

#define CHECK(call)                                       \
    do {                                                  \
        ze_result_t result = (call);                      \
        if (result != ZE_RESULT_SUCCESS) {                \
            fprintf(stderr, "%s: %#x\n", #call, result);  \
            exit(1);                                      \
        }                                                 \
    } while (0)

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;

static void start(void) {
    uint32_t count = 1;
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&count, &driver));
    CHECK(zeDeviceGet(driver, &count, &device));
    CHECK(zeContextCreate(driver, &description, &context));
}

static void end(void) { CHECK(zeContextDestroy(context)); }

__attribute__((noinline)) static void *upload(size_t size) {
    ze_device_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *memory;
    CHECK(zeMemAllocDevice(context, &description, size, 0, device, &memory)); /* line of upload */
    return memory;
}

static ze_event_handle_t new_event(ze_event_pool_handle_t *pool) {
    ze_event_pool_desc_t description = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1};
    ze_event_desc_t event_description = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_handle_t event;
    CHECK(zeEventPoolCreate(context, &description, 0, NULL, pool));
    CHECK(zeEventCreate(*pool, &event_description, &event));
    return event;
}

/* Memory is never freed. */
static void leak(void) {
    start();
    for (int turn = 0; turn < 3; turn++)
        upload(100);
    end();
}

/* What a handler frees that was registered before the driver was there, as destructors of global objects are. */
static void clean_up(void) {
    start();
    atexit(end);
}

static void late_end(void) {
    if (context != NULL)
        end();
}

/* A child ends by itself; what its parent made is not its own. */
static void fork_child(void) {
    start();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    end();
}

/* A wait without end; the checker ends it. */
static void hang(void) {
    ze_event_pool_handle_t pool;
    start();
    ze_event_handle_t event = new_event(&pool);
    printf("%#x\n", zeEventHostSynchronize(event, UINT64_MAX));
    CHECK(zeContextDestroy(context));
}

static void use_after_destroy(void) {
    ze_event_pool_handle_t pool;
    start();
    ze_event_handle_t event = new_event(&pool);
    CHECK(zeEventDestroy(event));
    zeEventHostSignal(event);
    CHECK(zeEventPoolDestroy(pool));
    end();
}

int main(int count, char **words) {
    const char *word = count > 1 ? words[1] : "";
    if (strcmp(word, "early-handler") == 0) {
        atexit(late_end);
        start();
    }
    if (strcmp(word, "leak") == 0)
        leak();
    if (strcmp(word, "late-handler") == 0)
        clean_up();
    if (strcmp(word, "fork") == 0)
        fork_child();
    if (strcmp(word, "hang") == 0)
        hang();
    if (strcmp(word, "use-after-destroy") == 0)
        use_after_destroy();
    return 0;
}
