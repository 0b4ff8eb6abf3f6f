/* The embedded interpreter: finding and starting it.
 *
 * It loads the libpython of the Python that the package is installed in (settings.h), and starts an interpreter that
 * belongs to the driver. If the process runs Python already, that is a second one, isolated from the first: code
 * that calls the driver from one thread while another waits for it with Python's lock would wait for ever.
 * Only a program that uses the bindings of this package, which release that lock, shares its interpreter
 * (gs_share_python), and so does one for which there is no libpython to copy. All Python functions are looked
 * up at run time, so the library itself depends on no libpython. */
#define _GNU_SOURCE
#include "python/interpreter.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory/resources.h"
#include "python/isolated_library.h"
#include "threads/wait.h"

gs_python_api gs_python, gs_host_python;
bool gs_python_is_shared;

static bool has_interpreter;
static bool is_hosted; /* the process was Python before we came */
static bool knows_host;
static bool has_opened_libpython; /* for everybody to see */
static void *host_library; /* to look up functions of the process's own Python */
static _Atomic bool asked_to_share;
static char start_failure_text[512];

/* More than Python maps, and has open at once, when it starts. */
static const size_t START_BYTES = 32 << 20;
enum { START_FILES = 8 };

ze_result_t gs_python_refuse(ze_result_t result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(start_failure_text, sizeof start_failure_text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "groundstate: %s\n", start_failure_text);
    return gs_fail(result, "%s", start_failure_text);
}

ze_result_t gs_python_refuse_out_of_memory(void) {
    return gs_python_refuse(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "there is not enough memory to start the driver's Python; %s",
                  GS_ADVICE_ON_MEMORY);
}

ze_result_t gs_python_refuse_again(ze_result_t result) { return gs_fail(result, "%s", start_failure_text); }

static bool look_up(gs_python_api *to, void *from) {
    bool complete = true;
    PYTHON_API(GS_PYTHON_LOOK_UP)
    *(void **)&to->Py_SetProgramName = dlsym(from, "Py_SetProgramName");
    *(void **)&to->PyGC_Disable = dlsym(from, "PyGC_Disable");
    *(void **)&to->PyGC_Enable = dlsym(from, "PyGC_Enable");
    *(void **)&to->PyGILState_Check = dlsym(from, "PyGILState_Check");
    *(void **)&to->is_finalizing = dlsym(from, "Py_IsFinalizing");
    if (to->is_finalizing == NULL)
        *(void **)&to->is_finalizing = dlsym(from, "_Py_IsFinalizing");
    to->none = dlsym(from, "_Py_NoneStruct");
    to->interrupt = dlsym(from, "PyExc_KeyboardInterrupt");
    to->out_of_memory = dlsym(from, "PyExc_MemoryError");
    to->system_error = dlsym(from, "PyExc_OSError");
    to->import_error = dlsym(from, "PyExc_ImportError");
    return complete && to->none != NULL && to->interrupt != NULL && to->out_of_memory != NULL &&
           to->system_error != NULL && to->import_error != NULL;
}

bool gs_python_is_usable(const gs_python_api *interpreter) {
    return interpreter->Py_IsInitialized() &&
           (interpreter->is_finalizing == NULL || !interpreter->is_finalizing());
}

/* Opens libpython so that extension modules find its symbols too. */
static void *open_libpython(const gs_settings *at) {
    char name[64];
    has_opened_libpython = true;
    void *opened = at->libpython[0] != 0 ? dlopen(at->libpython, RTLD_LAZY | RTLD_GLOBAL) : NULL;
    snprintf(name, sizeof name, "libpython%s.so.1.0", at->version);
    return opened != NULL ? opened : dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
}

/* Leaves out what Python does for people when it starts (driver/late_site.py). False if it cannot be left out. */
static bool start_without_site(void *libpython) {
    int *no_site = dlsym(libpython, "Py_NoSiteFlag");
    if (no_site != NULL)
        *no_site = 1;
    return no_site != NULL;
}

/* Opens a libpython for an interpreter beside the one that the process has. Its extension modules need some
 * preparation (driver/isolated.py), so nothing may import one before, as `site` might. */
static void *open_second_libpython(const gs_settings *at) {
    void *opened = asked_to_share || at->libpython[0] == 0 ? NULL : gs_open_isolated(at->libpython, GS_DRIVER_SONAME);
    return opened != NULL && start_without_site(opened) ? opened : NULL;
}

/* Whoever first imports `signal`, as `subprocess` does, gives SIGINT a handler of Python's, and Ctrl-C would no longer end a
 * program in C. So it is imported here, and the program keeps the handler that it has. */
static void keep_signal_handlers(void) {
    struct sigaction before;
    bool is_known = sigaction(SIGINT, NULL, &before) == 0;
    gs_python.PyRun_SimpleString("import _signal");
    if (is_known)
        sigaction(SIGINT, &before, NULL);
}

/* OpenSSL frees what it has when a process ends, and takes its locks for that. In a child that was forked while another
 * thread held one, `exit` would never return. Python has digests of its own, which it uses where there is no OpenSSL. */
static void leave_openssl_out(void) {
    gs_python.PyRun_SimpleString("import sys; sys.modules['_hashlib'] = None; del sys");
}

