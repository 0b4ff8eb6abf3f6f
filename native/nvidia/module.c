/* Modules of the CUDA driver, for driver/devices/nvidia/: PTX or a cubin is loaded, and its kernels and variables found. */
#include <stdlib.h>
#include <string.h>

#include "nvidia/gpu.h"

static ze_result_t refuse(gs_gpu *gpu, gs_cu_result result) {
    if (result == GS_CU_OUT_OF_MEMORY)
        return gs_gpu_fail(gpu, result, "a module");
    char why[200];
    return gs_fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "NVIDIA's driver does not take the module: %s",
                   gs_cuda_describe(result, why, sizeof why));
}

/* Makes a cubin of PTX, in memory of its own (free). The driver's words about it go to `log`. NULL and success: this driver
 * makes none, and loads the PTX itself. */
GS_EXPORT ze_result_t gs_gpu_module_build(gs_device *device, const char *ptx, char *log, uint32_t capacity, void **cubin,
                                          uint64_t *size) {
    gs_gpu *gpu = gs_gpu_of(device);
    int options[] = {GS_CU_JIT_ERROR_LOG_BUFFER, GS_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, GS_CU_JIT_GENERATE_LINE_INFO};
    void *values[] = {log, (void *)(uintptr_t)capacity, (void *)1}, *made = NULL;
    size_t bytes = 0;
    gs_cu_link link = NULL;
    log[0] = 0;
    *cubin = NULL;
    if (!gs_cu.has_linker)
        return ZE_RESULT_SUCCESS;
    if (!gs_gpu_enter(gpu))
        return ZE_RESULT_ERROR_DEVICE_LOST;
    gs_cu_result result = gs_cu.link_create(3, options, values, &link);
    if (result == GS_CU_SUCCESS) {
        result = gs_cu.link_add(link, GS_CU_JIT_INPUT_PTX, ptx, strlen(ptx) + 1, "kernels.ptx", 0, NULL, NULL);
        if (result == GS_CU_SUCCESS)
            result = gs_cu.link_complete(link, &made, &bytes);
        if (result == GS_CU_SUCCESS && (*cubin = malloc(bytes)) == NULL)
            result = GS_CU_OUT_OF_MEMORY;
        if (result == GS_CU_SUCCESS)
            memcpy(*cubin, made, *size = bytes);
        gs_cu.link_destroy(link);
    }
    gs_gpu_leave(gpu);
    return result == GS_CU_SUCCESS ? ZE_RESULT_SUCCESS : refuse(gpu, result);
}

GS_EXPORT void gs_gpu_module_drop(void *cubin) {
    free(cubin);
}

/* Loads an image. The driver's words about it go to `log`; `generation` is that of the context which has the module. */
GS_EXPORT ze_result_t gs_gpu_module_load(gs_device *device, const void *image, char *log, uint32_t capacity, void **module,
                                         uint32_t *generation) {
    gs_gpu *gpu = gs_gpu_of(device);
    int options[] = {GS_CU_JIT_ERROR_LOG_BUFFER, GS_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)capacity};
    log[0] = 0;
    if (!gs_gpu_enter(gpu))
        return ZE_RESULT_ERROR_DEVICE_LOST;
    *generation = gpu->generation;
    gs_cu_result result = gs_cu.module_load((gs_cu_module *)module, image, 2, options, values);
    gs_gpu_leave(gpu);
    return result == GS_CU_SUCCESS ? ZE_RESULT_SUCCESS : refuse(gpu, result);
}

/* Nothing is left of it to unload after a fault. */
GS_EXPORT void gs_gpu_module_unload(gs_device *device, void *module, uint32_t generation) {
    gs_gpu *gpu = gs_gpu_of(device);
    if (gpu->is_lost || generation != gpu->generation || !gs_gpu_enter(gpu))
        return;
    if (generation == gpu->generation)
        gs_cu.module_unload(module);
    gs_gpu_leave(gpu);
}

/* A kernel, or 0 if there is none of that name. `facts`: the most work-items of a group, registers, bytes of local memory
 * that are the code's own, and bytes of private memory. */
GS_EXPORT void *gs_gpu_function(gs_device *device, void *module, const char *name, uint32_t facts[4]) {
    gs_gpu *gpu = gs_gpu_of(device);
    static const int attributes[] = {GS_CU_FUNCTION_MAX_THREADS_PER_BLOCK, GS_CU_FUNCTION_NUM_REGS,
                                     GS_CU_FUNCTION_SHARED_SIZE_BYTES, GS_CU_FUNCTION_LOCAL_SIZE_BYTES};
    gs_cu_function function = NULL;
    if (!gs_gpu_enter(gpu))
        return NULL;
    if (gs_cu.module_function(&function, module, name) != GS_CU_SUCCESS)
        function = NULL;
    for (int each = 0; function != NULL && each < 4; each++) {
        int value = 0;
        gs_cu.function_attribute(&value, attributes[each], function);
        facts[each] = (uint32_t)value;
    }
    gs_gpu_leave(gpu);
    return function;
}

/* The address of a program-scope variable, or 0. */
GS_EXPORT uint64_t gs_gpu_variable(gs_device *device, void *module, const char *name, uint64_t *size) {
    gs_gpu *gpu = gs_gpu_of(device);
    gs_cu_pointer pointer = 0;
    size_t bytes = 0;
    if (!gs_gpu_enter(gpu))
        return 0;
    if (gs_cu.module_variable(&pointer, &bytes, module, name) != GS_CU_SUCCESS)
        pointer = 0;
    gs_gpu_leave(gpu);
    *size = bytes;
    return pointer;
}

/* Bytes of the GPU's memory that are free now, whoever has the rest. */
GS_EXPORT uint64_t gs_gpu_free_memory(gs_device *device) {
    gs_gpu *gpu = gs_gpu_of(device);
    size_t available = 0, total = 0;
    if (!gs_gpu_enter(gpu))
        return 0;
    if (gs_cu.memory_info(&available, &total) != GS_CU_SUCCESS)
        available = 0;
    gs_gpu_leave(gpu);
    return available;
}
