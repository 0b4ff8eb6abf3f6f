/* The frames of a Python program that called the driver: those of its own interpreter, whether or not the driver shares
 * it. Its functions are looked up when the first frame is wanted, by checked mode (check/host_stack.c). */
#include "python/host_frames.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "python/interpreter.h"
#include "threads/lock.h"

enum { MOST_FRAMES = 32 };

static struct {
    PyObject *(*get_frame)(void); /* borrowed */
    PyObject *(*get_code)(PyObject *), *(*get_back)(PyObject *);
    int (*get_line)(PyObject *);
    bool is_complete;
} frames;

static void look_up_frames(void) {
    void *python = gs_python_host_library();
    if (python == NULL)
        return;
    *(void **)&frames.get_frame = dlsym(python, "PyEval_GetFrame");
    *(void **)&frames.get_code = dlsym(python, "PyFrame_GetCode");
    *(void **)&frames.get_back = dlsym(python, "PyFrame_GetBack");
    *(void **)&frames.get_line = dlsym(python, "PyFrame_GetLineNumber");
    frames.is_complete = frames.get_frame != NULL && frames.get_code != NULL && frames.get_back != NULL &&
                         frames.get_line != NULL;
}

/* Whether this thread runs Python and may ask for its lock. The driver's own lock is another one in an isolated
 * interpreter, and who holds it does not wait. */
static bool may_ask(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!gs_python_knows_host() || !gs_python_is_usable(&gs_host_python))
        return false;
    pthread_once(&once, look_up_frames);
    return frames.is_complete && gs_host_python.PyGILState_GetThisThreadState() != NULL &&
           (gs_python_is_shared || !gs_holds_python());
}

/* An attribute as text, which lives as long as `owner`, a new reference. */
static const char *text_of(PyObject *object, const char *attribute, PyObject **owner) {
    *owner = gs_host_python.PyObject_GetAttrString(object, attribute);
    const char *text = *owner != NULL ? gs_host_python.PyUnicode_AsUTF8(*owner) : NULL;
    if (text == NULL)
        gs_host_python.PyErr_Clear();
    return text != NULL && strpbrk(text, "\t\n") == NULL ? text : "?";
}

static int write_frame(PyObject *frame, char *text, size_t size) {
    PyObject *code = frames.get_code(frame), *file, *name;
    const char *in_file = text_of(code, "co_filename", &file), *in_function = text_of(code, "co_name", &name);
    int length = snprintf(text, size, "python\t%s\t%d\t%s\n", in_file, frames.get_line(frame), in_function);
    gs_host_python.Py_DecRef(file);
    gs_host_python.Py_DecRef(name);
    gs_host_python.Py_DecRef(code);
    return length;
}

static size_t write_frames(char *text, size_t size) {
    size_t length = 0;
    PyObject *frame = frames.get_frame(), *held = NULL;
    for (int each = 0; frame != NULL && each < MOST_FRAMES; each++) {
        int more = write_frame(frame, text + length, size - length);
        if (more <= 0 || (size_t)more >= size - length)
            break;
        length += (size_t)more;
        frame = frames.get_back(frame);
        if (held != NULL)
            gs_host_python.Py_DecRef(held);
        held = frame;
    }
    if (held != NULL)
        gs_host_python.Py_DecRef(held);
    text[length] = 0;
    return length;
}

size_t gs_python_host_frames(char *text, size_t size) {
    if (!may_ask())
        return 0;
    if (gs_host_python.PyGILState_Check == NULL || !gs_host_python.PyGILState_Check())
        gs_may_wait("the lock of the program's Python");
    int state = gs_host_python.PyGILState_Ensure();
    PyObject *type, *value, *trace;
    gs_host_python.PyErr_Fetch(&type, &value, &trace);
    size_t length = write_frames(text, size);
    gs_host_python.PyErr_Restore(type, value, trace);
    gs_host_python.PyGILState_Release(state);
    return length;
}
