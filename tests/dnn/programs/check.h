/* What the programs of this folder share: checks that name the line, and small helpers. */
#ifndef CHECK_H
#define CHECK_H

#include <groundstate/dnnl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                                            \
    do {                                                                                                             \
        if (!(condition)) {                                                                                          \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, groundstate_dnnl_last_error());      \
            exit(1);                                                                                                 \
        }                                                                                                            \
    } while (0)
#define OK(call) EXPECT((call) == dnnl_success)
#define INVALID(call) EXPECT((call) == dnnl_invalid_arguments)
#define ZE(call) EXPECT((call) == ZE_RESULT_SUCCESS)

/* Other processes compile the kernels. A thread that forks takes every lock of the driver, which are more than
 * ThreadSanitizer follows. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "detect_deadlocks=0:die_after_fork=0"; }

enum { ELEMENTS = 1000 };
enum { IN_ORDER = 1 << 1 }; /* ZE_COMMAND_QUEUE_FLAG_IN_ORDER, which headers before 1.9 do not have */

/* The first driver, its first device, and a context. */
typedef struct place {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
} place;

static inline place find_place(void) {
    place found;
    uint32_t count = 1;
    ZE(zeInit(0));
    ZE(zeDriverGet(&count, &found.driver));
    count = 1;
    ZE(zeDeviceGet(found.driver, &count, &found.device));
    ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ZE(zeContextCreate(found.driver, &description, &found.context));
    return found;
}

static inline dnnl_memory_desc_t vector_of(dnnl_dim_t elements) {
    dnnl_memory_desc_t made;
    dnnl_dims_t dims = {elements};
    OK(dnnl_memory_desc_create_with_tag(&made, 1, dims, dnnl_f32, dnnl_a));
    return made;
}

static inline void *allocate_shared(place at, size_t size) {
    void *made;
    ze_device_mem_alloc_desc_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ZE(zeMemAllocShared(at.context, &device, &host, size, 64, at.device, &made));
    return made;
}

/* y = x * factor */
static inline dnnl_primitive_t scaling(dnnl_engine_t engine, dnnl_memory_desc_t shape, float factor) {
    dnnl_primitive_desc_t description;
    dnnl_primitive_t made;
    OK(dnnl_eltwise_forward_primitive_desc_create(&description, engine, dnnl_forward_inference, dnnl_eltwise_linear,
                                                  shape, shape, factor, 0, NULL));
    OK(dnnl_primitive_create(&made, description));
    OK(dnnl_primitive_desc_destroy(description));
    return made;
}

#endif
