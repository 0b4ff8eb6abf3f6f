/* The memory of a GPU: its own, the host's that it reaches (pinned), and what both use (managed). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nvidia/gpu.h"

static gs_cu_result take_device(gs_gpu *gpu, char **base, uint64_t bytes) {
    gs_cu_pointer pointer = 0;
    if (gpu->uses_pages)
        return gs_gpu_take_pages(gpu, base, bytes);
    gs_cu_result result = gs_cu.memory_take(&pointer, bytes);
    *base = (char *)(uintptr_t)pointer;
    return result;
}

static void give_device(gs_gpu *gpu, char *base, uint64_t bytes) {
    if (gpu->uses_pages)
        gs_gpu_give_pages(gpu, base, bytes);
    else
        gs_cu.memory_give((gs_cu_pointer)(uintptr_t)base);
}

static gs_cu_result take_managed(gs_gpu *gpu, char **base, uint64_t bytes) {
    (void)gpu;
    gs_cu_pointer pointer = 0;
    gs_cu_result result = gs_cu.managed_take(&pointer, bytes, GS_CU_MEM_ATTACH_GLOBAL);
    *base = (char *)(uintptr_t)pointer;
    return result;
}

static void give_managed(gs_gpu *gpu, char *base, uint64_t bytes) {
    (void)gpu, (void)bytes;
    gs_cu.memory_give((gs_cu_pointer)(uintptr_t)base);
}

static const gs_pool_source of_device = {take_device, give_device, 9, 32 << 20, GS_GPU_PAGE};
static const gs_pool_source of_host = {gs_gpu_take_host, gs_gpu_give_host, 12, 4 << 20, 64 << 10};
static const gs_pool_source of_managed = {take_managed, give_managed, 12, 4 << 20, 2 << 20};

/* How much freed memory is kept: not so much that other processes lack it. */
enum { KEPT_SHARE = 16 };
static const uint64_t KEPT_HOST = UINT64_C(1) << 30;

void gs_gpu_open_pools(gs_gpu *gpu) {
    gs_pool_open(&gpu->memory, &of_device, gpu, gpu->device->memory_bytes / KEPT_SHARE);
    gs_pool_open(&gpu->host, &of_host, gpu, KEPT_HOST);
    gs_pool_open(&gpu->managed, &of_managed, gpu, gpu->device->memory_bytes / KEPT_SHARE);
}

void gs_gpu_forget_memory(gs_gpu *gpu) {
    gs_pool_forget(&gpu->memory, gpu->uses_pages);
    gs_pool_forget(&gpu->host, true);
    gs_pool_forget(&gpu->managed, false);
}

gs_pool *gs_gpu_pool_for(gs_gpu *gpu, ze_memory_type_t type) {
    if (type == ZE_MEMORY_TYPE_DEVICE)
        return &gpu->memory;
    return type == ZE_MEMORY_TYPE_HOST ? &gpu->host : &gpu->managed;
}

/* Whether there is room for managed memory. The CUDA driver would take more than the GPU has, and then move pages back and
 * forth, or hang. It counts managed memory only where it was touched, so that it is counted here. */
static bool has_room(gs_gpu *gpu, uint64_t bytes) {
    size_t available = 0, total = 0;
    uint64_t taken = gpu->memory.taken + gpu->managed.taken;
    if (gpu->budget == 0 && gs_cu.memory_info(&available, &total) == GS_CU_SUCCESS)
        gpu->budget = available + gpu->memory.taken;
    return taken + bytes <= gpu->budget;
}

static gs_cu_result take(gs_gpu *gpu, gs_allocation *request, size_t alignment) {
    if (request->type == ZE_MEMORY_TYPE_SHARED && !has_room(gpu, request->size))
        return GS_CU_OUT_OF_MEMORY;
    const bool needs_file = request->is_apart && request->type == ZE_MEMORY_TYPE_HOST && request->size < GS_POOL_LEAST_APART;
    return gs_pool_take(gs_gpu_pool_for(gpu, request->type), needs_file ? GS_POOL_LEAST_APART : request->size, alignment,
                        &request->base, &request->span);
}

