/* Memory of a GPU as pages of the CUDA driver's virtual memory: they can be exported as a file descriptor, imported from one, and
 * reached by other GPUs. All device memory is of that kind where the CUDA driver has it. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "nvidia/gpu.h"

static gs_cu_memory_properties properties_of(const gs_gpu *gpu) {
    return (gs_cu_memory_properties){.type = GS_CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .handle_types = GS_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                     .location = {GS_CU_MEM_LOCATION_TYPE_DEVICE, gpu->number}};
}

/* The GPU itself, and all that reach its memory. A copy to or from one that does not reach it would fail, though the CUDA driver
 * copies other memory between any two. So then this list is empty, and no memory is mapped. */
void gs_gpu_find_peers(gs_gpu *gpu) {
    int mapping = 0, sharing = 0, reaches = 1;
    gs_cu.device_attribute(&mapping, GS_CU_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, gpu->number);
    gs_cu.device_attribute(&sharing, GS_CU_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, gpu->number);
    if (!gs_cu.has_virtual_memory || !mapping || !sharing || gs_cu.device_total > GS_MOST_GPUS)
        return;
    const gs_cu_memory_access own = {{GS_CU_MEM_LOCATION_TYPE_DEVICE, gpu->number}, GS_CU_MEM_ACCESS_PROT_READWRITE};
    gpu->access[gpu->access_count++] = own;
    for (int ordinal = 0; ordinal < gs_cu.device_total && reaches; ordinal++) {
        gs_cu_memory_access peer = own;
        if (gs_cu.device_get(&peer.location.device, ordinal) != GS_CU_SUCCESS || peer.location.device == gpu->number)
            continue;
        if (gs_cu.device_reaches(&reaches, peer.location.device, gpu->number) != GS_CU_SUCCESS)
            reaches = 0;
        gpu->access[gpu->access_count++] = peer;
    }
    if (!reaches)
        gpu->access_count = 0;
}

/* Puts memory behind addresses of its own. */
static gs_cu_result map(const gs_gpu *gpu, gs_cu_memory memory, uint64_t bytes, uint64_t alignment, char **base) {
    gs_cu_pointer start = 0;
    gs_cu_result result = gs_cu.address_reserve(&start, bytes, alignment > GS_GPU_PAGE ? alignment : 0, 0, 0);
    if (result != GS_CU_SUCCESS)
        return result;
    if ((result = gs_cu.memory_map(start, bytes, 0, memory, 0)) == GS_CU_SUCCESS) {
        result = gs_cu.memory_access(start, bytes, gpu->access, gpu->access_count);
        if (result != GS_CU_SUCCESS)
            gs_cu.memory_unmap(start, bytes);
    }
    if (result != GS_CU_SUCCESS)
        gs_cu.address_free(start, bytes);
    *base = (char *)(uintptr_t)start;
    return result;
}

