/* The platform, its device and contexts, and the table through which loaders call. */
#include <stdlib.h>
#include <string.h>

#include "opencl/opencl.h"

#define NAME "Groundstate compiler"
#define VERSION "OpenCL 1.2 Groundstate"

enum { DEVICE_TYPE_GPU = 1 << 2 };
static const uint64_t DEVICE_TYPE_ALL = 0xffffffff;

enum { PLATFORM_PROFILE = 0x0900, PLATFORM_VERSION, PLATFORM_NAME, PLATFORM_VENDOR, PLATFORM_EXTENSIONS };
enum { PLATFORM_ICD_SUFFIX = 0x0920 };
enum { CONTEXT_REFERENCES = 0x1080, CONTEXT_DEVICES, CONTEXT_PROPERTIES, CONTEXT_DEVICE_COUNT };
enum {
    DEVICE_TYPE = 0x1000,
    DEVICE_VENDOR_ID = 0x1001,
    DEVICE_UNITS = 0x1002,
    DEVICE_CLOCK = 0x100C,
    DEVICE_ADDRESS_BITS = 0x100D,
    DEVICE_LITTLE_ENDIAN = 0x1026,
    DEVICE_AVAILABLE = 0x1027,
    DEVICE_COMPILER_AVAILABLE = 0x1028,
    DEVICE_NAME = 0x102B,
    DEVICE_VENDOR = 0x102C,
    DEVICE_DRIVER_VERSION = 0x102D,
    DEVICE_PROFILE = 0x102E,
    DEVICE_VERSION = 0x102F,
    DEVICE_EXTENSIONS = 0x1030,
    DEVICE_PLATFORM = 0x1031,
    DEVICE_C_VERSION = 0x103D,
};

/* Places in the table of the ICD extension. */
enum {
    GET_PLATFORM_IDS = 0,
    GET_PLATFORM_INFO = 1,
    GET_DEVICE_IDS = 2,
    GET_DEVICE_INFO = 3,
    CREATE_CONTEXT = 4,
    CREATE_CONTEXT_FROM_TYPE = 5,
    RETAIN_CONTEXT = 6,
    RELEASE_CONTEXT = 7,
    GET_CONTEXT_INFO = 8,
    CREATE_COMMAND_QUEUE = 9,
    CREATE_BUFFER = 14,
    CREATE_IMAGE_2D = 15,
    CREATE_IMAGE_3D = 16,
    CREATE_SAMPLER = 22,
    CREATE_PROGRAM_WITH_SOURCE = 26,
    CREATE_PROGRAM_WITH_BINARY = 27,
    RETAIN_PROGRAM = 28,
    RELEASE_PROGRAM = 29,
    BUILD_PROGRAM = 30,
    GET_PROGRAM_INFO = 32,
    GET_PROGRAM_BUILD_INFO = 33,
    CREATE_KERNEL = 34,
    GET_EXTENSION_FUNCTION_ADDRESS = 65,
    CREATE_FROM_GL_BUFFER = 66,
    CREATE_FROM_GL_TEXTURE_2D = 67,
    CREATE_FROM_GL_TEXTURE_3D = 68,
    CREATE_FROM_GL_RENDERBUFFER = 69,
    CREATE_USER_EVENT = 84,
    CREATE_EVENT_FROM_GL_SYNC = 92,
    RETAIN_DEVICE = 94,
    RELEASE_DEVICE = 95,
    CREATE_IMAGE = 96,
    CREATE_PROGRAM_WITH_BUILT_IN_KERNELS = 97,
    LINK_PROGRAM = 99,
    GET_EXTENSION_FUNCTION_ADDRESS_FOR_PLATFORM = 107,
    CREATE_FROM_GL_TEXTURE = 108,
    CREATE_FROM_EGL_IMAGE = 119,
    CREATE_EVENT_FROM_EGL_SYNC = 122,
    CREATE_COMMAND_QUEUE_WITH_PROPERTIES = 123,
    CREATE_PIPE = 124,
    SVM_ALLOC = 126,
    CREATE_SAMPLER_WITH_PROPERTIES = 133,
    CREATE_PROGRAM_WITH_IL = 138,
    CREATE_BUFFER_WITH_PROPERTIES = 146,
    CREATE_IMAGE_WITH_PROPERTIES = 147,
    SLOTS = 160, /* room for those that later loaders know */
};

void *gs_cl_dispatch[SLOTS];
gs_cl_object gs_cl_platform = {.dispatch = gs_cl_dispatch, .references = 1};
gs_cl_object gs_cl_device = {.dispatch = gs_cl_dispatch, .references = 1};