ze_result_t gs_gpu_allocate(gs_device *device, gs_allocation *request, size_t alignment) {
    gs_gpu *gpu = gs_gpu_of(device);
    gs_pool *pool = gs_gpu_pool_for(gpu, request->type);
    if (!gs_gpu_enter(gpu))
        return ZE_RESULT_ERROR_DEVICE_LOST;
    request->generation = gpu->generation;
    if (request->is_apart && request->type == ZE_MEMORY_TYPE_DEVICE && gpu->uses_pages) {
        ze_result_t made = gs_gpu_allocate_apart(gpu, request, alignment);
        gs_gpu_leave(gpu);
        return made;
    }
    gs_cu_result result = take(gpu, request, alignment);
    if (result == GS_CU_OUT_OF_MEMORY) {
        gs_pool_trim(&gpu->memory);
        gs_pool_trim(&gpu->managed);
        result = take(gpu, request, alignment);
    }
    bool is_misplaced = result == GS_CU_SUCCESS && alignment > 0 && (uintptr_t)request->base % alignment != 0;
    if (is_misplaced)
        gs_pool_give(pool, request->base, request->span);
    gs_gpu_leave(gpu);
    if (is_misplaced)
        return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "NVIDIA's driver aligns no memory to %zu bytes", alignment);
    return result == GS_CU_SUCCESS ? ZE_RESULT_SUCCESS : gs_gpu_fail(gpu, result, "an allocation");
}

static void release(gs_gpu *gpu, const gs_allocation *allocation) {
    gs_pool *pool = gs_gpu_pool_for(gpu, allocation->type);
    if (allocation->of_kind != NULL)
        gs_gpu_unmap(allocation->of_kind);
    else if (allocation->withdrawn || allocation->is_apart)
        gs_pool_give_up(pool, allocation->base, allocation->span);
    else
        gs_pool_give(pool, allocation->base, allocation->span);
}

/* Memory of a context that faulted is gone already, or outlives it: then the pool gives it back when there is another one. */
void gs_gpu_release(gs_device *device, gs_allocation *allocation) {
    gs_gpu *gpu = gs_gpu_of(device);
    const bool is_entered = allocation->generation == gpu->generation && !gpu->is_lost && gs_gpu_enter(gpu);
    if (allocation->generation == gpu->generation && (is_entered || gpu->is_lost))
        release(gpu, allocation);
    if (is_entered)
        gs_gpu_leave(gpu);
    const gs_gpu_mapped *mapped = allocation->of_kind;
    if (mapped != NULL && mapped->fd >= 0)
        close(mapped->fd);
    free(allocation->of_kind);
}

bool gs_gpu_transfer(gs_device *device, void *to, const void *from, uint64_t size) {
    gs_gpu *gpu = gs_gpu_of(device);
    if (size == 0)
        return true;
    if (!gs_gpu_enter(gpu))
        return false;
    gs_may_wait("a copy of a GPU");
    gs_cu_result result = gs_cu.copy_now((gs_cu_pointer)(uintptr_t)to, (gs_cu_pointer)(uintptr_t)from, size);
    gs_gpu_leave(gpu);
    if (result == GS_CU_SUCCESS)
        return true;
    char what[120];
    snprintf(what, sizeof what, "a copy of %llu bytes from %p to %p", (unsigned long long)size, from, to);
    gs_gpu_lose(gpu, NULL, result, what);
    return false;
}

bool gs_gpu_peek(gs_device *device, void *to, uint64_t from, uint64_t size) {
    gs_gpu *gpu = gs_gpu_of(device);
    if (!gs_gpu_enter(gpu))
        return false;
    gs_cu_result result = gs_cu.copy_from_device(to, from, size);
    gs_gpu_leave(gpu);
    return result == GS_CU_SUCCESS;
}

/* --- Memory of the host that came from elsewhere --------------------------------------------------------- */

/* Pages of the program, or of a file. They stay where they are as long as the GPU may use them. */
bool gs_gpu_attach(gs_device *device, void *start, uint64_t size) {
    gs_gpu *gpu = gs_gpu_of(device);
    if (!gs_gpu_enter(gpu))
        return false;
    gs_cu_result result = gs_cu.host_register(start, size, GS_CU_MEMHOSTREGISTER_PORTABLE);
    gs_gpu_leave(gpu);
    return result == GS_CU_SUCCESS;
}

void gs_gpu_detach(gs_device *device, void *start) {
    gs_gpu *gpu = gs_gpu_of(device);
    if (gpu->is_lost || !gs_gpu_enter(gpu))
        return;
    gs_cu.host_unregister(start);
    gs_gpu_leave(gpu);
}
