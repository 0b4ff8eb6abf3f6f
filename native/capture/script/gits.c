/* The table `gits`: memory by address and index, strings, times, and what the script was started with. */
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <time.h>

#include "capture/script/gits.h"
#include "abi/printable.h"
#include "capture/script/sandbox.h"
#include "capture/script/values.h"

enum { TEXT_LIMIT = 64 << 20 };

/* Refuses another number of arguments than there should be; the name may be in two parts. */
static void expect_of(lua_State *state, const char *verb, const char *name, int count) {
    if (lua.lua_gettop(state) != count)
        lua.luaL_error(state, "gits.%s%s takes %d argument%s, not %d", verb, name, count, count == 1 ? "" : "s",
                       lua.lua_gettop(state));
}

static void expect(lua_State *state, const char *name, int count) {
    expect_of(state, "", name, count);
}

/* --- Memory by index --------------------------------------------------------------------------------------------- */

/* What get and set functions there are, by the type of their elements. */
static const struct accessor {
    const char *name;
    gc_type type;
} ACCESSORS[] = {
    {"Udt", {GC_POINTER, 8, GC_NO_LAYOUT, 0}},  {"Byte", {GC_UNSIGNED, 1, GC_NO_LAYOUT, 0}},
    {"Int", {GC_SIGNED, 4, GC_NO_LAYOUT, 0}},   {"Int64", {GC_SIGNED, 8, GC_NO_LAYOUT, 0}},
    {"SizeT", {GC_UNSIGNED, 8, GC_NO_LAYOUT, 0}}, {"Float", {GC_REAL, 4, GC_NO_LAYOUT, 0}},
};

static char *element(lua_State *state, const struct accessor *of) {
    gc_owner array = {of->name, "the array"}, index = {of->name, "the index"};
    if (lua.lua_type(state, 1) == LUA_STRING) /* its bytes are Lua's own, which shares them */
        lua.luaL_error(state, "a string is no array; gits.allocUdtFromStr makes one of it");
    char *address = gc_take_pointer(state, 1, array);
    return address + gc_take_integer(state, 2, index) * of->type.size;
}

static int get_element(lua_State *state) {
    const struct accessor *of = lua.lua_touserdata(state, LUA_UPVALUE(1));
    uint64_t word = 0;
    expect_of(state, "get", of->name, 2);
    const char *address = element(state, of);
    if (!gc_script_read(address, &word, of->type.size))
        return lua.luaL_error(state, "gits.get%s: there is no memory at %p", of->name, address);
    gc_push_word(state, &of->type, word, 'e');
    return 1;
}

static int set_element(lua_State *state) {
    const struct accessor *of = lua.lua_touserdata(state, LUA_UPVALUE(1));
    expect_of(state, "set", of->name, 3);
    char *address = element(state, of);
    uint64_t word = gc_take_word(state, 3, &of->type, (gc_owner){of->name, "the value"});
    if (!gc_script_write(address, &word, of->type.size))
        return lua.luaL_error(state, "gits.set%s: the memory at %p is read-only or not there", of->name, address);
    return 0;
}

static int null_udt(lua_State *state) {
    gc_push_pointer(state, NULL);
    return 1;
}

static int get_ptr_size(lua_State *state) {
    lua.lua_pushinteger(state, sizeof(void *));
    return 1;
}

static int alloc_bytes(lua_State *state) {
    expect(state, "allocBytes", 1);
    int64_t size = gc_take_integer(state, 1, (gc_owner){"gits.allocBytes", "the size"});
    if (size < 0)
        return lua.luaL_error(state, "gits.allocBytes: there is no memory of %I bytes", (long long)size);
    gc_push_pointer(state, gc_lua_allocate(state, (size_t)size));
    return 1;
}

static int free_bytes(lua_State *state) {
    expect(state, "freeBytes", 1);
    gc_lua_release(state, gc_take_pointer(state, 1, (gc_owner){"gits.freeBytes", "the argument"}));
    return 0;
}

static int udt_to_int(lua_State *state) {
    expect(state, "udtToInt", 1);
    lua.lua_pushinteger(state, (int64_t)(uintptr_t)gc_take_pointer(state, 1, (gc_owner){"gits.udtToInt", "the argument"}));
    return 1;
}

static int is_int64_in_range(lua_State *state) {
    gc_owner of = {"gits.isInt64InRange", "an argument"};
    expect(state, "isInt64InRange", 3);
    uint64_t begin = (uint64_t)gc_take_integer(state, 1, of), size = (uint64_t)gc_take_integer(state, 2, of);
    lua.lua_pushboolean(state, (uint64_t)gc_take_integer(state, 3, of) - begin < size);
    return 1;
}

/* --- Strings ----------------------------------------------------------------------------------------------------- */