/* --- Answers --------------------------------------------------------------------------------------- */

int gs_cl_answer(const void *value, size_t size, size_t capacity, void *to, size_t *needed) {
    if (to != NULL && capacity < size)
        return CL_INVALID_VALUE;
    if (to != NULL)
        memcpy(to, value, size);
    if (needed != NULL)
        *needed = size;
    return CL_SUCCESS;
}

int gs_cl_answer_text(const char *text, size_t capacity, void *to, size_t *needed) {
    return gs_cl_answer(text, strlen(text) + 1, capacity, to, needed);
}

/* --- The platform and its device ------------------------------------------------------------------- */

static int get_platforms(unsigned capacity, void **platforms, unsigned *count) {
    if (platforms != NULL && capacity == 0)
        return CL_INVALID_VALUE;
    if (platforms != NULL)
        platforms[0] = &gs_cl_platform;
    if (count != NULL)
        *count = 1;
    return CL_SUCCESS;
}

static int platform_info(void *platform, unsigned what, size_t capacity, void *to, size_t *needed) {
    (void)platform;
    switch (what) {
    case PLATFORM_PROFILE:
        return gs_cl_answer_text("FULL_PROFILE", capacity, to, needed);
    case PLATFORM_VERSION:
        return gs_cl_answer_text(VERSION, capacity, to, needed);
    case PLATFORM_NAME:
        return gs_cl_answer_text(NAME, capacity, to, needed);
    case PLATFORM_VENDOR:
        return gs_cl_answer_text("Groundstate", capacity, to, needed);
    case PLATFORM_EXTENSIONS:
        return gs_cl_answer_text("cl_khr_icd", capacity, to, needed);
    case PLATFORM_ICD_SUFFIX:
        return gs_cl_answer_text("GROUNDSTATE", capacity, to, needed);
    default:
        return CL_INVALID_VALUE;
    }
}

/* Only those who ask for a GPU see the device: programs that list everything look for one that runs kernels. */
static int get_devices(void *platform, uint64_t type, unsigned capacity, void **devices, unsigned *count) {
    (void)platform;
    if (devices != NULL && capacity == 0)
        return CL_INVALID_VALUE;
    if (type == DEVICE_TYPE_ALL || (type & DEVICE_TYPE_GPU) == 0 || gs_cl_find_device() == NULL) {
        if (count != NULL)
            *count = 0;
        return CL_DEVICE_NOT_FOUND;
    }
    if (devices != NULL)
        devices[0] = &gs_cl_device;
    if (count != NULL)
        *count = 1;
    return CL_SUCCESS;
}

static int device_number(unsigned what, const gs_cl_facts *facts, size_t capacity, void *to, size_t *needed) {
    unsigned number = 0;
    switch (what) {
    case DEVICE_VENDOR_ID:
        number = facts->vendor;
        break;
    case DEVICE_UNITS:
        number = facts->units;
        break;
    case DEVICE_CLOCK:
        number = facts->clock;
        break;
    case DEVICE_ADDRESS_BITS:
        number = 64;
        break;
    case DEVICE_AVAILABLE: /* it compiles, and runs nothing */
        break;
    case DEVICE_LITTLE_ENDIAN:
    case DEVICE_COMPILER_AVAILABLE:
        number = 1;
        break;
    default:
        return CL_INVALID_VALUE;
    }
    return gs_cl_answer(&number, sizeof number, capacity, to, needed);
}

static int device_info(void *device, unsigned what, size_t capacity, void *to, size_t *needed) {
    const gs_cl_facts *facts = gs_cl_find_device();
    uint64_t type = DEVICE_TYPE_GPU;
    void *platform = &gs_cl_platform;
    if (device != &gs_cl_device || facts == NULL)
        return CL_INVALID_DEVICE;
    switch (what) {
    case DEVICE_TYPE:
        return gs_cl_answer(&type, sizeof type, capacity, to, needed);
    case DEVICE_PLATFORM:
        return gs_cl_answer(&platform, sizeof platform, capacity, to, needed);
    case DEVICE_NAME:
        return gs_cl_answer_text(facts->name, capacity, to, needed);
    case DEVICE_VENDOR:
    case DEVICE_DRIVER_VERSION:
        return gs_cl_answer_text("Groundstate", capacity, to, needed);
    case DEVICE_PROFILE:
        return gs_cl_answer_text("FULL_PROFILE", capacity, to, needed);
    case DEVICE_VERSION:
        return gs_cl_answer_text(VERSION, capacity, to, needed);
    case DEVICE_C_VERSION:
        return gs_cl_answer_text("OpenCL C 1.2 Groundstate", capacity, to, needed);
    case DEVICE_EXTENSIONS:
        return gs_cl_answer_text("", capacity, to, needed);
    default:
        return device_number(what, facts, capacity, to, needed);
    }
}

