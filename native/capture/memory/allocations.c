/* Tells tracking.c what the program's calls allocate, open, map and import. */
#include <pthread.h>

#include "capture/recorder/handles.h"
#include "capture/recorder/hooks.h"
#include "capture/recorder/slots.h"

enum { CHAIN_LIMIT = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gc_handles physical; /* the kinds of physical memory */

/* What a description and the structs behind it make of an allocation. */
static gc_memory_kind kind_of(const void *desc) {
    const ze_base_desc_t *link = desc;
    for (int links = 0; link != NULL && links < CHAIN_LIMIT; link = link->pNext, links++)
        switch ((uint32_t)link->stype) {
        case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD:
        case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32:
        case ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC:
            return GC_MEMORY_FOREIGN;
        case ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC:
            return GC_MEMORY_FILLED;
        default:
            break;
        }
    return GC_MEMORY_HOST;
}

void gc_allocated(ze_result_t result, void *const *found, size_t size, const void *desc) {
    if (result == ZE_RESULT_SUCCESS)
        gc_memory_add(*found, size, kind_of(desc));
}

void gc_allocated_device(ze_result_t result, void *const *found, size_t size) {
    if (result == ZE_RESULT_SUCCESS)
        gc_memory_add(*found, size, GC_MEMORY_DEVICE);
}

/* Another process fills what is opened, and nobody else tells the stream. */
void gc_opened(ze_result_t result, ze_context_handle_t context, void *const *found) {
    void *base = NULL;
    size_t size = 0;
    if (result != ZE_RESULT_SUCCESS)
        return;
    ze_pfnMemGetAddressRange_t ask = (ze_pfnMemGetAddressRange_t)gc_next[GS_FN_zeMemGetAddressRange];
    if (ask(context, *found, &base, &size) == ZE_RESULT_SUCCESS && base != NULL)
        gc_memory_add(base, size, GC_MEMORY_FOREIGN);
}

void gc_exported(ze_result_t result, const void *at) {
    if (result == ZE_RESULT_SUCCESS)
        gc_memory_share(at);
}

/* Properties with a chain may be a request for a file descriptor of the memory. */
void gc_asked_about(ze_result_t result, const void *at, const ze_memory_allocation_properties_t *properties) {
    if (result == ZE_RESULT_SUCCESS && properties->pNext != NULL)
        gc_memory_share(at);
}

static const gc_memory_kind on_host = GC_MEMORY_FILLED, on_device = GC_MEMORY_DEVICE;

void gc_made_physical(ze_result_t result, const ze_physical_mem_desc_t *desc, const ze_physical_mem_handle_t *found) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    bool is_host = (desc->flags & ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST) != 0;
    pthread_mutex_lock(&lock);
    gc_handles_put(&physical, *found, (void *)(is_host ? &on_host : &on_device));
    pthread_mutex_unlock(&lock);
}

void gc_unmade_physical(ze_result_t result, ze_physical_mem_handle_t memory) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    gc_handles_take(&physical, memory);
    pthread_mutex_unlock(&lock);
}

void gc_mapped(ze_result_t result, const void *at, size_t size, ze_physical_mem_handle_t memory) {
    if (result != ZE_RESULT_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    const gc_memory_kind *kind = gc_handles_get(&physical, memory);
    pthread_mutex_unlock(&lock);
    gc_memory_add(at, size, kind != NULL ? *kind : GC_MEMORY_DEVICE);
}