/* From the address of a string in C. A string of Lua is one already. */
static int udt_to_str(lua_State *state) {
    expect(state, "udtToStr", 1);
    if (lua.lua_type(state, 1) == LUA_STRING)
        return 1;
    const char *from = gc_take_pointer(state, 1, (gc_owner){"gits.udtToStr", "the argument"});
    if (from == NULL) {
        lua.lua_pushnil(state);
        return 1;
    }
    long length = gc_script_length(from, TEXT_LIMIT);
    if (length < 0)
        return lua.luaL_error(state, "gits.udtToStr: there is no string at %p", from);
    lua.lua_pushlstring(state, from, (size_t)length);
    return 1;
}

static int alloc_udt_from_str(lua_State *state) {
    expect(state, "allocUdtFromStr", 1);
    size_t length;
    const char *text = lua.luaL_tolstring(state, 1, &length);
    char *copy = gc_lua_allocate(state, length + 1);
    memcpy(copy, text, length);
    gc_push_pointer(state, copy);
    return 1;
}

static int lua_str_to_c_str(lua_State *state) {
    expect(state, "luaStrToCStr", 1);
    lua.luaL_tolstring(state, 1, NULL);
    gc_push_pointer(state, gc_lua_keep_string(state, -1));
    return 1;
}

/* --- Messages and settings --------------------------------------------------------------------------------------- */

static int log_text(lua_State *state) {
    static const char *const LEVELS[] = {"trace", "trace", "info", "info", "warning", "error"};
    expect(state, "log", 2);
    int64_t level = gc_take_integer(state, 1, (gc_owner){"gits.log", "the level"});
    const char *text = lua.luaL_tolstring(state, 2, NULL);
    if (level < 0 || level >= (int64_t)(sizeof LEVELS / sizeof *LEVELS))
        return 0;
    char before[32];
    snprintf(before, sizeof before, "script: %s: ", LEVELS[level]);
    gs_say(before, text, "");
    return 0;
}

static int system_log(lua_State *state) {
    expect(state, "systemLog", 1);
    udt_to_str(state);
    syslog(LOG_NOTICE, "%s", lua.luaL_tolstring(state, -1, NULL));
    return 0;
}

static int curr_time(lua_State *state) {
    static struct timespec start;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (start.tv_sec == 0)
        start = now;
    int64_t seconds = now.tv_sec - start.tv_sec;
    lua.lua_pushinteger(state, seconds * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000);
    return 1;
}

static int get_args_str(lua_State *state) {
    lua.lua_pushstring(state, gc_script_arguments());
    return 1;
}

static int get_out_dir(lua_State *state) {
    lua.lua_pushstring(state, gc_script_out_folder());
    return 1;
}

static int get_stream_dir(lua_State *state) {
    lua.lua_pushstring(state, gc_script_stream_folder());
    return 1;
}

static int get_current_frame(lua_State *state) {
    lua.lua_pushinteger(state, (int64_t)gc_script_frame());
    return 1;
}

static int get_current_draw(lua_State *state) {
    lua.lua_pushinteger(state, (int64_t)gc_script_launches());
    return 1;
}

static int get_current_draw_in_frame(lua_State *state) {
    lua.lua_pushinteger(state, (int64_t)gc_script_launches_in_frame());
    return 1;
}

/* Asks for windows, of which there are none here. */
static int do_nothing(lua_State *state) {
    (void)state;
    return 0;
}

/* --- Ranges ------------------------------------------------------------------------------------------------------ */

/* A list such as "1,4-8,10-100:5": numbers, from-to, and from-to:step; "-" is none, "all" and "+" are all. The text itself
 * is kept: it is short, and asked seldom. */
static bool is_in_part(const char **at, uint64_t number) {
    char *end;
    uint64_t first = strtoull(*at, &end, 10), last = first, step = 1;
    if (*end == '-')
        last = strtoull(end + 1, &end, 10);
    if (*end == ':')
        step = strtoull(end + 1, &end, 10);
    *at = end;
    if (first > last) {
        uint64_t other = first;
        first = last;
        last = other;
    }
    return number >= first && number <= last && step > 0 && (number - first) % step == 0;
}

static bool is_in_range(const char *range, uint64_t number) {
    if (strcmp(range, "all") == 0 || strcmp(range, "+") == 0)
        return true;
    while (*range >= '0' && *range <= '9') {
        if (is_in_part(&range, number))
            return true;
        range += *range == ',';
    }
    return false;
}

static int new_bit_range(lua_State *state) {
    expect(state, "newBitRange", 1);
    const char *text = lua.luaL_tolstring(state, 1, NULL);
    if (strspn(text, "0123456789,-:") != strlen(text) && strcmp(text, "all") != 0 && strcmp(text, "+") != 0)
        return lua.luaL_error(state, "gits.newBitRange: '%s' is no range such as 1,4-8,10-100:5", text);
    size_t size = strlen(text) + 1;
    memcpy(lua.lua_newuserdatauv(state, size, 0), text, size);
    return 1;
}

