#define _GNU_SOURCE
#include "memory/memory.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/single_groups.h"
#include "check/host/device_memory.h"
#include "check/order/host_touches.h"
#include "check/order/order.h"
#include "check/quarantine.h"
#include "check/uninitialised.h"
#include "objects/device_kind.h"
#include "runtime/queue.h"
#include "threads/lock.h"
#include "threads/wait.h"

/* Every live allocation, ordered by address. Two allocations never overlap, so "overlaps" is equality and
 * the tree finds an allocation from any address inside it. */
static void *by_address;
GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static _Atomic uint64_t next_id = 1;

uint64_t gs_memory_last_number(void) { return next_id - 1; }
static _Atomic uint64_t host_used;

/* ZE_SHARED_FORCE_DEVICE_ALLOC: shared memory counts as device memory. */
static bool shared_in_device;
GS_EXPORT void gs_set_shared_in_device(bool enable) { shared_in_device = enable; }

static gs_deferred *_Atomic deferred_frees; /* changed with the lock held */

static int compare(const void *left, const void *right) {
    const gs_allocation *a = left, *b = right;
    if (a->base + a->span <= b->base)
        return -1;
    return b->base + b->span <= a->base;
}

/* The allocation that contains `pointer`, of any context. Called with the lock held. */
gs_allocation *gs_allocation_of_any(const void *pointer) {
    gs_allocation key = {.base = (char *)pointer, .span = 1};
    gs_allocation **node = tfind(&key, &by_address, compare);
    return node != NULL ? *node : NULL;
}

void gs_memory_lock(void) { gs_lock(&lock); }
void gs_memory_unlock(void) { gs_unlock(&lock); }

gs_allocation *gs_allocation_at(const gs_context *context, const void *pointer) {
    gs_allocation *found = gs_allocation_of_any(pointer);
    return found != NULL && found->context == context ? found : NULL;
}

gs_device *gs_memory_only_of(const void *pointer) {
    if (!atomic_load_explicit(&gs_some_device_has_kind, memory_order_relaxed))
        return NULL;
    gs_lock(&lock);
    const gs_allocation *found = gs_allocation_of_any(pointer);
    gs_device *only = found != NULL && found->type == ZE_MEMORY_TYPE_DEVICE ? found->owner : NULL;
    gs_unlock(&lock);
    return only;
}

/* Asking the system costs a microsecond, and the answer stays the same. */
static uint64_t physical_memory(void) {
    static _Atomic uint64_t known;
    uint64_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes == 0) {
        bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

/* Counts `size` bytes against `total` if they fit. */
static bool charge_one(_Atomic uint64_t *used, uint64_t total, uint64_t size) {
    uint64_t before = atomic_load(used);
    do {
        if (size > total || before > total - size)
            return false;
    } while (!atomic_compare_exchange_weak(used, &before, before + size));
    return true;
}

bool gs_memory_try_charge(gs_device *device, uint64_t size, const gs_device **full) {
    *full = NULL;
    if (device == NULL)
        return charge_one(&host_used, physical_memory(), size);
    for (gs_device *each = device; each != NULL; each = each->parent) {
        if (charge_one(&each->activity->memory_used, each->memory_bytes, size))
            continue;
        for (gs_device *undo = device; undo != each; undo = undo->parent)
            undo->activity->memory_used -= size;
        *full = each;
        return false;
    }
    return true;
}

ze_result_t gs_memory_fail_full(const gs_device *full, uint64_t size) {
    if (full == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "%llu bytes more do not fit in the host's %llu",
                       (unsigned long long)size, (unsigned long long)physical_memory());
    return gs_fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                   "%llu bytes more do not fit: the device has %llu and %llu are in use; free some, or raise "
                   "GROUNDSTATE_MEMORY",
                   (unsigned long long)size, (unsigned long long)full->memory_bytes,
                   (unsigned long long)full->activity->memory_used);
}

ze_result_t gs_memory_charge(gs_device *device, uint64_t size) {
    const gs_device *full;
    return gs_memory_try_charge(device, size, &full) ? ZE_RESULT_SUCCESS : gs_memory_fail_full(full, size);
}

void gs_memory_uncharge(gs_device *device, uint64_t size) {
    if (device == NULL)
        host_used -= size;
    for (gs_device *each = device; each != NULL; each = each->parent)
        each->activity->memory_used -= size;
}

