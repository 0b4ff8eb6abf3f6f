/* Shadow memory of the race checker: for each word of memory that a kernel accesses, who accessed it last. */
#ifndef GS_CHECK_SHADOW_H
#define GS_CHECK_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

/* Who did something when: the number of the work-group's run, its tick, and the work-item's number in the group. Runs are
 * numbered through all launches of the process; 0 is nobody. A tick is what passes when work-items synchronise. */
typedef uint64_t gs_access_stamp;

static inline gs_access_stamp gs_stamp(uint32_t run, uint32_t tick, uint32_t item) {
    return (uint64_t)run << 32 | tick << 16 | item;
}
static inline uint32_t gs_stamp_run(gs_access_stamp stamp) { return (uint32_t)(stamp >> 32); }
static inline uint32_t gs_stamp_tick(gs_access_stamp stamp) { return (uint32_t)stamp >> 16; }
static inline uint32_t gs_stamp_item(gs_access_stamp stamp) { return stamp & 0xffff; }

enum { GS_LAST_TICK = 0xffff }; /* time stands still from here on */

/* Of four bytes, or of one. Two readers are enough: whoever writes next is at most one of them. They are of two groups
 * if there are any. */
typedef struct gs_shadow_cell {
    gs_access_stamp write, read, other_read;
    uint16_t write_site, read_site, other_site;
    uint16_t flags; /* gs_cell_flag, and the last of the work-items that wrote the same value */
    union {
        struct {
            uint32_t value; /* what was written last: another thread may not have written it yet */
            uint32_t has_value;
        };
        uint64_t before; /* of an atomic write: one before it that the next group may be in a race with (races.c) */
    };
} gs_shadow_cell;

enum {
    GS_CELL_LAST_ITEM = 0x3ff,
    GS_CELL_IS_SHARED = 1 << 10,     /* several work-items of the group wrote the same value */
    GS_CELL_WRITE_ATOMIC = 1 << 11,
    GS_CELL_WRITE_NARROW = 1 << 12,  /* atomic for its own group only */
    GS_CELL_READ_ATOMIC = 1 << 13,
    GS_CELL_OTHER_ATOMIC = 1 << 14,
    GS_CELL_IS_SPLIT = 1 << 15,      /* `write` is the address of four cells, one for each byte */
};

/* The cell of the word at an address; the others of its 64 KiB of memory follow. NULL: there is no memory for it. */
gs_shadow_cell *gs_shadow_at(uint64_t address);
enum { GS_SHADOW_CHUNK = 1 << 16 };

/* The cells of a word's bytes, which are as the word was. NULL: there is no memory. Its owner holds the word's lock. */
gs_shadow_cell *gs_shadow_split(gs_shadow_cell *word);

/* Around what is done with the cells of 64 bytes of memory. A thread that is stopped in between leaves it locked: after
 * a while another one takes it, because what is wrong then is only what is known of these bytes. */
void gs_shadow_lock(uint64_t address);
void gs_shadow_unlock(uint64_t address);

/* Forgets everything; no kernel that is checked for races runs. */
void gs_shadow_forget(void);

#endif
