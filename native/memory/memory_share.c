/* Memory shared with other processes and APIs: what driver/memory.py and driver/virtual_memory.py stand on. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/host/device_memory.h"
#include "check/order/host_touches.h"
#include "check/order/order.h"
#include "check/uninitialised.h"
#include "memory/memory.h"
#include "memory/memory_file.h"
#include "memory/resources.h"
#include "objects/device_kind.h"
#include "runtime/queue.h"
#include "threads/affinity.h"

GS_EXPORT bool gs_allocation_find(const gs_context *context, const void *pointer, gs_allocation_facts *facts) {
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_at(context, pointer);
    if (found != NULL)
        *facts = (gs_allocation_facts){(uintptr_t)found->base, found->size, (uintptr_t)found->device, found->type,
                                       found->id, found->fd, found->imported, found->backing == GS_BACKING_KIND};
    gs_memory_unlock();
    return found != NULL;
}

/* Copies what is not zero: pages that nobody has written need no memory in the file either. */
static void copy_pages(char *to, const char *from, uint64_t size) {
    const size_t whole = gs_page_size();
    for (uint64_t start = 0; start < size; start += whole) {
        const size_t length = size - start < whole ? (size_t)(size - start) : whole;
        const char *page = from + start;
        if (*page != 0 || memcmp(page, page + 1, length - 1) != 0)
            memcpy(to + start, page, length);
    }
}

/* Puts an allocation's pages into a memory file under the same address, so that another process can map them. Called
 * with the engines paused and the lock held. */
