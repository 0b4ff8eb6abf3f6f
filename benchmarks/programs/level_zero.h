/* Level Zero through whichever library is named: the driver itself, or a loader with the driver behind it.
 * A function that an old loader does not know is NULL. */
#ifndef LEVEL_ZERO_H
#define LEVEL_ZERO_H

#include "generated/ze_types.h"
#include "generated/functions.h"
#include "measure.h"

#define FUNCTIONS(X)                                                                                    \
    X(zeInit) X(zeDriverGet) X(zeDriverGetProperties) X(zeDeviceGet) X(zeDeviceGetProperties)           \
    X(zeContextCreate)                                                                                  \
    X(zeMemAllocDevice) X(zeMemAllocHost) X(zeMemAllocShared) X(zeMemFree) X(zeMemGetAllocProperties)   \
    X(zeCommandQueueCreate) X(zeCommandQueueExecuteCommandLists) X(zeCommandQueueSynchronize)           \
    X(zeCommandListCreate) X(zeCommandListCreateImmediate) X(zeCommandListClose) X(zeCommandListReset)  \
    X(zeCommandListHostSynchronize) X(zeCommandListAppendBarrier) X(zeCommandListAppendMemoryCopy)      \
    X(zeEventPoolCreate) X(zeEventCreate) X(zeEventDestroy) X(zeEventHostSynchronize) X(zeEventHostReset) X(zeEventHostSignal) \
    X(zeEventQueryStatus) X(zeModuleCreate) X(zeKernelCreate) X(zeKernelSetGroupSize)                     \
    X(zeKernelSetArgumentValue) X(zeCommandListAppendLaunchKernel)

#define FIELD(name) __typeof__(&name) name;
static struct {
    FUNCTIONS(FIELD)
} ze;
#undef FIELD

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;

static inline void check(ze_result_t result, const char *call) {
    if (result == ZE_RESULT_SUCCESS)
        return;
    fprintf(stderr, "%s -> 0x%x\n", call, (unsigned)result);
    exit(1);
}
#define CHECK(call) check((call), #call)

static inline void open_level_zero(const char *path) {
    void *library = open_library(path);
#define FIND(name) ze.name = (__typeof__(&name))dlsym(library, #name);
    FUNCTIONS(FIND)
#undef FIND
}

/* Opens the library and makes a context on its first device. */
static inline void start_level_zero(const char *path) {
    open_level_zero(path);
    uint32_t count = 1;
    CHECK(ze.zeInit(0));
    CHECK(ze.zeDriverGet(&count, &driver));
    CHECK(ze.zeDeviceGet(driver, &count, &device));
    REQUIRE(count == 1);
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    CHECK(ze.zeContextCreate(driver, &description, &context));
}

static inline ze_command_list_handle_t immediate_list(ze_command_queue_flags_t flags) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .flags = flags,
                                           .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_handle_t list = NULL;
    CHECK(ze.zeCommandListCreateImmediate(context, device, &description, &list));
    return list;
}

static inline ze_event_pool_handle_t event_pool(void) {
    ze_event_pool_desc_t description = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                                        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                        .count = 2};
    ze_event_pool_handle_t pool = NULL;
    CHECK(ze.zeEventPoolCreate(context, &description, 1, &device, &pool));
    return pool;
}

static inline ze_event_handle_t new_event(ze_event_pool_handle_t pool, uint32_t index) {
    ze_event_desc_t description = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                                   .index = index,
                                   .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                                   .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event = NULL;
    CHECK(ze.zeEventCreate(pool, &description, &event));
    return event;
}

static inline void *device_memory(size_t size) {
    ze_device_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(ze.zeMemAllocDevice(context, &description, size, 64, device, &memory));
    return memory;
}

static inline void *host_memory(size_t size) {
    ze_host_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(ze.zeMemAllocHost(context, &description, size, 64, &memory));
    return memory;
}

static inline void *shared_memory(size_t size) {
    ze_device_mem_alloc_desc_t on_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t on_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(ze.zeMemAllocShared(context, &on_device, &on_host, size, 64, device, &memory));
    return memory;
}

/* The kernel "empty" of a file, with its argument set. */
static inline ze_kernel_handle_t empty_kernel(const char *path) {
    size_t size = 0;
    uint8_t *spirv = read_file(path, &size);
    ze_module_desc_t module_description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                           .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                           .inputSize = size,
                                           .pInputModule = spirv};
    ze_module_handle_t module = NULL;
    CHECK(ze.zeModuleCreate(context, device, &module_description, &module, NULL));
    free(spirv);
    ze_kernel_desc_t kernel_description = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "empty"};
    ze_kernel_handle_t kernel = NULL;
    CHECK(ze.zeKernelCreate(module, &kernel_description, &kernel));
    CHECK(ze.zeKernelSetGroupSize(kernel, 64, 1, 1));
    void *memory = device_memory(4096);
    CHECK(ze.zeKernelSetArgumentValue(kernel, 0, sizeof memory, &memory));
    return kernel;
}

static inline void free_memory(void *memory) { CHECK(ze.zeMemFree(context, memory)); }

#endif