void gs_memory_count_shared(const gs_allocation *allocation, int sign) {
    for (const gs_device *each = allocation->device; each != NULL; each = each->parent)
        each->activity->memory_shared += (uint64_t)sign * allocation->size;
}

ze_result_t gs_allocation_enter(const gs_allocation *filled) {
    gs_allocation *allocation = malloc(sizeof *allocation);
    if (allocation == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to record an allocation");
    *allocation = *filled;
    allocation->id = next_id++;
    gs_lock(&lock);
    gs_allocation **node = tsearch(allocation, &by_address, compare);
    bool entered = node != NULL && *node == allocation;
    gs_unlock(&lock);
    if (entered)
        return ZE_RESULT_SUCCESS;
    free(allocation);
    if (node != NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "part of this memory belongs to another allocation");
    return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to record an allocation");
}

static const size_t MOST_VARIED = (size_t)1 << 30; /* bytes of an allocation that hold something else than zeros */

/* Whose kind makes the memory: that of its device, or for what the host uses, too, one of the context that needs to. */
static gs_device *owner_of(const gs_allocation *request) {
    if (request->device != NULL && (request->device->kind != NULL || request->type == ZE_MEMORY_TYPE_DEVICE))
        return request->device->kind != NULL ? request->device : NULL;
    return gs_context_needs_kind(request->context);
}

static void unmake(gs_allocation *allocation) {
    if (allocation->owner != NULL)
        allocation->owner->kind->release(allocation->owner, allocation);
    else
        gs_pages_give(allocation->base, allocation->span);
}

/* Fills in where the memory is; says what is wrong. */
static ze_result_t make(gs_allocation *request, size_t alignment) {
    if (request->owner != NULL)
        return request->owner->kind->allocate(request->owner, request, alignment);
    request->base = gs_pages_take(request->size, alignment, &request->span);
    if (request->base == NULL)
        return gs_fail(request->charged ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                       "the system has no %llu bytes left", (unsigned long long)request->size);
    gs_affinity_bind_memory(request->device != NULL ? request->device->affinity : NULL, request->base, request->span,
                            request->type != ZE_MEMORY_TYPE_DEVICE);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t allocate(gs_allocation *request, size_t alignment, void **pointer) {
    request->allocated_by = gs_host_stack_take();
    request->owner = owner_of(request);
    if (request->owner != NULL && request->type == ZE_MEMORY_TYPE_SHARED)
        request->charged = request->owner; /* it may all have to be there at once */
    gs_memory_free_deferred();
    ze_result_t result = gs_memory_charge(request->charged, request->size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    request->backing = request->owner != NULL ? GS_BACKING_KIND : GS_BACKING_BLOCK;
    request->fd = -1;
    result = make(request, alignment);
    if (result == ZE_RESULT_SUCCESS && (result = gs_allocation_enter(request)) != ZE_RESULT_SUCCESS)
        unmake(request);
    if (result == ZE_RESULT_SUCCESS) {
        if (gs_vary_seed != 0 && request->owner == NULL)
            gs_vary_contents(request->base, request->size < MOST_VARIED ? request->size : MOST_VARIED);
        if (request->owner == NULL)
            gs_uninitialised_allocate(request);
        *pointer = request->base;
    } else
        gs_memory_uncharge(request->charged, request->size);
    if (result == ZE_RESULT_SUCCESS && request->type == ZE_MEMORY_TYPE_DEVICE && request->owner == NULL &&
        gs_device_memory_is_checked())
        gs_device_memory_add(request->base, request->span);
    if (result == ZE_RESULT_SUCCESS && request->type != ZE_MEMORY_TYPE_DEVICE && request->owner == NULL && gs_order_is_checked())
        gs_host_pages_add(request->base, request->span);
    return result;
}

/* From here on nobody opens the memory; whoever has it open keeps it. */
static void withdraw(gs_allocation *allocation) {
    if (allocation->fd < 0)
        return;
    close(allocation->fd);
    allocation->fd = -1;
    allocation->withdrawn = true;
}

/* Others have its pages: the kind may not hand them out again. */
static void take_back(gs_allocation *allocation) {
    void *offer = allocation->offer;
    const gs_device *owner = allocation->owner;
    unmake(allocation);
    if (offer != NULL)
        owner->kind->withdraw(offer);
}

static void release(gs_allocation *allocation) {
    gs_quarantine_release(allocation);
    withdraw(allocation);
    gs_residency_end(allocation);
    if (gs_device_memory_is_checked())
        gs_device_memory_remove(allocation->base);
    if (gs_order_is_checked())
        gs_host_pages_remove(allocation->base);
    if (allocation->backing == GS_BACKING_BLOCK)
        gs_uninitialised_forget(allocation->base, allocation->span);
    bool is_attached = allocation->backing == GS_BACKING_FILE || allocation->backing == GS_BACKING_SYSTEM;
    if (is_attached && allocation->owner != NULL)
        allocation->owner->kind->detach(allocation->owner, allocation->base);
    if (allocation->backing == GS_BACKING_KIND) {
        take_back(allocation);
    } else if (allocation->backing == GS_BACKING_FILE) {
        munmap(allocation->base, allocation->span);
    } else if (allocation->backing == GS_BACKING_BLOCK) {
        /* Pages that were moved to a file are others' to read: anonymous ones are given back, or none. */
        if (allocation->withdrawn && mmap(allocation->base, allocation->span, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
            munmap(allocation->base, allocation->span);
        else if (!gs_quarantine_hold(allocation))
            gs_pages_give(allocation->base, allocation->span);
    }
    if (allocation->withdrawn)
        gs_memory_count_shared(allocation, -1);
    if ((allocation->backing <= GS_BACKING_FILE || allocation->backing == GS_BACKING_KIND) && !allocation->imported)
        gs_memory_uncharge(allocation->charged, allocation->size);
    free(allocation->ipc_handle);
    free(allocation);
}

/* The entry goes with what it is about. */
static void let_go(const gs_deferred *entry) {
    gs_drain_snapshot_drop(entry->snapshot);
    if (entry->allocation != NULL)
        release(entry->allocation);
    else
        gs_object_drop(entry->object);
}

static bool may_go(const gs_deferred *entry) {
    return entry->snapshot != NULL ? gs_drain_snapshot_is_reached(entry->snapshot) : !gs_queues_have_more(entry->context);
}

void gs_memory_free_deferred(void) {
    if (atomic_load_explicit(&deferred_frees, memory_order_relaxed) == NULL)
        return;
    gs_deferred *ready = NULL, *waiting = NULL;
    gs_lock(&lock);
    for (gs_deferred *each = deferred_frees, *next; each != NULL; each = next) {
        next = each->next;
        gs_deferred **into = may_go(each) ? &ready : &waiting;
        each->next = *into;
        *into = each;
    }
    deferred_frees = waiting;
    gs_unlock(&lock);
    for (gs_deferred *next; ready != NULL; ready = next) {
        next = ready->next;
        let_go(ready);
    }
}

/* Lets it go at once if the queues of its context are idle; else when they have done what they were given so far. */
static void defer(gs_deferred *entry) {
    if (!gs_drain_snapshot_take(entry->context, &entry->snapshot)) {
        let_go(entry);
    } else {
        gs_lock(&lock);
        entry->next = deferred_frees;
        deferred_frees = entry;
        gs_unlock(&lock);
    }
    gs_memory_free_deferred();
}

void gs_memory_drop_later(const gs_context *context, gs_object *object, gs_deferred *entry) {
    *entry = (gs_deferred){.object = object, .context = context};
    defer(entry);
}

bool gs_allocation_forget(gs_context *context, const void *base) {
    gs_lock(&lock);
    gs_allocation *found = gs_allocation_at(context, base);
    if (found != NULL)
        tdelete(found, &by_address, compare);
    gs_unlock(&lock);
    free(found);
    return found != NULL;
}

static ze_result_t free_pointer(enum gs_function function, gs_context *context, void *pointer,
                                ze_driver_memory_free_policy_ext_flags_t policy, bool imported) {
    const gs_host_stack *caller = gs_host_stack_take(); /* before any lock */
    gs_lock(&lock);
    gs_allocation *found = gs_allocation_at(context, pointer);
    bool usable = found != NULL && found->base == pointer && found->imported == imported &&
                  found->backing != GS_BACKING_MAPPING;
    if (usable)
        tdelete(found, &by_address, compare);
    gs_unlock(&lock);
    if (usable)
        gs_quarantine_note(found, caller, policy != 0);
    else
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%s: %p is not the start of %s of this context; was it freed before?",
                       gs_function_names[function], pointer, imported ? "an opened IPC handle" : "an allocation");
    withdraw(found);
    if (policy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE)
        gs_queues_wait(context, NULL);
    found->deferred = (gs_deferred){.allocation = found, .context = context};
    defer(&found->deferred);
    return ZE_RESULT_SUCCESS;
}

/* No program has memory beyond this: x86-64 has no such addresses, and AArch64 ignores the top byte, so that a range which
 * goes on there starts over at address 0. */
static const uint64_t END_OF_MEMORY = UINT64_C(1) << 56;

/* How many bytes may be used from `start`, which need not be ours. Virtual memory mapped piece by piece is
 * one range to the program, so neighbouring mappings count as one. */
static uint64_t bytes_from(const char *start, uint64_t wanted) {
    const gs_allocation *found = gs_allocation_of_any(start);
    if (found == NULL)
        return END_OF_MEMORY - 1 - (uintptr_t)start % END_OF_MEMORY;
    const char *end = found->base + found->size;
    if (end < start) /* behind it, in its last page */
        return 0;
    while (found != NULL && found->backing == GS_BACKING_MAPPING && (uint64_t)(end - start) < wanted) {
        found = gs_allocation_of_any(end);
        if (found != NULL && found->backing == GS_BACKING_MAPPING)
            end = found->base + found->span;
    }
    return (uint64_t)(end - start);
}

ze_result_t gs_memory_check_range(enum gs_function function, const char *parameter, const void *start, uint64_t size) {
    if (start == NULL)
        return gs_fail_pointer(function, parameter);
    gs_lock(&lock);
    uint64_t left = bytes_from(start, size);
    gs_unlock(&lock);
    if (size <= left)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%s: %llu bytes from %s run over the end of its allocation, or of all memory",
                   gs_function_names[function], (unsigned long long)size, parameter);
}

/* --- For checked mode ------------------------------------------------------------------------------- */

bool gs_memory_bounds(uint64_t address, gs_bounds *bounds) {
    gs_lock(&lock);
    const gs_allocation *found = gs_allocation_of_any((const char *)(uintptr_t)address), *first = found, *last = found, *each;
    for (each = found; each != NULL && each->backing == GS_BACKING_MAPPING; each = gs_allocation_of_any(first->base - 1))
        first = each;
    for (each = found; each != NULL && each->backing == GS_BACKING_MAPPING; each = gs_allocation_of_any(last->base + last->span))
        last = each;
    if (found != NULL)
        *bounds = (gs_bounds){(uint64_t)(uintptr_t)first->base, (uint64_t)(uintptr_t)last->base + last->size};
    gs_unlock(&lock);
    return found != NULL;
}

bool gs_memory_describe(uint64_t address, gs_memory_facts *facts) {
    gs_lock(&lock);
    const gs_allocation *found = gs_allocation_of_any((const char *)(uintptr_t)address);
    if (found != NULL)
        *facts = (gs_memory_facts){.base = (uint64_t)(uintptr_t)found->base,
                                   .size = found->size,
                                   .type = (uint64_t)found->type,
                                   .allocated_by = (uint64_t)(uintptr_t)found->allocated_by};
    gs_unlock(&lock);
    return found != NULL;
}

typedef struct listing {
    gs_bounds *exact, *spans;
    size_t count, capacity;
} listing;

/* The list that is being made. Used with the lock held: glibc 2.28 has no walk that takes an argument. */
static listing *list;
static void add_to_list(const void *node, VISIT visit, int depth) {
    (void)depth;
    const gs_allocation *each = *(gs_allocation *const *)node;
    if (visit != postorder && visit != leaf)
        return;
    const uint64_t base = (uint64_t)(uintptr_t)each->base;
    if (list->count < list->capacity) {
        list->exact[list->count] = (gs_bounds){base, base + each->size};
        list->spans[list->count] = (gs_bounds){base, base + each->span};
    }
    list->count++;
}

size_t gs_memory_list(gs_bounds *into, gs_bounds *spans, size_t capacity) {
    listing made = {into, spans, 0, capacity};
    gs_lock(&lock);
    list = &made;
    twalk(by_address, add_to_list);
    gs_unlock(&lock);
    return made.count;
}

/* The allocation of `context` that lies first in the tree, or NULL. Called with the lock held. */
static const gs_context *searched;
static gs_allocation *first_found;
static void look(const void *node, VISIT visit, int depth) {
    (void)depth;
    gs_allocation *allocation = *(gs_allocation *const *)node;
    if ((visit == postorder || visit == leaf) && allocation->context == searched)
        first_found = allocation;
}

void gs_memory_free_all(gs_context *context) {
    gs_memory_free_deferred();
    for (;;) {
        gs_lock(&lock);
        searched = context;
        first_found = NULL;
        twalk(by_address, look);
        gs_allocation *found = first_found;
        if (found != NULL)
            tdelete(found, &by_address, compare);
        gs_unlock(&lock);
        if (found == NULL)
            return;
        release(found);
    }
}

/* --- The API ------------------------------------------------------------------------------------- */

static const size_t LARGEST_ALIGNMENT = (size_t)1 << 32;

static ze_result_t check_request(enum gs_function function, const gs_allocation *request, size_t alignment,
                                 const void *next) {
    if (alignment > LARGEST_ALIGNMENT)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "%s: alignments end at %zu",
                       gs_function_names[function], LARGEST_ALIGNMENT);
    if (request->device != NULL) {
        ze_result_t result = gs_context_check_device(function, request->context, request->device);
        if (result != ZE_RESULT_SUCCESS)
            return result;
    }
    const ze_external_memory_export_desc_t *export = gs_find_next(next, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC);
    const ze_external_memory_type_flags_t exportable =
        ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD | ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    if (export != NULL && (export->flags & ~exportable))
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                       "%s: memory can be exported as ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD or "
                       "ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF only",
                       gs_function_names[function]);
    if (export != NULL && request->device != NULL && request->device->kind != NULL &&
        (export->flags & ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF))
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                       "%s: memory of this device can be exported as ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD only",
                       gs_function_names[function]);
    const ze_ipc_mem_handle_type_ext_desc_t *ipc = gs_find_next(next, ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC);
    if (ipc != NULL && (ipc->typeFlags & ~(ze_ipc_mem_handle_type_flags_t)ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT))
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                       "%s: no fabric leads to the memory of a CPU; ask for the default IPC handle type",
                       gs_function_names[function]);
    bool relaxed = gs_find_next(next, ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC) != NULL ||
                   gs_find_next(next, ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC) != NULL;
    uint64_t largest = request->device != NULL ? request->device->memory_bytes : physical_memory();
    if (request->size > largest && !relaxed)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "%s: %llu bytes asked for, maxMemAllocSize is %llu",
                       gs_function_names[function], (unsigned long long)request->size,
                       (unsigned long long)largest);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t check_host_flags(enum gs_function function, ze_host_mem_alloc_flags_t flags) {
    const ze_host_mem_alloc_flags_t both =
        ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY | ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED;
    if ((flags & both) != both)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s: MEM_READ_ONLY and BIAS_WRITE_COMBINED cannot be combined",
                   gs_function_names[function]);
}

