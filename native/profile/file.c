/* The file of a profile: made, made larger, and written. */
#define _GNU_SOURCE
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/abi.h"
#include "abi/tracer.h"
#include "python/handlers.h"
#include "threads/fork.h"
#include "threads/lock.h"

/* How large a file can become, where addresses are plenty and where they are not; and how much is added at a time. Room is
 * made when less than half a step is left, so that others find some meanwhile. */
static const uint64_t MOST_BYTES[] = {UINT64_C(1) << 30, UINT64_C(64) << 20};
enum { STEP_BYTES = 4 << 20 };

_Atomic uint32_t gs_profile_session;
static uint32_t sessions;
static _Atomic uint32_t writers; /* threads that have entered */
static bool counts_wanted;
static gs_profile_head *head;
static uint64_t capacity;
static int file = -1;
static _Thread_local uint32_t thread_number;
GS_STATIC_LOCK(starting, GS_LONG_LOCK)

static uint32_t this_thread(void) {
    if (thread_number == 0)
        thread_number = (uint32_t)syscall(SYS_gettid);
    return thread_number;
}

static bool is_mapped(int of) {
    for (size_t each = 0; each < sizeof MOST_BYTES / sizeof *MOST_BYTES; each++) {
        void *memory = mmap(NULL, MOST_BYTES[each], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, of, 0);
        if (memory != MAP_FAILED) {
            head = memory;
            capacity = MOST_BYTES[each];
            return true;
        }
    }
    return false;
}

/* Memory of a file system that is full would strike whoever touches it, so that it is asked for. */
static bool make_room(uint64_t from, uint64_t bytes) {
    int problem = posix_fallocate(file, (off_t)from, (off_t)bytes);
    errno = problem;
    return problem == 0;
}

static bool open_file(const char *path) {
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return false;
    if (make_room(0, STEP_BYTES) && is_mapped(file))
        return true;
    int problem = errno;
    close(file);
    file = -1;
    unlink(path);
    errno = problem;
    return false;
}

GS_EXPORT bool gs_profile_start(const char *path, bool counts) {
    gs_lock(&starting);
    bool is_free = !gs_profile_is_on();
    errno = EBUSY;
    bool started = is_free && open_file(path);
    if (started) {
        uint64_t first = sizeof *head + GS_FN_COUNT * sizeof(gs_profile_function);
        head->pid = (uint64_t)getpid();
        head->start = gs_clock(CLOCK_MONOTONIC);
        head->functions = GS_FN_COUNT;
        head->first = head->used = (first + 7) & ~UINT64_C(7);
        head->ready = STEP_BYTES;
        head->period = GS_SAMPLE_NANOSECONDS;
        head->magic = GS_PROFILE_MAGIC;
        counts_wanted = counts;
        gs_profile_forget_calls();
        atomic_store(&gs_profile_session, ++sessions);
        gs_tracers_profile(true);
    }
    int problem = errno;
    gs_unlock(&starting);
    errno = problem;
    return started;
}

GS_EXPORT void gs_profile_stop(void) {
    gs_lock(&starting);
    if (gs_profile_is_on()) {
        gs_tracers_profile(false);
        atomic_store(&gs_profile_session, 0);
        while (atomic_load(&writers) > 0)
            sched_yield();
        head->end = gs_clock(CLOCK_MONOTONIC);
        munmap(head, capacity);
        close(file);
        head = NULL;
        file = -1;
    }
    gs_unlock(&starting);
}

GS_EXPORT bool gs_profile_is_written(void) { return gs_profile_is_on(); }

bool gs_profile_wants_counts(void) { return counts_wanted; }

/* For groundstate.core, in the middle of a program: what was compiled before is described, too. Returns 0, or what went
 * wrong as an errno. */
GS_EXPORT int gs_profile_begin(const char *path, bool counts) {
    if (!gs_profile_start(path, counts))
        return errno;
    gs_describe_kernels();
    return 0;
}

/* Adds what Python knows: JSON. */
GS_EXPORT void gs_profile_text(const char *text, uint64_t size) {
    if (gs_profile_enter() == NULL)
        return;
    gs_profile_add(GS_PROFILE_TEXT, 0, (gs_profile_piece){text, size}, (gs_profile_piece){NULL, 0});
    gs_profile_leave();
}

/* Where the program ends without a word, the time of the last record is all that is known. */
__attribute__((destructor)) static void note_end(void) {
    if (gs_profile_enter() == NULL)
        return;
    head->end = gs_clock(CLOCK_MONOTONIC);
    gs_profile_leave();
}

/* --- Writing ----------------------------------------------------------------------------------------- */

gs_profile_head *gs_profile_enter(void) {
    atomic_fetch_add(&writers, 1);
    if (atomic_load(&gs_profile_session) != 0)
        return head;
    atomic_fetch_sub(&writers, 1);
    return NULL;
}

void gs_profile_leave(void) { atomic_fetch_sub(&writers, 1); }

/* Makes the file larger, if nobody else does. */
static void grow(void) {
    uint32_t nobody = 0;
    if (head->ready >= capacity || !atomic_compare_exchange_strong(&head->is_growing, &nobody, 1))
        return;
    uint64_t ready = head->ready, bytes = capacity - ready < STEP_BYTES ? capacity - ready : STEP_BYTES;
    if (bytes > 0 && make_room(ready, bytes))
        head->ready = ready + bytes;
    head->is_growing = 0;
}

/* Takes room for a record; NULL: there is none. */
static gs_profile_record *take(size_t size) {
    uint64_t used = atomic_load(&head->used);
    do {
        if (size > UINT32_MAX || used + size > atomic_load(&head->ready)) {
            atomic_fetch_add(&head->dropped, 1);
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&head->used, &used, used + size));
    return (gs_profile_record *)((char *)head + used);
}

static void write_record(gs_profile_kind kind, uint32_t number, gs_profile_piece body, gs_profile_piece rest) {
    size_t size = (sizeof(gs_profile_record) + body.size + rest.size + 7) & ~(size_t)7;
    gs_profile_record *record = take(size);
    if (record == NULL)
        return;
    char *at = (char *)(record + 1);
    memcpy(at, body.bytes, body.size);
    if (rest.size > 0)
        memcpy(at + body.size, rest.bytes, rest.size);
    record->size = (uint32_t)size;
    record->thread = this_thread();
    record->number = number;
    atomic_store_explicit(&record->kind, kind, memory_order_release);
}

void gs_profile_add(gs_profile_kind kind, uint32_t number, gs_profile_piece body, gs_profile_piece rest) {
    size_t size = body.size + rest.size;
    for (int tries = 0; tries < 1024 && head->ready - head->used < STEP_BYTES / 2 + size && head->ready < capacity; tries++) {
        uint64_t before = head->ready;
        grow();
        if (head->ready == before)
            break;
    }
    write_record(kind, number, body, rest);
}

void gs_profile_add_in_handler(gs_profile_kind kind, uint32_t number, gs_profile_piece body) {
    write_record(kind, number, body, (gs_profile_piece){NULL, 0});
}

/* The child shares the file. Nobody but this thread is left. */
void gs_profile_after_fork(void) {
    thread_number = 0;
    writers = 0;
    gs_sampler_after_fork();
}
