/* Structs and arrays as tables of Lua.
 *
 * A table has the address in its field _self; its metatable reads and writes where the struct is. If that is memory of the
 * script, __block has the number of the block that is __at that address, and when the struct is freed __last gets what its
 * fields were. A script may let _self be another address. __self is the
 * same field. */
#include <stdio.h>
#include <stdlib.h>

#include "capture/script/sandbox.h"
#include "capture/script/values.h"

static void push_value(lua_State *state, const gc_type *type, const void *at, char family);
static void store_value(lua_State *state, int index, const gc_type *type, void *at, gc_owner of);
static void each_copy(lua_State *state, int index, const gc_layout *layout, char *at, bool loads);

/* --- Tables ------------------------------------------------------------------------------------------------------ */

static void set_address(lua_State *state, int table, const char *name, const void *address) {
    lua.lua_pushstring(state, name);
    gc_push_pointer(state, address);
    lua.lua_rawset(state, table);
}

static void push_table(lua_State *state, const void *address) {
    int64_t block = gc_block_at(address);
    lua.lua_createtable(state, 0, block != 0 ? 3 : 1);
    int table = lua.lua_gettop(state);
    set_address(state, table, "_self", address);
    if (block == 0)
        return;
    set_address(state, table, "__at", address);
    lua.lua_pushstring(state, "__block");
    lua.lua_pushinteger(state, block);
    lua.lua_rawset(state, table);
}

static bool is_key(lua_State *state, int index, const char *name) {
    return lua.lua_type(state, index) == LUA_STRING && strcmp(lua.lua_tolstring(state, index, NULL), name) == 0;
}

static bool is_self(lua_State *state, int index) {
    return is_key(state, index, "_self") || is_key(state, index, "__self");
}

/* What a table has of its own besides fields of the struct. */
static bool is_own(lua_State *state, int index) {
    return is_self(state, index) || is_key(state, index, "__block") || is_key(state, index, "__at") ||
           is_key(state, index, "__last");
}

static void *live_self(lua_State *state, gc_owner of) {
    void *address = gc_take_pointer(state, 1, of);
    if (address == NULL)
        lua.luaL_error(state, "this %s is null", of.owner);
    return address;
}

/* --- Structs ----------------------------------------------------------------------------------------------------- */

static const gc_layout *layout_here(lua_State *state) {
    return lua.lua_touserdata(state, LUA_UPVALUE(1));
}

/* The field that the key at an index names; upvalue 2 has the numbers of all fields by name. */
static const gc_field *field_here(lua_State *state, int key) {
    lua.lua_pushvalue(state, key);
    lua.lua_rawget(state, LUA_UPVALUE(2));
    int known = 0;
    int64_t number = lua.lua_tointegerx(state, -1, &known);
    lua_pop(state, 1);
    return known ? &gc_fields[layout_here(state)->first + number] : NULL;
}

/* struct[n] is the n-th of several in a row, counted from 0 as the functions of `gits` do. */
static int struct_element(lua_State *state, const gc_layout *layout, const char *address) {
    int64_t number = lua.lua_tointegerx(state, 2, NULL);
    if (number < 0)
        return lua.luaL_error(state, "structs in a row count from 0; there is no %I", (long long)number);
    gc_push_struct(state, address + number * layout->size, (uint16_t)(layout - gc_layouts));
    return 1;
}

/* Pushes the last value of a field, if the struct was freed. */
static bool push_last(lua_State *state) {
    lua.lua_pushstring(state, "__last");
    if (lua.lua_rawget(state, 1) != LUA_TABLE) {
        lua_pop(state, 1);
        return false;
    }
    lua.lua_pushvalue(state, 2);
    lua.lua_rawget(state, -2);
    return true;
}

static const char *field_name(const void *layout, size_t at) {
    return gc_fields[((const gc_layout *)layout)->first + at].name;
}

static int no_field(lua_State *state, const gc_layout *layout) {
    const char *name = lua.luaL_tolstring(state, 2, NULL);
    const char *what = lua.lua_pushfstring(state, "%s has no field", layout->name);
    return gc_lua_no_such(state, what, name, gc_nearest(name, field_name, layout, layout->count));
}