/* Descriptors that bring memory in from elsewhere are answered by driver/memory.py. */
static bool is_external(const void *next) {
    return gs_find_next(next, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD) != NULL ||
           gs_find_next(next, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32) != NULL ||
           gs_find_next(next, ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC) != NULL;
}

ze_result_t gs_zeMemAllocDevice(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *device_desc,
                                size_t size, size_t alignment, ze_device_handle_t hDevice, void **pptr) {
    gs_allocation request = {.size = size, .context = (gs_context *)hContext, .device = (gs_device *)hDevice,
                             .charged = (gs_device *)hDevice, .type = ZE_MEMORY_TYPE_DEVICE};
    ze_result_t result = check_request(GS_FN_zeMemAllocDevice, &request, alignment, device_desc->pNext);
    request.is_apart = gs_find_next(device_desc->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC) != NULL;
    if (result == ZE_RESULT_SUCCESS && is_external(device_desc->pNext))
        return gs_call_python(GS_FN_zeMemAllocDevice, "uuuuuu",
                              (const gs_word[]){{.p = hContext}, {.p = device_desc}, {.u = size}, {.u = alignment},
                                                {.p = hDevice}, {.p = pptr}});
    return result == ZE_RESULT_SUCCESS ? allocate(&request, alignment, pptr) : result;
}

