/* The interpreter inside the driver.
 *
 * It loads the libpython of the Python that the package is installed in (settings.h), and starts an interpreter that
 * belongs to the driver. If the process runs Python already, that is a second one, apart from the first: code
 * that calls the driver from one thread while another waits for it with Python's lock would wait for ever.
 * Only a program that uses the bindings of this package, which release that lock, shares its interpreter
 * (gs_share_python), and so does one for which there is no libpython to copy. All Python functions are looked
 * up at run time, so the library itself depends on no libpython. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include "apart.h"
#include "door.h"
#include "fork.h"
#include "guest.h"
#include "lock.h"
#include "python_api.h"
#include "settings.h"
#include "start_text.h"
#include "wait.h"

/* Every function of the Python C API that is used here. */
#define PYTHON_API(X)                                                          \
    GS_PYTHON_API(X)                                                           \
    X(int, Py_IsInitialized, (void))                                           \
    X(const char *, Py_GetVersion, (void))                                     \
    X(PyObject *, PyObject_Str, (PyObject *))                                  \
    X(PyObject *, PyObject_Repr, (PyObject *))                                 \
    X(const char *, PyUnicode_AsUTF8, (PyObject *))                            \
    X(PyObject *, PyDict_GetItemString, (PyObject *, const char *))            \
    X(PyObject *, PyFloat_FromDouble, (double))                                \
    X(PyObject *, PyErr_Occurred, (void))                                      \
    X(void, PyErr_Clear, (void))                                               \
    X(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **))              \
    X(void, PyErr_NormalizeException, (PyObject **, PyObject **, PyObject **)) \
    X(void, PyErr_Restore, (PyObject *, PyObject *, PyObject *))               \
    X(int, PyErr_GivenExceptionMatches, (PyObject *, PyObject *))              \
    X(int, PyErr_CheckSignals, (void))                                         \
    X(int, Py_AddPendingCall, (int (*)(void *), void *))

typedef struct api {
    PYTHON_API(GS_PYTHON_POINTER)
    void (*Py_SetProgramName)(const wchar_t *); /* gone in some future version */
    int (*PyGC_Disable)(void), (*PyGC_Enable)(void);
    int (*PyGILState_Check)(void);
    int (*is_finalizing)(void);                 /* Py_IsFinalizing or its older private name */
    PyObject *none;
    PyObject **interrupt; /* KeyboardInterrupt */
} api;

static api python; /* the interpreter that runs the driver */
static api host;   /* the one of the process, if it is Python; often the same */

GS_STATIC_LOCK(start_lock, GS_LONG_LOCK)
static _Atomic bool started, initialised, sysman_initialised;
static bool hosted; /* the process was Python before we came */
static bool shared; /* and its interpreter runs the driver */
static bool knows_host;
static _Atomic bool asked_to_share;
static ze_result_t start_failure;
static char start_failure_text[512];
static PyObject *handlers[GS_FN_COUNT];

/* --- Entering Python ------------------------------------------------------------------------------- */

typedef struct visit {
    int state;
    PyObject *type, *value, *trace; /* what the caller was raising */
} visit;

static int visits;           /* under way, on all threads; counted under Python's lock */
static bool was_collecting;

/* The threads on their way into Python, in it or on their way out, and how often this one is among them: for fork.c. */
GS_STATIC_LOCK(visitors_lock, GS_SHORT_LOCK)
static int visitors;
static _Thread_local int own_visits;

static void count_visitor(int change) {
    gs_lock(&visitors_lock);
    visitors += change;
    gs_unlock(&visitors_lock);
    own_visits += change;
}

/* In a program that shares its interpreter, other threads of it may be in Python, unless this one is. */
bool gs_python_is_at_rest(void) { return visitors == own_visits && (!shared || gs_holds_python()); }

void gs_python_abandon(void) {
    visitors = own_visits;
    started = false; /* so that no handler is called */
    if (shared && was_collecting && visits > 0 && python.PyGC_Enable != NULL && python.PyGILState_Check())
        python.PyGC_Enable();
}


