/* Values on their way between C and Lua: words, structs and arrays. */
#ifndef GC_SCRIPT_VALUES_H
#define GC_SCRIPT_VALUES_H

#include "capture/script/lua_api.h"
#include "capture/script/script.h"

/* Whose value it is, for messages: the field `name` of the struct `owner`, or the argument of the function. */
typedef struct gc_owner {
    const char *owner, *name;
} gc_owner;

/* An argument or answer, or what a field of at most 64 bits holds. `family` tells what a chain is made of. */
void gc_push_word(lua_State *state, const gc_type *type, uint64_t word, char family);
/* The same in the other direction; raises an error in Lua if the value is not of that type. */
uint64_t gc_take_word(lua_State *state, int index, const gc_type *type, gc_owner of);

/* An address: of a pointer, a struct, an array or a number; nil is null. */
/* Pushes the address that a table has, and its type; a script that fills a table may call it __self as well. */
int gc_push_self(lua_State *state, int index);
/* Whether a table says where its struct is. */
bool gc_has_self(lua_State *state, int index);
void *gc_take_pointer(lua_State *state, int index, gc_owner of);
int64_t gc_take_integer(lua_State *state, int index, gc_owner of);
double gc_take_number(lua_State *state, int index, gc_owner of);

/* A pointer, for Lua. */
void gc_push_pointer(lua_State *state, const void *address);
/* A struct as a table whose fields are read and written where the struct is; null, and what leads nowhere, as a pointer. */
void gc_push_struct(lua_State *state, const void *address, uint16_t layout);

/* A script may keep values of its own in a struct's table, as it gets when it copies one field by field. Before a call
 * they are stored in the struct, after it they are what the struct has. */
bool gc_has_copies(lua_State *state, int index);
void gc_store_copies(lua_State *state, int index, uint16_t layout);
void gc_load_copies(lua_State *state, int index, uint16_t layout);

/* The table of memory that the script owns: a block begins at an address, or not; the number of the one that an address
 * lies in, 0 if there is none. */
bool gc_block_add(const void *address, size_t size);
bool gc_block_remove(const void *address, size_t *size);
int64_t gc_block_at(const void *address);

/* Memory that the script owns. It is an error to give back what was not allocated here. */
void *gc_lua_allocate(lua_State *state, size_t size);
void gc_lua_release(lua_State *state, void *address);
/* Keeps the string at the top of the stack for good, and hands out its bytes. */
const char *gc_lua_keep_string(lua_State *state, int index);

int gc_lua_create_struct(lua_State *state); /* drvl0.create_<struct>; the layout's number is its upvalue */
int gc_lua_free_struct(lua_State *state);   /* drvl0.free */

/* The name among some that is nearest to one that there is not; NULL if none is near (names.c). */
const char *gc_nearest(const char *name, const char *(*name_at)(const void *names, size_t at), const void *names,
                       size_t count);
/* Raises an error: what there is not, its name, and what may have been meant instead if that is known. */
int gc_lua_no_such(lua_State *state, const char *what, const char *name, const char *nearest);

#endif
