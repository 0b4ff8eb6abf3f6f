/* Forks while other threads are in the driver. A child goes on with its copy of the driver, or is told that it is lost,
 * by every call; it never hangs, neither in a call nor when it ends. The parent notices nothing. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

THIS_TEST_FORKS

enum { FORKS = 200 / SLOWER, THREADS = 6, SIZE = 4 << 20, PATIENCE = 60 };

/* A child that hangs is killed by its alarm. */
static void wait_for(pid_t child) {
    int status = 0;
    REQUIRE(child > 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        fprintf(stderr, "a child ended by signal %d\n", WTERMSIG(status));
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- What children do -------------------------------------------------------------------------------- */

static bool is_lost(ze_result_t result) { return result == ZE_RESULT_ERROR_DEVICE_LOST; }

/* Every call says that the process is lost: those that start, those of native/, those that Python answers. */
static void expect_lost(void) {
    uint32_t count = 0;
    void *memory = NULL;
    ze_context_handle_t context = NULL;
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    REQUIRE(is_lost(zeInit(0)));
    REQUIRE(is_lost(zeInitDrivers(&count, NULL, &(ze_init_driver_type_desc_t){
                                                    .stype = ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC, .flags = 1})));
    REQUIRE(is_lost(zesInit(0)));
    REQUIRE(is_lost(zeDriverGet(&count, NULL)));
    REQUIRE(is_lost(zeDeviceGet(on.driver, &count, NULL)));
    REQUIRE(is_lost(zeDeviceGetProperties(on.device, &properties)));
    REQUIRE(is_lost(zeContextCreate(on.driver, &(ze_context_desc_t){.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC}, &context)));
    REQUIRE(is_lost(zeMemAllocHost(on.context, &(ze_host_mem_alloc_desc_t){.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC},
                                   SIZE, 0, &memory)));
    REQUIRE(is_lost(zeContextGetStatus(on.context)));
    REQUIRE(is_lost(zeContextDestroy(on.context)));
    REQUIRE(zeDriverGetDefaultContext(on.driver) == NULL);
    REQUIRE(gs_live_objects(0) > 0);
}

static void copy_something(ze_command_list_handle_t list, size_t size) {
    uint8_t *from = new_memory(size), *to = new_memory(size);
    ze_event_handle_t done = new_counter_event(ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE);
    memset(from, 0x5a, size);
    memset(to, 0, size);
    CHECK(zeCommandListAppendMemoryCopy(list, to, from, size, done, 0, NULL));
    CHECK(zeEventHostSynchronize(done, UINT64_MAX));
    REQUIRE(memcmp(from, to, size) == 0);
    CHECK(zeEventDestroy(done));
    CHECK(zeMemFree(on.context, from));
    CHECK(zeMemFree(on.context, to));
}

static void use_everything(ze_command_list_handle_t inherited) {
    uint32_t count = 1;
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&count, &on.driver));
    CHECK(zeDeviceGetProperties(on.device, &properties));
    copy_something(inherited, 100);
    copy_something(inherited, SIZE);
    on.context = new_context();
    ze_command_list_handle_t own = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    copy_something(own, SIZE);
    CHECK(zeCommandListDestroy(own));
    CHECK(zeContextDestroy(on.context));
}

/* --- What threads of the parent do meanwhile ---------------------------------------------------------- */

static _Atomic bool stop;

static void ask(void) {
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    uint32_t count = 0;
    CHECK(zeDriverGet(&count, NULL));
    CHECK(zeDeviceGetProperties(on.device, &properties));
}

static void *live(void *number) {
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    for (uintptr_t turn = (uintptr_t)number; !stop; turn++) {
        ze_ipc_mem_handle_t handle;
        void *memory = new_device_memory(100);
        ask();
        CHECK(zeMemGetIpcHandle(on.context, memory, &handle));
        copy_something(list, turn % 8 == 0 ? SIZE : 100);
        CHECK(zeMemFree(on.context, memory));
        ze_context_handle_t context;
        CHECK(zeContextCreate(on.driver, &(ze_context_desc_t){.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC}, &context));
        CHECK(zeContextDestroy(context));
    }
    CHECK(zeCommandListDestroy(list));
    return NULL;
}

/* --- Forks -------------------------------------------------------------------------------------------- */

/* The child ends in each of the ways that there are. Exit handlers free memory. */
static void end_child(int number, bool may_free) {
    if (number % 3 == 0 || (number % 3 == 2 && !may_free))
        _exit(0);
    if (number % 3 == 1) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    exit(0);
}

static void fork_among_threads(void) {
    pthread_t threads[THREADS];
    for (uintptr_t each = 0; each < THREADS; each++)
        REQUIRE(pthread_create(&threads[each], NULL, live, (void *)each) == 0);
    for (int turn = 0; turn < FORKS; turn++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE);
            uint32_t count = 0;
            if (is_lost(zeDriverGet(&count, NULL)))
                expect_lost();
            else if (!ALLOCATOR_MAY_STAY_LOCKED)
                ask();
            end_child(turn, !ALLOCATOR_MAY_STAY_LOCKED);
        }
        wait_for(child);
    }
    stop = true;
    for (int each = 0; each < THREADS; each++)
        REQUIRE(pthread_join(threads[each], NULL) == 0);
}

/* Engines, workers and counters of the parent have worked before, and go on. */
static void fork_at_rest(void) {
    ze_command_list_handle_t list = new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER);
    for (int turn = 0; turn < FORKS / 10; turn++) {
        copy_something(list, turn % 2 == 0 ? SIZE : 100);
        pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE);
            use_everything(list);
            end_child(turn, true);
        }
        copy_something(list, SIZE);
        wait_for(child);
    }
    CHECK(zeCommandListDestroy(list));
}

static _Atomic bool may_end;

static void wait_for_host(void *unused) {
    (void)unused;
    while (!may_end)
        usleep(1000);
}

/* The child of a lost child is lost, too. */
static void fork_at_work(void) {
    ze_command_list_handle_t list = new_immediate(0);
    CHECK(zeCommandListAppendHostFunction(list, wait_for_host, NULL, NULL, NULL, 0, NULL));
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        expect_lost();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            alarm(PATIENCE);
            expect_lost();
            exit(0);
        }
        wait_for(grandchild);
        exit(0);
    }
    wait_for(child);
    may_end = true;
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    CHECK(zeCommandListDestroy(list));
}

/* OpenSSL would take its locks when a child ends. */
static bool has_openssl(void) {
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    REQUIRE(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL)
        found |= strstr(line, "/libcrypto") != NULL;
    fclose(maps);
    return found;
}

int main(void) {
    set_up();
    ask(); /* what identifies a device is a digest */
    REQUIRE(!has_openssl());
    copy_something(new_immediate(ZE_COMMAND_QUEUE_FLAG_IN_ORDER), SIZE);
    uint64_t live_before = gs_live_objects(0);
    fork_at_rest();
    fork_at_work();
    fork_among_threads();
    REQUIRE(gs_live_objects(0) == live_before);
    return 0;
}