static int in_bit_range(lua_State *state) {
    expect(state, "inBitRange", 2);
    if (lua.lua_type(state, 1) != LUA_USERDATA)
        return lua.luaL_error(state, "gits.inBitRange: the first argument must come from gits.newBitRange");
    int64_t number = gc_take_integer(state, 2, (gc_owner){"gits.inBitRange", "the number"});
    lua.lua_pushboolean(state, number >= 0 && is_in_range(lua.lua_touserdata(state, 1), (uint64_t)number));
    return 1;
}

/* --- The table --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    lua_CFunction function;
    bool does; /* more than to look on */
} FUNCTIONS[] = {
    {"nullUdt", null_udt, false},
    {"getPtrSize", get_ptr_size, false},
    {"allocBytes", alloc_bytes, true},
    {"freeBytes", free_bytes, true},
    {"udtToInt", udt_to_int, false},
    {"isInt64InRange", is_int64_in_range, false},
    {"udtToStr", udt_to_str, false},
    {"cStrToLuaStr", udt_to_str, false},
    {"allocUdtFromStr", alloc_udt_from_str, true},
    {"luaStrToCStr", lua_str_to_c_str, true},
    {"log", log_text, false},
    {"systemLog", system_log, true},
    {"currTime", curr_time, false},
    {"getArgsStr", get_args_str, false},
    {"getOutDir", get_out_dir, false},
    {"getStreamDir", get_stream_dir, false},
    {"getCurrentFrame", get_current_frame, false},
    {"getCurrentDraw", get_current_draw, false},
    {"getCurrentDrawInFrame", get_current_draw_in_frame, false},
    {"newBitRange", new_bit_range, false},
    {"inBitRange", in_bit_range, false},
    {"msgBox", do_nothing, false},
    {"getWndRectByHDC", do_nothing, false},
};

void gc_lua_add_gits(lua_State *state) {
    char name[32];
    bool only_looks = gc_sandboxed();
    lua.lua_createtable(state, 0, 40);
    for (size_t each = 0; each < sizeof FUNCTIONS / sizeof *FUNCTIONS; each++) {
        if (FUNCTIONS[each].does && only_looks)
            continue;
        lua.lua_pushcclosure(state, FUNCTIONS[each].function, 0);
        lua.lua_setfield(state, -2, FUNCTIONS[each].name);
    }
    for (size_t each = 0; each < sizeof ACCESSORS / sizeof *ACCESSORS; each++)
        for (int sets = 0; sets < (only_looks ? 1 : 2); sets++) {
            snprintf(name, sizeof name, "%s%s", sets ? "set" : "get", ACCESSORS[each].name);
            gc_push_pointer(state, &ACCESSORS[each]);
            lua.lua_pushcclosure(state, sets ? set_element : get_element, 1);
            lua.lua_setfield(state, -2, name);
        }
    lua.lua_setglobal(state, "gits");
    curr_time(state); /* counts from here */
    lua_pop(state, 1);
}

/* --- Constants --------------------------------------------------------------------------------------------------- */

static int ze_bit(lua_State *state) {
    lua.lua_pushinteger(state, INT64_C(1) << (gc_take_integer(state, 1, (gc_owner){"ZE_BIT", "the bit"}) & 63));
    return 1;
}

static int ze_make_version(lua_State *state) {
    gc_owner of = {"ZE_MAKE_VERSION", "a part"};
    lua.lua_pushinteger(state, gc_take_integer(state, 1, of) << 16 | (gc_take_integer(state, 2, of) & 0xffff));
    return 1;
}

static int load_nothing(lua_State *state) {
    lua.lua_pushboolean(state, 1);
    return 1;
}

static int search_constants(lua_State *state) {
    const char *name = lua.lua_tolstring(state, 1, NULL);
    if (name == NULL || strcmp(name, "l0Constants") != 0)
        return 0;
    lua.lua_pushcclosure(state, load_nothing, 0);
    return 1;
}

/* `require 'l0Constants'` takes the file of that name beside the script, if there is one; else all is there already. */
static void add_searcher(lua_State *state) {
    lua.lua_getglobal(state, "package");
    lua.lua_getfield(state, -1, "searchers");
    int64_t last = (int64_t)lua.lua_rawlen(state, -1);
    lua.lua_pushcclosure(state, search_constants, 0);
    lua.lua_rawseti(state, -2, last + 1);
    lua_pop(state, 2);
}

void gc_lua_add_constants(lua_State *state) {
    for (size_t each = 0; each < gc_constant_count; each++) {
        const gc_constant *constant = &gc_constants[each];
        if (constant->text != NULL)
            lua.lua_pushstring(state, constant->text);
        else
            lua.lua_pushinteger(state, constant->value);
        lua.lua_setglobal(state, constant->name);
    }
    lua.lua_pushcclosure(state, ze_bit, 0);
    lua.lua_setglobal(state, "ZE_BIT");
    lua.lua_pushcclosure(state, ze_make_version, 0);
    lua.lua_setglobal(state, "ZE_MAKE_VERSION");
    if (!gc_sandboxed())
        add_searcher(state);
}
