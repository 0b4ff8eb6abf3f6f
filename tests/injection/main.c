/* Does pieces of work while the calls that the libraries make into the system fail, one after the other: each piece
 * succeeds or fails in order, leaves nothing behind, and succeeds when it is done again.
 *
 *   injection KERNELS fresh BURST FIRST STRIDE   a new process for each failure, which is counted from zeInit on
 *   injection KERNELS warm BURST FIRST STRIDE    one process, for each piece of work from its beginning on
 *   injection KERNELS one BURST NUMBER           as fresh, one failure in this process, for a debugger
 *   injection KERNELS limits 0 0                 limits of open files, address space and threads in place of failures
 *
 * Calls number FIRST, FIRST + STRIDE and so on fail, until the work makes no more calls; with a BURST of more than 1
 * so many calls after it fail, too. */
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject.h"
#include "work.h"

/* AddressSanitizer itself ends the process when it has no address space. */
#ifdef __SANITIZE_ADDRESS__
enum { HAS_LIMITED_SPACE = 0 };
#else
enum { HAS_LIMITED_SPACE = 1 };
#endif

enum { HANGS_AFTER_SECONDS = 100, NOTHING_FAILED = 77, WORKERS = 2, MOST_LEFT = 8 };

place on;
const char *kernels_path;
uint8_t kernels[1 << 20];
size_t kernels_size;

#ifdef WITH_LIBRARIES
static const work *const all_work[] = {library_work};
#else
static const work *const all_work[] = {memory_work, command_work, kernel_work};
#endif
static const char *doing = "starting";
static bool may_fail, is_lost;

void read_kernels(void) {
    FILE *file = fopen(kernels_path, "rb");
    REQUIRE(file != NULL);
    kernels_size = fread(kernels, 1, sizeof kernels, file);
    fclose(file);
    REQUIRE(kernels_size > 0);
}

/* --- What pieces of work use ------------------------------------------------------------------------------ */

void give_up(const char *file, int line, const char *what) {
    fprintf(stderr, "%s, %s: %s:%d: not true: %s\n", doing, inject_describe(), file, line, what);
    _Exit(1);
}

/* What the driver is started with may be unavailable. */
static bool is_specified(ze_result_t result) {
    if (on.driver == NULL && result == ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE)
        return true;
    return result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY || result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY ||
           result == ZE_RESULT_ERROR_DEVICE_LOST;
}

static const char *last_sentence(void) {
    const char *text = "";
    if (on.driver != NULL)
        zeDriverGetLastErrorDescription(on.driver, &text);
    return text;
}

void take_failure(const char *call, ze_result_t result) {
    const char *sentence = last_sentence();
    if (!may_fail || !is_specified(result) || (on.driver != NULL && sentence[0] == 0)) {
        fprintf(stderr, "%s, %s: %s -> %#x: %s\n", doing, inject_describe(), call, (unsigned)result, sentence);
        _Exit(1);
    }
    is_lost |= result == ZE_RESULT_ERROR_DEVICE_LOST;
}

void take_own_failure(const char *what) {
    if (!may_fail)
        give_up(__FILE__, __LINE__, what);
}

static struct {
    ending end;
    void *object;
} endings[256];
static int ending_count;

void destroy_later(ending end, void *object) {
    REQUIRE(ending_count < (int)(sizeof endings / sizeof *endings));
    endings[ending_count].end = end;
    endings[ending_count++].object = object;
}

/* What was made in a lost context goes with the context. */
static void destroy_all(void) {
    while (ending_count > 0) {
        ending_count--;
        ze_result_t result = endings[ending_count].end(endings[ending_count].object);
        if (result == ZE_RESULT_SUCCESS || is_lost)
            continue;
        fprintf(stderr, "%s, %s: object %d is not destroyed: %#x: %s\n", doing, inject_describe(), ending_count,
                (unsigned)result, last_sentence());
        _Exit(1);
    }
}

/* Notes what was made, or takes the failure and answers NULL. */
static void *made(const char *call, ze_result_t result, void *object, ending end) {
    if (result != ZE_RESULT_SUCCESS) {
        take_failure(call, result);
        return NULL;
    }
    destroy_later(end, object);
    return object;
}
#define MAKE(type, call, end)                                            \
    type object = NULL;                                                  \
    ze_result_t result = (call);                                         \
    return made(#call, result, object, (ending)(void (*)(void))(end))

static ze_result_t free_memory(void *memory) { return zeMemFree(on.context, memory); }

void *memory_of(size_t size) {
    const ze_host_mem_alloc_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    MAKE(void *, zeMemAllocHost(on.context, &wanted, size, 0, &object), free_memory);
}

ze_command_list_handle_t list_of(ze_command_list_flags_t flags) {
    const ze_command_list_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .flags = flags};
    MAKE(ze_command_list_handle_t, zeCommandListCreate(on.context, on.device, &wanted, &object), zeCommandListDestroy);
}

/* What was appended before a failure may still run. */
static ze_result_t end_immediate(ze_command_list_handle_t list) {
    zeCommandListHostSynchronize(list, UINT64_MAX);
    return zeCommandListDestroy(list);
}

