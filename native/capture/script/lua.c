/* Hooks in Lua: one state, in which each thread of the program has a thread of Lua's.
 *
 * A lock guards the state; it is free while a call that a script makes is under way. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "capture/script/gits.h"
#include "capture/script/sandbox.h"
#include "capture/script/values.h"

enum { STACK = 64, LEVELS = 16, EXIT_PATIENCE = 5 };

/* Lua for one thread of the program. */
typedef struct lua_here {
    lua_State *state;
    int reference; /* keeps the state alive */
} lua_here;

static const char *script; /* its path */
static lua_State *first; /* the state that the script was loaded in */
static pthread_mutex_t lock;
static pthread_key_t key;
static _Thread_local lua_here *here __attribute__((tls_model("initial-exec")));
static bool hooks_something; /* the script has a function for a call or an event */
static bool is_sandboxed;
static const char names; /* its address names the numbers of functions by name in the registry */

/* --- Threads ----------------------------------------------------------------------------------------------------- */

static void leave_thread(void *ending) {
    lua_here *thread = ending;
    here = NULL; /* another destructor may make a call */
    pthread_mutex_lock(&lock);
    lua.luaL_unref(first, LUA_REGISTRY, thread->reference);
    pthread_mutex_unlock(&lock);
    free(thread);
}

/* Only one thread can be told of the end, and it waits for a hook that hangs no longer than this. */
static bool lock_patiently(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += EXIT_PATIENCE;
    return pthread_mutex_timedlock(&lock, &until) == 0;
}

/* This thread's state, with the lock held; NULL if there is no memory for one. */
static lua_State *state_here(void) {
    if (here != NULL)
        return here->state;
    lua_here *thread = calloc(1, sizeof *thread);
    if (thread == NULL || !lua.lua_checkstack(first, STACK))
        return NULL;
    thread->state = lua.lua_newthread(first);
    thread->reference = lua.luaL_ref(first, LUA_REGISTRY);
    pthread_setspecific(key, thread);
    here = thread;
    return thread->state;
}

/* --- Failures ---------------------------------------------------------------------------------------------------- */

/* Turns an error into what is said of it: a table of its place in the script and its text. */
static int describe_error(lua_State *state) {
    lua.lua_createtable(state, 0, 2);
    lua.lua_pushstring(state, "");
    for (int level = 1; level < LEVELS && lua.lua_tolstring(state, -1, NULL)[0] == 0; level++) {
        lua_pop(state, 1);
        lua.luaL_where(state, level);
    }
    lua.lua_setfield(state, 2, "place");
    if (lua.lua_type(state, 1) == LUA_STRING) /* a script may have its own way to show one, which nothing would end here */
        lua.lua_pushvalue(state, 1);
    else
        lua.luaL_tolstring(state, 1, NULL);
    lua.lua_setfield(state, 2, "message");
    return 1;
}

/* Lua shortens the names of files to "...end/of/name.lua". Ours is known in full. */
static void write_in_full(char *to, size_t capacity, const char *text) {
    size_t shown = strncmp(text, "...", 3) == 0 ? strcspn(text + 3, ":") : 0, whole = strlen(script);
    bool is_script = shown > 0 && shown <= whole && strncmp(script + whole - shown, text + 3, shown) == 0;
    snprintf(to, capacity, "%s%s", is_script ? script : "", is_script ? text + 3 + shown : text);
}

static void report_error(lua_State *state, const char *during) {
    char place[PATH_MAX], message[PATH_MAX + 1024];
    lua.lua_getfield(state, -1, "message");
    write_in_full(message, sizeof message, lua.lua_tolstring(state, -1, NULL));
    lua.lua_getfield(state, -2, "place");
    write_in_full(place, sizeof place, lua.lua_tolstring(state, -1, NULL));
    size_t length = strlen(place);
    while (length > 0 && (place[length - 1] == ' ' || place[length - 1] == ':'))
        place[--length] = 0;
    lua_pop(state, 2);
    gc_script_failed(length > 0 ? place : during, message, during);
}

/* Another hook would take as long. */
static void give_up(const char *during) {
    gc_script_failed(during, "the script has taken too long for the sandbox and is not called any more", during);
    gc_script_abandon();
}

