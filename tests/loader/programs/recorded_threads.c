/* Threads, and another process, that write memory while the device works: what they wrote is in the stream, and is not
 * taken for the device's. recorded.h says how a test knows. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorded.h"

static atomic_bool is_written;

/* --- Threads that the recorder knows ---------------------------------------------------------------------- */

static void *scribble_all(void *memory) {
    scribble(memory, SIZE);
    return NULL;
}

/* Another thread writes while the device does. */
static void threads(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    unsigned char *device = filled_memory(list), *first = new_host_memory(SIZE), *second = new_host_memory(SIZE);
    for (int turn = 0; turn < 20; turn++) {
        pthread_t thread;
        submission_follows();
        pthread_create(&thread, NULL, scribble_all, first);
        CHECK(zeCommandListAppendMemoryCopy(list, second, device, SIZE, NULL, 0, NULL));
        pthread_join(thread, NULL);
        expect(first, SIZE);
        copy(list, device, first, SIZE);
        CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    }
}

/* Writes page after page, says so, and ends a moment later. */
static void *scribble_slowly(void *memory) {
    for (size_t page = 0; page < SIZE; page += PAGE) {
        scribble((unsigned char *)memory + page, PAGE);
        pause_for(20000);
    }
    atomic_store(&is_written, true);
    pause_for(20000);
    return NULL;
}

/* Threads that come and go, and write while the device works. */
static void passing_threads(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    unsigned char *device = filled_memory(list), *first = new_host_memory(SIZE), *second = new_host_memory(SIZE);
    for (int turn = 0; turn < 100; turn++) {
        pthread_t thread;
        atomic_store(&is_written, false);
        REQUIRE(pthread_create(&thread, NULL, scribble_slowly, first) == 0);
        pthread_detach(thread);
        for (int times = 0; times < 3; times++)
            copy(list, second, device, SIZE);
        while (!atomic_load(&is_written))
            continue;
        expect(first, SIZE);
        copy(list, device, first, SIZE);
    }
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
}

static void *scribble_now_and_then(void *memory) {
    while (!atomic_load(&is_written)) {
        pause_for(2000000);
        scribble(memory, 16);
    }
    return NULL;
}

/* A thread that sleeps nearly always, and then writes where the device does. */
static void sleeping_thread(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    unsigned char *device = filled_memory(list), *host = new_host_memory(SIZE);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, scribble_now_and_then, host) == 0);
    for (int turn = 0; turn < 100; turn++)
        copy(list, host, device, SIZE);
    atomic_store(&is_written, true);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

/* --- Threads that may escape it --------------------------------------------------------------------------- */

/* A submission waits for `ready`. The writer signals that when it has written, and so always writes while the device
 * works; the recorder takes threads that are called "gs-" for the driver's. */
static ze_event_handle_t ready;
static atomic_bool may_write, may_end;

static void start_named(pthread_t *thread, const char *name, void *(*run)(void *), void *argument) {
    REQUIRE(pthread_create(thread, NULL, run, argument) == 0);
    REQUIRE(pthread_setname_np(*thread, name) == 0);
}

static void *write_and_signal(void *memory) {
    while (!atomic_load(&may_write))
        pause_for(100000);
    pause_for(5000000); /* the submission has begun by then */
    if (memory != NULL)
        scribble(memory, SIZE);
    CHECK(zeEventHostSignal(ready));
    return NULL;
}

/* Two submissions: the copy, and the signal, before which nothing is said. */
static void submit_waiting(ze_command_list_handle_t list, void *to, const void *from) {
    submission_follows();
    submission_follows();
    atomic_store(&may_write, true);
    CHECK(zeCommandListAppendMemoryCopy(list, to, from, SIZE, NULL, 1, &ready));
}

static void check_written(ze_command_list_handle_t list, void *device, const void *memory) {
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    CHECK(zeEventHostReset(ready));
    atomic_store(&may_write, false);
    expect(memory, SIZE);
    copy(list, device, memory, SIZE);
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
}

static void *wait_to_end(void *nothing) {
    while (!atomic_load(&may_end))
        continue;
    return nothing;
}

