/* The CUDA driver (libcuda.so.1), as far as this driver uses it. The library is opened at run time and nothing of NVIDIA's
 * is needed to build, so that what is used of its interface is declared here, by its documentation. */
#ifndef GS_NVIDIA_CUDA_H
#define GS_NVIDIA_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t gs_cu_result;
typedef int32_t gs_cu_device;
typedef uint64_t gs_cu_pointer;
typedef struct gs_cu_context *gs_cu_context;
typedef struct gs_cu_module *gs_cu_module;
typedef struct gs_cu_function *gs_cu_function;
typedef struct gs_cu_stream *gs_cu_stream;
typedef struct gs_cu_event *gs_cu_event;
typedef struct gs_cu_graph *gs_cu_graph;
typedef struct gs_cu_link *gs_cu_link;
typedef struct gs_cu_graph_exec *gs_cu_graph_exec;
typedef struct gs_cu_external *gs_cu_external;
typedef unsigned long long gs_cu_memory;

enum {
    GS_CU_SUCCESS = 0,
    GS_CU_OUT_OF_MEMORY = 2,
    GS_CU_NOT_READY = 600,
    GS_CU_ILLEGAL_ADDRESS = 700,
    GS_CU_NOT_SUPPORTED = 801,
};

/* CU_DEVICE_ATTRIBUTE_*, CU_FUNC_ATTRIBUTE_*, CU_JIT_* and other numbers, by their names there. */
enum {
    GS_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    GS_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    GS_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    GS_CU_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
    GS_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,

    GS_CU_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
    GS_CU_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
    GS_CU_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3,

    GS_CU_MEM_ALLOCATION_TYPE_PINNED = 1,
    GS_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
    GS_CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD = 1,
    GS_CU_MEM_LOCATION_TYPE_DEVICE = 1,
    GS_CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    GS_CU_MEM_ACCESS_PROT_NONE = 0,
    GS_CU_MEM_ACCESS_PROT_READ = 1,
    GS_CU_MEM_ACCESS_PROT_READWRITE = 3,

    GS_CU_FUNCTION_MAX_THREADS_PER_BLOCK = 0,
    GS_CU_FUNCTION_SHARED_SIZE_BYTES = 1,
    GS_CU_FUNCTION_LOCAL_SIZE_BYTES = 3,
    GS_CU_FUNCTION_NUM_REGS = 4,
    GS_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,

    GS_CU_JIT_INFO_LOG_BUFFER = 3,
    GS_CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
    GS_CU_JIT_ERROR_LOG_BUFFER = 5,
    GS_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    GS_CU_JIT_GENERATE_LINE_INFO = 13,
    GS_CU_JIT_INPUT_PTX = 1,

    GS_CU_MEMORYTYPE_HOST = 1,
    GS_CU_MEMORYTYPE_UNIFIED = 4,
    GS_CU_MEMHOSTALLOC_PORTABLE = 1,
    GS_CU_MEMHOSTREGISTER_PORTABLE = 1,
    GS_CU_MEM_ATTACH_GLOBAL = 1,
    GS_CU_STREAM_NON_BLOCKING = 1,
    GS_CU_EVENT_DEFAULT = 0,
    GS_CU_CAPTURE_RELAXED = 2, /* what other threads do meanwhile is not part of it, and not forbidden */
};

/* CU_LAUNCH_PARAM_* */
#define GS_CU_LAUNCH_END ((void *)0)
#define GS_CU_LAUNCH_BUFFER_POINTER ((void *)1)
#define GS_CU_LAUNCH_BUFFER_SIZE ((void *)2)

typedef struct gs_cu_uuid {
    uint8_t bytes[16];
} gs_cu_uuid;

/* CUDA_MEMCPY2D */
typedef struct gs_cu_copy_2d {
    size_t source_x, source_y;
    uint32_t source_type;
    const void *source_host;
    gs_cu_pointer source_device;
    void *source_array;
    size_t source_pitch;
    size_t destination_x, destination_y;
    uint32_t destination_type;
    void *destination_host;
    gs_cu_pointer destination_device;
    void *destination_array;
    size_t destination_pitch;
    size_t width, height;
} gs_cu_copy_2d;

