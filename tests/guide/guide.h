/*
 * What the programs of the guide share: checks that name what failed, and short ways to make things
 * that are not the subject of the program at hand. A program has one subject and spells that out.
 */
#ifndef GUIDE_H
#define GUIDE_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        ze_result_t check_result = (call);                                                             \
        if (check_result != ZE_RESULT_SUCCESS) {                                                       \
            fprintf(stderr, "%s:%d: %s -> 0x%x\n", __FILE__, __LINE__, #call, (unsigned)check_result); \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

#define REQUIRE(condition)                                                            \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

static const char *const yes_no[] = {"no", "yes"};

/* The first device, and a context to work in. */
typedef struct place {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
} place;

static inline ze_context_handle_t new_context(ze_driver_handle_t driver) {
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_context_handle_t context = NULL;
    CHECK(zeContextCreate(driver, &description, &context));
    return context;
}

static inline place begin(void) {
    place at = {0};
    uint32_t count = 1;
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&count, &at.driver));
    count = 1;
    CHECK(zeDeviceGet(at.driver, &count, &at.device));
    at.context = new_context(at.driver);
    return at;
}

static inline int end(place at) {
    CHECK(zeContextDestroy(at.context));
    return 0;
}

/* --- Memory ----------------------------------------------------------------------------------------- */

static inline void *host_memory(place at, size_t size) {
    ze_host_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(zeMemAllocHost(at.context, &description, size, 64, &memory));
    return memset(memory, 0, size);
}

static inline void *device_memory(place at, size_t size) {
    ze_device_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(zeMemAllocDevice(at.context, &description, size, 64, at.device, &memory));
    return memory;
}

static inline void *shared_memory(place at, size_t size) {
    ze_device_mem_alloc_desc_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(zeMemAllocShared(at.context, &device, &host, size, 64, at.device, &memory));
    return memset(memory, 0, size);
}

/* --- Lists, queues and events ------------------------------------------------------------------------ */

static inline ze_command_list_handle_t new_list(place at) {
    ze_command_list_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t list = NULL;
    CHECK(zeCommandListCreate(at.context, at.device, &description, &list));
    return list;
}

static inline ze_command_queue_handle_t new_queue(place at) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_queue_handle_t queue = NULL;
    CHECK(zeCommandQueueCreate(at.context, at.device, &description, &queue));
    return queue;
}

/* An immediate list that returns when the command has run: for what is done on the way. */
static inline ze_command_list_handle_t new_synchronous_list(place at) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_handle_t list = NULL;
    CHECK(zeCommandListCreateImmediate(at.context, at.device, &description, &list));
    return list;
}

static inline ze_event_pool_handle_t new_pool(place at, uint32_t count, ze_event_pool_flags_t flags) {
    ze_event_pool_desc_t description = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL, flags, count};
    ze_event_pool_handle_t pool = NULL;
    CHECK(zeEventPoolCreate(at.context, &description, 0, NULL, &pool));
    return pool;
}

static inline ze_event_handle_t new_event(ze_event_pool_handle_t pool, uint32_t index) {
    ze_event_desc_t description = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, index, 0, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event = NULL;
    CHECK(zeEventCreate(pool, &description, &event));
    return event;
}

/* Closes a list, runs it on a queue of its own, and makes it empty again. */
static inline void run(place at, ze_command_list_handle_t list) {
    ze_command_queue_handle_t queue = new_queue(at);
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK(zeCommandListReset(list));
    CHECK(zeCommandQueueDestroy(queue));
}

/* --- Kernels ------------------------------------------------------------------------------------------ */

typedef struct binary {
    size_t size;
    uint8_t bytes[1 << 16];
} binary;

/* The first argument of a program is the folder with its SPIR-V, one file for each name. */
static inline binary *read_spirv(char **arguments, const char *name) {
    static binary found;
    char path[4096];
    REQUIRE(arguments[1] != NULL);
    snprintf(path, sizeof path, "%s/%s.spv", arguments[1], name);
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    found.size = fread(found.bytes, 1, sizeof found.bytes, file);
    REQUIRE(found.size < sizeof found.bytes && fclose(file) == 0);
    return &found;
}

static inline ze_module_handle_t load_module(place at, char **arguments, const char *name) {
    binary *spirv = read_spirv(arguments, name);
    ze_module_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                    .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                    .inputSize = spirv->size,
                                    .pInputModule = spirv->bytes};
    ze_module_handle_t module = NULL;
    CHECK(zeModuleCreate(at.context, at.device, &description, &module, NULL));
    return module;
}

static inline ze_kernel_handle_t new_kernel(ze_module_handle_t module, const char *name, uint32_t group_size) {
    ze_kernel_desc_t description = {ZE_STRUCTURE_TYPE_KERNEL_DESC, NULL, 0, name};
    ze_kernel_handle_t kernel = NULL;
    CHECK(zeKernelCreate(module, &description, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, group_size, 1, 1));
    return kernel;
}

static inline void set_pointer(ze_kernel_handle_t kernel, uint32_t index, const void *pointer) {
    CHECK(zeKernelSetArgumentValue(kernel, index, sizeof pointer, &pointer));
}

#endif
