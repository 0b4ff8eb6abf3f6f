/* Allocations: what the API hands out as pointers, and the map that finds one from any address in it. */
#ifndef GS_MEMORY_MEMORY_H
#define GS_MEMORY_MEMORY_H

#include "check/host_stack.h"
#include "generated/shared.h"
#include "memory/page.h"
#include "objects/device.h"

typedef enum gs_backing {
    GS_BACKING_BLOCK,  /* a block of pages.c, anonymous */
    GS_BACKING_FILE,   /* pages of a file descriptor mapped for this allocation alone */
    GS_BACKING_SYSTEM, /* the caller's own memory, never freed by us */
    GS_BACKING_KIND, /* memory of a device that is not the CPU's, which frees it: objects/device_kind.h */
    GS_BACKING_MAPPING, /* virtual memory with physical memory behind it; unmapped, not freed */
} gs_backing;

typedef struct gs_resident gs_resident; /* residency.c */

/* Something that was freed while queues still ran, with how far each of them must come before it may go. It lies in
 * what it is about, so that freeing needs no memory. */
typedef struct gs_deferred {
    struct gs_deferred *next;
    struct gs_allocation *allocation; /* or NULL */
    gs_object *object;                /* or NULL */
    const gs_context *context;
    struct gs_drain_snapshot *snapshot; /* NULL: there was no memory for them, and the context must be idle */
} gs_deferred;

typedef struct gs_ipc_handle gs_ipc_handle; /* ipc_handle.c */

typedef struct gs_allocation {
    char *base;
    uint64_t size; /* bytes the caller asked for */
    uint64_t span; /* bytes of whole pages that belong to it */
    gs_context *context;
    gs_device *device;  /* NULL: not bound to a device */
    gs_device *owner;   /* of GS_BACKING_KIND: whose kind made it */
    uint32_t generation; /* of that device, when it was made */
    bool is_apart;       /* the program may export it: it is to share its pages with no other */
    void *of_kind;       /* what that kind keeps of it, or NULL */
    void *offer;         /* with which that kind offers it to other processes, or NULL */
    gs_device *charged; /* the device whose memory it counts against, or NULL: host memory */
    ze_memory_type_t type;
    gs_backing backing;
    uint64_t id;
    int fd; /* the file that shares its pages with other processes, or -1 */
    bool withdrawn; /* that file is closed, so that nobody opens it any more; its pages are still there */
    bool imported; /* opened from an IPC handle: closed, not freed */
    ze_memory_atomic_attr_exp_flags_t atomics; /* as last set; all kinds work on a CPU anyway */
    const gs_host_stack *allocated_by; /* checked mode; NULL: not known */
    uint64_t written_until; /* checked mode: how many of its first bytes were initialised ... */
    uint64_t written_when;  /* ... when this was the number of check/uninitialised.c's changes */
    gs_ipc_handle *ipc_handle; /* NULL: nobody has asked for it */
    gs_resident *resident; /* shared memory: what of it counts as memory of which device */
    gs_deferred deferred;
} gs_allocation;

/* Around gs_allocation_at and the use of what it returns. */
void gs_memory_lock(void);
void gs_memory_unlock(void);
gs_allocation *gs_allocation_at(const gs_context *context, const void *pointer);
bool gs_allocation_find(const gs_context *context, const void *pointer, gs_allocation_facts *facts);
gs_allocation *gs_allocation_of_any(const void *pointer); /* of whichever context */

/* Whether the host must not touch the memory at an address, because only a device reaches it. */
gs_device *gs_memory_only_of(const void *pointer);

/* Makes a copy of the record known by address. */
ze_result_t gs_allocation_enter(const gs_allocation *filled);

/* Drops a record without freeing the memory behind it. */
bool gs_allocation_forget(gs_context *context, const void *base);

/* Counts bytes against a device's memory, or the host's for NULL. */
ze_result_t gs_memory_charge(gs_device *device, uint64_t size);
/* The same in two steps, for who holds the lock: `full` is the device that has no room, NULL for the host. */
bool gs_memory_try_charge(gs_device *device, uint64_t size, const gs_device **full);
ze_result_t gs_memory_fail_full(const gs_device *full, uint64_t size);
void gs_memory_uncharge(gs_device *device, uint64_t size);

/* How many allocations there were so far: each has a number, its id. */
uint64_t gs_memory_last_number(void);

/* Adds an allocation that other processes can map to what its device shares, or takes it away for -1. */
void gs_memory_count_shared(const gs_allocation *allocation, int sign);

/* Evicts an allocation that is being freed from every device. */
void gs_residency_end(gs_allocation *allocation);

/* INVALID_SIZE if the range starts in an allocation and runs over its end, or over that of all memory. Whether there is
 * memory that is not ours is not checked. */
ze_result_t gs_memory_check_range(enum gs_function function, const char *parameter, const void *start, uint64_t size);

/* The memory that a pointer leads to; neighbouring mappings are one. False: it is not ours. */
bool gs_memory_bounds(uint64_t address, gs_bounds *bounds);

/* The same with what else is known of it. */
bool gs_memory_describe(uint64_t address, gs_memory_facts *facts);

/* All allocations in the order of their addresses: how many there are, and as many as there is room for. Each is the bytes
 * that the program asked for, and then the pages around them. */
size_t gs_memory_list(gs_bounds *into, gs_bounds *spans, size_t capacity);

void gs_memory_free_all(gs_context *context);

/* Maps `size` bytes of a file, from a whole page on, as an allocation. The descriptor stays the caller's. */
ze_result_t gs_allocation_import(gs_context *context, gs_device *device, int fd, uint64_t offset, uint64_t size,
                                 uint64_t alignment, bool from_ipc, void **pointer);

/* Frees what waits for queues that have now finished. Cheap when nothing waits. */
void gs_memory_free_deferred(void);

/* Gives up a reference when the context's queues have done what they were given so far. `entry` lies in the object. */
void gs_memory_drop_later(const gs_context *context, gs_object *object, gs_deferred *entry);

/* pages.c: blocks of anonymous memory, cached by size. */
void *gs_pages_take(size_t size, size_t alignment, uint64_t *span);
void gs_pages_give(void *block, uint64_t span);

/* Whether a block was given back and is kept. Looks at all of them. */
bool gs_pages_keep(const void *block);

#endif
