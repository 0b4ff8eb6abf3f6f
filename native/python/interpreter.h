/* The embedded interpreter, as the files of this folder share it. */
#ifndef GS_PYTHON_INTERPRETER_H
#define GS_PYTHON_INTERPRETER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "abi/abi.h"
#include "python/python_api.h"
#include "python/settings.h"

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

typedef struct gs_python_api {
    PYTHON_API(GS_PYTHON_POINTER)
    void (*Py_SetProgramName)(const wchar_t *); /* gone in some future version */
    int (*PyGC_Disable)(void), (*PyGC_Enable)(void);
    int (*PyGILState_Check)(void);
    int (*is_finalizing)(void);                 /* Py_IsFinalizing or its older private name */
    PyObject *none;
    PyObject **interrupt; /* KeyboardInterrupt */
    PyObject **out_of_memory, **system_error, **import_error; /* MemoryError, OSError, ImportError */
} gs_python_api;

extern gs_python_api gs_python;      /* the interpreter that runs the driver */
extern gs_python_api gs_host_python; /* the one of the process, if it is Python; often the same */
extern bool gs_python_is_shared;     /* the process's own interpreter runs the driver */
extern _Atomic bool gs_python_is_started; /* and the driver's Python half with it */

/* --- interpreter.c -------------------------------------------------------------------------------------- */

/* Makes an interpreter usable: a new one, or the process's own. */
ze_result_t gs_python_find(const gs_settings *at);

/* False before an interpreter has started and once it ends. */
bool gs_python_is_usable(const gs_python_api *interpreter);

/* Whether the process was Python before the driver came, and its functions were found. */
bool gs_python_knows_host(void);

/* What dlsym finds further functions of the process's own Python in; NULL if it was not Python. */
void *gs_python_host_library(void);

/* Fails with a sentence that is printed, too, and kept for whoever asks again. */
ze_result_t gs_python_refuse(ze_result_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
ze_result_t gs_python_refuse_out_of_memory(void);
ze_result_t gs_python_refuse_again(ze_result_t result);

/* --- gil.c ---------------------------------------------------------------------------------------------- */

/* A thread in Python. */
typedef struct gs_python_entry {
    int state;
    PyObject *type, *value, *trace; /* what the caller was raising */
} gs_python_entry;

/* Takes Python's lock; false if there is no memory to. */
bool gs_python_enter(gs_python_entry *here);
void gs_python_leave(gs_python_entry here);
/* Whether the garbage collector may run; the lock is held. */
void gs_python_collect_garbage(bool collects);

typedef struct gs_python_exception {
    PyObject *type, *value, *trace;
} gs_python_exception;

/* Lets an exception wait until the call that it came in has returned to the program. */
void gs_python_raise_later(gs_python_exception raised);

/* --- exceptions.c --------------------------------------------------------------------------------------- */

/* Clears the current Python exception and says what it means. A Failure of driver/api.py carries the result to answer. */
ze_result_t gs_python_explain(char *text, size_t size);

#endif
