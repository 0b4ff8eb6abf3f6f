/* Tracers: functions of a program or of a profiler that run before and after calls of the API. As a loader's tracing
 * layer has them; here each entry point looks for tracers itself, so they also work where there is no loader. */
#ifndef GS_ABI_TRACER_H
#define GS_ABI_TRACER_H

#include <stdatomic.h>

#include "abi/abi.h"

/* Callbacks get the addresses of the parameters, in a struct of pointers: an array of pointers has the same layout. A
 * result narrower than a register is passed in one all the same, on every machine that we run on. */
typedef void (*gs_tracer_callback)(void *params, uintptr_t result, void *user_data, void **instance_data);

enum { GS_MOST_TRACERS = 16 }; /* enabled at a time */

/* One call while it is traced: what was enabled when it began. */
typedef struct gs_traced_call {
    uint32_t count, forks;
    enum gs_function function;
    uint64_t start; /* for a profile, or 0 */
    struct {
        struct gs_tracer *tracer;
        gs_tracer_callback epilogue;
        void *user_data, *instance_data;
    } each[GS_MOST_TRACERS];
} gs_traced_call;

extern _Atomic bool gs_some_tracer_is_enabled;
bool gs_is_inside_a_traced_call(void);

/* Whether callbacks are to run for a call: not for those that callbacks make, nor for those of the driver itself. */
static inline bool gs_is_traced(void) {
    return __builtin_expect(atomic_load_explicit(&gs_some_tracer_is_enabled, memory_order_relaxed), false)
           && !gs_is_inside_a_traced_call();
}

void gs_traced_call_begin(gs_traced_call *call, enum gs_function function, void **params);
void gs_traced_call_end(gs_traced_call *call, void **params, uintptr_t result);

/* zelTracer...RegisterCallback. `when` is 0 for a prologue, 1 for an epilogue. */
ze_result_t gs_tracer_register(const char *name, void *tracer, uint32_t when, enum gs_function function,
                               gs_tracer_callback callback);

/* Where zelTracerSetPrologues and zelTracerSetEpilogues find the callback of a function; the last one has no offset. */
typedef struct gs_core_callback {
    int offset;
    enum gs_function function;
} gs_core_callback;
extern const gs_core_callback gs_core_callbacks[];

/* A profile begins or ends: its calls are timed. */
void gs_tracers_profile(bool begins);

/* In a child: the threads of the parent are in no call here. */
void gs_tracers_after_fork(void);

#endif
