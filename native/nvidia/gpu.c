/* GPUs as devices: making them, and their contexts of the CUDA driver. */
#include "nvidia/gpu.h"

#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>

#include "faults/lost_context.h"
#include "threads/wait.h"

const gs_device_kind gs_nvidia_kind = {
    .allocate = gs_gpu_allocate,
    .release = gs_gpu_release,
    .transfer = gs_gpu_transfer,
    .peek = gs_gpu_peek,
    .attach = gs_gpu_attach,
    .detach = gs_gpu_detach,
    .share = gs_gpu_share,
    .withdraw = gs_gpu_withdraw,
    .work_off = gs_gpu_work_off,
    .try_issue = gs_gpu_try_issue,
    .attend = gs_gpu_attend,
    .execute = gs_gpu_execute,
    .close_queue = gs_gpu_close_queue,
    .perform = gs_gpu_perform,
    .most_counts = {INT32_MAX, UINT16_MAX, UINT16_MAX},
    .most_groups = gs_gpu_most_groups,
};

/* The CUDA driver does not work in a child that is forked after it was started. */
static bool is_forked;
static void note_fork(void) {
    is_forked = true;
    gs_gpu_offers_after_fork();
}
bool gs_gpu_is_forked(void) { return is_forked; }

/* Makes a device of the GPU with a number in the CUDA driver's list. */
GS_EXPORT bool gs_gpu_adopt(gs_device *device, int ordinal) {
    gs_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL || gs_cu.device_get(&gpu->number, ordinal) != GS_CU_SUCCESS) {
        free(gpu);
        return false;
    }
    int count = 1;
    gs_cu.device_attribute(&count, GS_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu->number);
    gpu->multiprocessors = (uint32_t)count;
    gpu->device = device;
    gs_mutex_open(&gpu->lock, GS_LONG_LOCK);
    gs_gpu_find_peers(gpu);
    gs_gpu_open_pools(gpu);
    if (!atomic_exchange(&gs_some_device_has_kind, true))
        pthread_atfork(NULL, NULL, note_fork);
    device->of_kind = gpu;
    device->kind = &gs_nvidia_kind;
    if (device->driver->needs_kind == NULL)
        device->driver->needs_kind = device;
    return true;
}

/* Whether kernels of a GPU may use the device memory of another, and with which atomics: 0, 1, or 2 with all of them. */
GS_EXPORT uint32_t gs_gpu_reaches(const gs_device *device, const gs_device *peer) {
    const gs_gpu *gpu = gs_gpu_of(device), *other = gs_gpu_of(peer);
    int has_atomics = 0;
    for (uint32_t each = 0; each < other->access_count; each++)
        if (other->access[each].location.device == gpu->number) {
            gs_cu.peer_attribute(&has_atomics, GS_CU_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, gpu->number, other->number);
            return has_atomics ? 2 : 1;
        }
    return 0;
}

/* Whether the GPU's memory can be exported as a file descriptor and imported from one. */
GS_EXPORT bool gs_gpu_exports(const gs_device *device) { return gs_gpu_of(device)->access_count > 0; }

/* --- Contexts ------------------------------------------------------------------------------------------ */

/* A context that faulted answers nothing but errors, and takes all memory and code with it when it goes. So that is when
 * the program has destroyed what it had there. Called with the lock held and nobody else inside. */
static void end_context(gs_gpu *gpu) {
    if (gpu->context == NULL)
        return;
    if (gpu->owns_context)
        gs_cu.context_destroy(gpu->context);
    else
        gs_cu.context_release(gpu->number);
    gs_gpu_forget_memory(gpu);
    gpu->budget = 0;
    gpu->no_image = 0;
    gpu->context = NULL;
    gpu->generation++;
}

/* Another one, and not the primary one again: if other code of the process uses that, it is still the one that faulted. NVIDIA
 * promises nothing here: after some errors, CUDA_ERROR_ILLEGAL_ADDRESS is one, a process may have to be started again. So
 * the context has to answer before anybody relies on it. */
static gs_cu_result replace_context(gs_gpu *gpu) {
    gs_cu_context made = NULL, popped;
    size_t available, total;
    end_context(gpu);
    gs_cu_result result = gs_cu.context_create(&made, 0, gpu->number);
    if (result != GS_CU_SUCCESS)
        return result;
    result = gs_cu.memory_info(&available, &total);
    gpu->uses_pages = result == GS_CU_SUCCESS && gs_gpu_can_map(gpu);
    gs_cu.context_pop(&popped);
    if (result != GS_CU_SUCCESS) {
        gs_cu.context_destroy(made);
        return result;
    }
    gpu->owns_context = true;
    __atomic_store_n(&gpu->context, made, __ATOMIC_RELEASE);
    gpu->is_lost = false;
    return GS_CU_SUCCESS;
}