/* One of the driver's threads ends and one of the program's starts: there are as many as before. */
static void replaced_thread(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    unsigned char *device = filled_memory(list), *first = new_host_memory(SIZE), *second = new_host_memory(SIZE);
    ready = new_event(new_pool(on, 1, 0), 0);
    for (int turn = 0; turn < 10; turn++) {
        pthread_t drivers, writer;
        atomic_store(&may_end, false);
        start_named(&drivers, "gs-passing", wait_to_end, NULL);
        pause_for(2000000); /* the recorder asks for all threads again */
        copy(list, second, device, SIZE);
        atomic_store(&may_end, true);
        pthread_join(drivers, NULL);
        pause_for(100000); /* and the kernel counts it no more */
        REQUIRE(pthread_create(&writer, NULL, write_and_signal, first) == 0);
        submit_waiting(list, second, device);
        pthread_join(writer, NULL);
        check_written(list, device, first);
    }
}

/* A thread whose number was that of a driver's one: here it is the same thread, with another name. */
static void renamed_thread(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    unsigned char *device = filled_memory(list), *first = new_host_memory(SIZE), *second = new_host_memory(SIZE);
    pthread_t writer;
    ready = new_event(new_pool(on, 1, 0), 0);
    start_named(&writer, "gs-passing", write_and_signal, first);
    pause_for(2000000);
    copy(list, second, device, SIZE);
    REQUIRE(pthread_setname_np(writer, "another") == 0);
    for (int naps = 0; naps < 12; naps++)
        pause_for(100000000);
    submit_waiting(list, second, device);
    pthread_join(writer, NULL);
    check_written(list, device, first);
}

static pthread_t started_by_host;

static void start_writer(void *memory) {
    REQUIRE(pthread_create(&started_by_host, NULL, write_and_signal, memory) == 0);
}

/* A thread that a function of the program starts, which a thread of the driver's calls. */
static void inherited_name(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    unsigned char *device = filled_memory(list), *first = new_host_memory(SIZE), *second = new_host_memory(SIZE);
    ready = new_event(new_pool(on, 1, 0), 0);
    submission_follows();
    CHECK(zeCommandListAppendHostFunction(list, start_writer, first, NULL, NULL, 0, NULL));
    CHECK(zeCommandListHostSynchronize(list, UINT64_MAX));
    pause_for(2000000);
    submit_waiting(list, second, device);
    pthread_join(started_by_host, NULL);
    check_written(list, device, first);
}

/* --- Between two steps of the recorder -------------------------------------------------------------------- */

static unsigned char *written_between;

/* slow_recorder.c calls it when the recorder begins or ends to be told of written pages. */
void write_between(void) {
    if (written_between != NULL)
        scribble(written_between, PAGE);
    written_between = NULL;
}

/* Memory that the device writes so often that the recorder compares it, and then no more. */
static void changing_ways(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    unsigned char *device = filled_memory(list), *memory = new_host_memory(SIZE);
    for (int is_calm = 0; is_calm < 2; is_calm++) {
        unsigned char *page = memory + (size_t)(3 + is_calm) * PAGE, *to = is_calm ? device + SIZE / 2 : memory;
        written_between = page;
        for (int turn = 0; turn < 20 && written_between != NULL; turn++)
            copy(list, to, device, SIZE / 2);
        if (written_between == NULL)
            expect(page, PAGE);
        copy(list, device, memory, SIZE);
    }
}

/* --- Another process -------------------------------------------------------------------------------------- */

typedef struct shared_flags {
    atomic_bool may_write, is_written;
} shared_flags;

static shared_flags *flags;

static void *signal_for_child(void *nothing) {
    while (!atomic_load(&flags->is_written))
        pause_for(100000);
    CHECK(zeEventHostSignal(ready));
    return nothing;
}

static pid_t start_child(unsigned char *memory) {
    pid_t child = fork();
    if (child != 0)
        return child;
    while (!atomic_load(&flags->may_write))
        pause_for(100000);
    pause_for(5000000);
    scribble(memory, SIZE);
    atomic_store(&flags->is_written, true);
    _exit(0);
}

/* Another process writes memory that it shares with this one, while the device works. */
static void other_process(void) {
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    unsigned char *device = filled_memory(list), *second = new_host_memory(SIZE), *first, *alias;
    int file = memfd_create("recorded", MFD_CLOEXEC), status;
    REQUIRE(ftruncate(file, SIZE) == 0);
    alias = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    flags = mmap(NULL, sizeof *flags, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ze_external_memory_import_fd_t import = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD,
                                             .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD,
                                             .fd = file};
    ze_host_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, .pNext = &import};
    CHECK(zeMemAllocHost(on.context, &description, SIZE, 0, (void **)&first));
    ready = new_event(new_pool(on, 1, 0), 0);
    copy(list, device, first, SIZE);
    pid_t child = start_child(alias);
    pthread_t signaller;
    start_named(&signaller, "gs-signal", signal_for_child, NULL);
    pause_for(2000000);
    atomic_store(&flags->may_write, true);
    submit_waiting(list, second, device);
    pthread_join(signaller, NULL);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    check_written(list, device, first);
}

