/* Calls of the API: their number and time by function, and the long ones each by itself. */
#include "profile/profile.h"

#include <string.h>

#include "abi/abi.h"

/* A shorter call is only added up: programs ask for the state of an event millions of times. */
enum { LONG_NANOSECONDS = 2000 };

static _Atomic bool is_named[GS_FN_COUNT];

void gs_profile_forget_calls(void) {
    for (uint32_t each = 0; each < GS_FN_COUNT; each++)
        is_named[each] = false;
}

static void name(uint32_t function) {
    if (atomic_load_explicit(&is_named[function], memory_order_relaxed) || atomic_exchange(&is_named[function], true))
        return;
    const char *text = gs_function_names[function];
    gs_profile_add(GS_PROFILE_FUNCTION, function, (gs_profile_piece){text, strlen(text) + 1}, (gs_profile_piece){NULL, 0});
}

void gs_profile_call(uint32_t function, uint64_t start) {
    gs_profile_head *head = gs_profile_enter();
    if (head == NULL)
        return;
    gs_profile_span span = {.start = start, .end = gs_clock(CLOCK_MONOTONIC)};
    uint64_t took = span.end - start;
    gs_profile_function *of = (gs_profile_function *)(head + 1) + function;
    name(function);
    atomic_fetch_add_explicit(&of->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&of->nanoseconds, took, memory_order_relaxed);
    if (took > atomic_load_explicit(&of->longest, memory_order_relaxed))
        atomic_store_explicit(&of->longest, took, memory_order_relaxed);
    if (took >= LONG_NANOSECONDS)
        gs_profile_add(GS_PROFILE_CALL, function, (gs_profile_piece){&span, sizeof span}, (gs_profile_piece){NULL, 0});
    gs_profile_leave();
}
