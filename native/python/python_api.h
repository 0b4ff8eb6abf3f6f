/* The functions of the Python C API that everybody here needs who runs an interpreter: result, name, parameters.
 * They are looked up at run time, so that no library depends on a libpython, and are old enough for any Python that
 * the package runs on. */
#ifndef GS_PYTHON_PYTHON_API_H
#define GS_PYTHON_PYTHON_API_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef struct PyObject PyObject;

#define GS_PYTHON_API(X)                                                \
    X(void, Py_InitializeEx, (int))                                     \
    X(wchar_t *, Py_DecodeLocale, (const char *, size_t *))             \
    X(void *, PyEval_SaveThread, (void))                                \
    X(int, PyGILState_Ensure, (void))                                   \
    X(void, PyGILState_Release, (int))                                  \
    X(void, Py_DecRef, (PyObject *))                                    \
    X(int, PyRun_SimpleString, (const char *))                          \
    X(PyObject *, PyImport_AddModule, (const char *))                   \
    X(PyObject *, PyObject_GetAttrString, (PyObject *, const char *))   \
    X(PyObject *, PyObject_Call, (PyObject *, PyObject *, PyObject *))  \
    X(PyObject *, PyTuple_New, (intptr_t))                              \
    X(int, PyTuple_SetItem, (PyObject *, intptr_t, PyObject *))         \
    X(PyObject *, PyUnicode_FromString, (const char *))                 \
    X(PyObject *, PyLong_FromLongLong, (long long))                     \
    X(PyObject *, PyLong_FromUnsignedLongLong, (unsigned long long))    \
    X(unsigned long long, PyLong_AsUnsignedLongLongMask, (PyObject *))

/* A place for a function in a struct. */
#define GS_PYTHON_POINTER(result, name, parameters) result(*name) parameters;

/* Fills that place of the struct `to` from the library `from`; `complete` becomes false if it has no such function. */
#define GS_PYTHON_LOOK_UP(result, name, parameters) \
    *(void **)&to->name = dlsym(from, #name);       \
    complete &= to->name != NULL;

#endif
