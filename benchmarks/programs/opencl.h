/* The few functions of OpenCL that the peers are measured with, through whichever ICD loader is named. */
#ifndef OPENCL_H
#define OPENCL_H

#include "measure.h"

#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

#define FUNCTIONS(X)                                                                                        \
    X(int32_t, clGetPlatformIDs, (uint32_t count, void **platforms, uint32_t *found))                       \
    X(int32_t, clGetDeviceIDs, (void *platform, uint64_t type, uint32_t count, void **devices, uint32_t *found)) \
    X(void *, clCreateContext,                                                                              \
      (const intptr_t *properties, uint32_t count, void *const *devices, void *notify, void *data, int32_t *error)) \
    X(void *, clCreateCommandQueue, (void *context, void *device, uint64_t properties, int32_t *error))     \
    X(int32_t, clEnqueueBarrierWithWaitList, (void *queue, uint32_t count, void *const *waits, void **event)) \
    X(void *, clCreateBuffer, (void *context, uint64_t flags, size_t size, void *host, int32_t *error))     \
    X(void *, clCreateProgramWithSource,                                                                    \
      (void *context, uint32_t count, const char **texts, const size_t *sizes, int32_t *error))             \
    X(int32_t, clBuildProgram,                                                                              \
      (void *program, uint32_t count, void *const *devices, const char *options, void *notify, void *data)) \
    X(void *, clCreateKernel, (void *program, const char *name, int32_t *error))                            \
    X(int32_t, clSetKernelArg, (void *kernel, uint32_t index, size_t size, const void *value))              \
    X(int32_t, clEnqueueNDRangeKernel,                                                                      \
      (void *queue, void *kernel, uint32_t dimensions, const size_t *offset, const size_t *items,           \
       const size_t *group, uint32_t count, void *const *waits, void **event))                              \
    X(int32_t, clWaitForEvents, (uint32_t count, void *const *events))                                      \
    X(int32_t, clReleaseEvent, (void *event))                                                               \
    X(int32_t, clFinish, (void *queue))

#define FIELD(result, name, parameters) result(*name) parameters;
static struct {
    FUNCTIONS(FIELD)
} cl;
#undef FIELD

static void *platform, *device;

static inline void open_opencl(const char *path) {
    void *library = open_library(path);
#define FIND(result, name, parameters)                        \
    cl.name = (result(*) parameters)dlsym(library, #name); \
    REQUIRE(cl.name != NULL);
    FUNCTIONS(FIND)
#undef FIND
}

static inline void find_platform(void) {
    uint32_t found = 0;
    REQUIRE(cl.clGetPlatformIDs(1, &platform, &found) == 0 && found == 1);
}

static inline void find_device(void) {
    uint32_t found = 0;
    REQUIRE(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &found) == 0 && found >= 1);
}

#endif
