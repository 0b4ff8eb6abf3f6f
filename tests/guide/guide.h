/*
 * What the programs of the guide share: checks that name what failed, and short ways to make things
 * that are not the subject of the program at hand. A program has one subject and spells that out.
 */
#ifndef GUIDE_H
#define GUIDE_H

#include "../loader/programs/common.h"

static const char *const yes_no[] = {"no", "yes"};

/* The first device, and a context to work in. */
typedef setup place;

static inline ze_context_handle_t new_context(ze_driver_handle_t driver) {
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_context_handle_t context = NULL;
    CHECK(zeContextCreate(driver, &description, &context));
    return context;
}

static inline place begin(void) { return first_device(); }

static inline int end(place at) {
    CHECK(zeContextDestroy(at.context));
    return 0;
}

/* --- Memory ----------------------------------------------------------------------------------------- */

static inline void *shared_memory(place at, size_t size) {
    ze_device_mem_alloc_desc_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *memory = NULL;
    CHECK(zeMemAllocShared(at.context, &device, &host, size, 64, at.device, &memory));
    return memset(memory, 0, size);
}

/* --- Lists, queues and events ------------------------------------------------------------------------ */

/* An immediate list that returns when the command has run: for what is done on the way. */
static inline ze_command_list_handle_t new_synchronous_list(place at) {
    ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                           .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_handle_t list = NULL;
    CHECK(zeCommandListCreateImmediate(at.context, at.device, &description, &list));
    return list;
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