static gs_cu_result open_context(gs_gpu *gpu) {
    gs_cu_context made = NULL, popped;
    gs_cu_result result = gs_cu.context_retain(&made, gpu->number);
    if (result == GS_CU_SUCCESS && (result = gs_cu.context_push(made)) != GS_CU_SUCCESS)
        gs_cu.context_release(gpu->number);
    if (result != GS_CU_SUCCESS)
        return result;
    gpu->uses_pages = gs_gpu_can_map(gpu);
    gs_cu.context_pop(&popped);
    __atomic_store_n(&gpu->context, made, __ATOMIC_RELEASE);
    return GS_CU_SUCCESS;
}

/* Threads that were at it when the GPU faulted notice in a moment. */
static bool is_left(void *state) {
    const gs_gpu *gpu = state;
    return gpu->inside <= 1; /* the caller is inside */
}

static gs_cu_result need_context(gs_gpu *gpu, bool *is_in_use) {
    gs_cu_result result = GS_CU_SUCCESS;
    gs_may_wait("the CUDA driver");
    gs_lock(&gpu->lock);
    *is_in_use = gpu->is_lost && (gs_device_has_lost_context(gpu->device) || !gs_wait_moment(is_left, gpu));
    if (gpu->is_lost && !*is_in_use)
        result = replace_context(gpu);
    else if (!gpu->is_lost && gpu->context == NULL)
        result = open_context(gpu);
    gs_unlock(&gpu->lock);
    return result;
}

static bool refuse(gs_gpu *gpu) {
    gpu->inside--;
    return false;
}

bool gs_gpu_enter(gs_gpu *gpu) {
    bool is_in_use = false;
    gpu->inside++;
    if (is_forked) {
        gs_fail(ZE_RESULT_ERROR_DEVICE_LOST, "NVIDIA's driver does not work in a forked process that began before the fork; "
                                             "start another program (exec)");
        return refuse(gpu);
    }
    gs_cu_result result = GS_CU_SUCCESS;
    if (__atomic_load_n(&gpu->context, __ATOMIC_ACQUIRE) == NULL || gpu->is_lost)
        result = need_context(gpu, &is_in_use);
    if (is_in_use) {
        gs_fail(ZE_RESULT_ERROR_DEVICE_LOST,
                "the GPU faulted; destroy the contexts that were lost (zeContextDestroy) to use it again");
        return refuse(gpu);
    }
    if (gpu->is_lost && result != GS_CU_SUCCESS) {
        char why[200];
        gs_fail(ZE_RESULT_ERROR_DEVICE_LOST, "the GPU faulted, and NVIDIA's driver makes no new context in this process: %s; start "
                "the program again to use the GPU", gs_cuda_describe(result, why, sizeof why));
        return refuse(gpu);
    }
    if (result == GS_CU_SUCCESS)
        result = gs_cu.context_push(gpu->context);
    if (result != GS_CU_SUCCESS) {
        gs_gpu_fail(gpu, result, "a context of the CUDA driver");
        return refuse(gpu);
    }
    return true;
}

void gs_gpu_leave(gs_gpu *gpu) {
    gs_cu_context before;
    gs_cu.context_pop(&before);
    gpu->inside--;
}

/* --- Failures ------------------------------------------------------------------------------------------ */

ze_result_t gs_gpu_fail(gs_gpu *gpu, gs_cu_result error, const char *what) {
    char why[200];
    gs_cuda_describe(error, why, sizeof why);
    if (error != GS_CU_OUT_OF_MEMORY)
        return gs_fail(ZE_RESULT_ERROR_DEVICE_LOST, "%s failed on the GPU: %s", what, why);
    return gs_fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "%s does not fit into the GPU's memory of %llu bytes: %s", what,
                   (unsigned long long)gpu->device->memory_bytes, why);
}

void gs_gpu_lose(gs_gpu *gpu, gs_context *context, gs_cu_result error, const char *what) {
    char why[200], sentence[GS_LOSS_BYTES];
    gs_cuda_describe(error, why, sizeof why);
    gpu->is_lost = true;
    snprintf(sentence, sizeof sentence, "%s failed on the GPU: %s", what, why);
    if (context != NULL)
        gs_context_lose(context, sentence);
    snprintf(sentence, sizeof sentence, "the GPU has lost all contexts, as %s in one of them failed: %s", what, why);
    gs_device_lose_contexts(gpu->device, sentence);
}
