/* Finds the library that calls are passed on to, and decides which calls are recorded. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/memory/tracking.h"
#include "capture/recorder/slots.h"
#include "capture/script/script.h"
#include "capture/stream/journal.h"
#include "capture/timing/timing.h"

gc_function gc_slots[GS_FN_COUNT];
gc_function gc_next[GS_FN_COUNT];

static uintptr_t say_unsupported(void) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

static uintptr_t say_nothing(void) {
    return 0;
}

static uintptr_t say_all_ones(void) {
    return UINT32_MAX;
}

static gc_function absent(enum gc_absence how) {
    switch (how) {
    case GC_NOTHING:
        return (gc_function)say_nothing;
    case GC_ALL_ONES:
        return (gc_function)say_all_ones;
    default:
        return (gc_function)say_unsupported;
    }
}

/* The driver that lies beside this library. */
static void find_driver(char *path, size_t capacity) {
    Dl_info self;
    char real[PATH_MAX];
    path[0] = 0;
    if (dladdr((void *)find_driver, &self) == 0 || realpath(self.dli_fname, real) == NULL)
        return;
    char *slash = strrchr(real, '/');
    if (slash != NULL)
        snprintf(path, capacity, "%.*s/libze_groundstate.so.1", (int)(slash - real), real);
}

/* A real loader calls its own exported functions, and must not find ours first. Our driver finds its own in any
 * case, and is better off without that option: the interpreter in it looks for symbols of the program. */
static void *open_next(const char *path) {
    const char *slash = strrchr(path, '/');
    bool is_ours = strncmp(slash != NULL ? slash + 1 : path, "libze_groundstate", 17) == 0;
    void *next = dlopen(path, RTLD_NOW | RTLD_LOCAL | (is_ours ? 0 : RTLD_DEEPBIND));
    if (next == NULL)
        fprintf(stderr, "groundstate: calls cannot be passed on: %s. GROUNDSTATE_CAPTURE_NEXT names the library.\n",
                dlerror());
    if (next != NULL && dlsym(next, "zeInit") == (void *)zeInit) {
        fprintf(stderr, "groundstate: GROUNDSTATE_CAPTURE_NEXT names the capture library itself; name a driver.\n");
        return NULL;
    }
    return next;
}

static void fill_slots(void *next) {
    for (int each = 0; each < GS_FN_COUNT; each++) {
        gc_function found = next != NULL ? (gc_function)dlsym(next, gs_function_names[each]) : NULL;
        gc_next[each] = found != NULL ? found : absent(gc_absences[each]);
        gc_slots[each] = gc_next[each];
    }
    for (int each = 0; gc_loader_names[each] != NULL; each++) {
        gc_function found = next != NULL ? (gc_function)dlsym(next, gc_loader_names[each]) : NULL;
        bool answers_bool = strcmp(gc_loader_names[each], "zelCheckIsLoaderInTearDown") == 0;
        gc_loader_slots[each] = found != NULL ? found : absent(answers_bool ? GC_NOTHING : GC_UNSUPPORTED);
    }
}

static bool is_set(const char *variable) {
    const char *value = getenv(variable);
    return value != NULL && value[0] != 0 && strcmp(value, "0") != 0;
}

/* The program may ask the driver for the address of an extension's function. It gets ours, so that calls through
 * it are recorded and hooked, too; the recording has what the driver answered. What an older loader does not have it gets
 * from the driver itself: ours could not call on. */
static gc_function get_next_address;
static bool is_recorded;

static bool is_of_api(const char *name) {
    for (int each = 0; each < GS_FN_COUNT; each++)
        if (strcmp(gs_function_names[each], name) == 0)
            return true;
    return false;
}

