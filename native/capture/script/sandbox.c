/* The sandbox for scripts of strangers, in Lua: they may look on, compute and print, and no more.
 *
 * A script has the parts of the standard library that touch nothing but Lua's own memory, less what would run machine code of
 * the script's (bytecode), escape the limits (finalizers and coroutines, which no hook of Lua's interrupts), or work for hours
 * inside one function of C. Its memory and its time are limited. What it may do to the program is decided where that is done:
 * whoever writes memory or makes a call asks gc_sandboxed. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "capture/script/sandbox.h"
#include "abi/printable.h"

static const int64_t MEMORY_LIMIT = 64 << 20;
static const int64_t TIME_LIMIT_NS = INT64_C(1000000000); /* of a thread's CPU, for a hook or an event */
static const int INSTRUCTIONS = 200;                      /* between two looks at the clock */
static const double PATTERN_LIMIT = 0x1p32;               /* steps that a search may take at most */
static const int64_t MOST_REPEATED = 1 << 24;

static int64_t memory_used;
static _Thread_local int64_t deadline;
static _Thread_local bool is_running, is_over;

static bool wanted;

/* Whatever does not say clearly that it is off means that it is on. */
static void ask(void) {
    static const char *const OFF[] = {"", "0", "false", "off", "no"};
    const char *value = getenv("GROUNDSTATE_SCRIPT_SANDBOX");
    wanted = value != NULL;
    for (size_t each = 0; value != NULL && each < sizeof OFF / sizeof *OFF; each++)
        wanted = wanted && strcasecmp(value, OFF[each]) != 0;
}

bool gc_sandboxed(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask);
    return wanted;
}

int gc_sandbox_refuse(lua_State *state, const char *what) {
    return lua.luaL_error(state, "%s is not possible in the sandbox, where scripts only look on", what);
}

/* --- Limits ------------------------------------------------------------------------------------------------------ */

static int64_t thread_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Once a script has taken too long each further instruction fails, so that nothing which it catches lets it go on. */
static void watch(lua_State *state, void *unused) {
    (void)unused;
    is_over = is_over || thread_time() > deadline;
    if (!is_over)
        return;
    lua.lua_sethook(state, watch, LUA_MASK_COUNT, 1);
    lua.luaL_error(state, "the script has taken too long");
}

void gc_sandbox_begin(lua_State *state) {
    is_running = true;
    is_over = false;
    deadline = thread_time() + TIME_LIMIT_NS;
    lua.lua_sethook(state, watch, LUA_MASK_COUNT, INSTRUCTIONS);
}

bool gc_sandbox_end(void) {
    is_running = false;
    return !is_over;
}

/* As Lua's own, whose blocks it takes over; all is used with the lock of the script held. Only a script that runs can be told
 * that there is no memory; it would end the program elsewhere. */
static void *allocate(void *unused, void *block, size_t before, size_t size) {
    (void)unused;
    int64_t more = (int64_t)size - (block != NULL ? (int64_t)before : 0);
    if (is_running && more > 0 && (size > (size_t)MEMORY_LIMIT || memory_used + more > MEMORY_LIMIT))
        return NULL;
    void *made = NULL;
    if (size == 0)
        free(block);
    else if ((made = realloc(block, size)) == NULL)
        return NULL;
    memory_used += more;
    return made;
}

/* --- Functions with conditions: what they stand for is upvalue 1 ---------------------------------------------------- */

static int pass_on(lua_State *state) {
    int count = lua.lua_gettop(state);
    lua.lua_pushvalue(state, LUA_UPVALUE(1));
    lua.lua_rotate(state, 1, 1);
    lua.lua_callk(state, count, LUA_KEEP_ALL, 0, NULL);
    return lua.lua_gettop(state);
}

/* The last character of a set such as [%a_-]. */
static size_t end_of_set(const char *pattern, size_t length, size_t at) {
    at += at + 1 < length && pattern[at + 1] == '^' ? 2 : 1;
    do
        at += at < length && pattern[at] == '%' ? 2 : 1;
    while (at < length && pattern[at] != ']');
    return at;
}

/* How many parts of a pattern can match in several ways, or take long: repetitions, %b and %1. */
static int repetitions(const char *pattern, size_t length) {
    int found = 0;
    for (size_t each = 0; each < length; each++) {
        if (pattern[each] == '%' && each + 1 < length) {
            each++;
            found += pattern[each] == 'b' || (pattern[each] >= '0' && pattern[each] <= '9');
        } else if (pattern[each] == '[') {
            each = end_of_set(pattern, length, each);
        } else {
            found += strchr("*+-?", pattern[each]) != NULL && pattern[each] != 0;
        }
    }
    return found;
}

/* Searches run in C, where nobody can stop them. */
static int search(lua_State *state) {
    size_t length, pattern_length;
    const char *text = lua.lua_tolstring(state, 1, &length), *pattern = lua.lua_tolstring(state, 2, &pattern_length);
    if (text == NULL || pattern == NULL)
        return pass_on(state); /* which says what is wrong */
    double steps = (double)pattern_length * pow((double)length + 1, repetitions(pattern, pattern_length) + 1);
    if (steps > PATTERN_LIMIT)
        return lua.luaL_error(state, "this pattern could take too long for a text of %I bytes: in the sandbox, search shorter "
                                     "texts, or with fewer repetitions",
                              (long long)length);
    return pass_on(state);
}

