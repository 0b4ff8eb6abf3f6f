/* Copies and fills. A large one is cut into pieces for the device's workers; pieces larger than the cache
 * are written past it, which saves reading the destination first. */
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "faults/fault.h"
#include "runtime/command.h"

enum {
    PIECE = 256 << 10,           /* what one worker takes at a time */
    SHARED_FROM = 512 << 10,    /* smaller work is not worth sharing out */
    STREAMED_FROM = 16 << 20,   /* larger work would only push everything else out of the cache */
    STREAMED_ROW = 1 << 10,     /* shorter rows are mostly beginnings and ends, which are not streamed */
};

#if defined(__x86_64__)
static bool has_avx;

/* Whether the processor has AVX and the system saves its registers. __builtin_cpu_supports would say it, but
 * not every compiler's runtime library has what that needs. */
__attribute__((constructor, target("xsave"))) static void look_for_avx(void) {
    unsigned eax, ebx, ecx = 0, edx;
    const unsigned needed = bit_OSXSAVE | bit_AVX, saved = 6;
    has_avx = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & needed) == needed && (_xgetbv(0) & saved) == saved;
}

static bool can_stream(void) { return has_avx; }

/* Copies with stores that bypass the cache. */
__attribute__((target("avx"))) static void stream(char *destination, const char *source, size_t size) {
    size_t head = (64 - (uintptr_t)destination % 64) % 64;
    head = head < size ? head : size;
    memcpy(destination, source, head);
    destination += head;
    source += head;
    size_t lines = (size - head) / 128;
    for (size_t line = 0; line < lines; line++, destination += 128, source += 128) {
        __builtin_prefetch(source + 1024);
        __builtin_prefetch(source + 1088);
        __m256i a = _mm256_loadu_si256((const __m256i *)source);
        __m256i b = _mm256_loadu_si256((const __m256i *)(source + 32));
        __m256i c = _mm256_loadu_si256((const __m256i *)(source + 64));
        __m256i d = _mm256_loadu_si256((const __m256i *)(source + 96));
        _mm256_stream_si256((__m256i *)destination, a);
        _mm256_stream_si256((__m256i *)(destination + 32), b);
        _mm256_stream_si256((__m256i *)(destination + 64), c);
        _mm256_stream_si256((__m256i *)(destination + 96), d);
    }
    _mm_sfence();
    memcpy(destination, source, size - head - 128 * lines);
}
#else
static bool can_stream(void) { return false; }
static void stream(char *destination, const char *source, size_t size) { memcpy(destination, source, size); }
#endif

typedef struct copy_job {
    char *destination;
    const char *source;
    uint64_t size;
    bool streamed;
} copy_job;

static uint64_t piece_size(uint64_t size, uint64_t part) {
    uint64_t left = size - part * PIECE;
    return left < PIECE ? left : PIECE;
}

static void copy_piece(void *argument, uint64_t part) {
    const copy_job *job = argument;
    char *destination = job->destination + part * PIECE;
    const char *source = job->source + part * PIECE;
    if (job->streamed)
        stream(destination, source, piece_size(job->size, part));
    else
        memcpy(destination, source, piece_size(job->size, part));
}

static void move_all(void *argument, uint64_t unused) {
    (void)unused;
    const copy_job *job = argument;
    memmove(job->destination, job->source, job->size);
}

void gs_copy(gs_thread_pool *pool, char *destination, const char *source, uint64_t size) {
    copy_job job = {destination, source, size, size >= STREAMED_FROM && can_stream()};
    bool overlapping = destination < source + size && source < destination + size;
    if (size < SHARED_FROM || overlapping) {
        gs_guard(move_all, &job, 0, NULL);
        return;
    }
    gs_thread_pool_run(pool, copy_piece, &job, (size + PIECE - 1) / PIECE);
}

/* --- Regions: rows of rows ------------------------------------------------------------------------- */

typedef struct region_job {
    const gs_region *region;
    uint64_t rows_per_part;
    bool streamed;
} region_job;

static void copy_row(const region_job *job, uint64_t slice, uint64_t row) {
    const gs_region *region = job->region;
    char *destination = region->destination + slice * region->destination_slice + row * region->destination_pitch;
    const char *source = region->source + slice * region->source_slice + row * region->source_pitch;
    if (job->streamed)
        stream(destination, source, region->width);
    else
        memmove(destination, source, region->width);
}

static void copy_rows(void *argument, uint64_t part) {
    const region_job *job = argument;
    uint64_t rows = job->region->height * job->region->depth;
    uint64_t end = (part + 1) * job->rows_per_part;
    for (uint64_t row = part * job->rows_per_part; row < end && row < rows; row++)
        copy_row(job, row / job->region->height, row % job->region->height);
}

void gs_copy_region(gs_thread_pool *pool, const gs_region *region) {
    uint64_t rows = region->height * region->depth;
    uint64_t total = rows * region->width;
    if (total == 0)
        return;
    if (rows == 1) {
        gs_copy(pool, region->destination, region->source, region->width);
        return;
    }
    uint64_t rows_per_part = total < SHARED_FROM ? rows : (PIECE + region->width - 1) / region->width;
    bool streamed = total >= STREAMED_FROM && region->width >= STREAMED_ROW && can_stream();
    region_job job = {region, rows_per_part, streamed};
    gs_thread_pool_run(pool, copy_rows, &job, (rows + rows_per_part - 1) / rows_per_part);
}

/* --- Fills --------------------------------------------------------------------------------------- */

typedef struct fill_job {
    char *destination;
    uint64_t size, piece; /* a piece is a whole number of patterns */
    const char *pattern;
    uint64_t pattern_size;
} fill_job;

/* Writes the pattern once, then copies what is there, ever more of it up to a window that stays in the cache. */
static void fill_range(char *destination, uint64_t size, const char *pattern, uint64_t pattern_size) {
    const uint64_t cached = 16 << 10;
    uint64_t window = pattern_size < cached ? cached - cached % pattern_size : pattern_size;
    uint64_t done = pattern_size < size ? pattern_size : size;
    memcpy(destination, pattern, done);
    while (done < size) {
        uint64_t step = done < window ? done : window;
        step = step < size - done ? step : size - done;
        memcpy(destination + done, destination, step);
        done += step;
    }
}

static void fill_piece(void *argument, uint64_t part) {
    const fill_job *job = argument;
    uint64_t start = part * job->piece;
    uint64_t left = job->size - start;
    uint64_t size = left < job->piece ? left : job->piece;
    if (job->pattern_size == 1)
        memset(job->destination + start, job->pattern[0], size);
    else
        fill_range(job->destination + start, size, job->pattern, job->pattern_size);
}

void gs_fill(gs_thread_pool *pool, char *destination, uint64_t size, const char *pattern, uint64_t pattern_size) {
    uint64_t piece = size;
    if (size >= SHARED_FROM && pattern_size <= PIECE)
        piece = PIECE - PIECE % pattern_size;
    fill_job job = {destination, size, piece, pattern, pattern_size};
    gs_thread_pool_run(pool, fill_piece, &job, size > 0 ? (size + piece - 1) / piece : 0);
}