/* CUmemLocation, CUmemAllocationProp, CUmemAccessDesc */
typedef struct gs_cu_location {
    uint32_t type;
    gs_cu_device device;
} gs_cu_location;

typedef struct gs_cu_memory_properties {
    uint32_t type, handle_types;
    gs_cu_location location;
    void *of_windows;
    uint8_t flags[8];
} gs_cu_memory_properties;

typedef struct gs_cu_memory_access {
    gs_cu_location location;
    uint32_t flags;
} gs_cu_memory_access;

/* CUDA_EXTERNAL_MEMORY_HANDLE_DESC of a file descriptor, CUDA_EXTERNAL_MEMORY_BUFFER_DESC */
typedef struct gs_cu_external_memory {
    uint32_t type;
    union {
        int fd;
        void *of_windows[2];
    } handle;
    unsigned long long size;
    uint32_t flags, reserved[16];
} gs_cu_external_memory;

typedef struct gs_cu_external_buffer {
    unsigned long long offset, size;
    uint32_t flags, reserved[16];
} gs_cu_external_buffer;

/* CUlaunchAttribute and CUlaunchConfig */
enum { GS_CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2 };
typedef struct gs_cu_launch_attribute {
    uint32_t id, padding;
    union {
        int32_t number;
        char bytes[64];
    } value;
} gs_cu_launch_attribute;

typedef struct gs_cu_launch_config {
    uint32_t groups[3], group_size[3], shared_bytes;
    gs_cu_stream stream;
    gs_cu_launch_attribute *attributes;
    uint32_t attribute_count;
} gs_cu_launch_config;