ze_result_t gs_zeMemAllocHost(ze_context_handle_t hContext, const ze_host_mem_alloc_desc_t *host_desc, size_t size,
                              size_t alignment, void **pptr) {
    gs_allocation request = {.size = size, .context = (gs_context *)hContext, .type = ZE_MEMORY_TYPE_HOST};
    ze_result_t result = check_request(GS_FN_zeMemAllocHost, &request, alignment, host_desc->pNext);
    if (result == ZE_RESULT_SUCCESS)
        result = check_host_flags(GS_FN_zeMemAllocHost, host_desc->flags);
    request.is_apart = gs_find_next(host_desc->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC) != NULL;
    if (result == ZE_RESULT_SUCCESS && is_external(host_desc->pNext))
        return gs_call_python(GS_FN_zeMemAllocHost, "uuuuu",
                              (const gs_word[]){{.p = hContext}, {.p = host_desc}, {.u = size}, {.u = alignment},
                                                {.p = pptr}});
    return result == ZE_RESULT_SUCCESS ? allocate(&request, alignment, pptr) : result;
}

ze_result_t gs_zeMemAllocShared(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *device_desc,
                                const ze_host_mem_alloc_desc_t *host_desc, size_t size, size_t alignment,
                                ze_device_handle_t hDevice, void **pptr) {
    gs_allocation request = {.size = size, .context = (gs_context *)hContext, .device = (gs_device *)hDevice,
                             .charged = shared_in_device ? (gs_device *)hDevice : NULL,
                             .type = ZE_MEMORY_TYPE_SHARED};
    ze_result_t result = check_request(GS_FN_zeMemAllocShared, &request, alignment, device_desc->pNext);
    if (result == ZE_RESULT_SUCCESS)
        result = check_host_flags(GS_FN_zeMemAllocShared, host_desc->flags);
    if (result == ZE_RESULT_SUCCESS && (is_external(device_desc->pNext) ||
        (host_desc->stype == ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC && is_external(host_desc->pNext))))
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                       "zeMemAllocShared: memory is brought in from elsewhere as device or host memory only");
    return result == ZE_RESULT_SUCCESS ? allocate(&request, alignment, pptr) : result;
}

