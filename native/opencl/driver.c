/* The driver beside this library: what its device is, and the Python that compiles. */
#include "opencl/opencl.h"

#include "abi/driver_library.h"
#include "abi/word.h"
#include "generated/ze_types.h"

#define MODULE "groundstate.compiler.opencl.icd"

/* What is there once it was found stays; what could not be had is tried again by the next call. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gs_cl_facts facts;
static _Atomic bool found;
static void *_Atomic compiler;
static _Thread_local char failure[512];

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

/* Called with the lock held. */
static void find(void *driver) {
    *(void **)&guest_start = dlsym(driver, "gs_embedded_import");
    *(void **)&guest_call = dlsym(driver, "gs_embedded_call");
    found = guest_start != NULL && guest_call != NULL && ask_device(driver);
    if (!found)
        snprintf(failure, sizeof failure, "%s has no device", GS_DRIVER);
}

static void start_compiler(const char *library) {
    static const char *const names[] = {"compile"};
    void *handler = NULL;
    if (guest_start(MODULE, library, names, 1, &handler, failure, sizeof failure) == 0)
        compiler = handler;
}

static void start(void) {
    if (compiler != NULL)
        return;
    char library[PATH_MAX] = "";
    pthread_mutex_lock(&lock);
    void *driver = gs_open_driver((void *)start, library);
    if (driver == NULL)
        snprintf(failure, sizeof failure, "there is no usable %s beside this library: %s", GS_DRIVER, gs_open_failure());
    else if (!found)
        find(driver);
    if (driver != NULL && found && compiler == NULL)
        start_compiler(library);
    pthread_mutex_unlock(&lock);
}

const gs_cl_facts *gs_cl_find_device(void) {
    start();
    return found ? &facts : NULL;
}

/* What the Python half fills in: memory of malloc. */
typedef struct outcome {
    void *binary;
    uint64_t size;
    char *log;
} outcome;

bool gs_cl_compile(gs_cl_program *program) {
    start();
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