/* Runs a C function with one argument under the protection of Lua; false if it failed, which is reported. */
static bool run(lua_State *state, lua_CFunction function, void *argument, const char *during) {
    int top = lua.lua_gettop(state);
    if (!lua.lua_checkstack(state, STACK))
        return false;
    lua.lua_pushcclosure(state, describe_error, 0);
    lua.lua_pushcclosure(state, function, 0);
    lua.lua_pushlightuserdata(state, argument);
    if (is_sandboxed)
        gc_sandbox_begin(state);
    bool done = lua.lua_pcallk(state, 1, 0, top + 1, 0, NULL) == 0;
    if (is_sandboxed && !gc_sandbox_end())
        give_up(during);
    else if (!done && lua.lua_type(state, -1) == LUA_TABLE)
        report_error(state, during);
    else if (!done)
        gc_script_failed(during, "there is no memory left for the script", during);
    lua.lua_settop(state, top);
    return done;
}

/* --- Calls ------------------------------------------------------------------------------------------------------- */

/* The argument is the hooked call; a hook that is gone leaves it unanswered. */
static int call_hook(lua_State *state) {
    gc_hooked_call *hooked = lua.lua_touserdata(state, 1);
    const char *name = gs_function_names[hooked->function];
    const gc_signature *signature = &gc_signatures[hooked->function];
    const gc_field *parameters = gc_parameters + signature->first;
    if (lua.lua_getglobal(state, name) != LUA_FUNCTION)
        return 0;
    for (int each = 0; each < signature->count; each++)
        gc_push_word(state, &parameters[each].type, hooked->words[each], gc_namespaces[hooked->function]);
    lua.lua_callk(state, signature->count, 1, 0, NULL);
    if (is_sandboxed)
        return 0; /* the program gets what the driver answers */
    bool is_nil = lua.lua_type(state, -1) == LUA_NIL;
    hooked->answer = is_nil ? 0 : gc_take_word(state, -1, &signature->answer, (gc_owner){name, "the result"});
    hooked->answered = true;
    return 0;
}

static bool lua_call(gc_hooked_call *hooked) {
    pthread_mutex_lock(&lock);
    lua_State *state = state_here();
    bool done = state != NULL && run(state, call_hook, hooked, gs_function_names[hooked->function]);
    pthread_mutex_unlock(&lock);
    return done && hooked->answered;
}

/* In the sandbox a hook may say when the call is made, and no more. */
static void expect_same_call(lua_State *state, enum gs_function function, const uint64_t *words, uint32_t copies) {
    const gc_hooked_call *hooked = gc_hooked_call_here;
    if (hooked == NULL || hooked->function != function)
        gc_sandbox_refuse(state, "a call that the program has not made");
    if (hooked->called_on)
        gc_sandbox_refuse(state, "to make the call of the program twice");
    bool is_same = copies == 0;
    for (int each = 0; each < gc_signatures[function].count; each++) {
        int unused = 64 - 8 * gc_parameters[gc_signatures[function].first + each].type.size;
        is_same = is_same && (words[each] ^ hooked->words[each]) << (unused > 0 ? unused : 0) == 0;
    }
    if (!is_same)
        gc_sandbox_refuse(state, "to change the arguments of a call");
}

/* drvl0.<function>: calls on. The function's number is upvalue 1. */
static int call_on(lua_State *state) {
    enum gs_function function = (enum gs_function)lua.lua_tointegerx(state, LUA_UPVALUE(1), NULL);
    const char *name = gs_function_names[function];
    const gc_signature *signature = &gc_signatures[function];
    const gc_field *parameters = gc_parameters + signature->first;
    uint64_t words[GC_MAX_PARAMETERS];
    uint32_t copies = 0; /* one bit for each argument whose table has values of its own */
    if (lua.lua_gettop(state) != signature->count)
        return lua.luaL_error(state, "%s takes %d arguments, not %d", name, signature->count, lua.lua_gettop(state));
    for (int each = 0; each < signature->count; each++) {
        const gc_type *type = &parameters[each].type;
        if (type->layout != GC_NO_LAYOUT && lua.lua_type(state, each + 1) == LUA_TABLE &&
            gc_has_copies(state, each + 1)) {
            copies |= 1u << each;
            if (!is_sandboxed)
                gc_store_copies(state, each + 1, type->layout);
        }
        words[each] = gc_take_word(state, each + 1, type, (gc_owner){name, parameters[each].name});
        if (type->kind == GC_STRUCT && words[each] == 0)
            return lua.luaL_error(state, "%s of %s is a struct and cannot be null", parameters[each].name, name);
    }
    if (is_sandboxed)
        expect_same_call(state, function, words, copies);
    pthread_mutex_unlock(&lock);
    uint64_t answer = gc_script_call_on(function, is_sandboxed ? gc_hooked_call_here->words : words);
    pthread_mutex_lock(&lock);
    for (int each = 0; each < signature->count; each++)
        if (copies >> each & 1)
            gc_load_copies(state, each + 1, parameters[each].type.layout);
    gc_push_word(state, &signature->answer, answer, gc_namespaces[function]);
    return 1;
}

