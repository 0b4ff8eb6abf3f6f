/* Decides when a script runs: loads it at the first call, asks its hooks, and tells it when the program ends. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/script/script.h"
#include "abi/printable.h"
#include "capture/script/sandbox.h"

enum { PLACES = 64, PLACE_SIZE = 1024 };

/* A place in a script where something failed. */
typedef struct failure {
    char place[PLACE_SIZE];
    uint64_t count;
} failure;

_Thread_local gc_hooked_call *gc_hooked_call_here __attribute__((tls_model("initial-exec")));

/* Why a function keeps its trampoline without a hook. After those that initialise, a driver has registered what it does
 * at exit, which must come after the script's end. */
enum role { NO_ROLE, LAUNCHES, INITIALISES };

static gc_function below[GS_FN_COUNT]; /* what was in the slots before */
static atomic_bool hooked[GS_FN_COUNT];
static _Atomic uint8_t roles[GS_FN_COUNT];
static const char *script;             /* its path */
static const gc_language *language;
static pthread_once_t loading = PTHREAD_ONCE_INIT;
static atomic_bool running;            /* the script was loaded and has not been told of the end */
static atomic_ullong launches, frame, launches_before; /* before the frame began */

static pthread_mutex_t failures_lock = PTHREAD_MUTEX_INITIALIZER;
static failure failures[PLACES];

/* --- What the script may ask ------------------------------------------------------------------------------------- */

static const char *setting(const char *variable) {
    const char *value = getenv(variable);
    return value != NULL ? value : "";
}

const char *gc_script_arguments(void) {
    return setting("GROUNDSTATE_SCRIPT_ARGUMENTS");
}

const char *gc_script_out_folder(void) {
    return setting("GROUNDSTATE_SCRIPT_OUT");
}

const char *gc_script_stream_folder(void) {
    const char *played = setting("GROUNDSTATE_SCRIPT_STREAM");
    return played[0] != 0 ? played : setting("GROUNDSTATE_CAPTURE_OUT");
}

uint64_t gc_script_launches(void) {
    return launches;
}

uint64_t gc_script_launches_in_frame(void) {
    return launches - launches_before;
}

uint64_t gc_script_frame(void) {
    return frame;
}

int gc_script_number(const char *name) {
    for (int each = 0; each < GS_FN_COUNT; each++)
        if (strcmp(gs_function_names[each], name) == 0)
            return each;
    return -1;
}

/* --- Failures ---------------------------------------------------------------------------------------------------- */

static failure *failure_at(const char *place) {
    for (failure *each = failures; each < failures + PLACES; each++)
        if (each->count == 0 || strncmp(each->place, place, PLACE_SIZE - 1) == 0)
            return each;
    return failures + PLACES - 1;
}

void gc_script_failed(const char *place, const char *message, const char *during) {
    pthread_mutex_lock(&failures_lock);
    failure *found = failure_at(place);
    snprintf(found->place, sizeof found->place, "%s", place);
    bool is_first = found->count++ == 0;
    pthread_mutex_unlock(&failures_lock);
    if (is_first) {
        char behind[128];
        snprintf(behind, sizeof behind, " (in %s)", during);
        gs_say("script: ", message, behind);
    }
    if (strcmp(setting("GROUNDSTATE_SCRIPT_STOP"), "1") == 0) {
        fprintf(stderr, "groundstate: the program is stopped, as asked for\n");
        exit(EXIT_FAILURE);
    }
}

static void report_failures(void) {
    for (const failure *each = failures; each < failures + PLACES && each->count > 0; each++) {
        char before[64];
        snprintf(before, sizeof before, "script: failed %llu time%s at ", (unsigned long long)each->count,
                 each->count == 1 ? "" : "s");
        gs_say(before, each->place, "");
    }
}

/* --- Beginning and end ------------------------------------------------------------------------------------------- */

static enum role role_of(enum gs_function function) {
    switch (function) {
    case GS_FN_zeInit:
    case GS_FN_zeInitDrivers:
    case GS_FN_zesInit:
        return INITIALISES;
    default:
        return strncmp(gs_function_names[function], "zeCommandListAppendLaunch", 25) == 0 ? LAUNCHES : NO_ROLE;
    }
}

static void pass_on(enum gs_function function) {
    __atomic_store_n(&gc_slots[function], below[function], __ATOMIC_RELEASE);
}

void gc_script_hook(enum gs_function function) {
    hooked[function] = true;
    __atomic_store_n(&gc_slots[function], gc_trampolines[function], __ATOMIC_RELEASE);
}