static int repeat(lua_State *state) {
    if (lua.lua_tointegerx(state, 2, NULL) > MOST_REPEATED)
        return lua.luaL_error(state, "string.rep repeats no more than %I times in the sandbox", (long long)MOST_REPEATED);
    return pass_on(state);
}

static void expect_plain(lua_State *state, int index) {
    if (lua.lua_type(state, index) == LUA_TABLE && lua.lua_getmetatable(state, index))
        lua.luaL_error(state, "functions of table take tables without a metatable in the sandbox");
}

/* With a length of its own making a table could keep them busy for ever. */
static int on_table(lua_State *state) {
    expect_plain(state, 1);
    return pass_on(state);
}

static int move(lua_State *state) {
    int64_t from = lua.lua_tointegerx(state, 2, NULL), to = lua.lua_tointegerx(state, 3, NULL);
    expect_plain(state, 1);
    expect_plain(state, 5);
    if (to > from && (uint64_t)to - (uint64_t)from > (uint64_t)MOST_REPEATED)
        return lua.luaL_error(state, "table.move moves no more than %I elements in the sandbox", (long long)MOST_REPEATED);
    return pass_on(state);
}

/* Finalizers run while Lua collects garbage, and no limit would end them. */
static int set_metatable(lua_State *state) {
    if (lua.lua_type(state, 2) == LUA_TABLE) {
        lua.lua_pushstring(state, "__gc");
        if (lua.lua_rawget(state, 2) != LUA_NIL)
            return lua.luaL_error(state, "there are no finalizers (__gc) in the sandbox");
        lua_pop(state, 1);
    }
    return pass_on(state);
}

/* Calls the handler when the error is over: inside of it, one that the clock has raised for example, nothing would end it. */
static int protect(lua_State *state) {
    int count = lua.lua_gettop(state);
    if (count < 2)
        return lua.luaL_error(state, "xpcall takes a function and a handler");
    lua.lua_pushvalue(state, 1); /* the function goes before its arguments, behind the handler */
    lua.lua_rotate(state, 3, 1);
    if (lua.lua_pcallk(state, count - 2, LUA_KEEP_ALL, 0, 0, NULL) == 0) {
        lua.lua_pushboolean(state, 1);
        lua.lua_rotate(state, 3, 1);
        return lua.lua_gettop(state) - 2;
    }
    lua.lua_pushvalue(state, 2);
    lua.lua_rotate(state, 3, 1);
    lua.lua_callk(state, 1, LUA_KEEP_ALL, 0, NULL);
    lua.lua_pushboolean(state, 0);
    lua.lua_rotate(state, 3, 1);
    return lua.lua_gettop(state) - 2;
}

static int print(lua_State *state) {
    int count = lua.lua_gettop(state);
    for (int each = 1; each <= count; each++) {
        size_t length;
        const char *text = lua.luaL_tolstring(state, each, &length);
        if (each > 1)
            putchar('\t');
        gs_print_lines(stdout, text, length);
        lua_pop(state, 1);
    }
    putchar('\n');
    return 0;
}

static int require(lua_State *state) {
    const char *name = lua.lua_tolstring(state, 1, NULL);
    if (name == NULL || strcmp(name, "l0Constants") != 0)
        return lua.luaL_error(state, "there is nothing to require in the sandbox but l0Constants");
    lua.lua_pushboolean(state, 1);
    return 1;
}

/* --- The library ------------------------------------------------------------------------------------------------- */

/* A function, or without one: left out. An empty table is that of the globals. */
static const struct {
    const char *table, *name;
    lua_CFunction instead;
} CHANGES[] = {
    {"string", "find", search},      {"string", "match", search},   {"string", "gmatch", search}, {"string", "gsub", search},
    {"string", "rep", repeat},       {"string", "dump", NULL},      {"table", "insert", on_table},
    {"table", "remove", on_table},   {"table", "concat", on_table}, {"table", "unpack", on_table},
    {"table", "sort", on_table},     {"table", "move", move},       {"_G", "setmetatable", set_metatable},
    {"_G", "print", print},          {"_G", "require", require},    {"_G", "load", NULL},
    {"_G", "loadfile", NULL},        {"_G", "dofile", NULL},        {"_G", "collectgarbage", NULL},
    {"_G", "warn", NULL},            {"_G", "xpcall", protect},
};

static void open(lua_State *state, const char *name, lua_CFunction library) {
    lua.luaL_requiref(state, name, library, 1);
    lua_pop(state, 1);
}

void gc_sandbox_open(lua_State *state) {
    lua.lua_setallocf(state, allocate, NULL);
    open(state, "_G", lua.luaopen_base);
    open(state, "table", lua.luaopen_table);
    open(state, "string", lua.luaopen_string);
    open(state, "math", lua.luaopen_math);
    open(state, "utf8", lua.luaopen_utf8);
    for (size_t each = 0; each < sizeof CHANGES / sizeof *CHANGES; each++) {
        lua.lua_getglobal(state, CHANGES[each].table);
        if (CHANGES[each].instead != NULL) {
            lua.lua_getfield(state, -1, CHANGES[each].name);
            lua.lua_pushcclosure(state, CHANGES[each].instead, 1);
        } else {
            lua.lua_pushnil(state);
        }
        lua.lua_setfield(state, -2, CHANGES[each].name);
        lua_pop(state, 1);
    }
}
