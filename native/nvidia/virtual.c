/* Virtual memory of a GPU, for driver/devices/nvidia/virtual_memory.py: addresses that are reserved, and pages behind them.
 *
 * The CUDA driver maps and unmaps an allocation as a whole only. So physical memory is as many allocations as it has pages, and
 * any of them can be mapped anywhere. */
#include <stdlib.h>

#include "nvidia/gpu.h"

typedef struct gs_gpu_pages {
    gs_gpu *gpu;
    uint32_t generation;
    uint64_t page, count;
    gs_cu_memory handles[];
} gs_gpu_pages;

static gs_cu_memory_properties properties_of(const gs_gpu *gpu) {
    return (gs_cu_memory_properties){.type = GS_CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = {GS_CU_MEM_LOCATION_TYPE_DEVICE, gpu->number}};
}

/* Bytes of a page of virtual memory; 0 if the GPU has none that the program could map. */
GS_EXPORT uint64_t gs_gpu_page_size(gs_device *device) {
    gs_gpu *gpu = gs_gpu_of(device);
    gs_cu_memory_properties properties = properties_of(gpu);
    size_t page = 0;
    int has_some = 0;
    gs_cu.device_attribute(&has_some, GS_CU_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, gpu->number);
    if (!gs_cu.has_virtual_memory || !has_some || !gs_gpu_enter(gpu))
        return 0;
    if (gs_cu.memory_granularity(&page, &properties, GS_CU_MEM_ALLOC_GRANULARITY_MINIMUM) != GS_CU_SUCCESS)
        page = 0;
    gs_gpu_leave(gpu);
    return page;
}

/* Addresses that nothing else uses, of whole pages; 0 if there are none. The wish may be ignored. */
GS_EXPORT uint64_t gs_gpu_reserve(gs_device *device, uint64_t size, uint64_t wish) {
    gs_gpu *gpu = gs_gpu_of(device);
    gs_cu_pointer start = 0;
    if (!gs_gpu_enter(gpu))
        return 0;
    if (gs_cu.address_reserve(&start, size, 0, wish, 0) != GS_CU_SUCCESS)
        start = 0;
    gs_gpu_leave(gpu);
    return start;
}

GS_EXPORT void gs_gpu_unreserve(gs_device *device, uint64_t start, uint64_t size) {
    gs_gpu *gpu = gs_gpu_of(device);
    if (gpu->is_lost || !gs_gpu_enter(gpu))
        return;
    gs_cu.address_free(start, size);
    gs_gpu_leave(gpu);
}

/* --- Pages ------------------------------------------------------------------------------------------- */

static void give_pages(gs_gpu_pages *pages) {
    while (pages->count > 0)
        gs_cu.memory_release(pages->handles[--pages->count]);
}

static ze_result_t take_pages(gs_gpu_pages *pages, uint64_t count) {
    gs_cu_memory_properties properties = properties_of(pages->gpu);
    gs_cu_result result = GS_CU_SUCCESS;
    while (pages->count < count && result == GS_CU_SUCCESS) {
        result = gs_cu.memory_create(&pages->handles[pages->count], pages->page, &properties, 0);
        pages->count += result == GS_CU_SUCCESS;
    }
    if (result == GS_CU_SUCCESS)
        return ZE_RESULT_SUCCESS;
    give_pages(pages);
    return gs_gpu_fail(pages->gpu, result, "physical memory");
}