ze_command_list_handle_t immediate_of(ze_command_queue_flags_t flags) {
    const ze_command_queue_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .flags = flags};
    MAKE(ze_command_list_handle_t, zeCommandListCreateImmediate(on.context, on.device, &wanted, &object), end_immediate);
}

ze_event_pool_handle_t pool_of(uint32_t count, ze_event_pool_flags_t flags) {
    const ze_event_pool_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = flags, .count = count};
    MAKE(ze_event_pool_handle_t, zeEventPoolCreate(on.context, &wanted, 0, NULL, &object), zeEventPoolDestroy);
}

ze_event_handle_t event_of(ze_event_pool_handle_t pool, uint32_t index) {
    const ze_event_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = index};
    MAKE(ze_event_handle_t, zeEventCreate(pool, &wanted, &object), zeEventDestroy);
}

ze_event_handle_t counter_event_of(ze_event_counter_based_flags_t flags) {
    const ze_event_counter_based_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC, .flags = flags};
    MAKE(ze_event_handle_t, zeEventCounterBasedCreate(on.context, on.device, &wanted, &object), zeEventDestroy);
}

/* --- Doing it --------------------------------------------------------------------------------------------- */

static bool start(void) {
    uint32_t count = 1;
    doing = "start";
    TRY(zeInit(0));
    TRY(zeDriverGet(&count, &on.driver));
    count = 1;
    TRY(zeDeviceGet(on.driver, &count, &on.device));
    return true;
}

uint64_t gs_live_objects(int kind);

/* One piece of work in a context of its own. */
static bool do_piece(const work *piece) {
    ze_context_handle_t context = NULL;
    uint64_t live = gs_live_objects(0);
    doing = piece->name;
    is_lost = false;
    TRY(zeContextCreate(on.driver, &(ze_context_desc_t){.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC}, &context));
    on.context = context;
    bool done = piece->run();
    destroy_all();
    ze_result_t result = zeContextDestroy(context);
    if (result != ZE_RESULT_SUCCESS) {
        fprintf(stderr, "%s, %s: the context is not destroyed: %#x: %s\n", doing, inject_describe(), (unsigned)result,
                last_sentence());
        _Exit(1);
    }
    REQUIRE(gs_live_objects(0) == live);
    return done;
}

/* All pieces of work; those that fail are left, and the others done all the same. */
static void do_all(void) {
    if (!start())
        return;
    for (size_t group = 0; group < sizeof all_work / sizeof *all_work; group++)
        for (const work *each = all_work[group]; each->name != NULL; each++)
            do_piece(each);
}

static int open_files(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

/* Threads of the driver hold files for a moment, too: a leak is what stays. */
static bool files_come_down_to(int most) {
    enum { TRIES = 1000, MILLISECOND = 1000 };
    for (int tries = 0; open_files() > most; tries++) {
        if (tries == TRIES)
            return false;
        usleep(10 * MILLISECOND);
    }
    return true;
}

/* --- Fresh processes --------------------------------------------------------------------------------------- */

static void fail_in_this_process(uint64_t number, uint64_t burst) {
    alarm(HANGS_AFTER_SECONDS);
    may_fail = true;
    inject_arm(number, burst);
    do_all();
    bool failed = inject_disarm();
    may_fail = false;
    do_all();
    _Exit(failed ? 0 : NOTHING_FAILED);
}

/* Waits for one process; false once there is nothing left to fail. */
static bool take_end(uint64_t *numbers, pid_t *processes, uint64_t burst) {
    int status = 0, which = 0;
    pid_t ended = wait(&status);
    while (processes[which] != ended)
        which++;
    processes[which] = 0;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == NOTHING_FAILED))
        return WEXITSTATUS(status) == 0;
    fprintf(stderr, "injection %s one %llu %llu: %s %d\n", kernels_path, (unsigned long long)burst,
            (unsigned long long)numbers[which], WIFSIGNALED(status) ? "signal" : "status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    _Exit(1);
}

static void run_fresh(uint64_t burst, uint64_t number, uint64_t stride) {
    uint64_t numbers[WORKERS];
    pid_t processes[WORKERS] = {0};
    int running = 0, rounds = 0;
    bool more = true;
    while (more || running > 0) {
        int slot = 0;
        while (slot < WORKERS && processes[slot] != 0)
            slot++;
        if (!more || slot == WORKERS) {
            more &= take_end(numbers, processes, burst);
            running--;
            continue;
        }
        numbers[slot] = number;
        fflush(NULL);
        processes[slot] = fork();
        REQUIRE(processes[slot] >= 0);
        if (processes[slot] == 0)
            fail_in_this_process(number, burst);
        running++;
        rounds++;
        number += stride;
    }
    printf("fresh: %d processes, calls up to %llu\n", rounds, (unsigned long long)number);
}

/* --- One warm process --------------------------------------------------------------------------------------- */

