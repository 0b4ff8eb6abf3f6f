/* Words, pointers and memory between C and Lua. Integers have all their 64 bits. */
#include <math.h>
#include <stdlib.h>

#include "capture/script/values.h"

static const char strings; /* its address names a table in Lua's registry */

/* --- Numbers ----------------------------------------------------------------------------------------------------- */

static int64_t whole(lua_State *state, double number, gc_owner of) {
    if (number == floor(number) && number >= -0x1p63 && number < 0x1p63)
        return (int64_t)number;
    if (number == floor(number) && number >= 0x1p63 && number < 0x1p64)
        return (int64_t)(uint64_t)number;
    return lua.luaL_error(state, "%s of %s must be a whole number of 64 bits, not %f", of.name, of.owner, number);
}

int64_t gc_take_integer(lua_State *state, int index, gc_owner of) {
    int is_integer = 0, is_number = 0;
    int64_t value = lua.lua_tointegerx(state, index, &is_integer);
    if (is_integer)
        return value;
    int type = lua.lua_type(state, index);
    if (type == LUA_BOOLEAN)
        return lua.lua_toboolean(state, index);
    if (type == LUA_LIGHTUSERDATA)
        return (int64_t)(uintptr_t)lua.lua_touserdata(state, index);
    double number = lua.lua_tonumberx(state, index, &is_number);
    if (is_number)
        return whole(state, number, of);
    if (type == LUA_NIL)
        return lua.luaL_error(state, "%s of %s is nil; is a constant misspelt?", of.name, of.owner);
    return lua.luaL_error(state, "%s of %s must be a number, not a %s", of.name, of.owner,
                          lua.lua_typename(state, type));
}

double gc_take_number(lua_State *state, int index, gc_owner of) {
    int is_number = 0;
    double number = lua.lua_tonumberx(state, index, &is_number);
    if (!is_number)
        lua.luaL_error(state, "%s of %s must be a number, not a %s", of.name, of.owner,
                       lua.lua_typename(state, lua.lua_type(state, index)));
    return number;
}

/* An integer that a type has room for, with or without a sign. */
static uint64_t fitting(lua_State *state, int index, const gc_type *type, gc_owner of) {
    int64_t value = gc_take_integer(state, index, of);
    int bits = type->size * 8;
    if (bits < 64 && (value < -(INT64_C(1) << (bits - 1)) || value >> bits > 0))
        lua.luaL_error(state, "%s of %s has %d bits; %I does not fit", of.name, of.owner, bits, (long long)value);
    return (uint64_t)value;
}

/* --- Pointers ---------------------------------------------------------------------------------------------------- */

void gc_push_pointer(lua_State *state, const void *address) {
    lua.lua_pushlightuserdata(state, (void *)address);
}

/* Whether the block that a table showed a part of is not there any more. */
static bool is_gone(lua_State *state, int table, const void *address) {
    lua.lua_pushstring(state, "__block");
    bool is_of_script = lua.lua_rawget(state, table) == LUA_NUMBER;
    int64_t block = lua.lua_tointegerx(state, -1, NULL);
    lua_pop(state, 1);
    if (!is_of_script)
        return false;
    lua.lua_pushstring(state, "__at");
    lua.lua_rawget(state, table);
    bool is_there = lua.lua_touserdata(state, -1) == address;
    lua_pop(state, 1);
    return is_there && gc_block_at(address) != block;
}

int gc_push_self(lua_State *state, int index) {
    lua.lua_pushstring(state, "_self");
    int type = lua.lua_rawget(state, index);
    if (type != LUA_NIL)
        return type;
    lua_pop(state, 1);
    lua.lua_pushstring(state, "__self");
    return lua.lua_rawget(state, index);
}

bool gc_has_self(lua_State *state, int index) {
    bool has = gc_push_self(state, index) != LUA_NIL;
    lua_pop(state, 1);
    return has;
}

static void *self_of(lua_State *state, int index, gc_owner of) {
    index = lua.lua_absindex(state, index);
    if (gc_push_self(state, index) != LUA_LIGHTUSERDATA)
        lua.luaL_error(state, "%s of %s must be a struct or a pointer, not a table without _self", of.name, of.owner);
    void *address = lua.lua_touserdata(state, -1);
    lua_pop(state, 1);
    if (is_gone(state, index, address))
        lua.luaL_error(state, "%s of %s: the memory of this struct was freed", of.name, of.owner);
    return address;
}

