#define _GNU_SOURCE
#include "check/shadow_window.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/memory_file.h"
#include "memory/page.h"
#include "memory/resources.h"

static const uint64_t AROUND = 64 << 20;      /* bytes that can be accessed around the shadow, and around other places */
static const uint64_t LEAST = UINT64_C(1) << 36; /* of a window that is worth having */
static const uint64_t MAPPED_FROM = 4 << 20;  /* as much is mapped from a file rather than written */
static const uint64_t FILE_BYTES = 16 << 20;

static gs_shadow_window window;
static bool is_ready;
static int all_set = -1; /* a file all of whose bits are set */

static void *reserve(uint64_t at, uint64_t bytes) {
    void *wanted = (void *)(uintptr_t)at;
    void *got = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        return NULL;
    if (at != 0 && got != wanted) {
        munmap(got, bytes);
        return NULL;
    }
    madvise(got, bytes, MADV_DONTDUMP);
    return got;
}

static bool overlaps(uint64_t one, uint64_t bytes, uint64_t other, uint64_t its) {
    return one < other + its && other < one + bytes;
}

/* Where the system maps memory that asks for no place: near the end of all addresses, downwards. */
static uint64_t where_memory_is_mapped(void) {
    void *page = mmap(NULL, gs_page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 0;
    munmap(page, gs_page_size());
    return (uint64_t)(uintptr_t)page;
}

/* A window of a quarter of all addresses, most of it below what is mapped now; its shadow goes to a part of the address
 * space that nobody uses. */
static bool place(uint64_t addresses, uint64_t size) {
    uint64_t mapped = where_memory_is_mapped(), above = size / 8;
    uint64_t upper = mapped + above < addresses ? mapped + above : addresses;
    uint64_t lower = (upper > size ? upper - size : 0) & ~(uint64_t)(FILE_BYTES - 1);
    uint64_t kinds = size / GS_SHADOW_PAGE, whole = size + 2 * AROUND + kinds;
    for (uint64_t at = addresses / 32; mapped != 0 && at + whole < addresses; at += addresses / 64) {
        if (overlaps(at, whole, lower, size))
            continue;
        char *start = reserve(at, whole);
        if (start == NULL)
            continue;
        window.lower = lower;
        window.size = size;
        window.distance = (uint64_t)(uintptr_t)start + AROUND - lower;
        window.kinds = (uint8_t *)start + size + 2 * AROUND;
        return true;
    }
    return false;
}

static void prepare(void) {
    int unused_bits = __builtin_clzll((uintptr_t)__builtin_frame_address(0));
    uint64_t addresses = UINT64_C(1) << (64 - unused_bits);
    char *others = reserve(0, 4 * AROUND);
    if (others == NULL)
        return;
    window.zeros = (uint64_t)(uintptr_t)others + AROUND;
    window.unread = (uint64_t)(uintptr_t)others + 3 * AROUND;
    is_ready = true;
    if (gs_address_space_limit() != 0)
        return;
    for (uint64_t size = addresses / 4; size >= LEAST && !place(addresses, size);)
        size /= 2;
    all_set = window.size != 0 ? gs_memory_file_named("groundstate-shadow", FILE_BYTES) : -1;
    char *ones = all_set >= 0 ? mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, all_set, 0) : MAP_FAILED;
    if (ones == MAP_FAILED) {
        all_set = -1;
    } else {
        memset(ones, 0xff, FILE_BYTES);
        munmap(ones, FILE_BYTES);
    }
}

const gs_shadow_window *gs_shadow_window_get(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    return is_ready ? &window : NULL;
}

/* --- Many bytes at once ------------------------------------------------------------------------------- */

/* The whole pages of a range; false if there are too few. */
static bool whole_pages(uint8_t *start, uint64_t bytes, uint8_t **first, uint64_t *length) {
    const uint64_t page = gs_page_size();
    *first = (uint8_t *)(((uintptr_t)start + page - 1) & ~(page - 1));
    uint64_t skipped = (uint64_t)(*first - start);
    *length = bytes > skipped ? (bytes - skipped) & ~(page - 1) : 0;
    return *length >= MAPPED_FROM;
}

void gs_shadow_clear(const gs_shadow_window *of, uint64_t address, uint64_t bytes) {
    uint8_t *start = gs_shadow_of(of, address), *first;
    uint64_t length;
    if (whole_pages(start, bytes, &first, &length) &&
        mmap(first, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
            first) {
        memset(start, 0, (size_t)(first - start));
        memset(first + length, 0, (size_t)(start + bytes - (first + length)));
        return;
    }
    memset(start, 0, bytes);
}

/* What is mapped costs memory only when some of it becomes initialised. */
void gs_shadow_set(const gs_shadow_window *of, uint64_t address, uint64_t bytes) {
    uint8_t *start = gs_shadow_of(of, address), *first, *end = start + bytes;
    uint64_t length;
    if (all_set >= 0 && whole_pages(start, bytes, &first, &length)) {
        memset(start, 0xff, (size_t)(first - start));
        start = first;
        for (uint64_t done = 0; done < length; done += FILE_BYTES) {
            uint64_t part = length - done < FILE_BYTES ? length - done : FILE_BYTES;
            if (mmap(start, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, all_set, 0) == MAP_FAILED)
                break;
            start += part;
        }
    }
    memset(start, 0xff, (size_t)(end - start));
}
