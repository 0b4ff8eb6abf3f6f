/* Two parts of a mapped file are filled in turn; a thread moves full ones to the stream. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/stream/journal.h"
#include "capture/recorder/slots.h"
#include "capture/stream/digest.h"
#include "capture/stream/stream.h"
#include "generated/functions.h"

enum { PART_SIZE = 8 << 20 };
enum { NAME_TRIES = 1000, ABOUT_LIMIT = 64 << 10 };

/* What the file says of a part. `filled` is used bytes and, above them, the count, so that both change at once. */
typedef struct part {
    uint64_t first;
    _Atomic uint64_t filled;
} part;

_Static_assert(sizeof(part) == sizeof(gc_layout_part) && offsetof(part, filled) == offsetof(gc_layout_part, used),
               "a part lies as the format says");

/* What the file says of a thread: the function it is inside, plus one, or 0; since when; and behind the parts, in as many
 * bytes as `size` says, the body of the call's record so far. */
typedef struct inside {
    _Atomic uint32_t function;
    uint32_t size;
    uint64_t time;
} inside;

_Static_assert(sizeof(inside) == sizeof(gc_layout_inside) && offsetof(inside, size) == offsetof(gc_layout_inside, size) &&
                   offsetof(inside, time) == offsetof(gc_layout_inside, time),
               "what is said of a thread lies as the format says");

enum { INSIDE_COUNT = (GC_PAYLOAD_PLACE - GC_INSIDE_PLACE) / sizeof(inside) };
enum { BODIES_PLACE = GC_PAYLOAD_PLACE + 2 * PART_SIZE, FILE_SIZE = BODIES_PLACE + INSIDE_COUNT * GC_INSIDE_LIMIT };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t part_is_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t part_is_free = PTHREAD_COND_INITIALIZER;
static pthread_t mover;
static bool has_mover;

static atomic_bool is_open;
static bool closing;
static uint8_t *memory; /* the journal's file */
static char journal_path[4096];
static int active;      /* the part that is being filled */
static bool full[2];
static _Atomic uint64_t records;
static uint64_t start;
static atomic_bool named[GS_FN_COUNT];

static part *part_at(int which) {
    return (part *)(memory + GC_PARTS_PLACE) + which;
}

static uint32_t used_of(int which) {
    return (uint32_t)atomic_load_explicit(&part_at(which)->filled, memory_order_acquire);
}

static uint32_t count_of(int which) {
    return (uint32_t)(atomic_load_explicit(&part_at(which)->filled, memory_order_acquire) >> 32);
}

static uint8_t *payload_of(int which) {
    return memory + GC_PAYLOAD_PLACE + (size_t)which * PART_SIZE;
}

/* Writes a part to the stream, then empties it. Not under the lock: nobody else touches a full part. */
static void move_part(int which) {
    if (count_of(which) > 0)
        gc_stream_chunk(payload_of(which), used_of(which), part_at(which)->first, count_of(which));
    atomic_store_explicit(&part_at(which)->filled, 0, memory_order_release);
}

static void *move_parts(void *nothing) {
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!full[0] && !full[1] && !closing)
            pthread_cond_wait(&part_is_full, &lock);
        if (!full[0] && !full[1])
            break;
        int which = full[0] ? 0 : 1;
        pthread_mutex_unlock(&lock);
        move_part(which);
        pthread_mutex_lock(&lock);
        full[which] = false;
        pthread_cond_broadcast(&part_is_free);
    }
    pthread_mutex_unlock(&lock);
    return nothing;
}

/* The mover takes none of the program's signals. */
static bool start_mover(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    has_mover = pthread_create(&mover, NULL, move_parts, NULL) == 0;
    if (has_mover)
        pthread_setname_np(mover, "gs-recorder"); /* as the driver's threads are called: it is none of the program's */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return has_mover;
}

/* Sees to it that the active part has room, and goes on to the other one if it has not. The lock is given up
 * while both are full, so everything is looked at again after that. Without a mover the part is moved here. */