/* --- Events ------------------------------------------------------------------------------------------------------ */

typedef struct event {
    const char *name;
    int64_t number;
} event;

static int call_event(lua_State *state) {
    const event *what = lua.lua_touserdata(state, 1);
    if (lua.lua_getglobal(state, what->name) != LUA_FUNCTION)
        return 0;
    if (what->number >= 0)
        lua.lua_pushinteger(state, what->number);
    lua.lua_callk(state, what->number >= 0 ? 1 : 0, 0, 0, NULL);
    return 0;
}

static void lua_event(const char *name, int64_t number) {
    event what = {name, number};
    if (!lock_patiently()) {
        fprintf(stderr, "groundstate: script: %s is not called: a hook has not returned\n", name);
        return;
    }
    lua_State *state = state_here();
    if (state != NULL)
        run(state, call_event, &what, name);
    pthread_mutex_unlock(&lock);
}

/* --- Loading ----------------------------------------------------------------------------------------------------- */

static const char *const EVENTS[] = {"gitsProgramStart", "gitsProgramExit",       "gitsFrameBegin",     "gitsFrameEnd",
                                     "gitsLoopBegin",    "gitsLoopEnd",           "gitsStateRestoreBegin",
                                     "gitsStateRestoreEnd"};
enum { EVENT_COUNT = sizeof EVENTS / sizeof *EVENTS };

static const char *name_in(const void *names_there, size_t at) {
    return ((const char *const *)names_there)[at];
}

static bool is_event(const char *name) {
    for (int each = 0; each < EVENT_COUNT; each++)
        if (strcmp(name, EVENTS[each]) == 0)
            return true;
    return false;
}

/* Whether a name is in the manner of the API's functions: ze, zes, zet or zer and a capital. */
static bool looks_like_function(const char *name) {
    if (strncmp(name, "ze", 2) != 0)
        return false;
    const char *rest = name + (name[2] == 's' || name[2] == 't' || name[2] == 'r' ? 3 : 2);
    return *rest >= 'A' && *rest <= 'Z';
}

/* A function that nobody would ever call, as its name is nearly that of another one. */
static void refuse_misspelt(lua_State *state, const char *name) {
    const char *event = strncmp(name, "gits", 4) == 0 ? gc_nearest(name, name_in, EVENTS, EVENT_COUNT) : NULL;
    if (event != NULL)
        gc_lua_no_such(state, "there is no event", name, event);
    if (looks_like_function(name))
        gc_lua_no_such(state, "there is no function to hook that is called", name,
                       gc_nearest(name, name_in, gs_function_names, GS_FN_COUNT));
}

/* The script defined a global that it did not have: if it is a function of the API, that has a hook from now on. */
static int new_global(lua_State *state) {
    if (lua.lua_gettop(state) != 3 || lua.lua_type(state, 1) != LUA_TABLE)
        return lua.luaL_error(state, "a global has a name and a value");
    if (lua.lua_type(state, 2) == LUA_STRING && lua.lua_type(state, 3) == LUA_FUNCTION) {
        const char *name = lua.lua_tolstring(state, 2, NULL);
        lua.lua_rawgetp(state, LUA_REGISTRY, &names);
        lua.lua_pushvalue(state, 2);
        if (lua.lua_rawget(state, -2) == LUA_NUMBER)
            gc_script_hook((enum gs_function)lua.lua_tointegerx(state, -1, NULL));
        else if (!is_event(name))
            refuse_misspelt(state, name);
        hooks_something = hooks_something || lua.lua_type(state, -1) == LUA_NUMBER || is_event(name);
        lua_pop(state, 2);
    }
    lua.lua_rawset(state, 1);
    return 0;
}

static const char *constant_name(const void *constants, size_t at) {
    return ((const gc_constant *)constants)[at].name;
}

/* A global that is not there. Most are nil, but a constant of the API that is not there is misspelt. */
static int missing_global(lua_State *state) {
    static const char *const PREFIXES[] = {"ZE_", "ZES_", "ZET_", "ZER_"};
    const char *name = lua.lua_type(state, 2) == LUA_STRING ? lua.lua_tolstring(state, 2, NULL) : "";
    for (int each = 0; each < 4; each++)
        if (strncmp(name, PREFIXES[each], strlen(PREFIXES[each])) == 0)
            gc_lua_no_such(state, "there is no constant", name,
                           gc_nearest(name, constant_name, gc_constants, gc_constant_count));
    lua.lua_pushnil(state);
    return 1;
}