/* Calls of the script inside are not hooked. */
static void tell(const char *name, int64_t number) {
    gc_hooked_call hooked = {.function = GS_FN_COUNT}, *before = gc_hooked_call_here;
    gc_hooked_call_here = before != NULL ? before : &hooked;
    language->event(name, number);
    gc_hooked_call_here = before;
    if (before == NULL)
        gc_script_keep_writes();
}

static void finish(void) {
    if (!atomic_exchange(&running, false))
        return;
    tell("gitsProgramExit", -1);
    for (int each = 0; each < GS_FN_COUNT; each++)
        pass_on(each);
    report_failures();
}

static bool run_script(void) {
    gc_hooked_call hooked = {.function = GS_FN_COUNT};
    gc_hooked_call_here = &hooked;
    const char *ending = strrchr(script, '.');
    language = ending != NULL && strcmp(ending, ".py") == 0 ? &gc_python_language : &gc_lua_language;
    bool is_free = language == &gc_python_language && gc_sandboxed();
    if (is_free)
        fputs("groundstate: there is no sandbox for scripts in Python, so this one is not run; write it in Lua\n", stderr);
    bool loaded = !is_free && language->load(script);
    gc_hooked_call_here = NULL;
    gc_script_keep_writes();
    return loaded;
}

static void load(void) {
    bool loaded = run_script();
    if (loaded) {
        running = true;
        atexit(finish);
        tell("gitsProgramStart", -1);
    }
    for (int each = 0; each < GS_FN_COUNT; each++)
        if (!loaded || (!hooked[each] && roles[each] == NO_ROLE))
            pass_on(each);
    if (!loaded && strcmp(setting("GROUNDSTATE_SCRIPT_STOP"), "1") == 0)
        exit(EXIT_FAILURE);
}

void gc_script_install(const char *path) {
    script = path;
    for (int each = 0; each < GS_FN_COUNT; each++)
        roles[each] = role_of(each);
    memcpy(below, gc_slots, sizeof below);
    memcpy(gc_slots, gc_trampolines, sizeof gc_slots);
}

void gc_script_abandon(void) {
    running = false;
}

/* --- Calls ------------------------------------------------------------------------------------------------------- */

uint64_t gc_script_call_on(enum gs_function function, const uint64_t *words) {
    uint64_t answer = gc_invokers[function](below[function], words);
    if (gc_hooked_call_here != NULL && gc_hooked_call_here->function == function) {
        gc_hooked_call_here->called_on = true;
        gc_hooked_call_here->answer = answer;
        gc_script_keep_writes();
    }
    return answer;
}

/* A hook that failed has had no part in the call: what it wrote is undone and the call is passed on as it came. If it
 * had called on already, the program gets that answer, since nothing should be done twice. */
static uint64_t ask_hook(enum gs_function function, const uint64_t *words) {
    gc_hooked_call hooked = {.function = function, .words = words};
    gc_hooked_call_here = &hooked;
    bool answered = language->call(&hooked);
    if (answered)
        gc_script_keep_writes();
    else
        gc_script_undo_writes();
    gc_hooked_call_here = NULL;
    return answered || hooked.called_on ? hooked.answer : gc_invokers[function](below[function], words);
}

uint64_t gc_script_call(enum gs_function function, const uint64_t *words) {
    if (gc_hooked_call_here != NULL)
        return gc_invokers[function](below[function], words);
    pthread_once(&loading, load);
    if (!running)
        return gc_invokers[function](below[function], words);
    if (roles[function] == LAUNCHES)
        atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
    uint64_t answer = hooked[function] ? ask_hook(function, words) : gc_invokers[function](below[function], words);
    if (roles[function] == INITIALISES && atomic_exchange(&roles[function], NO_ROLE) == INITIALISES)
        atexit(finish);
    return answer;
}

/* A player tells what it does: gitsFrameBegin and gitsFrameEnd, gitsStateRestoreBegin and gitsStateRestoreEnd, gitsLoopBegin
 * and gitsLoopEnd. A negative number is none. */
GS_PUBLIC void gc_script_event(const char *name, int64_t number);
void gc_script_event(const char *name, int64_t number) {
    if (script == NULL || gc_hooked_call_here != NULL)
        return;
    pthread_once(&loading, load);
    if (strcmp(name, "gitsFrameBegin") == 0 && number >= 0) {
        frame = (uint64_t)number;
        launches_before = launches;
    }
    if (running)
        tell(name, number);
}
