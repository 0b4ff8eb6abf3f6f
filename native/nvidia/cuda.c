/* Finding the CUDA driver, and what Python asks of it before there is a device. */
#include "nvidia/cuda.h"

#include <dlfcn.h>
#include <stdio.h>

#include "abi/abi.h"

gs_cuda gs_cu;

static bool find_functions(void *library, const char **missing) {
#define FIND(name, symbol, parameters)                                       \
    *missing = symbol;                                                       \
    if ((*(void **)&gs_cu.name = dlsym(library, symbol)) == NULL)            \
        return false;
    GS_CUDA_FUNCTIONS(FIND)
#undef FIND
    bool has_all = true;
#define FIND_IF_THERE(name, symbol, parameters) has_all &= (*(void **)&gs_cu.name = dlsym(library, symbol)) != NULL;
    GS_CUDA_VIRTUAL_MEMORY(FIND_IF_THERE)
    gs_cu.has_virtual_memory = has_all;
    has_all = true;
    GS_CUDA_EXTERNAL_MEMORY(FIND_IF_THERE)
    gs_cu.has_external_memory = has_all;
#undef FIND_IF_THERE
    *(void **)&gs_cu.write_word = dlsym(library, "cuStreamWriteValue32_v2");
    *(void **)&gs_cu.launch_with = dlsym(library, "cuLaunchKernelEx");
    *(void **)&gs_cu.capture_begin = dlsym(library, "cuStreamBeginCapture_v2");
    *(void **)&gs_cu.capture_end = dlsym(library, "cuStreamEndCapture");
    *(void **)&gs_cu.graph_instantiate = dlsym(library, "cuGraphInstantiateWithFlags");
    *(void **)&gs_cu.graph_launch = dlsym(library, "cuGraphLaunch");
    *(void **)&gs_cu.graph_destroy = dlsym(library, "cuGraphDestroy");
    *(void **)&gs_cu.graph_exec_destroy = dlsym(library, "cuGraphExecDestroy");
    gs_cu.has_graphs = gs_cu.capture_begin != NULL && gs_cu.capture_end != NULL && gs_cu.graph_instantiate != NULL &&
                       gs_cu.graph_launch != NULL && gs_cu.graph_destroy != NULL && gs_cu.graph_exec_destroy != NULL;
    *(void **)&gs_cu.link_create = dlsym(library, "cuLinkCreate_v2");
    *(void **)&gs_cu.link_add = dlsym(library, "cuLinkAddData_v2");
    *(void **)&gs_cu.link_complete = dlsym(library, "cuLinkComplete");
    *(void **)&gs_cu.link_destroy = dlsym(library, "cuLinkDestroy");
    gs_cu.has_linker =
        gs_cu.link_create != NULL && gs_cu.link_add != NULL && gs_cu.link_complete != NULL && gs_cu.link_destroy != NULL;
    return true;
}

/* Opens the library once; how many GPUs it has. 0: it is not there, too old, or has none. It stays open: it has threads. */
GS_EXPORT int gs_cuda_open(const char *path) {
    static void *library;
    if (library != NULL)
        return gs_cu.device_total;
    const char *missing;
    void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (opened == NULL)
        return 0;
    if (!find_functions(opened, &missing)) {
        gs_warn("%s has no function %s: update NVIDIA's driver to use its GPUs", path, missing);
        dlclose(opened);
        return 0;
    }
    library = opened;
    char why[200];
    gs_cu_result result = gs_cu.init(0);
    if (result == GS_CU_SUCCESS)
        result = gs_cu.device_count(&gs_cu.device_total);
    if (result != GS_CU_SUCCESS) {
        gs_cu.device_total = 0;
        gs_warn("NVIDIA's GPUs cannot be used: cuInit: %s", gs_cuda_describe(result, why, sizeof why));
    }
    return gs_cu.device_total;
}

const char *gs_cuda_describe(gs_cu_result error, char *text, size_t capacity) {
    const char *name = NULL, *sentence = NULL;
    if (gs_cu.error_name(error, &name) != GS_CU_SUCCESS || name == NULL)
        name = "an unknown error";
    if (gs_cu.error_sentence(error, &sentence) != GS_CU_SUCCESS || sentence == NULL)
        sentence = "";
    snprintf(text, capacity, "%s (%d: %s)", name, error, sentence);
    return text;
}

/* --- For driver/devices/nvidia/gpu.py, which needs no context for these ----------------------------- */

GS_EXPORT int gs_cuda_attribute(int ordinal, int attribute) {
    gs_cu_device device;
    int value = 0;
    if (gs_cu.device_get(&device, ordinal) != GS_CU_SUCCESS ||
        gs_cu.device_attribute(&value, attribute, device) != GS_CU_SUCCESS)
        return 0;
    return value;
}

GS_EXPORT int gs_cuda_version(void) {
    int version = 0;
    return gs_cu.driver_version(&version) == GS_CU_SUCCESS ? version : 0;
}

/* Name, UUID and memory; false if the GPU does not answer. */
GS_EXPORT bool gs_cuda_identify(int ordinal, char *name, uint32_t capacity, uint8_t uuid[16], uint64_t *memory_bytes) {
    gs_cu_device device;
    size_t bytes = 0;
    if (gs_cu.device_get(&device, ordinal) != GS_CU_SUCCESS ||
        gs_cu.device_name(name, (int)capacity, device) != GS_CU_SUCCESS ||
        gs_cu.device_uuid((gs_cu_uuid *)uuid, device) != GS_CU_SUCCESS ||
        gs_cu.device_memory(&bytes, device) != GS_CU_SUCCESS)
        return false;
    *memory_bytes = bytes;
    return true;
}