/* drvl0.<name> that is not there. A script may ask whether it is, so only what is misspelt is an error. */
static int missing_function(lua_State *state) {
    const char *name = lua.lua_type(state, 2) == LUA_STRING ? lua.lua_tolstring(state, 2, NULL) : "";
    const char *nearest = gc_nearest(name, name_in, gs_function_names, GS_FN_COUNT);
    if (nearest != NULL)
        gc_lua_no_such(state, "drvl0 has no function", name, nearest);
    lua.lua_pushnil(state);
    return 1;
}

static void watch_globals(lua_State *state) {
    lua.lua_createtable(state, 0, GS_FN_COUNT);
    for (int each = 0; each < GS_FN_COUNT; each++) {
        lua.lua_pushinteger(state, each);
        lua.lua_setfield(state, -2, gs_function_names[each]);
    }
    lua.lua_rawsetp(state, LUA_REGISTRY, &names);
    lua.lua_getglobal(state, "_G");
    lua.lua_createtable(state, 0, 2);
    lua.lua_pushcclosure(state, new_global, 0);
    lua.lua_setfield(state, -2, "__newindex");
    lua.lua_pushcclosure(state, missing_global, 0);
    lua.lua_setfield(state, -2, "__index");
    lua.lua_setmetatable(state, -2);
    lua_pop(state, 1);
}

static void add_driver(lua_State *state) {
    char name[80];
    lua.lua_createtable(state, 0, GS_FN_COUNT + (int)gc_layout_count + 1);
    for (int each = 0; each < GS_FN_COUNT; each++) {
        lua.lua_pushinteger(state, each);
        lua.lua_pushcclosure(state, call_on, 1);
        lua.lua_setfield(state, -2, gs_function_names[each]);
    }
    for (size_t each = 0; each < gc_layout_count && !is_sandboxed; each++) {
        snprintf(name, sizeof name, "create_%s", gc_layouts[each].name);
        lua.lua_pushinteger(state, (int64_t)each);
        lua.lua_pushcclosure(state, gc_lua_create_struct, 1);
        lua.lua_setfield(state, -2, name);
    }
    if (!is_sandboxed) {
        lua.lua_pushcclosure(state, gc_lua_free_struct, 0);
        lua.lua_setfield(state, -2, "free");
    }
    lua.lua_createtable(state, 0, 1);
    lua.lua_pushcclosure(state, missing_function, 0);
    lua.lua_setfield(state, -2, "__index");
    lua.lua_setmetatable(state, -2);
    lua.lua_setglobal(state, "drvl0");
}

static int load_script(lua_State *state) {
    const char *path = lua.lua_touserdata(state, 1);
    if (is_sandboxed)
        gc_sandbox_open(state);
    else
        lua.luaL_openlibs(state);
    gc_lua_add_constants(state);
    gc_lua_add_gits(state);
    add_driver(state);
    watch_globals(state);
    if (lua.luaL_loadfilex(state, path, "t") != 0)
        return lua.luaL_error(state, "%s", lua.lua_tolstring(state, -1, NULL));
    lua.lua_callk(state, 0, 0, 0, NULL);
    if (!hooks_something)
        fprintf(stderr, "groundstate: script: %s hooks nothing: no global function has the name of a Level Zero function or of "
                        "an event\n", path);
    return 0;
}

static bool lua_load(const char *path) {
    pthread_mutexattr_t about;
    pthread_mutexattr_init(&about);
    pthread_mutexattr_settype(&about, PTHREAD_MUTEX_RECURSIVE); /* a script may end the program inside a hook */
    pthread_mutex_init(&lock, &about);
    pthread_key_create(&key, leave_thread);
    script = path;
    is_sandboxed = gc_sandboxed();
    if (!gc_lua_find())
        return false;
    first = lua.luaL_newstate();
    if (first == NULL)
        return false;
    if (lua.lua_version(first) != LUA_VERSION) {
        fprintf(stderr, "groundstate: scripts need Lua 5.4, and this one is %g\n", lua.lua_version(first) / 100);
        return false;
    }
    pthread_mutex_lock(&lock);
    bool loaded = run(first, load_script, (void *)path, "loading the script");
    pthread_mutex_unlock(&lock);
    return loaded;
}

const gc_language gc_lua_language = {lua_load, lua_call, lua_event};