/* The functions: name here, name in the library, parameters. Each answers a CUresult. */
#define GS_CUDA_FUNCTIONS(each)                                                                                          \
    each(init, "cuInit", (unsigned flags))                                                                               \
    each(driver_version, "cuDriverGetVersion", (int *version))                                                           \
    each(device_count, "cuDeviceGetCount", (int *count))                                                                 \
    each(device_get, "cuDeviceGet", (gs_cu_device * device, int ordinal))                                                \
    each(device_name, "cuDeviceGetName", (char *name, int capacity, gs_cu_device device))                                \
    each(device_uuid, "cuDeviceGetUuid_v2", (gs_cu_uuid * uuid, gs_cu_device device))                                    \
    each(device_memory, "cuDeviceTotalMem_v2", (size_t *bytes, gs_cu_device device))                                     \
    each(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, gs_cu_device device))                     \
    each(device_reaches, "cuDeviceCanAccessPeer", (int *reaches, gs_cu_device device, gs_cu_device peer))                \
    each(peer_attribute, "cuDeviceGetP2PAttribute",                                                                      \
         (int *value, int attribute, gs_cu_device device, gs_cu_device peer))                                            \
    each(context_retain, "cuDevicePrimaryCtxRetain", (gs_cu_context * context, gs_cu_device device))                     \
    each(context_release, "cuDevicePrimaryCtxRelease_v2", (gs_cu_device device))                                         \
    each(context_create, "cuCtxCreate_v2", (gs_cu_context * context, unsigned flags, gs_cu_device device))               \
    each(context_destroy, "cuCtxDestroy_v2", (gs_cu_context context))                                                    \
    each(context_push, "cuCtxPushCurrent_v2", (gs_cu_context context))                                                   \
    each(context_pop, "cuCtxPopCurrent_v2", (gs_cu_context * context))                                                   \
    each(memory_info, "cuMemGetInfo_v2", (size_t *available, size_t *total))                                             \
    each(memory_take, "cuMemAlloc_v2", (gs_cu_pointer * pointer, size_t bytes))                                          \
    each(memory_give, "cuMemFree_v2", (gs_cu_pointer pointer))                                                           \
    each(host_take, "cuMemHostAlloc", (void **pointer, size_t bytes, unsigned flags))                                    \
    each(host_give, "cuMemFreeHost", (void *pointer))                                                                    \
    each(managed_take, "cuMemAllocManaged", (gs_cu_pointer * pointer, size_t bytes, unsigned flags))                     \
    each(copy_now, "cuMemcpy", (gs_cu_pointer to, gs_cu_pointer from, size_t bytes))                                     \
    each(copy_from_device, "cuMemcpyDtoH_v2", (void *to, gs_cu_pointer from, size_t bytes))                              \
    each(host_register, "cuMemHostRegister_v2", (void *pointer, size_t bytes, unsigned flags))                           \
    each(host_unregister, "cuMemHostUnregister", (void *pointer))                                                        \
    each(copy, "cuMemcpyAsync", (gs_cu_pointer to, gs_cu_pointer from, size_t bytes, gs_cu_stream stream))               \
    each(copy_2d, "cuMemcpy2DAsync_v2", (const gs_cu_copy_2d *copy, gs_cu_stream stream))                                \
    each(fill_8, "cuMemsetD8Async", (gs_cu_pointer to, unsigned char value, size_t count, gs_cu_stream stream))          \
    each(fill_16, "cuMemsetD16Async", (gs_cu_pointer to, unsigned short value, size_t count, gs_cu_stream stream))       \
    each(fill_32, "cuMemsetD32Async", (gs_cu_pointer to, unsigned value, size_t count, gs_cu_stream stream))             \
    each(prefetch, "cuMemPrefetchAsync", (gs_cu_pointer at, size_t bytes, gs_cu_device device, gs_cu_stream stream))     \
    each(stream_create, "cuStreamCreateWithPriority", (gs_cu_stream * stream, unsigned flags, int priority))             \
    each(stream_priorities, "cuCtxGetStreamPriorityRange", (int *least, int *greatest))                                  \
    each(stream_destroy, "cuStreamDestroy_v2", (gs_cu_stream stream))                                                    \
    each(stream_query, "cuStreamQuery", (gs_cu_stream stream))                                                           \
    each(stream_wait, "cuStreamSynchronize", (gs_cu_stream stream))                                                      \
    each(event_create, "cuEventCreate", (gs_cu_event * event, unsigned flags))                                           \
    each(event_destroy, "cuEventDestroy_v2", (gs_cu_event event))                                                        \
    each(event_record, "cuEventRecord", (gs_cu_event event, gs_cu_stream stream))                                        \
    each(event_elapsed, "cuEventElapsedTime", (float *milliseconds, gs_cu_event start, gs_cu_event end))                 \
    each(module_load, "cuModuleLoadDataEx",                                                                              \
         (gs_cu_module * module, const void *image, unsigned count, int *options, void **values))                        \
    each(module_unload, "cuModuleUnload", (gs_cu_module module))                                                         \
    each(module_function, "cuModuleGetFunction", (gs_cu_function * function, gs_cu_module module, const char *name))     \
    each(module_variable, "cuModuleGetGlobal_v2",                                                                        \
         (gs_cu_pointer * pointer, size_t *bytes, gs_cu_module module, const char *name))                                \
    each(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, gs_cu_function function))                 \
    each(function_set, "cuFuncSetAttribute", (gs_cu_function function, int attribute, int value))                        \
    each(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                                       \
         (int *blocks, gs_cu_function function, int block_size, size_t shared_bytes))                                    \
    each(launch, "cuLaunchKernel",                                                                                       \
         (gs_cu_function function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,               \
          unsigned block_z, unsigned shared_bytes, gs_cu_stream stream, void **parameters, void **extra))                \
    each(error_name, "cuGetErrorName", (gs_cu_result error, const char **name))                                          \
    each(error_sentence, "cuGetErrorString", (gs_cu_result error, const char **sentence))