GS_EXPORT ze_result_t gs_gpu_pages_new(gs_device *device, uint64_t page, uint64_t count, void **made) {
    gs_gpu *gpu = gs_gpu_of(device);
    gs_gpu_pages *pages = calloc(1, sizeof *pages + count * sizeof *pages->handles);
    if (pages == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to note %llu pages", (unsigned long long)count);
    if (!gs_gpu_enter(gpu)) {
        free(pages);
        return ZE_RESULT_ERROR_DEVICE_LOST;
    }
    *pages = (gs_gpu_pages){.gpu = gpu, .generation = gpu->generation, .page = page};
    ze_result_t result = take_pages(pages, count);
    gs_gpu_leave(gpu);
    if (result != ZE_RESULT_SUCCESS)
        free(pages);
    else
        *made = pages;
    return result;
}

/* Enters the context that the pages are of. False: it is gone, and so are they. */
static bool enter(const gs_gpu_pages *pages) {
    gs_gpu *gpu = pages->gpu;
    if (gpu->is_lost || pages->generation != gpu->generation || !gs_gpu_enter(gpu))
        return false;
    if (pages->generation == gpu->generation)
        return true;
    gs_gpu_leave(gpu);
    return false;
}

GS_EXPORT void gs_gpu_pages_end(gs_gpu_pages *pages) {
    if (enter(pages)) {
        give_pages(pages);
        gs_gpu_leave(pages->gpu);
    }
    free(pages);
}

/* `access`: ze_memory_access_attribute_t */
static gs_cu_result allow(const gs_gpu_pages *pages, uint64_t start, uint64_t size, uint32_t access) {
    static const uint32_t flags[] = {[ZE_MEMORY_ACCESS_ATTRIBUTE_NONE] = GS_CU_MEM_ACCESS_PROT_NONE,
                                     [ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE] = GS_CU_MEM_ACCESS_PROT_READWRITE,
                                     [ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY] = GS_CU_MEM_ACCESS_PROT_READ};
    const gs_gpu *gpu = pages->gpu;
    gs_cu_memory_access wanted[GS_MOST_GPUS] = {{{GS_CU_MEM_LOCATION_TYPE_DEVICE, gpu->number}, flags[access]}};
    for (uint32_t each = 1; each < gpu->access_count; each++)
        wanted[each] = (gs_cu_memory_access){gpu->access[each].location, flags[access]};
    return gs_cu.memory_access(start, size, wanted, gpu->access_count > 0 ? gpu->access_count : 1);
}

static ze_result_t refuse(const char *what, gs_cu_result error) {
    char why[200];
    return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "NVIDIA's driver does not %s (%s)", what,
                   gs_cuda_describe(error, why, sizeof why));
}

GS_EXPORT ze_result_t gs_gpu_pages_protect(const gs_gpu_pages *pages, uint64_t start, uint64_t size, uint32_t access) {
    if (!enter(pages))
        return gs_fail(ZE_RESULT_ERROR_DEVICE_LOST, "the GPU is lost");
    gs_cu_result result = allow(pages, start, size, access);
    gs_gpu_leave(pages->gpu);
    return result == GS_CU_SUCCESS ? ZE_RESULT_SUCCESS : refuse("protect these pages so", result);
}

static void unmap(const gs_gpu_pages *pages, uint64_t start, uint64_t size) {
    for (uint64_t done = 0; done < size; done += pages->page)
        gs_cu.memory_unmap(start + done, pages->page);
}

/* Puts the pages from number `first` on behind addresses. */
GS_EXPORT ze_result_t gs_gpu_pages_map(const gs_gpu_pages *pages, uint64_t start, uint64_t size, uint64_t first,
                                       uint32_t access) {
    gs_cu_result result = GS_CU_SUCCESS;
    uint64_t done = 0;
    if (!enter(pages))
        return gs_fail(ZE_RESULT_ERROR_DEVICE_LOST, "the GPU is lost");
    for (; done < size && result == GS_CU_SUCCESS; done += result == GS_CU_SUCCESS ? pages->page : 0)
        result = gs_cu.memory_map(start + done, pages->page, 0, pages->handles[first + done / pages->page], 0);
    if (result == GS_CU_SUCCESS && access != ZE_MEMORY_ACCESS_ATTRIBUTE_NONE)
        result = allow(pages, start, size, access);
    if (result != GS_CU_SUCCESS)
        unmap(pages, start, done);
    gs_gpu_leave(pages->gpu);
    return result == GS_CU_SUCCESS ? ZE_RESULT_SUCCESS : refuse("map these pages", result);
}

/* What the GPU was given before has to be done: the CUDA driver does not wait for it. */
GS_EXPORT void gs_gpu_pages_unmap(const gs_gpu_pages *pages, uint64_t start, uint64_t size) {
    if (!enter(pages))
        return;
    unmap(pages, start, size);
    gs_gpu_leave(pages->gpu);
}