/* A script can call what is in a metatable with anything. */
static void expect_table(lua_State *state) {
    if (lua.lua_type(state, 1) != LUA_TABLE)
        lua.luaL_error(state, "a struct or an array must be a table, not a %s",
                       lua.lua_typename(state, lua.lua_type(state, 1)));
}

static void expect_writable(lua_State *state) {
    expect_table(state);
    if (gc_sandboxed())
        gc_sandbox_refuse(state, "to change memory of the program");
}

static int struct_index(lua_State *state) {
    const gc_layout *layout = layout_here(state);
    expect_table(state);
    if (is_self(state, 2)) {
        gc_push_self(state, 1);
        return 1;
    }
    const gc_field *field = field_here(state, 2);
    bool is_element = field == NULL && lua.lua_isinteger(state, 2);
    if (field == NULL && !is_element)
        return no_field(state, layout);
    if (!is_element && push_last(state))
        return 1;
    const char *address = live_self(state, (gc_owner){layout->name, is_element ? "an element" : field->name});
    if (is_element)
        return struct_element(state, layout, address);
    push_value(state, &field->type, address + field->offset, layout->family);
    return 1;
}

static int struct_newindex(lua_State *state) {
    const gc_layout *layout = layout_here(state);
    expect_writable(state);
    if (is_self(state, 2)) {
        set_address(state, 1, "_self", gc_take_pointer(state, 3, (gc_owner){layout->name, "_self"}));
        return 0;
    }
    const gc_field *field = field_here(state, 2);
    if (field == NULL)
        return no_field(state, layout);
    char *address = live_self(state, (gc_owner){layout->name, field->name});
    store_value(state, 3, &field->type, address + field->offset, (gc_owner){layout->name, field->name});
    return 0;
}

/* Goes from a field's name to the next field. The last two are both names of the address. */
static int struct_next(lua_State *state) {
    const gc_layout *layout = layout_here(state);
    int next = 0;
    bool is_before_last = is_key(state, 2, "_self");
    if (is_self(state, 2) && !is_before_last)
        return 0;
    if (lua.lua_type(state, 2) == LUA_STRING) {
        const gc_field *field = field_here(state, 2);
        next = field != NULL ? (int)(field - gc_fields) - layout->first + 1 : layout->count;
    }
    const char *address = live_self(state, (gc_owner){layout->name, "_self"});
    const gc_field *field = next < layout->count ? &gc_fields[layout->first + next] : NULL;
    lua.lua_pushstring(state, field != NULL ? field->name : is_before_last ? "__self" : "_self");
    if (field != NULL)
        push_value(state, &field->type, address + field->offset, layout->family);
    else
        gc_push_pointer(state, address);
    return 2;
}

static int struct_pairs(lua_State *state) {
    lua.lua_pushvalue(state, LUA_UPVALUE(1));
    lua.lua_pushvalue(state, LUA_UPVALUE(2));
    lua.lua_pushcclosure(state, struct_next, 2);
    lua.lua_pushvalue(state, 1);
    lua.lua_pushnil(state);
    return 3;
}

static int struct_tostring(lua_State *state) {
    const gc_layout *layout = layout_here(state);
    lua.lua_pushfstring(state, "%s: %p", layout->name, gc_take_pointer(state, 1, (gc_owner){layout->name, "_self"}));
    return 1;
}

static void add_method(lua_State *state, int metatable, const char *name, lua_CFunction method) {
    lua.lua_pushvalue(state, metatable + 1); /* what both upvalues are */
    lua.lua_pushvalue(state, metatable + 2);
    lua.lua_pushcclosure(state, method, 2);
    lua.lua_setfield(state, metatable, name);
}

