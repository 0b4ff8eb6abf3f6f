/* Where in the program a call came from: who allocated memory, who made an object.
 *
 * Equal stacks are kept once and to the end of the process, so a pointer to one is never given back, and a million
 * allocations of one line of the program need one. Names are looked up when somebody wants to read them. */
#ifndef GS_CHECK_HOST_STACK_H
#define GS_CHECK_HOST_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/abi.h"

typedef struct gs_host_stack gs_host_stack;

/* Whether stacks are taken: when some checker is on. */
GS_EXPORT void gs_host_stacks_enable(bool enable);

/* The calls that led here, without those of the driver. NULL if stacks are not taken, there is no memory, or there are too
 * many different ones. In a Python program this takes the lock of its interpreter, for which other threads may hold
 * while they wait for the driver: so it is called before any lock of the driver is taken. */
GS_EXPORT const gs_host_stack *gs_host_stack_take(void);

/* A call of the program: which function, and from where. */
typedef struct gs_host_call {
    enum gs_function function; /* GS_FN_COUNT: there was none */
    const gs_host_stack *stack;
} gs_host_call;

static inline gs_host_call gs_host_call_now(enum gs_function function) {
    return (gs_host_call){function, gs_host_stack_take()};
}

/* Writes a line for each call, innermost first, as fields between tabs:
 *   c       OBJECT  ADDRESS IN ITS FILE, HEXADECIMAL  FUNCTION (may be empty)  OFFSET IN IT
 *   python  FILE    LINE                              FUNCTION
 * Calls of the driver, the loader and their layers at the start are left out. Before the lines of Python stands one for
 * the compiled code that it called. Ends with a 0; returns the length that
 * the whole text has, even if there is no room for it. */
GS_EXPORT size_t gs_host_stack_describe(const gs_host_stack *stack, char *text, size_t size);

#endif