static bool works_in_context(const gs_gpu *gpu) {
    const gs_cu_memory_properties properties = properties_of(gpu);
    gs_cu_memory memory;
    size_t granule = 0;
    char *base = NULL;
    int fd = -1;
    if (gpu->access_count == 0 ||
        gs_cu.memory_granularity(&granule, &properties, GS_CU_MEM_ALLOC_GRANULARITY_MINIMUM) != GS_CU_SUCCESS ||
        granule == 0 || GS_GPU_PAGE % granule != 0 ||
        gs_cu.memory_create(&memory, GS_GPU_PAGE, &properties, 0) != GS_CU_SUCCESS)
        return false;
    bool works =
        gs_cu.memory_export(&fd, memory, GS_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == GS_CU_SUCCESS && fd >= 0;
    if (works) {
        close(fd);
        works = map(gpu, memory, GS_GPU_PAGE, 0, &base) == GS_CU_SUCCESS;
    }
    if (works)
        gs_gpu_unmap(&(gs_gpu_mapped){.start = base, .bytes = GS_GPU_PAGE});
    gs_cu.memory_release(memory);
    return works;
}

/* Tries it once in a context: where descriptors are forbidden, as in some sandboxes, it fails though the GPU can. Then no GPU
 * reaches another's memory either. */
bool gs_gpu_can_map(gs_gpu *gpu) {
    if (!works_in_context(gpu))
        gpu->access_count = 0;
    return gpu->access_count > 0;
}

/* What is mapped keeps its memory, so that nothing has to be noted. */
static gs_cu_result take(gs_gpu *gpu, char **base, uint64_t bytes, uint64_t alignment) {
    const gs_cu_memory_properties properties = properties_of(gpu);
    gs_cu_memory memory;
    gs_cu_result result = gs_cu.memory_create(&memory, bytes, &properties, 0);
    if (result != GS_CU_SUCCESS)
        return result;
    result = map(gpu, memory, bytes, alignment, base);
    gs_cu.memory_release(memory);
    return result;
}

gs_cu_result gs_gpu_take_pages(gs_gpu *gpu, char **base, uint64_t bytes) { return take(gpu, base, bytes, 0); }

void gs_gpu_give_pages(gs_gpu *gpu, char *base, uint64_t bytes) {
    (void)gpu;
    gs_gpu_unmap(&(gs_gpu_mapped){.start = base, .bytes = bytes});
}

void gs_gpu_unmap(const gs_gpu_mapped *mapped) {
    gs_cu_pointer start = (gs_cu_pointer)(uintptr_t)mapped->start;
    if (mapped->external != NULL) {
        gs_cu.memory_give(start);
        gs_cu.external_destroy(mapped->external);
    } else if (gs_cu.memory_unmap(start, mapped->bytes) == GS_CU_SUCCESS)
        gs_cu.address_free(start, mapped->bytes);
}

static uint64_t whole_pages(uint64_t size) { return (size + GS_GPU_PAGE - 1) / GS_GPU_PAGE * GS_GPU_PAGE; }

/* An allocation with pages that no other one has, because a descriptor for them will go to the program. */
ze_result_t gs_gpu_allocate_apart(gs_gpu *gpu, gs_allocation *request, size_t alignment) {
    gs_gpu_mapped *made = calloc(1, sizeof *made);
    if (made == NULL)
        return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no memory to record an allocation");
    made->fd = -1;
    made->bytes = request->span = whole_pages(request->size);
    gs_cu_result result = take(gpu, &made->start, made->bytes, alignment);
    if (result == GS_CU_OUT_OF_MEMORY) {
        gs_pool_trim(&gpu->memory);
        gs_pool_trim(&gpu->managed);
        result = take(gpu, &made->start, made->bytes, alignment);
    }
    request->base = made->start;
    request->of_kind = made;
    if (result == GS_CU_SUCCESS)
        return ZE_RESULT_SUCCESS;
    request->of_kind = NULL;
    free(made);
    return gs_gpu_fail(gpu, result, "an allocation");
}

/* --- Descriptors ----------------------------------------------------------------------------------------- */

int gs_gpu_export(gs_gpu *gpu, char *base) {
    gs_cu_memory memory;
    int fd = -1;
    if (!gpu->uses_pages || gs_cu.memory_behind(&memory, base) != GS_CU_SUCCESS)
        return -1;
    if (gs_cu.memory_export(&fd, memory, GS_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != GS_CU_SUCCESS)
        fd = -1;
    gs_cu.memory_release(memory);
    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

/* Memory of another API, such as Vulkan. What the CUDA driver imports so takes its descriptor over. */
static gs_cu_result import_external(int fd, uint64_t bytes, gs_gpu_mapped *made) {
    gs_cu_external_memory described = {.type = GS_CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .size = bytes};
    if (!gs_cu.has_external_memory)
        return GS_CU_NOT_SUPPORTED;
    if ((described.handle.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
        return GS_CU_OUT_OF_MEMORY;
    gs_cu_result result = gs_cu.external_import(&made->external, &described);
    if (result != GS_CU_SUCCESS) {
        close(described.handle.fd);
        return result;
    }
    gs_cu_pointer start = 0;
    result = gs_cu.external_map(&start, made->external, &(gs_cu_external_buffer){.size = bytes});
    if (result != GS_CU_SUCCESS)
        gs_cu.external_destroy(made->external);
    made->start = (char *)(uintptr_t)start;
    made->bytes = bytes;
    return result;
}

gs_cu_result gs_gpu_import(gs_gpu *gpu, int fd, uint64_t bytes, uint64_t alignment, gs_gpu_mapped *made) {
    gs_cu_memory memory;
    *made = (gs_gpu_mapped){.bytes = whole_pages(bytes), .fd = -1};
    if (!gpu->uses_pages || gs_cu.memory_import(&memory, (void *)(uintptr_t)fd,
                                                GS_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != GS_CU_SUCCESS)
        return import_external(fd, bytes, made);
    gs_cu_result result = map(gpu, memory, made->bytes, alignment, &made->start);
    gs_cu.memory_release(memory);
    return result;
}
