/* What the generated stubs expect of the hand-written half, and what every source file shares. */
#ifndef GS_ABI_ABI_H
#define GS_ABI_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/word.h"
#include "generated/functions.h"
#include "generated/ze_types.h"

#define GS_EXPORT __attribute__((visibility("default")))

/* Calls the Python handler of `function`. `types` has one character for each argument: u, i or d. */
ze_result_t gs_call_python(enum gs_function function, const char *types, const gs_word *arguments);
uint64_t gs_call_python_value(enum gs_function function, const char *types, const gs_word *arguments);

/* True if `handle` is a live object of `kind`; safe for any bit pattern. */
bool gs_is_live(const void *handle, enum gs_kind kind);

/* True for a device that system management knows, whether the core knows it, too, or not. */
static inline bool gs_is_watched(const void *handle) {
    return gs_is_live(handle, GS_KIND_DEVICE) || gs_is_live(handle, GS_KIND_ZES_DEVICE);
}

/* The handle, if it is a live object of `kind`, else NULL. What it leads to then stays until gs_unpin, even if
 * another thread destroys the object meanwhile. */
void *gs_pin(const void *handle, enum gs_kind kind);
void gs_unpin(void **pinned);
#define GS_PIN __attribute__((cleanup(gs_unpin)))

/* The same for the handles of an array. False for one that is not live, and if there is no memory to note it. */
typedef struct gs_pins {
    void *few[4], **all; /* `all` where `few` do not suffice */
    size_t count, capacity;
    bool is_full;
} gs_pins;
bool gs_pin_next(gs_pins *pins, const void *handle, enum gs_kind kind);
void gs_unpin_all(gs_pins *pins);
#define GS_PINS __attribute__((cleanup(gs_unpin_all)))

bool gs_is_initialised(void);
bool gs_is_sysman_initialised(void); /* for the functions of system management */

/* Each records a sentence for zeDriverGetLastErrorDescription and returns the result to answer. */
ze_result_t gs_fail(ze_result_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Likewise; an excerpt of the source follows the sentence where that is printed. */
ze_result_t gs_fail_at(const char *excerpt, ze_result_t result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Answers ZE_RESULT_NOT_READY, and takes the place of an earlier failure's description. */
ze_result_t gs_not_ready(enum gs_function function);
enum { GS_ERROR_BYTES = 1024 };
typedef struct gs_error {
    char text[GS_ERROR_BYTES];
    enum gs_function not_ready;
} gs_error;
const char *gs_last_error_text(void);
/* For a function that succeeds although something failed inside it: the last error stays the one before. */
void gs_error_save(gs_error *saved);
void gs_error_restore(const gs_error *saved);
/* Gives the description of a failure, which a call made on behalf of `function` has recorded, that one's name. */
ze_result_t gs_fail_for(enum gs_function function, ze_result_t result);
ze_result_t gs_fail_handle(enum gs_function function, const char *parameter, const void *handle,
                           enum gs_kind kind);
ze_result_t gs_fail_event(enum gs_function function, const char *parameter, const void *handle);
ze_result_t gs_fail_pointer(enum gs_function function, const char *parameter);
ze_result_t gs_fail_enum(enum gs_function function, const char *parameter, uint64_t value);
ze_result_t gs_fail_condition(enum gs_function function, ze_result_t result, const char *condition);
ze_result_t gs_fail_uninitialised(enum gs_function function);
ze_result_t gs_fail_memory(enum gs_function function);

/* lost_context.c: whether the context that an object was made in is lost. Nearly always no context is. */
extern _Atomic bool gs_some_context_is_lost;
bool gs_find_loss(const void *object, enum gs_kind kind);
static inline bool gs_is_lost(const void *object, enum gs_kind kind) {
    return __builtin_expect(gs_some_context_is_lost, false) && gs_find_loss(object, kind);
}
ze_result_t gs_fail_lost(enum gs_function function, const void *object, enum gs_kind kind);

/* For functions that take a pNext for extensions to come: none is known yet. */
ze_result_t gs_fail_extension(enum gs_function function);

/* Says something that no call fails for, to people who asked for failures (GROUNDSTATE_ERRORS). */
void gs_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The first struct of type `stype` in a pNext chain, or NULL. Gives up on a chain longer than 64. */
const void *gs_find_next(const void *next, ze_structure_type_t stype);

/* Whether memory of the program can be read; not more than 64 bytes are looked at. */
bool gs_is_readable(const void *address, size_t size);

/* For a pNext chain of which every struct counts: fails if it has no end, or leads where there are no `size` bytes. */
ze_result_t gs_check_chain(enum gs_function function, const void *next, size_t size);

#endif
