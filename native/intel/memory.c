/* Memory in Intel's way: commands that wait for a word of memory or write one, copies and fills with parameters, and host
 * memory that a program imports. */
#include <stdlib.h>

#include "intel/intel.h"
#include "memory/memory.h"
#include "objects/list.h"

/* --- Words --------------------------------------------------------------------------------------------- */

typedef struct zex_wait_on_mem_desc_t {
    uint32_t actionFlag; /* one of six bits: the comparison of the word with the value */
    uint32_t waitScope;
} zex_wait_on_mem_desc_t;

typedef struct zex_write_to_mem_desc_t {
    uint32_t writeScope;
} zex_write_to_mem_desc_t;

static const gs_comparison comparisons[] = {GS_EQUAL, GS_NOT_EQUAL, GS_GREATER, GS_AT_LEAST, GS_LESS, GS_AT_MOST};

static ze_result_t check_word(const char *name, ze_command_list_handle_t list, const void *description, const void *word,
                              size_t size) {
    if (!gs_is_live(list, GS_KIND_COMMAND_LIST))
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "%s: hCommandList (%p) is no live command list", name, (void *)list);
    if (description == NULL || word == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "%s: neither desc nor ptr may be null", name);
    if ((uintptr_t)word % size != 0)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "%s: ptr (%p) is not aligned to %zu bytes", name, word, size);
    if (!gs_is_readable(word, size))
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: there is no memory at ptr (%p)", name, word);
    return ZE_RESULT_SUCCESS;
}

/* A barrier that waits for an event of its own, which is complete when the word fits. */
static ze_result_t append_wait(const char *name, ze_command_list_handle_t handle, const zex_wait_on_mem_desc_t *description,
                               void *word, size_t size, uint64_t value, ze_event_handle_t signal) {
    GS_PIN void *list = gs_pin(handle, GS_KIND_COMMAND_LIST);
    GS_PIN void *signalled = gs_pin(signal, GS_KIND_EVENT);
    ze_result_t result = check_word(name, list != NULL ? list : handle, description, word, size);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (signal != NULL && signalled == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, "%s: hSignalEvent (%p) is no live event", name,
                       (void *)signal);
    const uint32_t flag = description->actionFlag;
    if (flag == 0 || (flag & (flag - 1)) != 0 || flag >= 1u << sizeof comparisons / sizeof *comparisons)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s: desc->actionFlag %#x is no single comparison", name, flag);
    const gs_word_test test = {word, value, comparisons[__builtin_ctz(flag)], size == sizeof(uint32_t)};
    gs_event *event = gs_event_of_word(((gs_list *)list)->context, &test);
    if (event == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    ze_event_handle_t wait = (ze_event_handle_t)event;
    result = gs_append(GS_FN_zeCommandListAppendWaitOnEvents, handle,
                       &(gs_command){.operation = GS_NOTHING, .blocks_later = true}, signal, 1, &wait);
    gs_object_close(event);
    return result;
}

GS_EXPORT ze_result_t zexCommandListAppendWaitOnMemory(ze_command_list_handle_t list, zex_wait_on_mem_desc_t *description,
                                                       void *word, uint32_t value, ze_event_handle_t signal) {
    return append_wait("zexCommandListAppendWaitOnMemory", list, description, word, sizeof value, value, signal);
}

GS_EXPORT ze_result_t zexCommandListAppendWaitOnMemory64(ze_command_list_handle_t list, zex_wait_on_mem_desc_t *description,
                                                         void *word, uint64_t value, ze_event_handle_t signal) {
    return append_wait("zexCommandListAppendWaitOnMemory64", list, description, word, sizeof value, value, signal);
}

GS_EXPORT ze_result_t zexCommandListAppendWriteToMemory(ze_command_list_handle_t list, zex_write_to_mem_desc_t *description,
                                                        void *word, uint64_t value) {
    ze_result_t result = check_word("zexCommandListAppendWriteToMemory", list, description, word, sizeof value);
    return result == ZE_RESULT_SUCCESS
               ? zeCommandListAppendMemoryFill(list, word, &value, sizeof value, sizeof value, NULL, 0, NULL)
               : result;
}

/* --- Copies and fills ---------------------------------------------------------------------------------- */

GS_EXPORT ze_result_t zexCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t list, void *destination,
                                                                   const void *source, size_t size, const void *next,
                                                                   uint32_t wait_count, ze_event_handle_t *waits,
                                                                   ze_event_handle_t signal) {
    return zeCommandListAppendMemoryCopyWithParameters(list, destination, source, size, next, signal, wait_count, waits);
}

GS_EXPORT ze_result_t zexCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t list, void *destination,
                                                                   const void *pattern, size_t pattern_size, size_t size,
                                                                   const void *next, ze_event_handle_t signal,
                                                                   uint32_t wait_count, ze_event_handle_t *waits) {
    return zeCommandListAppendMemoryFillWithParameters(list, destination, pattern, pattern_size, size, next, signal, wait_count,
                                                       waits);
}

/* --- Imported host memory ------------------------------------------------------------------------------ */