/* Fails each call of a piece of work in turn; returns how many times. */
static uint64_t fail_piece(const work *piece, uint64_t burst, uint64_t first, uint64_t stride) {
    for (int warming = 0; warming < 3; warming++)
        do_piece(piece);
    int files = open_files();
    uint64_t rounds = 0;
    for (bool failed = true; failed; rounds++) {
        alarm(HANGS_AFTER_SECONDS);
        may_fail = true;
        inject_arm(first + rounds * stride, burst);
        do_piece(piece);
        failed = inject_disarm();
        may_fail = false;
        do_piece(piece);
        REQUIRE(files_come_down_to(files));
    }
    return rounds;
}

/* Blocks of memory, when threads that have nothing to do have ended and their blocks are gone. */
static int64_t blocks_at_rest(void) {
    sleep(6);
    return inject_live_blocks();
}

static void run_warm(uint64_t burst, uint64_t first, uint64_t stride) {
    uint64_t rounds = 0;
    inject_arm(UINT64_MAX, 1);
    inject_disarm();
    do_all();
    do_all();
    int64_t blocks = burst == 1 ? blocks_at_rest() : 0;
    for (size_t group = 0; group < sizeof all_work / sizeof *all_work; group++)
        for (const work *each = all_work[group]; each->name != NULL; each++)
            rounds += fail_piece(each, burst, first, stride);
    blocks = burst == 1 ? blocks_at_rest() - blocks : 0;
    if (blocks > MOST_LEFT) {
        fprintf(stderr, "%lld blocks of memory are left\n", (long long)blocks);
        _Exit(1);
    }
    printf("warm: %llu rounds\n", (unsigned long long)rounds);
}

/* --- Limits of the system ------------------------------------------------------------------------------------ */

static rlim_t address_space_in_use(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Does everything under a limit, then again without. */
static void do_limited(__rlimit_resource_t resource, rlim_t limit) {
    struct rlimit before, lower;
    alarm(HANGS_AFTER_SECONDS);
    REQUIRE(getrlimit(resource, &before) == 0);
    lower = (struct rlimit){limit, before.rlim_max};
    may_fail = true;
    REQUIRE(setrlimit(resource, &lower) == 0);
    do_all();
    REQUIRE(setrlimit(resource, &before) == 0);
    may_fail = false;
    do_all();
}

/* The same in a process of its own. */
static void do_apart(__rlimit_resource_t resource, rlim_t limit, bool (*prepare)(void)) {
    pid_t process = fork();
    if (process == 0) {
        if (prepare == NULL || prepare())
            do_limited(resource, limit);
        _Exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(process, &status, 0) == process && status == 0);
}

/* The limit of threads is one of all processes of a user, and root has none: so the process becomes that of a user who
 * has no other. False if such a one cannot read the library. */
static bool become_a_stranger(void) {
    enum { FIRST_STRANGER = 70000, STRANGERS = 100000 };
    Dl_info library;
    if (getuid() != 0)
        return true;
    uid_t stranger = FIRST_STRANGER + (uid_t)getpid() % STRANGERS;
    REQUIRE(setgid(stranger) == 0 && setuid(stranger) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    bool can_read = dladdr((void *)zeInit, &library) != 0 && access(library.dli_fname, R_OK) == 0;
    if (!can_read)
        printf("no limit of threads was tried: other users cannot read the library\n");
    return can_read;
}

/* In a process that has done everything before, and so has what it needs for it; and in one that has not started. */
static void run_limited(void) {
    uint64_t rounds = 0;
    for (rlim_t files = 3; files < 30; files += 2, rounds++)
        do_apart(RLIMIT_NOFILE, files, NULL);
    for (rlim_t threads = 0; threads < 8; threads++, rounds++)
        do_apart(RLIMIT_NPROC, threads, become_a_stranger);
    do_all();
    for (rlim_t files = (rlim_t)open_files() - 3, most = files + 12; files < most; files++, rounds++)
        do_limited(RLIMIT_NOFILE, files);
    for (rlim_t spare = 0; HAS_LIMITED_SPACE && spare <= (rlim_t)256 << 20; spare = spare * 2 + 4096, rounds++)
        do_limited(RLIMIT_AS, address_space_in_use() + spare);
    printf("limits: %llu rounds\n", (unsigned long long)rounds);
}

int main(int count, char **arguments) {
    if (count < 5) {
        fprintf(stderr, "usage: injection KERNELS fresh|warm|one|limits BURST FIRST [STRIDE]\n");
        return 2;
    }
    kernels_path = arguments[1];
    setenv("GROUNDSTATE_THREADS", "4", 1); /* as many cooperating groups as a kernel has here */
    uint64_t burst = strtoull(arguments[3], NULL, 10), first = strtoull(arguments[4], NULL, 10);
    read_kernels();
    uint64_t stride = count > 5 ? strtoull(arguments[5], NULL, 10) : 1;
    if (strcmp(arguments[2], "warm") == 0)
        run_warm(burst, first, stride);
    else if (strcmp(arguments[2], "limits") == 0)
        run_limited();
    else if (strcmp(arguments[2], "fresh") == 0)
        run_fresh(burst, first, stride);
    else
        fail_in_this_process(first, burst);
    return 0;
}
