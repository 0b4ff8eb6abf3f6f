/* What the test programs share: a check that says which call failed, and the first device. */
#ifndef COMMON_H
#define COMMON_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        ze_result_t check_result = (call);                                              \
        if (check_result != ZE_RESULT_SUCCESS) {                                        \
            fprintf(stderr, "%s:%d: %s -> 0x%x\n", __FILE__, __LINE__, #call,           \
                    (unsigned)check_result);                                            \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

#define REQUIRE(condition)                                                              \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);   \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

typedef struct setup {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
} setup;

static inline setup first_device(void) {
    setup made = {0};
    uint32_t count = 1;
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&count, &made.driver));
    REQUIRE(count == 1);
    CHECK(zeDeviceGet(made.driver, &count, &made.device));
    REQUIRE(count == 1);
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    CHECK(zeContextCreate(made.driver, &description, &made.context));
    return made;
}

static inline void *device_memory(setup on, size_t size) {
    ze_device_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(zeMemAllocDevice(on.context, &description, size, 64, on.device, &memory));
    return memory;
}

/* Zeros. */
static inline void *host_memory(setup on, size_t size) {
    ze_host_mem_alloc_desc_t description = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(zeMemAllocHost(on.context, &description, size, 64, &memory));
    memset(memory, 0, size);
    return memory;
}

static inline ze_module_handle_t module_of_file(setup on, const char *path) {
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *binary = malloc(size);
    REQUIRE(fread(binary, 1, size, file) == size);
    fclose(file);
    ze_module_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                    .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                    .inputSize = size,
                                    .pInputModule = binary};
    ze_module_handle_t module = NULL;
    CHECK(zeModuleCreate(on.context, on.device, &description, &module, NULL));
    free(binary);
    return module;
}

static inline ze_command_queue_handle_t new_queue(setup on) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_queue_handle_t queue = NULL;
    CHECK(zeCommandQueueCreate(on.context, on.device, &description, &queue));
    return queue;
}

static inline ze_command_list_handle_t new_list(setup on) {
    ze_command_list_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t list = NULL;
    CHECK(zeCommandListCreate(on.context, on.device, &description, &list));
    return list;
}

static inline ze_event_pool_handle_t new_pool(setup on, uint32_t count, ze_event_pool_flags_t flags) {
    ze_event_pool_desc_t description = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                                        .flags = flags | ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                        .count = count};
    ze_event_pool_handle_t pool = NULL;
    CHECK(zeEventPoolCreate(on.context, &description, 1, &on.device, &pool));
    return pool;
}

static inline ze_event_handle_t new_event(ze_event_pool_handle_t pool, uint32_t index) {
    ze_event_desc_t description = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                                   .index = index,
                                   .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                                   .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event = NULL;
    CHECK(zeEventCreate(pool, &description, &event));
    return event;
}

#endif
