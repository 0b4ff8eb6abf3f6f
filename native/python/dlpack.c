/* The ends of DLPack capsules, for groundstate.core.dlpack.
 *
 * Python destroys a capsule also while an exception is on its way, for instance because the consumer did not want the
 * memory, and a consumer may drop memory then, too. Python code must not run with an exception set, so it is put aside
 * meanwhile, which only C can do. The functions of Python come from the caller, which has found them already. */
#include "abi/abi.h"

typedef struct dlpack_python {
    int (*ensure_gil)(void);
    void (*release_gil)(int state);
    void (*fetch)(void **type, void **value, void **trace);
    void (*restore)(void *type, void *value, void *trace);
    void (*destroy)(void *capsule);
    void (*forget)(void *tensor);
} dlpack_python;

static dlpack_python python;

GS_EXPORT void gs_dlpack_start(const dlpack_python *functions) { python = *functions; }

static void call_aside(void (*function)(void *), void *argument) {
    void *type, *value, *trace;
    int state = python.ensure_gil();
    python.fetch(&type, &value, &trace);
    function(argument);
    python.restore(type, value, trace);
    python.release_gil(state);
}

/* The destructor of a capsule. */
GS_EXPORT void gs_dlpack_destroy(void *capsule) { call_aside(python.destroy, capsule); }

/* The deleter of a tensor, which any thread may call. */
GS_EXPORT void gs_dlpack_forget(void *tensor) { call_aside(python.forget, tensor); }