/* The metatable of a struct, made when it is needed first. */
static void push_struct_metatable(lua_State *state, const gc_layout *layout) {
    if (lua.lua_rawgetp(state, LUA_REGISTRY, layout) == LUA_TABLE)
        return;
    lua_pop(state, 1);
    lua.lua_createtable(state, 0, 6);
    int metatable = lua.lua_gettop(state);
    gc_push_pointer(state, layout);
    lua.lua_createtable(state, 0, layout->count);
    for (int each = 0; each < layout->count; each++) {
        lua.lua_pushinteger(state, each);
        lua.lua_setfield(state, -2, gc_fields[layout->first + each].name);
    }
    add_method(state, metatable, "__index", struct_index);
    add_method(state, metatable, "__newindex", struct_newindex);
    add_method(state, metatable, "__pairs", struct_pairs);
    add_method(state, metatable, "__tostring", struct_tostring);
    lua_pop(state, 2);
    lua.lua_pushstring(state, layout->name);
    lua.lua_setfield(state, metatable, "__name");
    gc_push_pointer(state, layout);
    lua.lua_setfield(state, metatable, "__layout");
    lua.lua_pushvalue(state, metatable);
    lua.lua_rawsetp(state, LUA_REGISTRY, layout);
}

void gc_push_struct(lua_State *state, const void *address, uint16_t layout) {
    if (address == NULL || layout == GC_NO_LAYOUT || !gc_script_readable(address, gc_layouts[layout].size)) {
        gc_push_pointer(state, address);
        return;
    }
    push_table(state, address);
    push_struct_metatable(state, &gc_layouts[layout]);
    lua.lua_setmetatable(state, -2);
}

/* --- Arrays ------------------------------------------------------------------------------------------------------ */

static const gc_type *array_here(lua_State *state) {
    return lua.lua_touserdata(state, LUA_UPVALUE(1));
}

static char *array_element(lua_State *state, const gc_type *type) {
    gc_owner of = {"array", "an element"};
    int64_t number = gc_take_integer(state, 2, of);
    if (number < 0 || number >= type->length)
        lua.luaL_error(state, "this array has the elements 0 to %d; there is no %I", type->length - 1,
                       (long long)number);
    return (char *)live_self(state, of) + number * type->size;
}

static int array_index(lua_State *state) {
    const gc_type *type = array_here(state);
    expect_table(state);
    if (is_self(state, 2)) {
        gc_push_self(state, 1);
        return 1;
    }
    gc_type one = *type;
    one.length = 0;
    push_value(state, &one, array_element(state, type), 'e');
    return 1;
}

static int array_newindex(lua_State *state) {
    const gc_type *type = array_here(state);
    expect_writable(state);
    gc_type one = *type;
    one.length = 0;
    store_value(state, 3, &one, array_element(state, type), (gc_owner){"array", "an element"});
    return 0;
}

static int array_len(lua_State *state) {
    lua.lua_pushinteger(state, array_here(state)->length);
    return 1;
}

static int array_tostring(lua_State *state) {
    const gc_type *type = array_here(state);
    const char *address = live_self(state, (gc_owner){"array", "_self"});
    long length = gc_script_length(address, type->length);
    if (type->size == 1 && length >= 0)
        lua.lua_pushlstring(state, address, (size_t)length);
    else
        lua.lua_pushfstring(state, "array of %d: %p", (int)type->length, address);
    return 1;
}

static void push_array(lua_State *state, const gc_type *type, const void *address) {
    push_table(state, address);
    if (lua.lua_rawgetp(state, LUA_REGISTRY, type) != LUA_TABLE) {
        lua_pop(state, 1);
        lua.lua_createtable(state, 0, 4);
        int metatable = lua.lua_gettop(state);
        gc_push_pointer(state, type);
        lua.lua_pushnil(state);
        add_method(state, metatable, "__index", array_index);
        add_method(state, metatable, "__newindex", array_newindex);
        add_method(state, metatable, "__len", array_len);
        add_method(state, metatable, "__tostring", array_tostring);
        lua_pop(state, 2);
        lua.lua_pushvalue(state, metatable);
        lua.lua_rawsetp(state, LUA_REGISTRY, type);
    }
    lua.lua_setmetatable(state, -2);
}

/* --- Values in memory -------------------------------------------------------------------------------------------- */

static void push_value(lua_State *state, const gc_type *type, const void *at, char family) {
    uint64_t word = 0;
    if (type->length > 0) {
        push_array(state, type, at);
    } else if (type->kind == GC_STRUCT) {
        gc_push_struct(state, at, type->layout);
    } else if (gc_script_read(at, &word, type->size)) {
        gc_push_word(state, type, word, family);
    } else {
        lua.luaL_error(state, "there is no memory at %p any more", at);
    }
}

