/* Built-in functions for the bindings of this package. Through ctypes a launch and a wait take four times as long as the work
 * of the driver; a built-in function costs a tenth of that.
 *
 * A repetition is a launch that the bindings may make again: the kernel's handle, its group count, and the objects that it
 * was launched with, known by their addresses. While a thread appends it without the interpreter's lock, nobody may set
 * anything of the kernel: who wants to forgets the repetition first, and waits until nobody runs it.
 *
 * The bindings hand in the functions of their interpreter, so that nothing is looked up in the wrong one. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "abi/abi.h"
#include "generated/ze_types.h"
#include "python/python_api.h"

/* What the functions below need: result, name, parameters. The bindings hand them over in this order. */
#define NEEDED(X)                                             \
    X(void *, PyEval_SaveThread, (void))                      \
    X(void, PyEval_RestoreThread, (void *))                   \
    X(void *, PyLong_AsVoidPtr, (PyObject *))                 \
    X(PyObject *, PyLong_FromVoidPtr, (void *))               \
    X(PyObject *, PyLong_FromLongLong, (long long))           \
    X(intptr_t, PyTuple_Size, (PyObject *))                   \
    X(PyObject *, PyTuple_GetItem, (PyObject *, intptr_t))    \
    X(int, PyDict_Update, (PyObject *, PyObject *))

static struct {
    NEEDED(GS_PYTHON_POINTER)
} python;

typedef ze_result_t (*append_launch)(void *list, void *kernel, const void *counts, void *signal, uint32_t waits, void *events);
typedef ze_result_t (*wait_for)(void *handle, uint64_t nanoseconds);

typedef struct repetition {
    _Atomic bool is_known;
    _Atomic uint32_t running; /* threads that append it */
    void *kernel;
    const void *counts;
    const PyObject *grid, *group;
    intptr_t count;
    const PyObject *arguments[];
} repetition;

static void *pointer(PyObject *number) { return python.PyLong_AsVoidPtr(number); }

/* remember(kernel, counts, grid, group, arguments): the repetition, or 0 if there is no memory. */
static PyObject *remember(PyObject *self, PyObject *const *given, intptr_t number) {
    (void)self, (void)number;
    intptr_t count = python.PyTuple_Size(given[4]);
    repetition *made = malloc(sizeof *made + (size_t)count * sizeof *made->arguments);
    if (made == NULL)
        return python.PyLong_FromLongLong(0);
    made->kernel = pointer(given[0]);
    made->counts = pointer(given[1]);
    made->grid = given[2];
    made->group = given[3];
    made->count = count;
    for (intptr_t each = 0; each < count; each++)
        made->arguments[each] = python.PyTuple_GetItem(given[4], each);
    atomic_init(&made->running, 0);
    atomic_init(&made->is_known, true);
    return python.PyLong_FromVoidPtr(made);
}

static bool is_same(const repetition *known, PyObject *grid, PyObject *group, PyObject *arguments) {
    if (!atomic_load(&known->is_known) || known->grid != grid || known->group != group ||
        python.PyTuple_Size(arguments) != known->count)
        return false;
    for (intptr_t each = 0; each < known->count; each++)
        if (python.PyTuple_GetItem(arguments, each) != known->arguments[each])
            return false;
    return true;
}

/* repeat(repetition, list, grid, group, arguments, kept, to keep): appends the launch and returns the result of the call, or -1
 * if it is another one. The function is that of the library which the bindings use. */
static PyObject *repeat(PyObject *self, PyObject *const *given, intptr_t number) {
    (void)number;
    repetition *known = pointer(given[0]);
    if (!is_same(known, given[2], given[3], given[4]))
        return python.PyLong_FromLongLong(-1);
    if (python.PyDict_Update(given[5], given[6]) != 0)
        return NULL;
    append_launch append = (append_launch)pointer(self);
    void *list = pointer(given[1]);
    atomic_fetch_add(&known->running, 1);
    void *thread = python.PyEval_SaveThread();
    ze_result_t result = append(list, known->kernel, known->counts, NULL, 0, NULL);
    atomic_fetch_sub(&known->running, 1);
    python.PyEval_RestoreThread(thread);
    return python.PyLong_FromLongLong(result);
}

/* forget(repetition): it is not made again; how many threads still make it. */
static PyObject *forget(PyObject *self, PyObject *given) {
    (void)self;
    repetition *known = pointer(given);
    atomic_store(&known->is_known, false);
    return python.PyLong_FromLongLong(atomic_load(&known->running));
}

/* release(repetition): gives its memory back. */
static PyObject *release(PyObject *self, PyObject *given) {
    (void)self;
    free(pointer(given));
    return python.PyLong_FromLongLong(0);
}

/* wait(handle): waits for a tenth of a second; the result of the call. */
static PyObject *wait(PyObject *self, PyObject *given) {
    static const uint64_t SLICE = 100000000;
    wait_for function = (wait_for)pointer(self);
    void *handle = pointer(given), *thread = python.PyEval_SaveThread();
    ze_result_t result = function(handle, SLICE);
    python.PyEval_RestoreThread(thread);
    return python.PyLong_FromLongLong(result);
}

/* PyMethodDef, as the stable ABI has it. */
enum { ONE = 0x8, SEVERAL = 0x80 };
typedef struct method {
    const char *name;
    void *function;
    int flags;
    const char *description;
} method;

static method methods[] = {
    {"remember", remember, SEVERAL, NULL}, {"repeat", repeat, SEVERAL, NULL}, {"forget", forget, ONE, NULL},
    {"release", release, ONE, NULL},       {"wait", wait, ONE, NULL},         {NULL, NULL, 0, NULL},
};

/* The table of the functions, ended by one without a name. */
GS_EXPORT const void *gs_built_in_functions(void *const *functions);
const void *gs_built_in_functions(void *const *functions) {
#define TAKE(result, name, parameters) *(void **)&python.name = *functions++;
    NEEDED(TAKE)
    return methods;
}