static gc_function own_function(const char *name) {
    for (int each = 0; each < GS_FN_COUNT; each++) {
        Dl_info self;
        if (strcmp(gs_function_names[each], name) != 0)
            continue;
        if (gc_next[each] == absent(gc_absences[each]) || dladdr((void *)own_function, &self) == 0)
            return NULL;
        void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        return library != NULL ? (gc_function)dlsym(library, name) : NULL;
    }
    return NULL;
}

static ze_result_t get_address(ze_driver_handle_t driver, const char *name, void **address) {
    ze_result_t result = ((ze_pfnDriverGetExtensionFunctionAddress_t)get_next_address)(driver, name, address);
    if (result == ZE_RESULT_SUCCESS && is_recorded && !is_of_api(name)) {
        *address = NULL; /* a driver's own function: what it did would be missing in the recording */
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    if (result == ZE_RESULT_SUCCESS) {
        gc_function own = own_function(name);
        if (own != NULL)
            *address = (void *)own;
    }
    return result;
}

/* This package's own bindings ask the driver to run in their interpreter. A real loader knows nothing of that, and the
 * driver behind it has an interpreter of its own. */
static gc_function next_share_python;

GS_PUBLIC void gs_share_python(void);
void gs_share_python(void) {
    if (next_share_python != NULL)
        next_share_python();
}

static void record_calls(void) {
    static gc_function recorders[GS_FN_COUNT];
    gc_recorders_ze(recorders);
    gc_recorders_zer(recorders);
    if (is_set("GROUNDSTATE_CAPTURE_TOOLS")) {
        gc_recorders_zes(recorders);
        gc_recorders_zet(recorders);
    }
    for (int each = 0; each < GS_FN_COUNT; each++)
        if (recorders[each] != NULL && gc_next[each] != absent(gc_absences[each]))
            gc_slots[each] = recorders[each];
}

static void give_own_addresses(void) {
    get_next_address = gc_slots[GS_FN_zeDriverGetExtensionFunctionAddress];
    gc_slots[GS_FN_zeDriverGetExtensionFunctionAddress] = (gc_function)get_address;
}

static void pass_all_on(void) {
    memcpy(gc_slots, gc_next, sizeof gc_slots);
}

/* A forked child shares the journal's memory with its parent, and has no part in it, nor in the script. */
static void after_fork(void) {
    pass_all_on();
    gc_times_abandon();
    gc_memory_abandon();
    gc_script_abandon();
    gc_journal_abandon();
}

static bool open_recording(const char *next) {
    const char *folder = getenv("GROUNDSTATE_CAPTURE_OUT");
    if (folder == NULL || folder[0] == 0)
        return false;
    const char *pages = gc_memory_open(getenv("GROUNDSTATE_CAPTURE_PAGES"), is_set("GROUNDSTATE_CAPTURE_RESULTS"));
    return gc_journal_open(folder, next, pages);
}

__attribute__((constructor)) static void begin(void) {
    char own[PATH_MAX];
    const char *next = getenv("GROUNDSTATE_CAPTURE_NEXT");
    if (next == NULL || next[0] == 0) {
        find_driver(own, sizeof own);
        next = own;
    }
    void *library = open_next(next);
    fill_slots(library);
    if (library != NULL)
        next_share_python = (gc_function)dlsym(library, "gs_share_python");
    const char *script = getenv("GROUNDSTATE_SCRIPT");
    bool scripted = library != NULL && script != NULL && script[0] != 0;
    bool recorded = library != NULL && open_recording(next);
    if (!scripted && !recorded)
        return;
    pthread_atfork(NULL, NULL, after_fork);
    is_recorded = recorded;
    if (recorded)
        record_calls();
    const char *times = getenv("GROUNDSTATE_CAPTURE_TIMES");
    if (recorded && (times == NULL || strcmp(times, "0") != 0))
        gc_times_open();
    give_own_addresses();
    if (scripted)
        gc_script_install(script);
}

__attribute__((destructor)) static void end(void) {
    pass_all_on();
    gc_times_close();
    gc_journal_close();
}