/* Those of newer drivers that come together: all or none. */
#define GS_CUDA_VIRTUAL_MEMORY(each)                                                                                     \
    each(address_reserve, "cuMemAddressReserve",                                                                         \
         (gs_cu_pointer * start, size_t size, size_t alignment, gs_cu_pointer wish, unsigned long long flags))           \
    each(address_free, "cuMemAddressFree", (gs_cu_pointer start, size_t size))                                           \
    each(memory_granularity, "cuMemGetAllocationGranularity",                                                            \
         (size_t * bytes, const gs_cu_memory_properties *properties, unsigned which))                                    \
    each(memory_create, "cuMemCreate",                                                                                   \
         (gs_cu_memory * made, size_t size, const gs_cu_memory_properties *properties, unsigned long long flags))        \
    each(memory_release, "cuMemRelease", (gs_cu_memory memory))                                                          \
    each(memory_map, "cuMemMap",                                                                                         \
         (gs_cu_pointer start, size_t size, size_t offset, gs_cu_memory memory, unsigned long long flags))               \
    each(memory_unmap, "cuMemUnmap", (gs_cu_pointer start, size_t size))                                                 \
    each(memory_access, "cuMemSetAccess",                                                                                \
         (gs_cu_pointer start, size_t size, const gs_cu_memory_access *wanted, size_t count))                            \
    each(memory_behind, "cuMemRetainAllocationHandle", (gs_cu_memory * memory, void *start))                             \
    each(memory_export, "cuMemExportToShareableHandle",                                                                  \
         (void *handle, gs_cu_memory memory, unsigned type, unsigned long long flags))                                   \
    each(memory_import, "cuMemImportFromShareableHandle", (gs_cu_memory * memory, void *handle, unsigned type))

/* Likewise: memory of other APIs. */
#define GS_CUDA_EXTERNAL_MEMORY(each)                                                                                    \
    each(external_import, "cuImportExternalMemory", (gs_cu_external * made, const gs_cu_external_memory *described))     \
    each(external_map, "cuExternalMemoryGetMappedBuffer",                                                                \
         (gs_cu_pointer * start, gs_cu_external memory, const gs_cu_external_buffer *described))                         \
    each(external_destroy, "cuDestroyExternalMemory", (gs_cu_external memory))

typedef struct gs_cuda {
#define GS_MEMBER(name, symbol, parameters) gs_cu_result(*name) parameters;
    GS_CUDA_FUNCTIONS(GS_MEMBER)
    GS_CUDA_VIRTUAL_MEMORY(GS_MEMBER)
    bool has_virtual_memory;
    GS_CUDA_EXTERNAL_MEMORY(GS_MEMBER)
    bool has_external_memory;
#undef GS_MEMBER
    /* Newer drivers have this one: writes a word when the stream has come there. Else NULL. */
    gs_cu_result (*write_word)(gs_cu_stream stream, gs_cu_pointer at, uint32_t value, unsigned flags);
    /* Likewise: a launch with attributes. */
    gs_cu_result (*launch_with)(const gs_cu_launch_config *config, gs_cu_function function, void **parameters, void **extra);
    /* Likewise: what a stream is given is recorded as a graph, which is made executable and launched as one. All or none. */
    gs_cu_result (*capture_begin)(gs_cu_stream stream, int mode);
    gs_cu_result (*capture_end)(gs_cu_stream stream, gs_cu_graph *graph);
    gs_cu_result (*graph_instantiate)(gs_cu_graph_exec *made, gs_cu_graph graph, unsigned long long flags);
    gs_cu_result (*graph_launch)(gs_cu_graph_exec graph, gs_cu_stream stream);
    gs_cu_result (*graph_destroy)(gs_cu_graph graph);
    gs_cu_result (*graph_exec_destroy)(gs_cu_graph_exec graph);
    bool has_graphs;
    /* Likewise: PTX becomes a cubin that can be kept. All or none. */
    gs_cu_result (*link_create)(unsigned count, int *options, void **values, gs_cu_link *link);
    gs_cu_result (*link_add)(gs_cu_link link, int kind, const void *data, size_t size, const char *name, unsigned count,
                             int *options, void **values);
    gs_cu_result (*link_complete)(gs_cu_link link, void **cubin, size_t *size);
    gs_cu_result (*link_destroy)(gs_cu_link link);
    bool has_linker;
    int device_total; /* devices that the library knows */
} gs_cuda;

/* The library, if gs_cuda_open has found one; the functions may be called then. */
extern gs_cuda gs_cu;

/* "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)" */
const char *gs_cuda_describe(gs_cu_result error, char *text, size_t capacity);

#endif
