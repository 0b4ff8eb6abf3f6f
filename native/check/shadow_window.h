/* The shadow of memory: for each byte of a window of addresses, which of its bits are uninitialised; and for each 4 KiB,
 * what kind of memory they are. Both are address space that takes memory only where something was noted. */
#ifndef GS_CHECK_SHADOW_WINDOW_H
#define GS_CHECK_SHADOW_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gs_shadow_kind {
    GS_SHADOW_OTHER,  /* of the program, or of a kernel: nothing is known of it */
    GS_SHADOW_DEVICE, /* device memory into which kernels have stored nothing uninitialised */
    GS_SHADOW_MIXED,  /* device memory into which they may have */
    GS_SHADOW_HOST,   /* host and shared memory, which began with a pattern */
    GS_SHADOW_LOCAL,
} gs_shadow_kind;

enum { GS_SHADOW_PAGE = 4096 };

typedef struct gs_shadow_window {
    uint64_t lower, size; /* of the window; size 0: no memory has a shadow */
    uint64_t distance;    /* from an address to its shadow */
    uint64_t zeros;       /* 64 MiB on either side of it are zeros that nobody writes */
    uint64_t unread;      /* 64 MiB on either side of it are written, and nobody reads them */
    uint8_t *kinds;
} gs_shadow_window;

/* Made when first asked for. NULL: there is not even address space for what kernels need. */
const gs_shadow_window *gs_shadow_window_get(void);

static inline bool gs_shadow_has(const gs_shadow_window *window, uint64_t address, uint64_t bytes) {
    uint64_t offset = address - window->lower;
    return offset < window->size && bytes <= window->size - offset;
}

static inline uint8_t *gs_shadow_of(const gs_shadow_window *window, uint64_t address) {
    return (uint8_t *)(uintptr_t)(address + window->distance);
}

static inline uint8_t *gs_shadow_kind_of(const gs_shadow_window *window, uint64_t address) {
    return &window->kinds[(address - window->lower) / GS_SHADOW_PAGE];
}

/* All bytes from an address on become initialised, or uninitialised. They lie in the window. */
void gs_shadow_clear(const gs_shadow_window *window, uint64_t address, uint64_t bytes);
void gs_shadow_set(const gs_shadow_window *window, uint64_t address, uint64_t bytes);

#endif
