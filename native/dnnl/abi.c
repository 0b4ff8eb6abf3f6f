/* The way to Python, through the driver's library, which lies beside this one and has an interpreter. */
#define _GNU_SOURCE
#include "dnnl/abi.h"

#include <stdarg.h>

#include "abi/driver_library.h"

static const char MODULE[] = "groundstate.dnn.abi.entry";

static _Thread_local char last_error[2048];

/* A start that failed is tried again by the next call. */
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool started;
static _Thread_local char start_failure[512];
static void *handlers[GS_DNNL_FUNCTION_COUNT];

/* native/python/embedded.h */
static int (*guest_start)(const char *, const char *, const char *const *, int, void **, char *, size_t);
static int (*guest_call)(void *, const char *, const gs_word *, uint64_t *, char *, size_t);

/* --- Sentences ------------------------------------------------------------------------------------- */

dnnl_status_t gs_dnnl_fail(dnnl_status_t status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return status;
}

char *gs_dnnl_text(size_t *size) {
    *size = sizeof last_error;
    return last_error;
}

GS_EXPORT const char *groundstate_dnnl_last_error(void) { return last_error; }

/* --- Starting -------------------------------------------------------------------------------------- */

static bool try_to_start(void) {
    char library[PATH_MAX] = "";
    void *driver = gs_open_driver((void *)try_to_start, library);
    if (driver != NULL) {
        *(void **)&guest_start = dlsym(driver, "gs_embedded_import");
        *(void **)&guest_call = dlsym(driver, "gs_embedded_call");
    }
    if (guest_start == NULL || guest_call == NULL) {
        snprintf(start_failure, sizeof start_failure, "there is no usable %s beside this library: %s", GS_DRIVER,
                 driver == NULL ? gs_open_failure() : "it is of another version");
        return false;
    }
    return guest_start(MODULE, library, gs_dnnl_function_names, GS_DNNL_FUNCTION_COUNT, handlers, start_failure,
                       sizeof start_failure) == 0;
}

static bool start(void) {
    if (started)
        return true;
    pthread_mutex_lock(&start_lock);
    if (!started)
        started = try_to_start();
    pthread_mutex_unlock(&start_lock);
    return started;
}

/* --- Calling --------------------------------------------------------------------------------------- */

/* The statuses of the API are small numbers; anything else is a fault of ours. */
static dnnl_status_t status_of(int result) {
    return result > 0 && result <= dnnl_invalid_data_type ? (dnnl_status_t)result : dnnl_runtime_error;
}

static dnnl_status_t call(enum gs_dnnl_function function, const char *types, const gs_word *arguments,
                          uint64_t *value) {
    const char *name = gs_dnnl_function_names[function];
    if (!start())
        return gs_dnnl_fail(dnnl_runtime_error, "%s: %s", name, start_failure);
    if (handlers[function] == NULL)
        return gs_dnnl_fail(dnnl_unimplemented, "%s is not implemented by this library", name);
    char text[1900];
    int result = guest_call(handlers[function], types, arguments, value, text, sizeof text);
    return result == 0 ? dnnl_success : gs_dnnl_fail(status_of(result), "%s: %s", name, text);
}

dnnl_status_t gs_dnnl_status(enum gs_dnnl_function function, const char *types, const gs_word *arguments) {
    uint64_t value = 0;
    dnnl_status_t status = call(function, types, arguments, &value);
    return status == dnnl_success ? (dnnl_status_t)value : status;
}

uint64_t gs_dnnl_value(enum gs_dnnl_function function, const char *types, const gs_word *arguments) {
    uint64_t value = 0;
    return call(function, types, arguments, &value) == dnnl_success ? value : 0;
}
