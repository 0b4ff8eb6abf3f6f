/* The driver's Python half: starting it, and calling what it has. */
#ifndef GS_PYTHON_HANDLERS_H
#define GS_PYTHON_HANDLERS_H

#include "python/interpreter.h"

/* Starts Python once. A failure is final, and told again to whoever asks; a Ctrl-C is not, nor exhausted memory or a file
 * that could not be read. */
ze_result_t gs_python_start(enum gs_function function);

/* Runs the text that defines _groundstate_start, and calls that with some strings; what it returns, or NULL. */
PyObject *gs_python_run_start(const char *definition, int count, const char *const *texts);

/* Calls any handler; `text` says what went wrong. */
ze_result_t gs_python_call(PyObject *handler, const char *types, const gs_word *arguments, uint64_t *value, char *text,
                           size_t size);

/* Has Python describe all code that there is to a profile. */
void gs_describe_kernels(void);

#endif
