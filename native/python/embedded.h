/* The embedded interpreter, for other libraries of this package that have a half in Python too.
 * They find these functions with dlsym in the driver's library, which lies beside them. */
#ifndef GS_PYTHON_EMBEDDED_H
#define GS_PYTHON_EMBEDDED_H

#include "abi/abi.h"

/* Starts Python if need be, imports a module and calls its start(library), which returns a dict; finds the
 * handler of each name in it, NULL where there is none. 0, or a result with its sentence in `text`. */
GS_EXPORT int gs_embedded_import(const char *module, const char *library, const char *const *names, int count,
                             void **found, char *text, size_t size);

/* Calls a handler that was found. `types` has one character for each argument: u, i or d. What it returns goes to
 * `value`. 0, or what the attribute `result` of the exception says, or ZE_RESULT_ERROR_UNKNOWN. */
GS_EXPORT int gs_embedded_call(void *handler, const char *types, const gs_word *arguments, uint64_t *value, char *text,
                            size_t size);

#endif