void *gc_take_pointer(lua_State *state, int index, gc_owner of) {
    switch (lua.lua_type(state, index)) {
    case LUA_NIL:
        return NULL;
    case LUA_LIGHTUSERDATA:
        return lua.lua_touserdata(state, index);
    case LUA_TABLE:
        return self_of(state, index, of);
    case LUA_STRING:
        return (void *)lua.lua_tolstring(state, index, NULL);
    case LUA_NUMBER:
        return (void *)(uintptr_t)gc_take_integer(state, index, of);
    default:
        lua.luaL_error(state, "%s of %s must be a pointer, not a %s", of.name, of.owner,
                       lua.lua_typename(state, lua.lua_type(state, index)));
        return NULL;
    }
}

/* --- Words ------------------------------------------------------------------------------------------------------- */

/* The struct of a chain, as its stype says. */
static uint16_t layout_of_chain(const void *address, char family) {
    uint32_t stype;
    if (!gc_script_read(address, &stype, sizeof stype))
        return GC_NO_LAYOUT;
    char wanted = family == 'r' ? 'e' : family; /* the runtime's structs lead to those of the core */
    for (size_t each = 0; each < gc_layout_count; each++)
        if (gc_layouts[each].stype == stype && gc_layouts[each].family == wanted)
            return (uint16_t)each;
    return GC_NO_LAYOUT;
}

static int64_t with_sign(uint64_t word, const gc_type *type) {
    int unused = 64 - type->size * 8;
    return (int64_t)(word << unused) >> unused;
}

static double real_of(uint64_t word, const gc_type *type) {
    float small;
    if (type->size == sizeof(double))
        return gc_real_of(word);
    memcpy(&small, &word, sizeof small);
    return small;
}

void gc_push_word(lua_State *state, const gc_type *type, uint64_t word, char family) {
    void *address = (void *)(uintptr_t)word;
    switch (type->kind) {
    case GC_UNSIGNED:
        lua.lua_pushinteger(state, (int64_t)word);
        break;
    case GC_SIGNED:
        lua.lua_pushinteger(state, with_sign(word, type));
        break;
    case GC_REAL:
        lua.lua_pushnumber(state, real_of(word, type));
        break;
    case GC_STRUCT:
    case GC_STRUCT_POINTER:
        gc_push_struct(state, address, type->layout);
        break;
    case GC_CHAIN:
        gc_push_struct(state, address, address != NULL ? layout_of_chain(address, family) : GC_NO_LAYOUT);
        break;
    default:
        gc_push_pointer(state, address);
    }
}

uint64_t gc_take_word(lua_State *state, int index, const gc_type *type, gc_owner of) {
    switch (type->kind) {
    case GC_UNSIGNED:
    case GC_SIGNED:
        return fitting(state, index, type, of);
    case GC_REAL: {
        double real = gc_take_number(state, index, of);
        float small = (float)real;
        uint64_t word = gc_bits_of(real);
        if (type->size == sizeof small)
            word = 0, memcpy(&word, &small, sizeof small);
        return word;
    }
    default:
        return (uintptr_t)gc_take_pointer(state, index, of);
    }
}

/* --- Memory of the script ---------------------------------------------------------------------------------------- */

static void push_registered(lua_State *state, const void *name) {
    if (lua.lua_rawgetp(state, LUA_REGISTRY, name) == LUA_TABLE)
        return;
    lua_pop(state, 1);
    lua.lua_createtable(state, 0, 0);
    lua.lua_pushvalue(state, -1);
    lua.lua_rawsetp(state, LUA_REGISTRY, name);
}

void *gc_lua_allocate(lua_State *state, size_t size) {
    void *address = calloc(1, size > 0 ? size : 1);
    if (address == NULL || !gc_block_add(address, size > 0 ? size : 1)) {
        free(address);
        lua.luaL_error(state, "there is no memory for %I bytes", (long long)size);
    }
    return address;
}

void gc_lua_release(lua_State *state, void *address) {
    size_t size;
    if (address == NULL)
        return;
    if (!gc_block_remove(address, &size))
        lua.luaL_error(state, "this memory was not allocated by the script, or is freed already");
    gc_script_forget(address, size);
    free(address);
}

const char *gc_lua_keep_string(lua_State *state, int index) {
    index = lua.lua_absindex(state, index);
    const char *bytes = lua.lua_tolstring(state, index, NULL);
    push_registered(state, &strings);
    lua.lua_pushvalue(state, index);
    lua.lua_pushboolean(state, 1);
    lua.lua_rawset(state, -3);
    lua_pop(state, 1);
    return bytes;
}
