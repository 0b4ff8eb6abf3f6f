/* The functions of Level Zero that executing needs, from the library that made the handles. */
#ifndef GS_DNNL_LEVEL_ZERO_H
#define GS_DNNL_LEVEL_ZERO_H

#include "generated/ze_types.h"

#define GS_LEVEL_ZERO(X)                                                                                             \
    X(zeKernelSetArgumentValue, (ze_kernel_handle_t, uint32_t, size_t, const void *))                                \
    X(zeCommandListAppendLaunchKernel, (ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t *,      \
                                        ze_event_handle_t, uint32_t, ze_event_handle_t *))                           \
    X(zeCommandListAppendBarrier, (ze_command_list_handle_t, ze_event_handle_t, uint32_t, ze_event_handle_t *))      \
    X(zeCommandListAppendMemoryCopy, (ze_command_list_handle_t, void *, const void *, size_t, ze_event_handle_t,     \
                                      uint32_t, ze_event_handle_t *))                                                \
    X(zeEventPoolCreate, (ze_context_handle_t, const ze_event_pool_desc_t *, uint32_t, ze_device_handle_t *,         \
                          ze_event_pool_handle_t *))                                                                 \
    X(zeEventPoolDestroy, (ze_event_pool_handle_t))                                                                  \
    X(zeEventCreate, (ze_event_pool_handle_t, const ze_event_desc_t *, ze_event_handle_t *))                         \
    X(zeEventDestroy, (ze_event_handle_t))                                                                           \
    X(zeEventHostReset, (ze_event_handle_t))                                                                         \
    X(zeEventHostSynchronize, (ze_event_handle_t, uint64_t))                                                         \
    X(zeEventQueryKernelTimestamp, (ze_event_handle_t, ze_kernel_timestamp_result_t *))                              \
    X(zeDeviceGetProperties, (ze_device_handle_t, ze_device_properties_t *))                                         \
    X(zeContextDestroy, (ze_context_handle_t))                                                                       \
    X(zeMemFreeExt, (ze_context_handle_t, const ze_memory_free_ext_desc_t *, void *))

typedef struct gs_ze {
    ze_result_t (*zeCommandListHostSynchronize)(ze_command_list_handle_t, uint64_t); /* NULL in loaders before 1.9 */
#define GS_POINTER(name, parameters) ze_result_t(*name) parameters;
    GS_LEVEL_ZERO(GS_POINTER)
#undef GS_POINTER
} gs_ze;

/* The functions of a library, which stays loaded; NULL if it lacks one. */
const gs_ze *gs_ze_open(const char *library);

/* Where the program's own Level Zero library is, if it is linked with one, else NULL. */
__attribute__((visibility("default"))) const char *gs_ze_of_program(void);

#endif