/* PYTHONHOME and PYTHONPATH of the program's environment are for some other Python: they are not read. */
static void start_interpreter(const gs_settings *at, void *libpython) {
    int *ignore_environment = dlsym(libpython, "Py_IgnoreEnvironmentFlag");
    if (ignore_environment != NULL)
        *ignore_environment = 1;
    start_without_site(libpython);
    if (gs_python.Py_SetProgramName != NULL && at->executable[0] != 0) {
        wchar_t *name = gs_python.Py_DecodeLocale(at->executable, NULL);
        if (name != NULL)
            gs_python.Py_SetProgramName(name); /* Python keeps the pointer */
    }
    gs_python.Py_InitializeEx(0);
    gs_python_collect_garbage(false);
    keep_signal_handlers();
    leave_openssl_out();
    gs_python.PyEval_SaveThread();
}

/* The Python that the process runs already: the handle to look its functions up with, or NULL. It may be
 * in the program itself, in a library all can see, or in one that only its opener sees. */
static void *running_python(const gs_settings *at) {
    char name[64];
    snprintf(name, sizeof name, "libpython%s.so.1.0", at->version);
    void *places[] = {RTLD_DEFAULT, dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL)};
    for (size_t each = 0; each < sizeof places / sizeof *places; each++) {
        int (*is_initialised)(void) = NULL;
        if (each == 0 || places[each] != NULL)
            *(void **)&is_initialised = dlsym(places[each], "Py_IsInitialized");
        if (is_initialised != NULL && is_initialised())
            return each == 0 ? dlopen(NULL, RTLD_LAZY) : places[each];
    }
    return NULL;
}

/* A Python in which nothing runs yet, because the driver is asked before the program's main: by a profiler that is loaded
 * first (LD_PRELOAD). What the program is about to start is not ours to start; or NULL. */
static void *python_to_come(void) {
    int (*is_initialised)(void);
    *(void **)&is_initialised = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    return is_initialised != NULL && !has_opened_libpython ? dlopen(NULL, RTLD_LAZY) : NULL;
}

static ze_result_t check_version(const gs_settings *at, void *libpython) {
    const char *(*get_version)(void);
    *(void **)&get_version = dlsym(libpython, "Py_GetVersion");
    const char *running = get_version != NULL ? get_version() : "without a version";
    size_t length = strlen(at->version);
    if (length == 0) /* nothing says which Python the package was installed for */
        return ZE_RESULT_SUCCESS;
    if (strncmp(running, at->version, length) == 0 && running[length] == '.')
        return ZE_RESULT_SUCCESS;
    return gs_python_refuse(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
                  "this process runs Python %.*s, but the driver %s was installed for Python %s; install "
                  "groundstate into that Python too (pip install groundstate) and use its library",
                  (int)strcspn(running, " "), running, at->library, at->version);
}

/* Python ends the process if it finds too little while it starts. */
static ze_result_t check_room(void) {
    if (!gs_memory_is_available(START_BYTES))
        return gs_python_refuse_out_of_memory();
    if (gs_files_are_available(START_FILES))
        return ZE_RESULT_SUCCESS;
    return gs_python_refuse(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "there are too few files to start the driver's Python; %s",
                  GS_ADVICE_ON_FILES);
}

/* Why libpython could not be opened: it is not there, or there was no room for it. */
static ze_result_t refuse_libpython(const gs_settings *at) {
    const char *reason = dlerror();
    const char *advice;
    int number = reason != NULL ? gs_errno_in(reason) : 0;
    if (number != 0)
        return gs_python_refuse(gs_result_of_errno(number, &advice), "libpython cannot be opened: %s; %s", reason, advice);
    return gs_python_refuse(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
                  "no libpython%s.so to run the driver with; install it (Debian: apt install libpython%s)", at->version,
                  at->version);
}

ze_result_t gs_python_find(const gs_settings *at) {
    if (has_interpreter)
        return ZE_RESULT_SUCCESS;
    ze_result_t result = check_room();
    if (result != ZE_RESULT_SUCCESS)
        return result;
    void *running = running_python(at), *host = running != NULL ? running : python_to_come();
    void *libpython = host != NULL ? open_second_libpython(at) : NULL;
    if (libpython == NULL && running == NULL) {
        host = NULL; /* no copy can be had: go on as in a program without Python */
        libpython = open_libpython(at);
    }
    is_hosted = host != NULL;
    knows_host = is_hosted && look_up(&gs_host_python, host);
    host_library = host;
    gs_python_is_shared = running != NULL && libpython == NULL;
    if (gs_python_is_shared)
        libpython = running;
    if (libpython == NULL)
        return refuse_libpython(at);
    result = check_version(at, libpython);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (!look_up(&gs_python, libpython))
        return gs_python_refuse(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, "this Python %s lacks functions that the driver needs",
                      at->version);
    result = check_room(); /* libpython has taken some */
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (!gs_python_is_shared)
        start_interpreter(at, libpython);
    has_interpreter = true;
    return ZE_RESULT_SUCCESS;
}

/* For `groundstate doctor`: the libpython that a program without Python would run the driver with. */
GS_EXPORT void gs_libpython(char *path, size_t size);
void gs_libpython(char *path, size_t size) {
    gs_settings at;
    gs_find_settings(&at);
    if (at.libpython[0] != 0)
        snprintf(path, size, "%s", at.libpython);
    else
        snprintf(path, size, "libpython%s.so.1.0", at.version);
}

/* For the bindings of this package: an interpreter of our own would only cost time. */
__attribute__((visibility("default"))) void gs_share_python(void);
void gs_share_python(void) { asked_to_share = true; }

bool gs_python_knows_host(void) { return knows_host; }
void *gs_python_host_library(void) { return host_library; }
bool gs_process_is_python(void) { return is_hosted; }