/* The devices reach all memory of the program anyhow, so that there is nothing to do but to remember what was imported. */
typedef struct imported_range {
    const char *start;
    size_t size;
    struct imported_range *next;
} imported_range;

GS_STATIC_LOCK(imports_lock, GS_SHORT_LOCK)
static imported_range *imports;

/* With the lock held: where a pointer to the range with an address is. */
static imported_range **find(const char *address) {
    imported_range **link = &imports;
    while (*link != NULL && (address < (*link)->start || address - (*link)->start >= (ptrdiff_t)(*link)->size))
        link = &(*link)->next;
    return link;
}

static bool overlaps(const char *start, size_t size) {
    for (imported_range *each = imports; each != NULL; each = each->next)
        if (start < each->start + each->size && each->start < start + size)
            return true;
    return false;
}

static ze_result_t check_driver(const char *name, const void *driver, const void *pointer) {
    if (!gs_is_live(driver, GS_KIND_DRIVER))
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "%s: hDriver (%p) is no driver of ours", name, driver);
    if (pointer == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "%s: ptr must not be null", name);
    return ZE_RESULT_SUCCESS;
}

GS_EXPORT ze_result_t zexDriverImportExternalPointer(ze_driver_handle_t driver, void *pointer, size_t size) {
    ze_result_t result = check_driver("zexDriverImportExternalPointer", driver, pointer);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    const char *start = pointer;
    if (size == 0 || size > PTRDIFF_MAX || (uintptr_t)start > UINTPTR_MAX - size || !gs_is_readable(start, 1) ||
        !gs_is_readable(start + size - 1, 1))
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "zexDriverImportExternalPointer: there is no memory of %zu bytes at %p",
                       size, pointer);
    imported_range *range = malloc(sizeof *range);
    if (range == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "zexDriverImportExternalPointer: no memory for another range");
    *range = (imported_range){start, size, NULL};
    gs_lock(&imports_lock);
    imported_range *there = *find(start);
    const bool is_known = there != NULL && there->start == start && there->size == size;
    const bool is_new = !is_known && !overlaps(start, size);
    if (is_new) {
        range->next = imports;
        imports = range;
    }
    gs_unlock(&imports_lock);
    if (is_new)
        return ZE_RESULT_SUCCESS;
    free(range);
    return is_known ? ZE_RESULT_SUCCESS
                    : gs_fail(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
                              "zexDriverImportExternalPointer: a part of the %zu bytes at %p was imported already", size, pointer);
}

GS_EXPORT ze_result_t zexDriverReleaseImportedPointer(ze_driver_handle_t driver, void *pointer) {
    ze_result_t result = check_driver("zexDriverReleaseImportedPointer", driver, pointer);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_lock(&imports_lock);
    imported_range **link = find(pointer), *range = *link;
    if (range != NULL)
        *link = range->next;
    gs_unlock(&imports_lock);
    free(range);
    return range != NULL ? ZE_RESULT_SUCCESS
                         : gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                                   "zexDriverReleaseImportedPointer: %p was not imported", pointer);
}

GS_EXPORT ze_result_t zexDriverGetHostPointerBaseAddress(ze_driver_handle_t driver, void *pointer, void **base) {
    ze_result_t result = check_driver("zexDriverGetHostPointerBaseAddress", driver, pointer);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    gs_lock(&imports_lock);
    const imported_range *range = *find(pointer);
    const void *start = range != NULL ? range->start : NULL;
    gs_unlock(&imports_lock);
    if (start == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zexDriverGetHostPointerBaseAddress: %p was not imported", pointer);
    if (base != NULL)
        *base = (void *)start;
    return ZE_RESULT_SUCCESS;
}

/* --- Shared memory ------------------------------------------------------------------------------------- */

/* An allocation has one handle here: it lies in one place. */
GS_EXPORT ze_result_t zexMemGetIpcHandles(ze_context_handle_t context, const void *pointer, uint32_t *count,
                                          ze_ipc_mem_handle_t *handles) {
    if (count == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zexMemGetIpcHandles: numIpcHandles must not be null");
    if (*count > 0 && handles != NULL) {
        *count = 1;
        return zeMemGetIpcHandle(context, pointer, handles);
    }
    ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_result_t result = zeMemGetAllocProperties(context, pointer, &properties, NULL);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (properties.type == ZE_MEMORY_TYPE_UNKNOWN)
        return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zexMemGetIpcHandles: ptr (%p) is no memory of this context", pointer);
    *count = 1;
    return ZE_RESULT_SUCCESS;
}

GS_EXPORT ze_result_t zexMemOpenIpcHandles(ze_context_handle_t context, ze_device_handle_t device, uint32_t count,
                                           ze_ipc_mem_handle_t *handles, ze_ipc_memory_flags_t flags, void **pointer) {
    if (handles == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zexMemOpenIpcHandles: pIpcHandles must not be null");
    if (count != 1)
        return gs_fail(ZE_RESULT_ERROR_INVALID_SIZE, "zexMemOpenIpcHandles: an allocation of this driver has one handle, not %u",
                       count);
    return zeMemOpenIpcHandle(context, device, handles[0], flags, pointer);
}