static void make_room(size_t size) {
    for (;;) {
        while (full[active])
            pthread_cond_wait(&part_is_free, &lock);
        if (size <= PART_SIZE - used_of(active))
            return;
        if (!has_mover && !start_mover()) {
            move_part(active);
            return;
        }
        full[active] = true;
        pthread_cond_signal(&part_is_full);
        active = !active;
    }
}

/* Appends a record made of a head and a body; the lock is held. */
static void append(const void *head, size_t head_size, const void *body, size_t body_size) {
    size_t size = head_size + body_size;
    make_room(size);
    if (count_of(active) == 0)
        part_at(active)->first = records;
    uint32_t used = used_of(active);
    uint8_t *to = payload_of(active) + used;
    memcpy(to, head, head_size);
    if (body_size > 0)
        memcpy(to + head_size, body, body_size);
    uint64_t filled = (uint64_t)(count_of(active) + 1) << 32 | (used + size);
    atomic_store_explicit(&part_at(active)->filled, filled, memory_order_release);
    atomic_fetch_add_explicit(&records, 1, memory_order_release);
}

static void append_name(uint32_t function) {
    const char *name = gs_function_names[function];
    uint32_t head[3] = {GC_FUNCTION, (uint32_t)(4 + strlen(name)), function};
    append(head, sizeof head, name, strlen(name));
    named[function] = true;
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void gc_journal_name(uint32_t function) {
    if (atomic_load_explicit(&named[function], memory_order_relaxed))
        return;
    pthread_mutex_lock(&lock);
    if (is_open && !named[function])
        append_name(function);
    pthread_mutex_unlock(&lock);
}

void gc_journal_enter(uint32_t thread, uint32_t function, uint64_t time, const uint8_t *body, size_t size) {
    if (thread >= INSIDE_COUNT)
        return;
    inside *here = (inside *)(memory + GC_INSIDE_PLACE) + thread;
    memcpy(memory + BODIES_PLACE + (size_t)thread * GC_INSIDE_LIMIT, body, size);
    here->size = (uint32_t)size;
    here->time = time - start;
    atomic_store_explicit(&here->function, function + 1, memory_order_release);
}

uint64_t gc_journal_leave(uint32_t thread, const uint8_t *record, size_t size) {
    pthread_mutex_lock(&lock);
    uint64_t number = 0;
    if (is_open) {
        append(record, size, NULL, 0);
        number = records - 1;
        if (thread < INSIDE_COUNT)
            atomic_store_explicit(&((inside *)(memory + GC_INSIDE_PLACE))[thread].function, 0, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return number;
}

void gc_journal_append(const uint8_t *record, size_t size) {
    pthread_mutex_lock(&lock);
    if (is_open)
        append(record, size, NULL, 0);
    pthread_mutex_unlock(&lock);
}

void gc_journal_content(const uint8_t *digest, const uint8_t *from, size_t size) {
    struct {
        gc_layout_record record;
        uint8_t digest[GC_DIGEST_SIZE];
    } head = {{GC_CONTENT, (uint32_t)(GC_DIGEST_SIZE + size)}, {0}};
    memcpy(head.digest, digest, GC_DIGEST_SIZE);
    pthread_mutex_lock(&lock);
    if (is_open && !gc_stream_has_content(digest)) {
        append(&head, sizeof head, from, size);
        gc_stream_note_content(digest, records - 1);
    }
    pthread_mutex_unlock(&lock);
}

bool gc_journal_is_open(void) {
    return atomic_load_explicit(&is_open, memory_order_relaxed);
}

uint64_t gc_journal_count(void) {
    return atomic_load_explicit(&records, memory_order_acquire);
}

uint64_t gc_journal_start(void) {
    return start;
}

/* Adds `key 0 value 0` to what is said of the process, as far as there is room. */
static size_t tell(char *to, size_t used, const char *key, const char *value) {
    size_t size = strlen(key) + strlen(value) + 2;
    if (size > ABOUT_LIMIT - used)
        return used;
    memcpy(to + used, key, strlen(key) + 1);
    memcpy(to + used + strlen(key) + 1, value, strlen(value) + 1);
    return used + size;
}

static size_t tell_arguments(char *to, size_t used) {
    FILE *stream = fopen("/proc/self/cmdline", "re");
    char *argument = NULL;
    size_t capacity = 0;
    while (stream != NULL && getdelim(&argument, &capacity, 0, stream) > 0)
        used = tell(to, used, "argument", argument);
    free(argument);
    if (stream != NULL)
        fclose(stream);
    return used;
}

static void append_about(const char *program, const char *next, const char *pages) {
    char *text = malloc(ABOUT_LIMIT);
    if (text == NULL)
        return;
    struct utsname machine;
    size_t used = tell(text, 0, "api", gc_api_version);
    used = tell(text, used, "machine", uname(&machine) == 0 ? machine.machine : "unknown");
    used = tell(text, used, "program", program);
    used = tell(text, used, "next", next);
    used = tell(text, used, "pages", pages);
    used = tell_arguments(text, used);
    gc_layout_record head = {GC_ABOUT, (uint32_t)used};
    append(&head, sizeof head, text, used);
    free(text);
}

/* Creates the stream's file under a name that no other process has. */
static bool create_stream(const char *folder, const char *program, const gc_layout_header *header, char *path, size_t capacity) {
    const char *slash = strrchr(program, '/');
    const char *name = slash != NULL ? slash + 1 : program;
    for (int try = 1; try <= NAME_TRIES; try++) {
        char again[16] = "";
        if (try > 1)
            snprintf(again, sizeof again, "-%d", try);
        snprintf(path, capacity, "%s/%s-%d%s.gsstream", folder, name, (int)getpid(), again);
        if (gc_stream_create(path, header))
            return true;
        if (errno != EEXIST)
            break;
    }
    return false;
}

static bool map_journal(uint64_t began) {
    int file = open(journal_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return false;
    size_t size = FILE_SIZE;
    /* Allocated now: a mapped page for which the disk has no room would end the program. */
    int problem = posix_fallocate(file, 0, (off_t)size);
    void *mapped = problem == 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (problem != 0)
        errno = problem;
    close(file);
    if (mapped == MAP_FAILED)
        return false;
    memory = mapped;
    gc_stream_header((gc_layout_header *)memory, GC_JOURNAL_MAGIC, PART_SIZE, began, (uint32_t)getpid());
    return true;
}

bool gc_journal_open(const char *folder, const char *next, const char *pages) {
    char program[2048] = "program", path[4000];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0)
        program[length] = 0;
    uint64_t began = read_clock(CLOCK_REALTIME);
    gc_layout_header header;
    gc_stream_header(&header, GC_MAGIC, 0, began, (uint32_t)getpid());
    start = read_clock(CLOCK_MONOTONIC);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "groundstate: cannot record into %s: %s\n", folder, strerror(errno));
        return false;
    }
    bool created = create_stream(folder, program, &header, path, sizeof path);
    snprintf(journal_path, sizeof journal_path, "%s.journal", path);
    if (!created || !map_journal(began)) {
        fprintf(stderr, "groundstate: cannot record into %s: %s\n", path, strerror(errno));
        return false;
    }
    append_about(program, next, pages);
    is_open = true;
    return true;
}

void gc_journal_close(void) {
    pthread_mutex_lock(&lock);
    bool was_open = atomic_exchange(&is_open, false);
    closing = true;
    pthread_cond_broadcast(&part_is_full);
    pthread_mutex_unlock(&lock);
    if (!was_open)
        return;
    if (has_mover)
        pthread_join(mover, NULL);
    pthread_mutex_lock(&lock);
    move_part(active);
    if (gc_stream_finish())
        unlink(journal_path);
    pthread_mutex_unlock(&lock);
}

void gc_journal_abandon(void) {
    is_open = false;
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread of the parent may have held it */
    has_mover = false;
    gc_stream_abandon();
    if (memory != NULL)
        munmap(memory, FILE_SIZE);
    memory = NULL;
}
