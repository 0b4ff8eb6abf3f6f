/* The interpreter inside the driver.
 *
 * It loads the libpython of the Python that the package is installed in (settings.h), and starts an interpreter that
 * belongs to the driver. If the process runs Python already, that is a second one, isolated from the first: code
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

#include "abi/abi.h"
#include "memory/resources.h"
#include "python/bootstrap.h"
#include "python/embedded.h"
#include "python/isolated_library.h"
#include "python/python_api.h"
#include "python/settings.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/wait.h"

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
    X(void *, PyGILState_GetThisThreadState, (void))                           \
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
    PyObject **out_of_memory, **system_error, **import_error; /* MemoryError, OSError, ImportError */
} api;

static api python; /* the interpreter that runs the driver */
static api host;   /* the one of the process, if it is Python; often the same */

GS_STATIC_LOCK(start_lock, GS_LONG_LOCK)
static _Atomic bool started, initialised, sysman_initialised;
static bool has_interpreter;
static bool hosted; /* the process was Python before we came */
static bool shared; /* and its interpreter runs the driver */
static bool knows_host;
static _Atomic bool asked_to_share;
static ze_result_t start_failure;
static char start_failure_text[512];
static PyObject *handlers[GS_FN_COUNT];

/* --- Entering Python ------------------------------------------------------------------------------- */

typedef struct python_entry {
    int state;
    PyObject *type, *value, *trace; /* what the caller was raising */
} python_entry;

/* More than Python allocates for a thread that calls it, and than it maps when it starts. */
static const size_t ENTRY_BYTES = 64 << 10, START_BYTES = 32 << 20;
enum { START_FILES = 8 }; /* more than it has open at once when it starts */

static int gil_holders;           /* under way, on all threads; counted under Python's lock */
static bool was_collecting;

/* The threads on their way into Python, in it or on their way out, and how often this one is among them: for fork.c. */
GS_STATIC_LOCK(entries_lock, GS_SHORT_LOCK)
static int entries;
static _Thread_local int own_entries;

static void count_entry(int change) {
    gs_lock(&entries_lock);
    entries += change;
    gs_unlock(&entries_lock);
    own_entries += change;
}

/* In a program that shares its interpreter, other threads of it may be in Python, unless this one is. */
bool gs_python_is_at_rest(void) { return entries == own_entries && (!shared || gs_holds_python()); }

void gs_python_abandon(void) {
    entries = own_entries;
    started = false; /* so that no handler is called */
    if (shared && was_collecting && gil_holders > 0 && python.PyGC_Enable != NULL && python.PyGILState_Check())
        python.PyGC_Enable();
}

/* Python ends the process if there is no memory to make a thread known to it. */
static bool can_enter(void) {
    if (python.PyGILState_GetThisThreadState() != NULL)
        return true;
    void *memory = malloc(ENTRY_BYTES);
    free(memory);
    return memory != NULL;
}

/* Takes Python's lock; false if there is no memory to. In a process that is Python, its garbage collector rests
 * meanwhile: it would run destructors of the program inside of this call, and some of them wait for locks that the
 * caller holds. */
static bool enter_python(python_entry *here) {
    gs_may_wait("Python");
    count_entry(1);
    if (!can_enter()) {
        count_entry(-1);
        return false;
    }
    here->state = python.PyGILState_Ensure();
    if (shared && gil_holders++ == 0)
        was_collecting = python.PyGC_Disable != NULL && python.PyGC_Disable() == 1;
    python.PyErr_Fetch(&here->type, &here->value, &here->trace);
    return true;
}

static void leave_python(python_entry here) {
    python.PyErr_Restore(here.type, here.value, here.trace);
    if (shared && --gil_holders == 0 && was_collecting && python.PyGC_Enable != NULL)
        python.PyGC_Enable();
    python.PyGILState_Release(here.state);
    count_entry(-1);
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
    if (kept != NULL) {
        *kept = raised;
        if (host.Py_AddPendingCall(raise_again, kept) == 0)
            return;
    }
    free(kept);
    host.Py_DecRef(raised.type);
    host.Py_DecRef(raised.value);
    host.Py_DecRef(raised.trace);
}

/* --- Starting -------------------------------------------------------------------------------------- */

