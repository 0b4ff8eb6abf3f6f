/* Error sentences. Each thread has its own, as zeDriverGetLastErrorDescription requires. */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "abi/abi.h"
#include "abi/printable.h"
#include "check/host/host.h"
#include "memory/page.h"
#include "threads/fork.h"
#include "threads/lock.h"
#include "threads/wait.h"

enum { SAY_NONE, SAY_SERIOUS, SAY_ALL }; /* the choices of GROUNDSTATE_ERRORS, as src/groundstate/knobs lists them */
enum { MOST_SAID = 32 };

static _Thread_local char last_error[GS_ERROR_BYTES];
/* The function that last answered ZE_RESULT_NOT_READY, if nothing failed since. Programs poll with these functions, so
 * the sentence is written when somebody asks for it. */
static _Thread_local enum gs_function not_ready = GS_FN_COUNT;
static int said_errors = SAY_NONE;

GS_EXPORT void gs_say_errors(int which) { said_errors = which; }

/* What a program that works does not meet. Others are answers to questions: programs ask for functions and formats that
 * they can do without, and hand over binaries of other drivers. */
static bool is_serious(ze_result_t result) {
    switch (result) {
    case ZE_RESULT_ERROR_DEVICE_LOST:
    case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY:
    case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY:
    case ZE_RESULT_ERROR_UNSUPPORTED_SIZE:
    case ZE_RESULT_ERROR_MODULE_BUILD_FAILURE:
    case ZE_RESULT_ERROR_MODULE_LINK_FAILURE:
    case ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED:
    case ZE_RESULT_ERROR_INVALID_ENUMERATION:
    case ZE_RESULT_ERROR_UNKNOWN:
        return true;
    default:
        return false;
    }
}

/* A program that goes on after a failure may meet it at every step: its reason is said once, whichever functions fail
 * for it, and only so many reasons are. */
static bool is_first(const char *sentence) {
    static atomic_ullong said[MOST_SAID];
    const char *reason = strstr(sentence, ": ");
    unsigned long long digest = 0xcbf29ce484222325; /* FNV-1a */
    for (const char *each = reason != NULL ? reason : sentence; *each != 0; each++)
        digest = (digest ^ (unsigned char)*each) * 0x100000001b3;
    for (int i = 0; i < MOST_SAID; i++) {
        unsigned long long there = 0;
        if (atomic_compare_exchange_strong(&said[i], &there, digest))
            return true;
        if (there == digest)
            return false;
    }
    return false;
}

static bool is_said(ze_result_t result) {
    return said_errors == SAY_ALL
           || (said_errors == SAY_SERIOUS && is_serious(result) && is_first(last_error));
}

static ze_result_t fail(const char *excerpt, ze_result_t result, const char *format, va_list arguments) {
    gs_may_wait("stderr");
    not_ready = GS_FN_COUNT;
    vsnprintf(last_error, sizeof last_error, format, arguments);
    if (is_said(result)) {
        gs_say("", last_error, "");
        fputs(excerpt, stderr);
    }
    return result;
}

ze_result_t gs_fail(ze_result_t result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail("", result, format, arguments);
    va_end(arguments);
    return result;
}

ze_result_t gs_fail_at(const char *excerpt, ze_result_t result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(excerpt, result, format, arguments);
    va_end(arguments);
    return result;
}

ze_result_t gs_not_ready(enum gs_function function) {
    gs_engines_serve_stalled(false); /* the program may ask until it is ready */
    not_ready = function;
    return ZE_RESULT_NOT_READY;
}

void gs_error_save(gs_error *saved) {
    memcpy(saved->text, last_error, sizeof last_error);
    saved->not_ready = not_ready;
}

void gs_error_restore(const gs_error *saved) {
    memcpy(last_error, saved->text, sizeof last_error);
    not_ready = saved->not_ready;
}

ze_result_t gs_fail_for(enum gs_function function, ze_result_t result) {
    char reason[900];
    if (result == ZE_RESULT_NOT_READY)
        return gs_not_ready(function);
    const char *end_of_name = strstr(last_error, ": ");
    snprintf(reason, sizeof reason, "%.899s", end_of_name != NULL ? end_of_name + 2 : last_error);
    snprintf(last_error, sizeof last_error, "%s: %s", gs_function_names[function], reason);
    return result;
}

static const char *describe_last_error(void) {
    if (not_ready != GS_FN_COUNT)
        snprintf(last_error, sizeof last_error, "%s: the work that it asks about is not done yet", gs_function_names[not_ready]);
    not_ready = GS_FN_COUNT;
    return last_error;
}

void gs_warn(const char *format, ...) {
    char sentence[sizeof last_error];
    va_list arguments;
    gs_may_wait("stderr");
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (said_errors == SAY_ALL || (said_errors == SAY_SERIOUS && is_first(sentence)))
        gs_say("", sentence, "");
}