static bool move_to_file(const gs_allocation *found, int fd) {
    char *copy = mmap(NULL, found->span, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (copy == MAP_FAILED)
        return false;
    gs_affinity_bind_memory(found->device != NULL ? found->device->affinity : NULL, copy, found->span,
                            found->type != ZE_MEMORY_TYPE_DEVICE);
    if (gs_device_memory_is_checked())
        gs_device_memory_remove(found->base);
    if (gs_order_is_checked())
        gs_host_pages_remove(found->base);
    copy_pages(copy, found->base, found->size);
    if (mremap(copy, found->span, found->span, MREMAP_MAYMOVE | MREMAP_FIXED, found->base) != MAP_FAILED)
        return true;
    munmap(copy, found->span);
    return false;
}

/* Whether an allocation has pages that no file holds yet. */
static bool is_unshared(const gs_allocation *found) {
    return found != NULL && found->fd < 0 && found->backing == GS_BACKING_BLOCK;
}

/* Gives an allocation of `span` bytes a file, unless it has got one or gone meanwhile. Engines are held between two
 * commands, for which this waits without any lock: a command may wait for the program, and the program for the lock. */
static void share(const gs_context *context, const void *pointer, uint64_t span) {
    int fd = gs_memory_file(span);
    if (fd < 0)
        return;
    gs_engines_pause();
    gs_memory_lock();
    gs_allocation *found = gs_allocation_at(context, pointer);
    bool moved = is_unshared(found) && found->span == span && move_to_file(found, fd);
    if (moved) {
        found->fd = fd;
        gs_memory_count_shared(found, 1);
        gs_uninitialised_forget(found->base, found->span); /* other processes write to it now */
    }
    gs_memory_unlock();
    gs_engines_resume();
    if (!moved)
        close(fd);
}

/* Has the kind that made an allocation offer it to other processes. */
static void share_of_kind(const gs_context *context, const gs_allocation *copy) {
    void *offer;
    int fd = copy->owner->kind->share(copy->owner, copy, &offer);
    if (fd < 0)
        return;
    gs_memory_lock();
    gs_allocation *found = gs_allocation_at(context, copy->base);
    const bool is_needed = found != NULL && found->id == copy->id && found->fd < 0;
    if (is_needed) {
        found->fd = fd;
        found->offer = offer;
        gs_memory_count_shared(found, 1);
    }
    gs_memory_unlock();
    if (!is_needed) {
        close(fd);
        if (offer != NULL)
            copy->owner->kind->withdraw(offer);
    }
}

/* The file behind the allocation at `pointer`, made if there is none. It stays the driver's; -1 on failure. */
GS_EXPORT int gs_allocation_share(const gs_context *context, const void *pointer) {
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_at(context, pointer);
    uint64_t span = is_unshared(found) ? found->span : 0;
    const bool is_of_kind = found != NULL && found->fd < 0 && found->backing == GS_BACKING_KIND;
    const gs_allocation copy = is_of_kind ? *found : (gs_allocation){0};
    gs_memory_unlock();
    if (span > 0)
        share(context, pointer, span);
    if (is_of_kind)
        share_of_kind(context, &copy);
    gs_memory_lock();
    found = gs_allocation_at(context, pointer);
    int fd = found != NULL ? found->fd : -1;
    gs_memory_unlock();
    return fd;
}

/* Maps a file at a multiple of `alignment`, or returns NULL. */
static void *map_file(int fd, uint64_t offset, uint64_t span, uint64_t alignment) {
    if (alignment <= gs_page_size()) {
        void *base = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
        return base != MAP_FAILED ? base : NULL;
    }
    const uint64_t capacity = span + alignment;
    char *raw = mmap(NULL, capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return NULL;
    const uint64_t lead = (alignment - (uintptr_t)raw % alignment) % alignment;
    void *base = mmap(raw + lead, span, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
    if (base == MAP_FAILED) {
        int reason = errno;
        munmap(raw, capacity);
        errno = reason;
        return NULL;
    }
    if (lead > 0)
        munmap(raw, lead);
    if (capacity - lead > span)
        munmap(raw + lead + span, capacity - lead - span);
    return base;
}

/* Has the context's GPU reach memory of the host that came from elsewhere. If it cannot, copies do all the same. */
static void attach(gs_allocation *request) {
    gs_device *device = request->device == NULL ? gs_context_needs_kind(request->context) : NULL;
    if (device != NULL && device->kind->attach(device, request->base, request->span))
        request->owner = device;
}

static void detach(const gs_allocation *request) {
    if (request->owner != NULL)
        request->owner->kind->detach(request->owner, request->base);
}

GS_EXPORT ze_result_t gs_allocation_import(gs_context *context, gs_device *device, int fd, uint64_t offset,
                                           uint64_t size, uint64_t alignment, bool from_ipc, void **pointer) {
    gs_allocation request = {.size = size, .span = gs_whole_pages(size),
                             .context = context, .device = device, .charged = device,
                             .type = device != NULL ? ZE_MEMORY_TYPE_DEVICE : ZE_MEMORY_TYPE_HOST,
                             .backing = GS_BACKING_FILE, .imported = from_ipc};
    ze_result_t result = from_ipc ? ZE_RESULT_SUCCESS : gs_memory_charge(device, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    request.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    void *base = request.fd >= 0 ? map_file(request.fd, offset, request.span, alignment) : NULL;
    request.base = base;
    if (base == NULL && gs_is_exhaustion(errno))
        result = gs_fail_errno(errno, "a file of memory cannot be mapped");
    else if (base == NULL)
        result = gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "file descriptor %d cannot be mapped as memory that is read and written", fd);
    else {
        attach(&request);
        if ((result = gs_allocation_enter(&request)) != ZE_RESULT_SUCCESS) {
            detach(&request);
            munmap(base, request.span);
        }
    }
    if (result == ZE_RESULT_SUCCESS) {
        *pointer = base;
        gs_memory_count_shared(&request, 1);
        return result;
    }
    if (request.fd >= 0)
        close(request.fd);
    if (!from_ipc)
        gs_memory_uncharge(device, size);
    return result;
}

/* Makes the caller's own memory known as a host allocation. */
GS_EXPORT ze_result_t gs_allocation_adopt(gs_context *context, void *memory, uint64_t size) {
    gs_allocation request = {.base = memory, .size = size, .span = size, .context = context,
                             .type = ZE_MEMORY_TYPE_HOST_IMPORTED, .backing = GS_BACKING_SYSTEM, .fd = -1};
    attach(&request);
    ze_result_t result = gs_allocation_enter(&request);
    if (result != ZE_RESULT_SUCCESS)
        detach(&request);
    return result;
}

/* Makes mapped virtual memory known as an allocation. */
GS_EXPORT ze_result_t gs_mapping_add(gs_context *context, gs_device *device, void *start, uint64_t size) {
    return gs_allocation_enter(
        &(gs_allocation){.base = start, .size = size, .span = size, .context = context, .device = device,
                         .type = device != NULL ? ZE_MEMORY_TYPE_DEVICE : ZE_MEMORY_TYPE_HOST,
                         .backing = GS_BACKING_MAPPING, .fd = -1,
                         .owner = device != NULL && device->kind != NULL ? device : NULL});
}

GS_EXPORT void gs_mapping_remove(gs_context *context, const void *start) { gs_allocation_forget(context, start); }

GS_EXPORT ze_result_t gs_device_charge(gs_device *device, uint64_t size) { return gs_memory_charge(device, size); }
GS_EXPORT void gs_device_uncharge(gs_device *device, uint64_t size) { gs_memory_uncharge(device, size); }