/* Takes Python's lock. In a process that is Python, its garbage collector rests meanwhile: it would run
 * destructors of the program inside of this call, and some of them wait for locks that the caller holds. */
static visit enter_python(void) {
    gs_may_wait("Python");
    count_visitor(1);
    visit here = {.state = python.PyGILState_Ensure()};
    if (shared && visits++ == 0)
        was_collecting = python.PyGC_Disable != NULL && python.PyGC_Disable() == 1;
    python.PyErr_Fetch(&here.type, &here.value, &here.trace);
    return here;
}

static void leave_python(visit here) {
    python.PyErr_Restore(here.type, here.value, here.trace);
    if (shared && --visits == 0 && was_collecting && python.PyGC_Enable != NULL)
        python.PyGC_Enable();
    python.PyGILState_Release(here.state);
    count_visitor(-1);
}

/* --- Exceptions of the program ------------------------------------------------------------------------- */

typedef struct exception {
    PyObject *type, *value, *trace;
} exception;

static int raise_again(void *argument) {
    exception *raised = argument;
    host.PyErr_Restore(raised->type, raised->value, raised->trace);
    free(raised);
    return -1;
}

/* Lets an exception wait until the call that it came in has returned to the program. */
static void raise_later(exception raised) {
    exception *kept = malloc(sizeof *kept);
    if (kept == NULL)
        return;
    *kept = raised;
    host.Py_AddPendingCall(raise_again, kept);
}

/* --- Starting -------------------------------------------------------------------------------------- */

static ze_result_t refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
static ze_result_t refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(start_failure_text, sizeof start_failure_text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "groundstate: %s\n", start_failure_text);
    return gs_fail(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, "%s", start_failure_text);
}

static bool look_up(api *to, void *from) {
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
    return complete && to->none != NULL && to->interrupt != NULL;
}

static bool is_usable(const api *interpreter) {
    return interpreter->Py_IsInitialized() &&
           (interpreter->is_finalizing == NULL || !interpreter->is_finalizing());
}

/* An interpreter that has ended says yes to everybody: so it is asked before it is looked at. */
bool gs_holds_python(void) {
    return started && python.PyGILState_Check != NULL && python.PyGILState_Check() && is_usable(&python);
}

/* Opens libpython so that extension modules find its symbols too. */
static void *open_libpython(const gs_settings *at) {
    char name[64];
    void *opened = at->libpython[0] != 0 ? dlopen(at->libpython, RTLD_LAZY | RTLD_GLOBAL) : NULL;
    snprintf(name, sizeof name, "libpython%s.so.1.0", at->version);
    return opened != NULL ? opened : dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
}

/* Opens a libpython for an interpreter beside the one that the process has. Its extension modules need some
 * preparation (driver/apart.py), so nothing may import one before: Py_NoSiteFlag is for that. */
static void *open_second_libpython(const gs_settings *at) {
    void *opened = asked_to_share || at->libpython[0] == 0 ? NULL : gs_open_apart(at->libpython, GS_DRIVER_APART);
    int *no_site = opened != NULL ? dlsym(opened, "Py_NoSiteFlag") : NULL;
    if (no_site != NULL)
        *no_site = 1;
    return no_site != NULL ? opened : NULL;
}