static void store_bytes(lua_State *state, void *to, const void *from, size_t size, gc_owner of) {
    if (!gc_script_write(to, from, size))
        lua.luaL_error(state, "%s of %s cannot be changed: its memory is read-only or gone", of.name, of.owner);
}

/* From other memory, which may be gone. */
static void store_copy(lua_State *state, char *to, const char *from, size_t size, gc_owner of) {
    char bytes[512];
    for (size_t done = 0; done < size && from != to; done += sizeof bytes) {
        size_t part = size - done < sizeof bytes ? size - done : sizeof bytes;
        if (!gc_script_read(from + done, bytes, part))
            lua.luaL_error(state, "%s of %s: there is no memory at %p to take it from", of.name, of.owner, from);
        store_bytes(state, to + done, bytes, part, of);
    }
}

/* A string with the zero after it, as far as there is room. */
static void store_text(lua_State *state, int index, const gc_type *type, void *at, gc_owner of) {
    size_t length;
    const char *text = lua.lua_tolstring(state, index, &length);
    if (type->size != 1 || length > type->length)
        lua.luaL_error(state, "%s of %s has no room for a text of %I bytes", of.name, of.owner, (long long)length);
    store_bytes(state, at, text, length < type->length ? length + 1 : length, of);
}

static void store_array(lua_State *state, int index, const gc_type *type, char *at, gc_owner of) {
    gc_type one = *type;
    one.length = 0;
    size_t given = lua.lua_rawlen(state, index);
    if (lua.lua_type(state, index) == LUA_STRING) {
        store_text(state, index, type, at, of);
    } else if (lua.lua_type(state, index) == LUA_TABLE && given > 0) {
        for (size_t each = 0; each < given && each < type->length; each++) {
            lua.lua_rawgeti(state, index, (int64_t)each + 1);
            store_value(state, lua.lua_gettop(state), &one, at + each * type->size, of);
            lua_pop(state, 1);
        }
    } else {
        store_copy(state, at, gc_take_pointer(state, index, of), (size_t)type->size * type->length, of);
    }
}

/* A struct from another one, or from a plain table with some of its fields. */
static void store_struct(lua_State *state, int index, const gc_type *type, char *at, gc_owner of) {
    if (lua.lua_type(state, index) == LUA_TABLE) {
        if (!gc_has_self(state, index)) {
            each_copy(state, index, &gc_layouts[type->layout], at, false);
            return;
        }
    }
    store_copy(state, at, gc_take_pointer(state, index, of), type->size, of);
}

static void store_value(lua_State *state, int index, const gc_type *type, void *at, gc_owner of) {
    index = lua.lua_absindex(state, index);
    if (type->length > 0) {
        store_array(state, index, type, at, of);
    } else if (type->kind == GC_STRUCT) {
        store_struct(state, index, type, at, of);
    } else {
        if (lua.lua_type(state, index) == LUA_STRING && type->kind == GC_POINTER)
            gc_lua_keep_string(state, index);
        uint64_t word = gc_take_word(state, index, type, of);
        store_bytes(state, at, &word, type->size, of);
    }
}

/* --- Copies of fields in a struct's table ---------------------------------------------------------------------------- */

bool gc_has_copies(lua_State *state, int index) {
    index = lua.lua_absindex(state, index);
    lua.lua_pushnil(state);
    while (lua.lua_next(state, index)) {
        bool is_copy = !is_own(state, -2);
        lua_pop(state, is_copy ? 2 : 1);
        if (is_copy)
            return true;
    }
    return false;
}

static void each_copy(lua_State *state, int index, const gc_layout *layout, char *at, bool loads) {
    for (int each = 0; each < layout->count; each++) {
        const gc_field *field = &gc_fields[layout->first + each];
        lua.lua_pushstring(state, field->name);
        bool is_there = lua.lua_rawget(state, index) != LUA_NIL;
        if (is_there && field->type.kind == GC_STRUCT && field->type.length == 0 &&
            lua.lua_type(state, -1) == LUA_TABLE) {
            if (!loads)
                store_value(state, -1, &field->type, at + field->offset, (gc_owner){layout->name, field->name});
            each_copy(state, lua.lua_gettop(state), &gc_layouts[field->type.layout], at + field->offset, loads);
        } else if (is_there && loads) {
            lua.lua_pushstring(state, field->name);
            push_value(state, &field->type, at + field->offset, layout->family);
            lua.lua_rawset(state, index);
        } else if (is_there) {
            store_value(state, -1, &field->type, at + field->offset, (gc_owner){layout->name, field->name});
        }
        lua_pop(state, 1);
    }
}

