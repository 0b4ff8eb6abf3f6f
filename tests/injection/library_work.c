/* The libraries beside the driver: a primitive of the neural-network library, and a program that is built by the OpenCL
 * driver. Each starts its half in Python at the first call that needs it. */
#include <dlfcn.h>

#include "work.h"
#define GROUNDSTATE_LEVEL_ZERO_TYPES
#include "groundstate/dnnl.h"

/* --- Neural networks ---------------------------------------------------------------------------------------- */

/* Like take_failure, for the statuses of that library. */
static bool is_done(const char *call, dnnl_status_t status) {
    if (status == dnnl_success)
        return true;
    bool is_specified = status == dnnl_out_of_memory || status == dnnl_runtime_error;
    if (!is_specified || groundstate_dnnl_last_error()[0] == 0)
        fprintf(stderr, "status %d: %s\n", (int)status, groundstate_dnnl_last_error());
    REQUIRE(is_specified && groundstate_dnnl_last_error()[0] != 0);
    take_own_failure(call);
    return false;
}
#define DO(call)                   \
    do {                           \
        if (!is_done(#call, call)) \
            return false;          \
    } while (0)

enum { ELEMENTS = 100 };

/* y = 3 x */
static bool make_primitive(dnnl_engine_t engine, dnnl_memory_desc_t shape, dnnl_primitive_t *made) {
    dnnl_primitive_desc_t description;
    DO(dnnl_eltwise_forward_primitive_desc_create(&description, engine, dnnl_forward_inference, dnnl_eltwise_linear,
                                                  shape, shape, 3, 0, NULL));
    LATER(dnnl_primitive_desc_destroy, description);
    DO(dnnl_primitive_create(made, description));
    LATER(dnnl_primitive_destroy, *made);
    return true;
}

static bool make_memory(dnnl_engine_t engine, dnnl_memory_desc_t shape, float **data, dnnl_memory_t *made) {
    *data = memory_of(ELEMENTS * sizeof **data);
    MADE(*data);
    DO(dnnl_ze_interop_memory_create(made, shape, engine, 1, (void **)data));
    LATER(dnnl_memory_destroy, *made);
    return true;
}

static bool execute(dnnl_engine_t engine, unsigned flags) {
    dnnl_memory_desc_t shape;
    dnnl_primitive_t primitive;
    dnnl_memory_t from, to;
    dnnl_stream_t stream;
    float *given, *taken;
    DO(dnnl_memory_desc_create_with_tag(&shape, 1, (dnnl_dims_t){ELEMENTS}, dnnl_f32, dnnl_a));
    LATER(dnnl_memory_desc_destroy, shape);
    if (!make_memory(engine, shape, &given, &from) || !make_memory(engine, shape, &taken, &to) ||
        !make_primitive(engine, shape, &primitive))
        return false;
    DO(dnnl_stream_create(&stream, engine, flags));
    LATER(dnnl_stream_destroy, stream);
    for (int each = 0; each < ELEMENTS; each++)
        given[each] = (float)each;
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    DO(dnnl_primitive_execute(primitive, stream, 2, arguments));
    DO(dnnl_stream_wait(stream));
    for (int each = 0; each < ELEMENTS; each++)
        REQUIRE(taken[each] == 3 * (float)each);
    return true;
}

static bool use_engine(unsigned flags) {
    dnnl_engine_t engine;
    DO(dnnl_ze_interop_engine_create(&engine, on.driver, on.device, on.context));
    LATER(dnnl_engine_destroy, engine);
    return execute(engine, flags);
}

static bool in_order(void) { return use_engine(dnnl_stream_in_order); }
static bool with_times(void) { return use_engine(dnnl_stream_in_order | dnnl_stream_profiling); }
static bool out_of_order(void) { return use_engine(dnnl_stream_out_of_order); }

/* --- OpenCL --------------------------------------------------------------------------------------------------- */

/* Places in the table that every object begins with, and numbers of OpenCL. */
enum { GET_DEVICES = 2, CREATE_CONTEXT = 4, RELEASE_CONTEXT = 7, CREATE_PROGRAM = 26, RELEASE_PROGRAM = 29, BUILD = 30,
       PROGRAM_INFO = 32 };
enum { GPU = 1 << 2, BINARY_SIZES = 0x1165 };
enum { DEVICE_NOT_FOUND = -1, OUT_OF_HOST_MEMORY = -6, BUILD_FAILURE = -11 };

typedef struct cl_object {
    void *const *table;
} cl_object;

static bool is_built(const char *call, int status) {
    if (status == 0)
        return true;
    REQUIRE(status == DEVICE_NOT_FOUND || status == OUT_OF_HOST_MEMORY || status == BUILD_FAILURE);
    take_own_failure(call);
    return false;
}

/* It lies beside the other one. */
static void *open_opencl(void) {
    Dl_info beside;
    char path[4096];
    REQUIRE(dladdr((void *)groundstate_dnnl_last_error, &beside) != 0);
    const char *slash = strrchr(beside.dli_fname, '/');
    REQUIRE(slash != NULL);
    snprintf(path, sizeof path, "%.*s/libgroundstate_opencl.so", (int)(slash - beside.dli_fname), beside.dli_fname);
    return dlopen(path, RTLD_NOW);
}

static cl_object *platform_of_opencl(void) {
    static void *library;
    if (library == NULL)
        library = open_opencl();
    int (*get_platforms)(unsigned, void **, unsigned *) = NULL;
    void *platform = NULL;
    if (library != NULL)
        *(void **)&get_platforms = dlsym(library, "clIcdGetPlatformIDsKHR");
    REQUIRE(get_platforms != NULL && get_platforms(1, &platform, NULL) == 0);
    return platform;
}

static bool build_for_opencl(void) {
    const cl_object *platform = platform_of_opencl();
    void *const *table = platform->table;
    int (*get_devices)(const void *, uint64_t, unsigned, void **, unsigned *) = table[GET_DEVICES];
    void *(*create_context)(const void *, unsigned, void **, void *, void *, int *) = table[CREATE_CONTEXT];
    void *(*create_program)(void *, unsigned, const char **, const size_t *, int *) = table[CREATE_PROGRAM];
    int (*build)(void *, unsigned, void **, const char *, void *, void *) = table[BUILD];
    int (*ask)(void *, unsigned, size_t, void *, size_t *) = table[PROGRAM_INFO];
    const char *source = "kernel void one(global int *to) { to[get_global_id(0)] = 1; }";
    void *device = NULL;
    int status = get_devices(platform, GPU, 1, &device, NULL);
    if (!is_built("clGetDeviceIDs", status))
        return false;
    void *context = create_context(NULL, 1, &device, NULL, NULL, &status);
    if (!is_built("clCreateContext", status))
        return false;
    destroy_later((ending)table[RELEASE_CONTEXT], context);
    void *program = create_program(context, 1, &source, NULL, &status);
    if (!is_built("clCreateProgramWithSource", status))
        return false;
    destroy_later((ending)table[RELEASE_PROGRAM], program);
    if (!is_built("clBuildProgram", build(program, 1, &device, "-cl-std=CL1.2", NULL, NULL)))
        return false;
    size_t size = 0;
    REQUIRE(ask(program, BINARY_SIZES, sizeof size, &size, NULL) == 0 && size > 0);
    return true;
}

const work library_work[] = {
    {"a primitive in order", in_order},
    {"a primitive with times", with_times},
    {"a primitive out of order", out_of_order},
    {"a program for OpenCL", build_for_opencl},
    {NULL, NULL},
};
