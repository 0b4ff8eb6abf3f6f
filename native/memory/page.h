/* Pages of memory, as the system has them: 4 KiB, or also 16 or 64 KiB on Arm. */
#ifndef GS_MEMORY_PAGE_H
#define GS_MEMORY_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Bytes of a page: a power of two. */
static inline size_t gs_page_size(void) {
    static _Atomic size_t known;
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes == 0) {
        bytes = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

/* The start of the page that an address or an offset lies in. */
static inline uint64_t gs_page_start(uint64_t at) { return at & ~(uint64_t)(gs_page_size() - 1); }

/* A number of bytes, rounded up to whole pages. */
static inline uint64_t gs_whole_pages(uint64_t size) { return gs_page_start(size + gs_page_size() - 1); }

#endif