void gc_store_copies(lua_State *state, int index, uint16_t layout) {
    gc_owner of = {gc_layouts[layout].name, "_self"};
    each_copy(state, index, &gc_layouts[layout], gc_take_pointer(state, index, of), false);
}

void gc_load_copies(lua_State *state, int index, uint16_t layout) {
    gc_owner of = {gc_layouts[layout].name, "_self"};
    each_copy(state, index, &gc_layouts[layout], gc_take_pointer(state, index, of), true);
}

/* --- Structs of the script --------------------------------------------------------------------------------------- */

int gc_lua_create_struct(lua_State *state) {
    uint16_t number = (uint16_t)lua.lua_tointegerx(state, LUA_UPVALUE(1), NULL);
    const gc_layout *layout = &gc_layouts[number];
    if (lua.lua_gettop(state) > 0) {
        gc_push_struct(state, gc_take_pointer(state, 1, (gc_owner){layout->name, "the address"}), number);
        return 1;
    }
    char *address = gc_lua_allocate(state, layout->size);
    if (layout->stype != GC_NO_STYPE)
        memcpy(address, &layout->stype, sizeof layout->stype);
    gc_push_struct(state, address, number);
    return 1;
}

/* Pushes a table of what the fields of a struct are, which stays when the struct goes. */
static void push_values(lua_State *state, const gc_layout *layout, const char *at) {
    lua.lua_createtable(state, 0, layout->count);
    int values = lua.lua_gettop(state);
    for (int each = 0; each < layout->count; each++) {
        const gc_field *field = &gc_fields[layout->first + each];
        lua.lua_pushstring(state, field->name);
        if (field->type.kind == GC_STRUCT && field->type.length == 0) {
            push_values(state, &gc_layouts[field->type.layout], at + field->offset);
        } else if (field->type.length > 0) {
            size_t size = (size_t)field->type.size * field->type.length;
            const char *bytes = at + field->offset;
            lua.lua_pushlstring(state, bytes, field->type.size == 1 ? strnlen(bytes, size) : size);
        } else {
            push_value(state, &field->type, at + field->offset, layout->family);
        }
        lua.lua_rawset(state, values);
    }
}

/* The fields of a table, copies of the script's among them, are those of the table at the top from now on. */
static void keep_last_values(lua_State *state, int table, const gc_layout *layout) {
    for (int each = 0; each < layout->count; each++) {
        lua.lua_pushstring(state, gc_fields[layout->first + each].name);
        lua.lua_pushnil(state);
        lua.lua_rawset(state, table);
    }
    lua.lua_pushstring(state, "__last");
    lua.lua_pushvalue(state, -2);
    lua.lua_rawset(state, table);
}

static const gc_layout *layout_of_table(lua_State *state, int index) {
    if (lua.lua_type(state, index) != LUA_TABLE || !lua.lua_getmetatable(state, index))
        return NULL;
    lua.lua_getfield(state, -1, "__layout");
    const gc_layout *said = lua.lua_touserdata(state, -1); /* a script may have said it */
    for (size_t each = 0; each < gc_layout_count; each++)
        if (said == &gc_layouts[each])
            return said;
    return NULL;
}

int gc_lua_free_struct(lua_State *state) {
    if (lua.lua_gettop(state) != 1)
        return lua.luaL_error(state, "drvl0.free takes 1 argument, not %d", lua.lua_gettop(state));
    void *address = gc_take_pointer(state, 1, (gc_owner){"drvl0.free", "the argument"});
    const gc_layout *layout = layout_of_table(state, 1);
    if (layout == NULL || address == NULL) {
        gc_lua_release(state, address);
        return 0;
    }
    push_values(state, layout, address);
    gc_lua_release(state, address);
    keep_last_values(state, 1, layout);
    set_address(state, 1, "_self", NULL);
    set_address(state, 1, "__at", NULL);
    return 0;
}
