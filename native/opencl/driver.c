/* The driver beside this library: what its device is, and the Python that compiles. */
#include "opencl.h"

#include "beside.h"
#include "generated/ze_types.h"
#include "word.h"

#define MODULE "groundstate.compiler.opencl.entry_points"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static gs_cl_facts facts;
static bool found;
static void *compiler;
static char failure[512];

static int (*guest_start)(const char *, const char *, const char *const *, int, void **, char *, size_t);
static int (*guest_call)(void *, const char *, const gs_word *, uint64_t *, char *, size_t);

/* The first device of the driver: libraries look for one with the same vendor and clock. */
static bool ask_device(void *driver) {
    ze_result_t (*init)(ze_init_flags_t);
    ze_result_t (*drivers)(uint32_t *, ze_driver_handle_t *);
    ze_result_t (*devices)(ze_driver_handle_t, uint32_t *, ze_device_handle_t *);
    ze_result_t (*properties)(ze_device_handle_t, ze_device_properties_t *);
    *(void **)&init = dlsym(driver, "zeInit");
    *(void **)&drivers = dlsym(driver, "zeDriverGet");
    *(void **)&devices = dlsym(driver, "zeDeviceGet");
    *(void **)&properties = dlsym(driver, "zeDeviceGetProperties");
    if (init == NULL || drivers == NULL || devices == NULL || properties == NULL)
        return false;
    ze_driver_handle_t first = NULL;
    ze_device_handle_t device = NULL;
    uint32_t one = 1;
    if (init(0) != ZE_RESULT_SUCCESS || drivers(&one, &first) != ZE_RESULT_SUCCESS || one == 0)
        return false;
    one = 1;
    if (devices(first, &one, &device) != ZE_RESULT_SUCCESS || one == 0)
        return false;
    ze_device_properties_t told = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    if (properties(device, &told) != ZE_RESULT_SUCCESS)
        return false;
    facts = (gs_cl_facts){.vendor = told.vendorId, .clock = told.coreClockRate, .units = told.numSlices};
    snprintf(facts.name, sizeof facts.name, "%s", told.name);
    return true;
}

static void start(void) {
    char library[PATH_MAX] = "";
    void *driver = gs_open_driver((void *)start, library);
    if (driver == NULL) {
        snprintf(failure, sizeof failure, "there is no usable %s beside this library: %s", GS_DRIVER, dlerror());
        return;
    }
    *(void **)&guest_start = dlsym(driver, "gs_guest_start");
    *(void **)&guest_call = dlsym(driver, "gs_guest_call");
    found = guest_start != NULL && guest_call != NULL && ask_device(driver);
    if (!found)
        snprintf(failure, sizeof failure, "%s has no device", GS_DRIVER);
    static const char *const names[] = {"compile"};
    if (found && guest_start(MODULE, library, names, 1, &compiler, failure, sizeof failure) != 0)
        compiler = NULL;
}

const gs_cl_facts *gs_cl_find_device(void) {
    pthread_once(&once, start);
    return found ? &facts : NULL;
}

/* What the Python half fills in: memory of malloc. */
typedef struct outcome {
    void *binary;
    uint64_t size;
    char *log;
} outcome;

bool gs_cl_compile(gs_cl_program *program) {
    pthread_once(&once, start);
    free(program->binary);
    free(program->log);
    program->binary = NULL;
    program->log = NULL;
    outcome made = {0};
    char text[1024] = "";
    int result = -1;
    if (compiler == NULL) {
        snprintf(text, sizeof text, "%s", failure);
    } else {
        gs_word arguments[] = {{.u = (uintptr_t)program->source},
                               {.u = (uintptr_t)program->options},
                               {.u = (uintptr_t)&made}};
        uint64_t value;
        result = guest_call(compiler, "uuu", arguments, &value, text, sizeof text);
    }
    program->binary = made.binary;
    program->binary_size = made.size;
    program->log = made.log != NULL ? made.log : strdup(text);
    return result == 0 && program->binary != NULL;
}