/* --- A new thread of the driver's ------------------------------------------------------------------------- */

/* The first work starts threads, and the next is submitted while they have hardly begun. */
static void new_threads(void) {
    const size_t size = (size_t)16 << 20;
    ze_command_list_handle_t list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    unsigned char *device = filled_memory(list), *other = device_memory(on, size), *host = new_host_memory(size);
    copy(list, other, device, SIZE);
    copy(list, host, other, size);
}

/* --- Results that are not the work's own ------------------------------------------------------------------ */

/* What is said here is where the results of a submission hold what somebody else wrote. */

static ze_event_handle_t begun, written, over;
static int asleep[2], awake[2]; /* pipes */

/* Whatever the thread is about, it sleeps until it is woken. */
static void fall_asleep(int number) {
    char byte = 0;
    (void)number;
    REQUIRE(write(asleep[1], &byte, 1) == 1);
    REQUIRE(read(awake[0], &byte, 1) == 1);
}

/* Executes a list on a queue of its own: the copy waits, and the list goes on after it. */
static void *copy_between(void *to) {
    ze_command_list_handle_t list = new_list(on);
    ze_command_queue_handle_t queue = new_queue(on);
    unsigned char *device = device_memory(on, SIZE);
    CHECK(zeCommandListAppendMemoryFill(list, device, "xy", 2, SIZE, NULL, 1, &begun));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(list, to, device, SIZE, written, 0, NULL));
    CHECK(zeCommandListAppendWaitOnEvents(list, 1, &over));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    return NULL;
}

/* Work that another thread has submitted writes while this one's runs; that thread sleeps all the time. */
static void overlapping(void) {
    ze_event_pool_handle_t pool = new_pool(on, 3, 0);
    ze_command_list_handle_t list = new_list(on);
    ze_command_queue_handle_t queue = new_queue(on);
    unsigned char *first = host_memory(on, SIZE);
    char byte = 0;
    pthread_t other;
    REQUIRE(pipe(asleep) == 0 && pipe(awake) == 0 && signal(SIGUSR1, fall_asleep) != SIG_ERR);
    begun = new_event(pool, 0), written = new_event(pool, 1), over = new_event(pool, 2);
    CHECK(zeCommandListAppendSignalEvent(list, begun));
    CHECK(zeCommandListAppendWaitOnEvents(list, 1, &written));
    CHECK(zeCommandListClose(list));
    REQUIRE(pthread_create(&other, NULL, copy_between, first) == 0);
    pause_for(50000000); /* it has submitted its work by then */
    REQUIRE(pthread_kill(other, SIGUSR1) == 0);
    REQUIRE(read(asleep[0], &byte, 1) == 1);
    pause_for(5000000);
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    REQUIRE(write(awake[1], &byte, 1) == 1);
    CHECK(zeEventHostSignal(over));
    pthread_join(other, NULL);
    expect(first, SIZE);
    submission_follows();
}

/* The target of a copy is the program's own memory, and there is none of the driver's that the host could write. */
static void own_target(void) {
    ze_command_list_handle_t list = new_list(on);
    ze_command_queue_handle_t queue = new_queue(on);
    unsigned char *device = device_memory(on, SIZE), *own = malloc(SIZE);
    pthread_t writer;
    ready = new_event(new_pool(on, 1, 0), 0);
    CHECK(zeCommandListAppendMemoryFill(list, device, "gs", 2, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(list, own, device, SIZE, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(list, NULL, 1, &ready));
    CHECK(zeCommandListClose(list));
    REQUIRE(pthread_create(&writer, NULL, write_and_signal, own) == 0);
    atomic_store(&may_write, true);
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    pthread_join(writer, NULL);
    expect(own, SIZE);
    submission_follows();
}

int main(int count, char **arguments) {
    static const part parts[] = {
        {"threads", threads},
        {"passing_threads", passing_threads},
        {"sleeping_thread", sleeping_thread}, {"new_threads", new_threads},
        {"replaced_thread", replaced_thread},
        {"renamed_thread", renamed_thread},
        {"inherited_name", inherited_name},
        {"changing_ways", changing_ways},
        {"other_process", other_process},
        {"overlapping", overlapping},
        {"own_target", own_target},
    };
    return run_part(count, arguments, parts, sizeof parts / sizeof *parts);
}
