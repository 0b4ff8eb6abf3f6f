/* How the exported functions reach their Python handlers, and what they answer when something is wrong. */
#ifndef GS_DNNL_ABI_H
#define GS_DNNL_ABI_H

#include "generated/ze_types.h"
#define GROUNDSTATE_LEVEL_ZERO_TYPES
#include "groundstate/dnnl.h"

#include "abi/word.h"
#include "dnnl/generated/functions.h"
#include "dnnl/objects.h"

/* Calls the Python handler of a function; `types` has one character for each argument: u, i or d. */
dnnl_status_t gs_dnnl_status(enum gs_dnnl_function function, const char *types, const gs_word *arguments);

/* The same for functions that return something else: 0 when something is wrong. */
uint64_t gs_dnnl_value(enum gs_dnnl_function function, const char *types, const gs_word *arguments);

/* Records a sentence for groundstate_dnnl_last_error, and returns the status. */
dnnl_status_t gs_dnnl_fail(dnnl_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Where a sentence goes that somebody else writes. */
char *gs_dnnl_text(size_t *size);

#endif