/* PYTHONHOME and PYTHONPATH of the program's environment are for some other Python: they are not read. */
static void start_interpreter(const gs_settings *at, void *libpython) {
    int *ignore_environment = dlsym(libpython, "Py_IgnoreEnvironmentFlag");
    if (ignore_environment != NULL)
        *ignore_environment = 1;
    if (python.Py_SetProgramName != NULL && at->executable[0] != 0) {
        wchar_t *name = python.Py_DecodeLocale(at->executable, NULL);
        if (name != NULL)
            python.Py_SetProgramName(name); /* Python keeps the pointer */
    }
    python.Py_InitializeEx(0);
    python.PyEval_SaveThread();
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

static ze_result_t check_version(const gs_settings *at, void *libpython) {
    const char *(*get_version)(void);
    *(void **)&get_version = dlsym(libpython, "Py_GetVersion");
    const char *running = get_version != NULL ? get_version() : "without a version";
    size_t length = strlen(at->version);
    if (length == 0) /* nothing says which Python the package was installed for */
        return ZE_RESULT_SUCCESS;
    if (strncmp(running, at->version, length) == 0 && running[length] == '.')
        return ZE_RESULT_SUCCESS;
    return refuse("this process runs Python %.*s, but the driver %s was installed for Python %s; install "
                  "groundstate into that Python too (pip install groundstate) and use its library",
                  (int)strcspn(running, " "), running, at->library, at->version);
}

/* Makes an interpreter usable: a new one, or the process's own. */
static ze_result_t find_interpreter(const gs_settings *at) {
    void *running = running_python(at);
    hosted = running != NULL;
    knows_host = hosted && look_up(&host, running);
    void *libpython = running != NULL ? open_second_libpython(at) : open_libpython(at);
    shared = running != NULL && libpython == NULL;
    if (shared)
        libpython = running;
    if (libpython == NULL)
        return refuse("no libpython%s.so to run the driver with; install it (Debian: apt install libpython%s)",
                      at->version, at->version);
    ze_result_t result = check_version(at, libpython);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (!look_up(&python, libpython))
        return refuse("this Python %s lacks functions that the driver needs", at->version);
    if (!shared)
        start_interpreter(at, libpython);
    return ZE_RESULT_SUCCESS;
}

/* Clears the current Python exception and says what it means. A Failure of driver/api.py carries the result
 * to answer; anything else is a fault of the driver. */
static ze_result_t explain_exception(char *text, size_t size) {
    PyObject *type, *value, *trace;
    ze_result_t result = ZE_RESULT_ERROR_UNKNOWN;
    python.PyErr_Fetch(&type, &value, &trace);
    python.PyErr_NormalizeException(&type, &value, &trace);
    if (shared && python.PyErr_GivenExceptionMatches(type, *python.interrupt)) {
        snprintf(text, size, "interrupted");
        raise_later((exception){type, value, trace});
        return result;
    }
    PyObject *answer = python.PyObject_GetAttrString(value, "result");
    if (answer != NULL)
        result = (ze_result_t)python.PyLong_AsUnsignedLongLongMask(answer);
    else
        python.PyErr_Clear(); /* the exception has no such attribute: it is not a Failure */
    PyObject *string = answer != NULL ? python.PyObject_Str(value) : python.PyObject_Repr(value);
    const char *utf8 = string != NULL ? python.PyUnicode_AsUTF8(string) : NULL;
    snprintf(text, size, "%s", utf8 != NULL ? utf8 : "an exception that cannot be shown");
    python.PyErr_Clear();
    python.Py_DecRef(answer);
    python.Py_DecRef(string);
    python.Py_DecRef(type);
    python.Py_DecRef(value);
    python.Py_DecRef(trace);
    return result;
}

static PyObject *call_start(const char *definition, int count, const char *const *texts) {
    if (python.PyRun_SimpleString(definition) != 0)
        return NULL;
    PyObject *main = python.PyImport_AddModule("__main__");
    PyObject *start = python.PyObject_GetAttrString(main, "_groundstate_start");
    PyObject *arguments = python.PyTuple_New(count);
    for (int each = 0; each < count; each++)
        python.PyTuple_SetItem(arguments, each, python.PyUnicode_FromString(texts[each]));
    PyObject *table = python.PyObject_Call(start, arguments, NULL);
    python.Py_DecRef(arguments);
    python.Py_DecRef(start);
    python.PyRun_SimpleString("del _groundstate_start");
    return table;
}

/* Whether Ctrl-C came while the driver's Python ran: it is the program's. */
static bool is_interrupted(void) {
    PyObject *type = shared ? python.PyErr_Occurred() : NULL;
    return type != NULL && python.PyErr_GivenExceptionMatches(type, *python.interrupt);
}

/* `interrupted` says that the program got a Ctrl-C meanwhile, and that the next call should try again. */
static ze_result_t load_handlers(const gs_settings *at, bool *interrupted) {
    visit here = enter_python();
    const char *texts[] = {at->library, at->root, at->site, hosted && !shared ? "apart" : ""};
    PyObject *table = call_start(START, 4, texts);
    ze_result_t result = ZE_RESULT_SUCCESS;
    char text[400] = "an unknown error";
    if (table == NULL) {
        *interrupted = is_interrupted();
        if (python.PyErr_Occurred() != NULL)
            result = explain_exception(text, sizeof text);
    }
    for (int each = 0; table != NULL && each < GS_FN_COUNT; each++)
        handlers[each] = python.PyDict_GetItemString(table, gs_function_names[each]); /* the table lives on */
    leave_python(here);
    if (table == NULL && !*interrupted)
        result = refuse("the driver's Python half did not start: %s", text);
    return result;
}

/* Starts Python once. A failure is final, and told again to whoever asks; a Ctrl-C is not. */
static ze_result_t start(enum gs_function function) {
    if (started)
        return ZE_RESULT_SUCCESS;
    if (gs_is_abandoned())
        return gs_fail_abandoned(function);
    bool interrupted = false;
    gs_lock(&start_lock);
    if (!started && start_failure == ZE_RESULT_SUCCESS) {
        gs_settings at;
        gs_find_settings(&at);
        start_failure = find_interpreter(&at);
        if (start_failure == ZE_RESULT_SUCCESS)
            start_failure = load_handlers(&at, &interrupted);
        started = start_failure == ZE_RESULT_SUCCESS;
        if (interrupted)
            start_failure = ZE_RESULT_SUCCESS;
    }
    gs_unlock(&start_lock);
    if (interrupted)
        return gs_fail(ZE_RESULT_ERROR_UNKNOWN, "interrupted while the driver started");
    return started ? ZE_RESULT_SUCCESS : gs_fail(start_failure, "%s", start_failure_text);
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

bool gs_is_initialised(void) { return initialised; }
bool gs_is_sysman_initialised(void) { return initialised || sysman_initialised; }
bool gs_process_is_python(void) { return hosted; }

/* --- Calling handlers ------------------------------------------------------------------------------ */

static PyObject *pack(const char *types, const gs_word *arguments) {
    size_t count = strlen(types);
    PyObject *tuple = python.PyTuple_New((intptr_t)count);
    for (size_t each = 0; each < count; each++) {
        PyObject *item = types[each] == 'd'   ? python.PyFloat_FromDouble(arguments[each].d)
                         : types[each] == 'i' ? python.PyLong_FromLongLong(arguments[each].i)
                                              : python.PyLong_FromUnsignedLongLong(arguments[each].u);
        python.PyTuple_SetItem(tuple, (intptr_t)each, item);
    }
    return tuple;
}

/* False if there is no handler to call, or no longer an interpreter to call it in. */
static bool can_call(enum gs_function function, ze_result_t *result) {
    const char *name = gs_function_names[function];
    if (!started) {
        *result = gs_fail_uninitialised(function);
        return false;
    }
    if (handlers[function] == NULL) {
        *result = gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "%s is not implemented by this driver", name);
        return false;
    }
    if (!is_usable(&python)) {
        *result = gs_fail(ZE_RESULT_ERROR_UNINITIALIZED, "%s: the process's Python has ended", name);
        return false;
    }
    return true;
}

/* Calls any handler; text says what went wrong. */
static ze_result_t call_handler(PyObject *handler, const char *types, const gs_word *arguments, uint64_t *value,
                                char *text, size_t size) {
    visit here = enter_python();
    PyObject *tuple = pack(types, arguments);
    PyObject *returned = python.PyObject_Call(handler, tuple, NULL);
    ze_result_t result = ZE_RESULT_SUCCESS;
    python.Py_DecRef(tuple);
    if (returned == NULL) {
        result = explain_exception(text, size);
    } else {
        *value = returned == python.none ? 0 : python.PyLong_AsUnsignedLongLongMask(returned);
        python.Py_DecRef(returned);
    }
    leave_python(here);
    return result;
}

static ze_result_t call(enum gs_function function, const char *types, const gs_word *arguments, uint64_t *value) {
    ze_result_t result;
    if (!can_call(function, &result))
        return result;
    char text[900];
    result = call_handler(handlers[function], types, arguments, value, text, sizeof text);
    return result == ZE_RESULT_SUCCESS ? result : gs_fail(result, "%s: %s", gs_function_names[function], text);
}

ze_result_t gs_call_python(enum gs_function function, const char *types, const gs_word *arguments) {
    uint64_t value = 0;
    ze_result_t result = call(function, types, arguments, &value);
    return result == ZE_RESULT_SUCCESS ? (ze_result_t)value : result;
}

uint64_t gs_call_python_value(enum gs_function function, const char *types, const gs_word *arguments) {
    uint64_t value = 0;
    call(function, types, arguments, &value);
    return value;
}

/* --- Guests: see guest.h --------------------------------------------------------------------------- */

int gs_guest_start(const char *module, const char *library, const char *const *names, int count, void **found,
                   char *text, size_t size) {
    ze_result_t result = start(GS_FN_zeInit);
    if (result != ZE_RESULT_SUCCESS) {
        snprintf(text, size, "%s", gs_last_error_text());
        return (int)result;
    }
    visit here = enter_python();
    PyObject *table = call_start(START_GUEST, 2, (const char *const[]){module, library});
    if (table == NULL) {
        snprintf(text, size, "%s cannot be imported", module);
        result = ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
        if (python.PyErr_Occurred() != NULL)
            explain_exception(text, size);
    }
    for (int each = 0; table != NULL && each < count; each++)
        found[each] = python.PyDict_GetItemString(table, names[each]); /* the table lives on */
    leave_python(here);
    return (int)result;
}

int gs_guest_call(void *handler, const char *types, const gs_word *arguments, uint64_t *value, char *text,
                  size_t size) {
    if (gs_is_abandoned())
        snprintf(text, size, "the process was forked while the driver was at work");
    else if (is_usable(&python))
        return (int)call_handler(handler, types, arguments, value, text, size);
    else
        snprintf(text, size, "the process's Python has ended");
    return (int)(gs_is_abandoned() ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_ERROR_UNINITIALIZED);
}

/* --- Ctrl-C ---------------------------------------------------------------------------------------- */

/* Lets a hosting Python run its signal handlers, which it does on its main thread only. If one raises (KeyboardInterrupt), the exception is set
 * aside until the call that waits has returned to Python, which it now should. */
bool gs_python_interrupt(void) {
    if (!knows_host || !started || syscall(SYS_gettid) != getpid() || !is_usable(&host))
        return false;
    int state = host.PyGILState_Ensure();
    bool interrupted = host.PyErr_CheckSignals() != 0;
    if (interrupted) {
        exception raised;
        host.PyErr_Fetch(&raised.type, &raised.value, &raised.trace);
        raise_later(raised);
    }
    host.PyGILState_Release(state);
    return interrupted;
}

/* --- The functions that start it all --------------------------------------------------------------- */

ze_result_t gs_zeInit(ze_init_flags_t flags) {
    ze_result_t result = start(GS_FN_zeInit);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_call_python(GS_FN_zeInit, "u", (const gs_word[]){{.u = flags}});
    if (result == ZE_RESULT_SUCCESS)
        initialised = true;
    return result;
}

ze_result_t gs_zeInitDrivers(uint32_t *pCount, ze_driver_handle_t *phDrivers, ze_init_driver_type_desc_t *desc) {
    ze_result_t result = start(GS_FN_zeInitDrivers);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_call_python(GS_FN_zeInitDrivers, "uuu",
                                (const gs_word[]){{.p = pCount}, {.p = phDrivers}, {.p = desc}});
    if (result == ZE_RESULT_SUCCESS)
        initialised = true;
    return result;
}

ze_result_t gs_zesInit(zes_init_flags_t flags) {
    ze_result_t result = start(GS_FN_zesInit);
    if (result == ZE_RESULT_SUCCESS)
        result = gs_call_python(GS_FN_zesInit, "u", (const gs_word[]){{.u = flags}});
    if (result == ZE_RESULT_SUCCESS)
        sysman_initialised = true;
    return result;
}
