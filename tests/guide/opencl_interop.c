/*
 * From an OpenCL program to a Level Zero kernel. If one driver stands behind both, the binary of the program is a
 * module; a binary of another driver is refused, and then the program is built again from what it was made of.
 */
#include <dlfcn.h>

#include "guide.h"

enum { ITEMS = 64, PROGRAM_BINARY_SIZES = 0x1165, PROGRAM_BINARIES = 0x1166 };

/* OpenCL without its headers: handles are pointers, and all that is used of it is in this file. */
static void *library;
#define CL(name, result, ...) ((result(*)(__VA_ARGS__))dlsym(library, #name))
#define CL_CHECK(call) REQUIRE((call) == 0)

typedef struct opencl {
    void *device, *context, *program;
} opencl;

static opencl build_program(const char *source) {
    opencl made;
    void *platform;
    int error;
    library = dlopen("libOpenCL.so.1", RTLD_NOW);
    REQUIRE(library != NULL);
    CL_CHECK(CL(clGetPlatformIDs, int, uint32_t, void **, uint32_t *)(1, &platform, NULL));
    CL_CHECK(CL(clGetDeviceIDs, int, void *, uint64_t, uint32_t, void **, uint32_t *)(platform, 0xffffffff, 1,
                                                                                     &made.device, NULL));
    made.context = CL(clCreateContext, void *, void *, uint32_t, void **, void *, void *, int *)(NULL, 1, &made.device,
                                                                                                NULL, NULL, &error);
    CL_CHECK(error);
    made.program = CL(clCreateProgramWithSource, void *, void *, uint32_t, const char **, size_t *,
                      int *)(made.context, 1, &source, NULL, &error);
    CL_CHECK(error);
    CL_CHECK(CL(clBuildProgram, int, void *, uint32_t, void **, const char *, void *, void *)(made.program, 1,
                                                                                             &made.device, "", NULL,
                                                                                             NULL));
    return made;
}

static uint8_t *binary_of(opencl cl, size_t *size) {
    CL_CHECK(CL(clGetProgramInfo, int, void *, uint32_t, size_t, void *, size_t *)(cl.program, PROGRAM_BINARY_SIZES,
                                                                                 sizeof *size, size, NULL));
    uint8_t *bytes = malloc(*size);
    CL_CHECK(CL(clGetProgramInfo, int, void *, uint32_t, size_t, void *, size_t *)(cl.program, PROGRAM_BINARIES,
                                                                                 sizeof bytes, &bytes, NULL));
    return bytes;
}

/* Runs the kernel in OpenCL. */
static void run_there(opencl cl, uint32_t *result) {
    int error;
    size_t items = ITEMS, size = ITEMS * sizeof *result;
    void *queue = CL(clCreateCommandQueue, void *, void *, void *, uint64_t, int *)(cl.context, cl.device, 0, &error);
    void *kernel = CL(clCreateKernel, void *, void *, const char *, int *)(cl.program, "triangle", &error);
    void *buffer = CL(clCreateBuffer, void *, void *, uint64_t, size_t, void *, int *)(cl.context, 1, size, NULL, &error);
    CL_CHECK(CL(clSetKernelArg, int, void *, uint32_t, size_t, void *)(kernel, 0, sizeof buffer, &buffer));
    CL_CHECK(CL(clEnqueueNDRangeKernel, int, void *, void *, uint32_t, size_t *, size_t *, size_t *, uint32_t, void *,
                void *)(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    CL_CHECK(CL(clEnqueueReadBuffer, int, void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *,
                void *)(queue, buffer, 1, 0, size, result, 0, NULL, NULL));
    CL_CHECK(CL(clReleaseMemObject, int, void *)(buffer));
    CL_CHECK(CL(clReleaseKernel, int, void *)(kernel));
    CL_CHECK(CL(clReleaseCommandQueue, int, void *)(queue));
}

int main(int count, char **arguments) {
    (void)count;
    char path[4096], source[4096] = "";
    snprintf(path, sizeof path, "%s/source.cl", arguments[1]);
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL && fread(source, 1, sizeof source - 1, file) > 0 && fclose(file) == 0);
    uint32_t there[ITEMS];
    opencl cl = build_program(source);
    run_there(cl, there);
    printf("OpenCL computed %u\n", there[ITEMS - 1]);

    place at = begin();
    size_t size;
    uint8_t *bytes = binary_of(cl, &size);
    ze_module_desc_t description = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                    .format = ZE_MODULE_FORMAT_NATIVE,
                                    .inputSize = size,
                                    .pInputModule = bytes};
    ze_module_handle_t module = NULL;
    ze_result_t result = zeModuleCreate(at.context, at.device, &description, &module, NULL);
    printf("its binary is one of this driver: %s\n", yes_no[result == ZE_RESULT_SUCCESS]);
    if (result == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY)
        module = load_module(at, arguments, "source");
    REQUIRE(module != NULL);

    ze_kernel_handle_t kernel = new_kernel(module, "triangle", ITEMS);
    uint32_t *here = shared_memory(at, ITEMS * sizeof *here);
    ze_command_list_handle_t list = new_list(at);
    ze_group_count_t one_group = {1, 1, 1};
    set_pointer(kernel, 0, here);
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one_group, NULL, 0, NULL));
    run(at, list);
    printf("Level Zero computed %u\n", here[ITEMS - 1]);
    REQUIRE(memcmp(here, there, sizeof there) == 0);

    CHECK(zeMemFree(at.context, here));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
    CL_CHECK(CL(clReleaseProgram, int, void *)(cl.program));
    CL_CHECK(CL(clReleaseContext, int, void *)(cl.context));
    free(bytes);
    return end(at);
}
