/* Bandwidth and latency of memory as a device sees them: its own, and that of another device. Nothing tells a program this, so it is
 * tried once, with the code and the threads that copy commands use. */
#include <stdlib.h>
#include <sys/mman.h>

#include "generated/shared.h"
#include "runtime/command.h"
#include "threads/thread.h"
#include "threads/wait.h"

typedef struct trial {
    gs_device *device;
    char *near, *far; /* blocks of `size` bytes in the memory of the device and of the peer */
    uint64_t size;
    gs_speed *speed;
    _Atomic bool done;
} trial;

/* Not in the trial, which is gone as soon as it is done. */
static gs_futex endings;

enum { ATTEMPTS = 3, READ_PART = 1 << 20, LINE = 64, WALKS = 8, STEPS = 2000 };

static void copy_near(trial *trial) { gs_copy(trial->device->pool, trial->near, trial->far, trial->size); }

static void write_far(trial *trial) { gs_fill(trial->device->pool, trial->far, trial->size, "", 1); }

static _Atomic uint64_t never_read; /* keeps the compiler from leaving out loads whose values nobody wants */

static void read_part(void *argument, uint64_t part) {
    const trial *trial = argument;
    const uint64_t *words = (const uint64_t *)(trial->far + part * READ_PART);
    uint64_t sums[8] = {0};
    for (uint64_t word = 0; word < READ_PART / sizeof *words; word += 8)
        for (int lane = 0; lane < 8; lane++)
            sums[lane] += words[word + lane];
    for (int lane = 0; lane < 8; lane++)
        never_read += sums[lane];
}

static void read_far(trial *trial) { gs_thread_pool_run(trial->device->pool, read_part, trial, trial->size / READ_PART); }

/* The best of some attempts, in bytes per second: whatever else the machine does only makes it slower. */
static uint64_t rate(trial *trial, void (*attempt)(struct trial *)) {
    uint64_t best = UINT64_MAX;
    for (int each = 0; each < ATTEMPTS; each++) {
        uint64_t start = gs_clock(CLOCK_MONOTONIC);
        attempt(trial);
        uint64_t spent = gs_clock(CLOCK_MONOTONIC) - start;
        best = spent < best ? spent : best;
    }
    return (uint64_t)((double)trial->size * 1e9 / (double)(best > 0 ? best : 1));
}

/* The block holds zeros. Adding what was loaded to where to look next makes each load wait for the one before;
 * the factor makes the walk too wild for a prefetcher. */
static uint64_t latency(const trial *trial) {
    uint64_t lines = 1, at = 1, best = UINT64_MAX;
    while (lines * 2 <= trial->size / LINE)
        lines *= 2;
    for (int each = 0; each < WALKS; each++) {
        uint64_t start = gs_clock(CLOCK_MONOTONIC);
        for (int step = 0; step < STEPS; step++)
            at = (at * 1664525 + 1013904223 + *(const volatile uint64_t *)(trial->far + at * LINE)) & (lines - 1);
        uint64_t spent = gs_clock(CLOCK_MONOTONIC) - start;
        best = spent < best ? spent : best;
    }
    return best / STEPS > 0 ? best / STEPS : 1;
}

static void *try(void *argument) {
    trial *trial = argument;
    gs_affinity_enter(trial->device->affinity);
    write_far(trial);
    copy_near(trial); /* both blocks have their pages now */
    trial->speed->write = rate(trial, write_far);
    trial->speed->read = rate(trial, read_far);
    trial->speed->copy = rate(trial, copy_near);
    trial->speed->latency = latency(trial);
    trial->done = true;
    gs_futex_notify(&endings);
    return NULL;
}

static bool is_done(void *state) { return ((trial *)state)->done; }

static char *map(const gs_device *device, uint64_t size) {
    char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    madvise(block, size, MADV_HUGEPAGE);
    gs_affinity_bind_memory(device->affinity, block, size, false);
    return block;
}

/* Measures with blocks of `size` bytes, a multiple of READ_PART that should be larger than the caches. False: there
 * is no memory or no thread for it now. */
GS_EXPORT bool gs_device_measure(gs_device *device, const gs_device *peer, uint64_t size, gs_speed *speed) {
    trial trial = {.device = device, .size = size, .speed = speed};
    trial.near = map(device, size);
    trial.far = trial.near != NULL ? map(peer, size) : NULL;
    bool started = trial.far != NULL && gs_thread_start("gs-measure", try, &trial);
    if (started)
        gs_futex_wait(&endings, is_done, &trial, GS_FOREVER, false);
    if (trial.far != NULL)
        munmap(trial.far, size);
    if (trial.near != NULL)
        munmap(trial.near, size);
    return started;
}