ze_result_t gs_fail_handle(enum gs_function function, const char *parameter, const void *handle,
                           enum gs_kind kind) {
    const char *name = gs_function_names[function];
    const char *type = gs_kind_names[kind];
    if (gs_is_abandoned())
        return gs_fail_abandoned(function);
    if (gs_host_is_checked())
        gs_host_bad_handle(function, parameter, handle, kind);
    if (handle == NULL)
        return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "%s: %s is null; pass a %s", name, parameter, type);
    for (int other = GS_KIND_NONE + 1; other < GS_KIND_COUNT; other++)
        if (gs_is_live(handle, other))
            return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "%s: %s is a %s, not a %s", name, parameter,
                           gs_kind_names[other], type);
    return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
                   "%s: %s (%p) is no live %s; it was destroyed, or is not from this driver", name, parameter,
                   handle, type);
}

ze_result_t gs_fail_event(enum gs_function function, const char *parameter, const void *handle) {
    if (gs_is_abandoned())
        return gs_fail_abandoned(function);
    if (gs_host_is_checked())
        gs_host_bad_handle(function, parameter, handle, GS_KIND_EVENT);
    return gs_fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                   "%s: %s (%p) is no live event; it was destroyed, or is not from this driver",
                   gs_function_names[function], parameter, handle);
}

ze_result_t gs_fail_pointer(enum gs_function function, const char *parameter) {
    return gs_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "%s: %s must not be null", gs_function_names[function],
                   parameter);
}

ze_result_t gs_fail_enum(enum gs_function function, const char *parameter, uint64_t value) {
    return gs_fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s: %s has the unknown value %#llx",
                   gs_function_names[function], parameter, (unsigned long long)value);
}

ze_result_t gs_fail_condition(enum gs_function function, ze_result_t result, const char *condition) {
    return gs_fail(result, "%s: not allowed: %s", gs_function_names[function], condition);
}

ze_result_t gs_fail_uninitialised(enum gs_function function) {
    if (gs_is_abandoned())
        return gs_fail_abandoned(function);
    return gs_fail(ZE_RESULT_ERROR_UNINITIALIZED, "%s: call zeInit or zeInitDrivers first",
                   gs_function_names[function]);
}

ze_result_t gs_fail_memory(enum gs_function function) {
    return gs_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "%s: the system has no memory left for this call",
                   gs_function_names[function]);
}

ze_result_t gs_fail_extension(enum gs_function function) {
    return gs_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "%s: no extension is supported here; pass a null pNext",
                   gs_function_names[function]);
}

/* False for a pointer that leads nowhere, or where nobody may read: much of what the driver itself reserves is of that
 * kind. Programs forget to clear pNext, of which real drivers notice nothing while it happens to be NULL. */
bool gs_is_readable(const void *address, size_t size) {
    char copy[64];
    struct iovec here = {copy, size < sizeof copy ? size : sizeof copy}, there = {(void *)address, here.iov_len};
    ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (got >= 0 || errno == EFAULT)
        return got == (ssize_t)here.iov_len;
    unsigned char pages[2]; /* some containers do not allow the above: this finds out at least what is not mapped */
    size_t before = (uintptr_t)address % gs_page_size();
    return mincore((char *)address - before, before + size, pages) == 0 || errno != ENOMEM;
}

const void *gs_find_next(const void *next, ze_structure_type_t stype) {
    const ze_base_desc_t *link = next;
    for (int depth = 0; link != NULL && depth < 64 && gs_is_readable(link, sizeof *link); depth++, link = link->pNext)
        if (link->stype == stype)
            return link;
    return NULL;
}

ze_result_t gs_check_chain(enum gs_function function, const void *next, size_t size) {
    const ze_base_desc_t *link = next, *behind = next;
    for (uint64_t step = 1; link != NULL; step++) {
        if (!gs_is_readable(link, size))
            return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                           "%s: the pNext chain leads to address %p, where there is no struct; end it with a null pointer",
                           gs_function_names[function], (const void *)link);
        link = link->pNext;
        if (step % 2 == 0)
            behind = behind->pNext; /* half as fast: in a loop it is caught up with */
        if (link != NULL && link == behind)
            return gs_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                           "%s: the pNext chain has no end: it leads back to itself; end it with a null pointer",
                           gs_function_names[function]);
    }
    return ZE_RESULT_SUCCESS;
}

/* Lets the Python half read the sentence that a native function recorded. */
GS_EXPORT const char *gs_last_error_text(void) { return describe_last_error(); }

ze_result_t gs_zeDriverGetLastErrorDescription(ze_driver_handle_t hDriver, const char **ppString) {
    (void)hDriver;
    *ppString = describe_last_error();
    return ZE_RESULT_SUCCESS;
}

ze_result_t gs_zerGetLastErrorDescription(const char **ppString) {
    *ppString = describe_last_error();
    return ZE_RESULT_SUCCESS;
}