ze_result_t gs_zeMemFree(ze_context_handle_t hContext, void *ptr) {
    return free_pointer(GS_FN_zeMemFree, (gs_context *)hContext, ptr, 0, false);
}

ze_result_t gs_zeMemFreeExt(ze_context_handle_t hContext, const ze_memory_free_ext_desc_t *pMemFreeDesc, void *ptr) {
    return free_pointer(GS_FN_zeMemFreeExt, (gs_context *)hContext, ptr, pMemFreeDesc->freePolicy, false);
}

ze_result_t gs_zeMemCloseIpcHandle(ze_context_handle_t hContext, const void *ptr) {
    return free_pointer(GS_FN_zeMemCloseIpcHandle, (gs_context *)hContext, (void *)ptr, 0, true);
}

ze_result_t gs_zeMemGetAddressRange(ze_context_handle_t hContext, const void *ptr, void **pBase, size_t *pSize) {
    gs_lock(&lock);
    const gs_allocation *found = gs_allocation_at((gs_context *)hContext, ptr);
    if (found != NULL && pBase != NULL)
        *pBase = found->base;
    if (found != NULL && pSize != NULL)
        *pSize = found->size;
    gs_unlock(&lock);
    if (found != NULL)
        return ZE_RESULT_SUCCESS;
    return gs_fail(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, "zeMemGetAddressRange: %p is in no allocation of this context",
                   ptr);
}

ze_result_t gs_zeMemGetAllocProperties(ze_context_handle_t hContext, const void *ptr,
                                       ze_memory_allocation_properties_t *pMemAllocProperties,
                                       ze_device_handle_t *phDevice) {
    bool chained = pMemAllocProperties->stype == ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES &&
                   pMemAllocProperties->pNext != NULL;
    gs_lock(&lock);
    const gs_allocation *found = gs_allocation_at((gs_context *)hContext, ptr);
    pMemAllocProperties->type = found != NULL ? found->type : ZE_MEMORY_TYPE_UNKNOWN;
    pMemAllocProperties->id = found != NULL ? found->id : 0;
    pMemAllocProperties->pageSize = found != NULL ? gs_page_size() : 0;
    if (phDevice != NULL)
        *phDevice = found != NULL ? (ze_device_handle_t)found->device : NULL;
    gs_unlock(&lock);
    if (!chained)
        return ZE_RESULT_SUCCESS;
    return gs_call_python(GS_FN_zeMemGetAllocProperties, "uuuu",
                          (const gs_word[]){{.p = hContext}, {.p = ptr}, {.p = pMemAllocProperties}, {.p = phDevice}});
}