static ze_result_t refuse(ze_result_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
static ze_result_t refuse(ze_result_t result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(start_failure_text, sizeof start_failure_text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "groundstate: %s\n", start_failure_text);
    return gs_fail(result, "%s", start_failure_text);
}

static ze_result_t refuse_out_of_memory(void) {
    return refuse(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "there is not enough memory to start the driver's Python; %s",
                  GS_ADVICE_ON_MEMORY);
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
    to->out_of_memory = dlsym(from, "PyExc_MemoryError");
    to->system_error = dlsym(from, "PyExc_OSError");
    to->import_error = dlsym(from, "PyExc_ImportError");
    return complete && to->none != NULL && to->interrupt != NULL && to->out_of_memory != NULL &&
           to->system_error != NULL && to->import_error != NULL;
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
 * preparation (driver/isolated.py), so nothing may import one before: Py_NoSiteFlag is for that. */
static void *open_second_libpython(const gs_settings *at) {
    void *opened = asked_to_share || at->libpython[0] == 0 ? NULL : gs_open_isolated(at->libpython, GS_DRIVER_SONAME);
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
    return refuse(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
                  "this process runs Python %.*s, but the driver %s was installed for Python %s; install "
                  "groundstate into that Python too (pip install groundstate) and use its library",
                  (int)strcspn(running, " "), running, at->library, at->version);
}

/* Python ends the process if it finds too little while it starts. */
static ze_result_t check_room(void) {
    if (!gs_memory_is_available(START_BYTES))
        return refuse_out_of_memory();
    if (gs_files_are_available(START_FILES))
        return ZE_RESULT_SUCCESS;
    return refuse(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "there are too few files to start the driver's Python; %s",
                  GS_ADVICE_ON_FILES);
}

/* Why libpython could not be opened: it is not there, or there was no room for it. */
static ze_result_t refuse_libpython(const gs_settings *at) {
    const char *reason = dlerror();
    const char *advice;
    int number = reason != NULL ? gs_errno_in(reason) : 0;
    if (number != 0)
        return refuse(gs_result_of_errno(number, &advice), "libpython cannot be opened: %s; %s", reason, advice);
    return refuse(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
                  "no libpython%s.so to run the driver with; install it (Debian: apt install libpython%s)", at->version,
                  at->version);
}

/* Makes an interpreter usable: a new one, or the process's own. */
static ze_result_t find_interpreter(const gs_settings *at) {
    if (has_interpreter)
        return ZE_RESULT_SUCCESS;
    ze_result_t result = check_room();
    if (result != ZE_RESULT_SUCCESS)
        return result;
    void *running = running_python(at);
    hosted = running != NULL;
    knows_host = hosted && look_up(&host, running);
    void *libpython = running != NULL ? open_second_libpython(at) : open_libpython(at);
    shared = running != NULL && libpython == NULL;
    if (shared)
        libpython = running;
    if (libpython == NULL)
        return refuse_libpython(at);
    result = check_version(at, libpython);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (!look_up(&python, libpython))
        return refuse(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, "this Python %s lacks functions that the driver needs",
                      at->version);
    result = check_room(); /* libpython has taken some */
    if (result != ZE_RESULT_SUCCESS)
        return result;
    if (!shared)
        start_interpreter(at, libpython);
    has_interpreter = true;
    return ZE_RESULT_SUCCESS;
}

/* --- Exceptions of the driver ---------------------------------------------------------------------------- */

static bool matches(PyObject *type, PyObject **wanted) {
    return type != NULL && python.PyErr_GivenExceptionMatches(type, *wanted);
}

static int errno_of(PyObject *exception) {
    PyObject *number = python.PyObject_GetAttrString(exception, "errno");
    int found = number != NULL && number != python.none ? (int)python.PyLong_AsUnsignedLongLongMask(number) : 0;
    python.PyErr_Clear();
    python.Py_DecRef(number);
    return found;
}

/* What an exception that is no Failure answers. Only a fault of the driver itself is unknown. */
static ze_result_t classify(PyObject *type, PyObject *value, const char *text, const char **advice) {
    *advice = GS_ADVICE_ON_MEMORY;
    if (matches(type, python.out_of_memory))
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    bool is_of_system = matches(type, python.system_error);
    if (!is_of_system && !matches(type, python.import_error)) {
        *advice = NULL;
        return ZE_RESULT_ERROR_UNKNOWN;
    }
    int number = is_of_system ? errno_of(value) : 0;
    return gs_result_of_errno(number != 0 ? number : gs_errno_in(text), advice);
}

static void write_words(PyObject *string, char *text, size_t size) {
    const char *utf8 = string != NULL ? python.PyUnicode_AsUTF8(string) : NULL;
    snprintf(text, size, "%s", utf8 != NULL ? utf8 : "an exception that cannot be shown");
    python.PyErr_Clear();
    python.Py_DecRef(string);
}

/* Says what an exception means that carries no result. */
static ze_result_t explain_other(PyObject *type, PyObject *value, char *text, size_t size) {
    const char *advice;
    write_words(python.PyObject_Str(value), text, size);
    ze_result_t result = classify(type, value, text, &advice);
    if (advice == NULL) {
        write_words(python.PyObject_Repr(value), text, size);
        return result;
    }
    if (text[0] == 0)
        snprintf(text, size, "there is no memory");
    size_t length = strlen(text);
    snprintf(text + length, size - length, "; %s", advice);
    return result;
}

/* Clears the current Python exception and says what it means. A Failure of driver/api.py carries the result
 * to answer. */
static ze_result_t explain_exception(char *text, size_t size) {
    PyObject *type, *value, *trace;
    python.PyErr_Fetch(&type, &value, &trace);
    python.PyErr_NormalizeException(&type, &value, &trace);
    if (shared && matches(type, python.interrupt)) {
        snprintf(text, size, "interrupted");
        raise_later((exception){type, value, trace});
        return ZE_RESULT_ERROR_UNKNOWN;
    }
    ze_result_t result;
    PyObject *answer = python.PyObject_GetAttrString(value, "result");
    if (answer != NULL) {
        result = (ze_result_t)python.PyLong_AsUnsignedLongLongMask(answer);
        write_words(python.PyObject_Str(value), text, size);
    } else {
        python.PyErr_Clear(); /* the exception has no such attribute: it is not a Failure */
        result = explain_other(type, value, text, size);
    }
    python.Py_DecRef(answer);
    python.Py_DecRef(type);
    python.Py_DecRef(value);
    python.Py_DecRef(trace);
    return result;
}

/* A tuple of strings, or NULL. */
static PyObject *pack_texts(int count, const char *const *texts) {
    PyObject *tuple = python.PyTuple_New(count);
    for (int each = 0; tuple != NULL && each < count; each++) {
        PyObject *text = python.PyUnicode_FromString(texts[each]);
        if (text != NULL) {
            python.PyTuple_SetItem(tuple, each, text);
        } else {
            python.Py_DecRef(tuple);
            tuple = NULL;
        }
    }
    return tuple;
}

static PyObject *call_start(const char *definition, int count, const char *const *texts) {
    if (python.PyRun_SimpleString(definition) != 0)
        return NULL;
    PyObject *main = python.PyImport_AddModule("__main__");
    PyObject *start = main != NULL ? python.PyObject_GetAttrString(main, "_groundstate_start") : NULL;
    PyObject *arguments = start != NULL ? pack_texts(count, texts) : NULL;
    PyObject *table = arguments != NULL ? python.PyObject_Call(start, arguments, NULL) : NULL;
    exception raised;
    python.PyErr_Fetch(&raised.type, &raised.value, &raised.trace);
    python.Py_DecRef(arguments);
    python.Py_DecRef(start);
    python.PyRun_SimpleString("del _groundstate_start");
    python.PyErr_Restore(raised.type, raised.value, raised.trace);
    return table;
}

/* Whether Ctrl-C came while the driver's Python ran: it is the program's. */
static bool is_interrupted(void) {
    PyObject *type = shared ? python.PyErr_Occurred() : NULL;
    return type != NULL && python.PyErr_GivenExceptionMatches(type, *python.interrupt);
}

/* `interrupted` says that the program got a Ctrl-C meanwhile, and that the next call should try again. */
static ze_result_t load_handlers(const gs_settings *at, bool *interrupted) {
    python_entry here;
    if (!enter_python(&here))
        return refuse_out_of_memory();
    const char *texts[] = {at->library, at->root, at->site, hosted && !shared ? "isolated" : ""};
    PyObject *table = call_start(START, 4, texts);
    ze_result_t result = ZE_RESULT_SUCCESS;
    char text[400] = "there is no memory";
    if (table == NULL) {
        *interrupted = is_interrupted();
        result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        if (python.PyErr_Occurred() != NULL)
            result = explain_exception(text, sizeof text);
    }
    for (int each = 0; table != NULL && each < GS_FN_COUNT; each++)
        handlers[each] = python.PyDict_GetItemString(table, gs_function_names[each]); /* the table lives on */
    leave_python(here);
    if (table == NULL && !*interrupted)
        result = refuse(result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY ? result : ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
                        "the driver's Python half did not start: %s", text);
    return result;
}

/* The driver does not know which Python to run, because a file that says so could not be read. */
static ze_result_t refuse_settings(int number) {
    const char *advice;
    ze_result_t result = gs_result_of_errno(number, &advice);
    return refuse(result, "the driver's settings cannot be read: %s; %s", strerror(number), advice);
}

/* Starts Python once. A failure is final, and told again to whoever asks; a Ctrl-C is not, nor exhausted
 * memory or a file that could not be read. */
static ze_result_t start(enum gs_function function) {
    if (started)
        return ZE_RESULT_SUCCESS;
    if (gs_is_abandoned())
        return gs_fail_abandoned(function);
    bool interrupted = false;
    ze_result_t result = ZE_RESULT_SUCCESS;
    gs_lock(&start_lock);
    if (!started && start_failure == ZE_RESULT_SUCCESS) {
        gs_settings at;
        gs_find_settings(&at);
        start_failure = at.problem != 0 ? refuse_settings(at.problem) : find_interpreter(&at);
        if (start_failure == ZE_RESULT_SUCCESS)
            start_failure = load_handlers(&at, &interrupted);
        started = start_failure == ZE_RESULT_SUCCESS;
        result = start_failure;
        if (interrupted || at.problem != 0 || start_failure == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
            start_failure = ZE_RESULT_SUCCESS;
    } else if (!started) {
        result = gs_fail(start_failure, "%s", start_failure_text);
    }
    gs_unlock(&start_lock);
    if (interrupted)
        return gs_fail(ZE_RESULT_ERROR_UNKNOWN, "interrupted while the driver started");
    return result;
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

static PyObject *convert(char type, gs_word argument) {
    if (type == 'd')
        return python.PyFloat_FromDouble(argument.d);
    return type == 'i' ? python.PyLong_FromLongLong(argument.i) : python.PyLong_FromUnsignedLongLong(argument.u);
}

/* A tuple of the arguments, or NULL. */
static PyObject *pack(const char *types, const gs_word *arguments) {
    size_t count = strlen(types);
    PyObject *tuple = python.PyTuple_New((intptr_t)count);
    for (size_t each = 0; tuple != NULL && each < count; each++) {
        PyObject *item = convert(types[each], arguments[each]);
        if (item != NULL) {
            python.PyTuple_SetItem(tuple, (intptr_t)each, item);
        } else {
            python.Py_DecRef(tuple);
            tuple = NULL;
        }
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
    python_entry here;
    if (!enter_python(&here)) {
        snprintf(text, size, "there is no memory to call Python; %s", GS_ADVICE_ON_MEMORY);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    PyObject *tuple = pack(types, arguments);
    PyObject *returned = tuple != NULL ? python.PyObject_Call(handler, tuple, NULL) : NULL;
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

/* --- Other libraries of this package: see embedded.h --------------------------------------------------------------------------- */

int gs_embedded_import(const char *module, const char *library, const char *const *names, int count, void **found,
                   char *text, size_t size) {
    ze_result_t result = start(GS_FN_zeInit);
    if (result != ZE_RESULT_SUCCESS) {
        snprintf(text, size, "%s", gs_last_error_text());
        return (int)result;
    }
    python_entry here;
    if (!enter_python(&here)) {
        snprintf(text, size, "there is no memory to import %s; %s", module, GS_ADVICE_ON_MEMORY);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    PyObject *table = call_start(IMPORT_MODULE, 2, (const char *const[]){module, library});
    if (table == NULL) {
        snprintf(text, size, "%s cannot be imported", module);
        result = python.PyErr_Occurred() != NULL ? explain_exception(text, size) : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        if (result != ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
            result = ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    }
    for (int each = 0; table != NULL && each < count; each++)
        found[each] = python.PyDict_GetItemString(table, names[each]); /* the table lives on */
    leave_python(here);
    return (int)result;
}

int gs_embedded_call(void *handler, const char *types, const gs_word *arguments, uint64_t *value, char *text,
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
