/* Copies between the same two buffers, by the device and by the host, turn about.
 *
 * The host's side is a team with one thread on each core, each copying its share: once with memcpy, once with
 * stores that bypass the cache, which some C libraries do not use when threads share the work. A third figure
 * is memcpy on one core, which is the best there is for a small copy. The team sleeps while the device works.
 *
 * Usage: copy LIBRARY BYTES ROUNDS COPIES_PER_ROUND */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "level_zero.h"

typedef void copy_function(char *to, const char *from, size_t size);

/* --- The team -------------------------------------------------------------------------------------- */

static struct {
    int size;
    cpu_set_t cores;
    pthread_barrier_t gathering; /* wakes the team, and ends a block */
    _Atomic uint64_t started;    /* copies begun in this block; the members spin on it */
    _Atomic int busy;
    _Atomic bool over;
    copy_function *copy;
    char *to;
    const char *from;
    size_t bytes;
} team;

static void relax(void) {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* A share starts at a page, so that no two members write to one cache line. */
static void copy_share(int member) {
    size_t share = (team.bytes / (size_t)team.size + 4095) & ~(size_t)4095;
    size_t start = share * (size_t)member;
    if (start < team.bytes)
        team.copy(team.to + start, team.from + start, team.bytes - start < share ? team.bytes - start : share);
}

/* Keeps the calling thread on one of the cores it may use, so that no two members share one. */
static void stay_on_core(int which) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &team.cores) && which-- == 0)
            CPU_SET(core, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
}

static void *member(void *argument) {
    int self = (int)(intptr_t)argument;
    stay_on_core(self);
    for (;;) {
        pthread_barrier_wait(&team.gathering);
        for (uint64_t seen = 0;;) {
            while (atomic_load_explicit(&team.started, memory_order_acquire) == seen && !atomic_load(&team.over))
                relax();
            if (atomic_load(&team.over))
                break;
            seen++;
            copy_share(self);
            atomic_fetch_sub(&team.busy, 1);
        }
        pthread_barrier_wait(&team.gathering);
    }
    return NULL;
}

static void gather_team(void) {
    REQUIRE(sched_getaffinity(0, sizeof team.cores, &team.cores) == 0);
    team.size = CPU_COUNT(&team.cores);
    pthread_barrier_init(&team.gathering, NULL, (unsigned)team.size);
    for (int each = 1; each < team.size; each++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, member, (void *)(intptr_t)each) == 0);
    }
}

static void copy_with_team(void) {
    atomic_store(&team.busy, team.size - 1);
    atomic_fetch_add(&team.started, 1);
    copy_share(0);
    while (atomic_load(&team.busy) > 0)
        relax();
}

/* --- Ways to copy ---------------------------------------------------------------------------------- */

static void copy_plainly(char *to, const char *from, size_t size) { memcpy(to, from, size); }

#if defined(__x86_64__)
/* Both ends are page aligned here; what is left after the last whole line goes the plain way. */
__attribute__((target("avx"))) static void copy_past_cache(char *to, const char *from, size_t size) {
    size_t whole = size & ~(size_t)127;
    for (size_t at = 0; at < whole; at += 128) {
        _mm_prefetch(from + at + 1024, _MM_HINT_T0);
        _mm_prefetch(from + at + 1088, _MM_HINT_T0);
        for (int part = 0; part < 128; part += 32)
            _mm256_stream_si256((__m256i *)(to + at + part), _mm256_load_si256((const __m256i *)(from + at + part)));
    }
    _mm_sfence();
    memcpy(to + whole, from + whole, size - whole);
}
static bool can_copy_past_cache(void) { return __builtin_cpu_supports("avx"); }
#else
static void copy_past_cache(char *to, const char *from, size_t size) { memcpy(to, from, size); }
static bool can_copy_past_cache(void) { return false; }
#endif

/* --- Measuring ------------------------------------------------------------------------------------- */

/* One sample for each copy: the best of them is what the machine can do, the median what one gets. */
static void measure_team(const char *name, copy_function *copy, uint64_t copies) {
    team.copy = copy;
    stay_on_core(0);
    atomic_store(&team.over, false);
    atomic_store(&team.started, 0);
    pthread_barrier_wait(&team.gathering);
    for (uint64_t each = 0; each < copies; each++) {
        uint64_t start = now();
        copy_with_team();
        print_sample(name, now() - start, 1);
    }
    atomic_store(&team.over, true);
    pthread_barrier_wait(&team.gathering);
    REQUIRE(sched_setaffinity(0, sizeof team.cores, &team.cores) == 0);
}

static void measure_one_core(uint64_t copies) {
    for (uint64_t each = 0; each < copies; each++) {
        uint64_t start = now();
        memcpy(team.to, team.from, team.bytes);
        print_sample("memcpy-one-core", now() - start, 1);
    }
}

static void measure_device(const char *name, ze_command_list_handle_t list, uint64_t copies) {
    for (uint64_t each = 0; each < copies; each++) {
        uint64_t start = now();
        CHECK(ze.zeCommandListAppendMemoryCopy(list, team.to, team.from, team.bytes, NULL, 0, NULL));
        CHECK(ze.zeCommandListHostSynchronize(list, UINT64_MAX));
        print_sample(name, now() - start, 1);
    }
}

int main(int count, char **arguments) {
    REQUIRE(count == 5);
    uint64_t rounds = number(arguments[3]), copies = number(arguments[4]);
    start_level_zero(arguments[1]);
    REQUIRE(ze.zeCommandListHostSynchronize != NULL);
    team.bytes = number(arguments[2]);
    team.to = device_memory(team.bytes);
    team.from = device_memory(team.bytes);
    memset(team.to, 1, team.bytes);
    memset((char *)team.from, 2, team.bytes);
    gather_team();
    ze_command_list_handle_t list = immediate_list(0);
    for (uint64_t round = 0; round < rounds; round++) {
        const uint64_t quiet = 2000000; /* long enough for the threads of one side to have gone to sleep */
        pause_for(quiet);
        measure_device("device", list, copies);
        pause_for(quiet);
        measure_team("memcpy", copy_plainly, copies);
        if (can_copy_past_cache())
            measure_team("past-cache", copy_past_cache, copies);
        measure_one_core(copies);
    }
    REQUIRE(memcmp(team.to, team.from, team.bytes) == 0);
    return 0;
}
