/* What an exception of the driver's Python half means for the caller of the API. */
#include <stdio.h>
#include <string.h>

#include "memory/resources.h"
#include "python/interpreter.h"

static bool gs_python_matches(PyObject *type, PyObject **wanted) {
    return type != NULL && gs_python.PyErr_GivenExceptionMatches(type, *wanted);
}

static int errno_of(PyObject *gs_python_exception) {
    PyObject *number = gs_python.PyObject_GetAttrString(gs_python_exception, "errno");
    int found = number != NULL && number != gs_python.none ? (int)gs_python.PyLong_AsUnsignedLongLongMask(number) : 0;
    gs_python.PyErr_Clear();
    gs_python.Py_DecRef(number);
    return found;
}

/* What an exception that is no Failure answers. Only a fault of the driver itself is unknown. */
static ze_result_t classify(PyObject *type, PyObject *value, const char *text, const char **advice) {
    *advice = GS_ADVICE_ON_MEMORY;
    if (gs_python_matches(type, gs_python.out_of_memory))
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    bool is_of_system = gs_python_matches(type, gs_python.system_error);
    if (!is_of_system && !gs_python_matches(type, gs_python.import_error)) {
        *advice = NULL;
        return ZE_RESULT_ERROR_UNKNOWN;
    }
    int number = is_of_system ? errno_of(value) : 0;
    return gs_result_of_errno(number != 0 ? number : gs_errno_in(text), advice);
}

static void write_words(PyObject *string, char *text, size_t size) {
    const char *utf8 = string != NULL ? gs_python.PyUnicode_AsUTF8(string) : NULL;
    snprintf(text, size, "%s", utf8 != NULL ? utf8 : "an exception that cannot be shown");
    gs_python.PyErr_Clear();
    gs_python.Py_DecRef(string);
}

/* Says what an exception means that carries no result. */
static ze_result_t explain_other(PyObject *type, PyObject *value, char *text, size_t size) {
    const char *advice;
    write_words(gs_python.PyObject_Str(value), text, size);
    ze_result_t result = classify(type, value, text, &advice);
    if (advice == NULL) {
        write_words(gs_python.PyObject_Repr(value), text, size);
        return result;
    }
    if (text[0] == 0)
        snprintf(text, size, "there is no memory");
    size_t length = strlen(text);
    snprintf(text + length, size - length, "; %s", advice);
    return result;
}

ze_result_t gs_python_explain(char *text, size_t size) {
    PyObject *type, *value, *trace;
    gs_python.PyErr_Fetch(&type, &value, &trace);
    gs_python.PyErr_NormalizeException(&type, &value, &trace);
    if (gs_python_is_shared && gs_python_matches(type, gs_python.interrupt)) {
        snprintf(text, size, "interrupted");
        gs_python_raise_later((gs_python_exception){type, value, trace});
        return ZE_RESULT_ERROR_UNKNOWN;
    }
    ze_result_t result;
    PyObject *answer = gs_python.PyObject_GetAttrString(value, "result");
    if (answer != NULL) {
        result = (ze_result_t)gs_python.PyLong_AsUnsignedLongLongMask(answer);
        write_words(gs_python.PyObject_Str(value), text, size);
    } else {
        gs_python.PyErr_Clear(); /* the exception has no such attribute: it is not a Failure */
        result = explain_other(type, value, text, size);
    }
    gs_python.Py_DecRef(answer);
    gs_python.Py_DecRef(type);
    gs_python.Py_DecRef(value);
    gs_python.Py_DecRef(trace);
    return result;
}