static int keep_device(void *device) { return device == &gs_cl_device ? CL_SUCCESS : CL_INVALID_DEVICE; }

/* --- Contexts -------------------------------------------------------------------------------------- */

static void *new_context(int result, int *status) {
    gs_cl_object *context = result == CL_SUCCESS ? calloc(1, sizeof *context) : NULL;
    if (context != NULL)
        *context = (gs_cl_object){.dispatch = gs_cl_dispatch, .references = 1};
    else if (result == CL_SUCCESS)
        result = CL_OUT_OF_HOST_MEMORY;
    if (status != NULL)
        *status = result;
    return context;
}

static void *create_context(const void *properties, unsigned count, void *const *devices, void *notify, void *data,
                            int *status) {
    (void)properties, (void)notify, (void)data;
    int result = count == 0 || devices == NULL ? CL_INVALID_VALUE : CL_SUCCESS;
    for (unsigned i = 0; i < count && result == CL_SUCCESS; i++)
        result = keep_device(devices[i]);
    return new_context(result, status);
}

static void *create_context_from_type(const void *properties, uint64_t type, void *notify, void *data, int *status) {
    (void)properties, (void)notify, (void)data;
    return new_context(get_devices(&gs_cl_platform, type, 0, NULL, NULL), status);
}

static int retain_context(gs_cl_object *context) {
    if (context == NULL)
        return CL_INVALID_CONTEXT;
    context->references++;
    return CL_SUCCESS;
}

int gs_cl_release_context(gs_cl_object *context) {
    if (context == NULL)
        return CL_INVALID_CONTEXT;
    if (--context->references == 0)
        free(context);
    return CL_SUCCESS;
}

static int context_info(gs_cl_object *context, unsigned what, size_t capacity, void *to, size_t *needed) {
    if (context == NULL)
        return CL_INVALID_CONTEXT;
    unsigned references = (unsigned)context->references, one = 1;
    void *device = &gs_cl_device;
    switch (what) {
    case CONTEXT_REFERENCES:
        return gs_cl_answer(&references, sizeof references, capacity, to, needed);
    case CONTEXT_DEVICES:
        return gs_cl_answer(&device, sizeof device, capacity, to, needed);
    case CONTEXT_PROPERTIES:
        return gs_cl_answer("", 0, capacity, to, needed);
    case CONTEXT_DEVICE_COUNT:
        return gs_cl_answer(&one, sizeof one, capacity, to, needed);
    default:
        return CL_INVALID_VALUE;
    }
}

/* --- What a compiler does not do ------------------------------------------------------------------- */

static int refuse(void) { return CL_INVALID_OPERATION; }
static void *refuse_memory(void) { return NULL; }

static void *refused(int *status) {
    if (status != NULL)
        *status = CL_INVALID_OPERATION;
    return NULL;
}

/* Functions that create something say why not through their last argument. Those that need a queue, a buffer or a kernel
 * cannot be reached, because there is none. */
typedef void *any;
static void *refuse_2(any a, int *status) { return (void)a, refused(status); }
static void *refuse_3(any a, any b, int *status) { return (void)a, (void)b, refused(status); }
static void *refuse_4(any a, any b, any c, int *status) { return (void)a, (void)b, (void)c, refused(status); }
static void *refuse_5(any a, any b, any c, any d, int *status) {
    return (void)a, (void)b, (void)c, (void)d, refused(status);
}
static void *refuse_6(any a, any b, any c, any d, any e, int *status) {
    return (void)a, (void)b, (void)c, (void)d, (void)e, refused(status);
}
static void *refuse_7(any a, any b, any c, any d, any e, any f, int *status) {
    return (void)f, refuse_6(a, b, c, d, e, status);
}
static void *refuse_8(any a, any b, any c, any d, any e, any f, any g, int *status) {
    return (void)f, (void)g, refuse_6(a, b, c, d, e, status);
}
static void *refuse_9(any a, any b, any c, any d, any e, any f, any g, any h, int *status) {
    return (void)f, (void)g, (void)h, refuse_6(a, b, c, d, e, status);
}
static void *refuse_10(any a, any b, any c, any d, any e, any f, any g, any h, any i, int *status) {
    return (void)f, (void)g, (void)h, (void)i, refuse_6(a, b, c, d, e, status);
}

/* --- How loaders come in --------------------------------------------------------------------------- */

GS_EXPORT int clIcdGetPlatformIDsKHR(unsigned capacity, void **platforms, unsigned *count);
GS_EXPORT int clGetPlatformInfo(void *platform, unsigned what, size_t capacity, void *to, size_t *needed);
GS_EXPORT void *clGetExtensionFunctionAddress(const char *name);

int clIcdGetPlatformIDsKHR(unsigned capacity, void **platforms, unsigned *count) {
    return get_platforms(capacity, platforms, count);
}

int clGetPlatformInfo(void *platform, unsigned what, size_t capacity, void *to, size_t *needed) {
    return platform_info(platform, what, capacity, to, needed);
}

void *clGetExtensionFunctionAddress(const char *name) {
    if (name != NULL && strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        return (void *)clIcdGetPlatformIDsKHR;
    return name != NULL && strcmp(name, "clGetPlatformInfo") == 0 ? (void *)clGetPlatformInfo : NULL;
}

static void *find_for_platform(void *platform, const char *name) {
    return platform == &gs_cl_platform ? clGetExtensionFunctionAddress(name) : NULL;
}

static const struct {
    int slot;
    void *function;
} functions[] = {
    {GET_PLATFORM_IDS, get_platforms},
    {GET_PLATFORM_INFO, platform_info},
    {GET_DEVICE_IDS, get_devices},
    {GET_DEVICE_INFO, device_info},
    {RETAIN_DEVICE, keep_device},
    {RELEASE_DEVICE, keep_device},
    {CREATE_CONTEXT, create_context},
    {CREATE_CONTEXT_FROM_TYPE, create_context_from_type},
    {RETAIN_CONTEXT, retain_context},
    {RELEASE_CONTEXT, gs_cl_release_context},
    {GET_CONTEXT_INFO, context_info},
    {CREATE_PROGRAM_WITH_SOURCE, gs_cl_create_program},
    {RETAIN_PROGRAM, gs_cl_retain_program},
    {RELEASE_PROGRAM, gs_cl_release_program},
    {BUILD_PROGRAM, gs_cl_build_program},
    {GET_PROGRAM_INFO, gs_cl_program_info},
    {GET_PROGRAM_BUILD_INFO, gs_cl_build_info},
    {GET_EXTENSION_FUNCTION_ADDRESS, clGetExtensionFunctionAddress},
    {GET_EXTENSION_FUNCTION_ADDRESS_FOR_PLATFORM, find_for_platform},
    {SVM_ALLOC, refuse_memory},
    {CREATE_USER_EVENT, refuse_2},
    {CREATE_KERNEL, refuse_3},
    {CREATE_SAMPLER_WITH_PROPERTIES, refuse_3},
    {CREATE_EVENT_FROM_GL_SYNC, refuse_3},
    {CREATE_COMMAND_QUEUE, refuse_4},
    {CREATE_COMMAND_QUEUE_WITH_PROPERTIES, refuse_4},
    {CREATE_PROGRAM_WITH_IL, refuse_4},
    {CREATE_FROM_GL_BUFFER, refuse_4},
    {CREATE_FROM_GL_RENDERBUFFER, refuse_4},
    {CREATE_EVENT_FROM_EGL_SYNC, refuse_4},
    {CREATE_BUFFER, refuse_5},
    {CREATE_SAMPLER, refuse_5},
    {CREATE_PROGRAM_WITH_BUILT_IN_KERNELS, refuse_5},
    {CREATE_IMAGE, refuse_6},
    {CREATE_PIPE, refuse_6},
    {CREATE_BUFFER_WITH_PROPERTIES, refuse_6},
    {CREATE_FROM_GL_TEXTURE, refuse_6},
    {CREATE_FROM_GL_TEXTURE_2D, refuse_6},
    {CREATE_FROM_GL_TEXTURE_3D, refuse_6},
    {CREATE_FROM_EGL_IMAGE, refuse_6},
    {CREATE_PROGRAM_WITH_BINARY, refuse_7},
    {CREATE_IMAGE_WITH_PROPERTIES, refuse_7},
    {CREATE_IMAGE_2D, refuse_8},
    {LINK_PROGRAM, refuse_9},
    {CREATE_IMAGE_3D, refuse_10},
};

__attribute__((constructor)) static void fill_dispatch(void) {
    for (int slot = 0; slot < SLOTS; slot++)
        gs_cl_dispatch[slot] = (void *)refuse;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        gs_cl_dispatch[functions[i].slot] = functions[i].function;
}
