/* The functions of Lua 5.4 that hooks use, looked up at run time: the library depends on no Lua. */
#ifndef GC_SCRIPT_LUA_API_H
#define GC_SCRIPT_LUA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lua_State lua_State;
typedef int (*lua_CFunction)(lua_State *);
typedef void *(*lua_Alloc)(void *, void *, size_t, size_t);
typedef void (*lua_Hook)(lua_State *, void *);

enum { LUA_NIL, LUA_BOOLEAN, LUA_LIGHTUSERDATA, LUA_NUMBER, LUA_STRING, LUA_TABLE, LUA_FUNCTION, LUA_USERDATA };
enum { LUA_VERSION = 504, LUA_REGISTRY = -1001000, LUA_KEEP_ALL = -1, LUA_MASK_COUNT = 8 };
#define LUA_UPVALUE(number) (LUA_REGISTRY - (number))

/* Result, name, parameters. */
#define LUA_API(X)                                                                                                 \
    X(lua_State *, luaL_newstate, (void))                                                                          \
    X(void, luaL_openlibs, (lua_State *))                                                                          \
    X(void, luaL_requiref, (lua_State *, const char *, lua_CFunction, int))                                         \
    X(int, luaopen_base, (lua_State *))                                                                            \
    X(int, luaopen_table, (lua_State *))                                                                           \
    X(int, luaopen_string, (lua_State *))                                                                          \
    X(int, luaopen_math, (lua_State *))                                                                            \
    X(int, luaopen_utf8, (lua_State *))                                                                            \
    X(void, lua_setallocf, (lua_State *, lua_Alloc, void *))                                                       \
    X(void, lua_sethook, (lua_State *, lua_Hook, int, int))                                                        \
    X(int, luaL_loadfilex, (lua_State *, const char *, const char *))                                              \
    X(int, luaL_error, (lua_State *, const char *, ...))                                                           \
    X(void, luaL_where, (lua_State *, int))                                                                        \
    X(int, luaL_ref, (lua_State *, int))                                                                           \
    X(void, luaL_unref, (lua_State *, int, int))                                                                   \
    X(const char *, luaL_tolstring, (lua_State *, int, size_t *))                                                  \
    X(double, lua_version, (lua_State *))                                                                          \
    X(lua_State *, lua_newthread, (lua_State *))                                                                   \
    X(int, lua_checkstack, (lua_State *, int))                                                                     \
    X(int, lua_absindex, (lua_State *, int))                                                                       \
    X(int, lua_gettop, (lua_State *))                                                                              \
    X(void, lua_settop, (lua_State *, int))                                                                        \
    X(void, lua_rotate, (lua_State *, int, int))                                                                   \
    X(int, lua_pcallk, (lua_State *, int, int, int, intptr_t, void *))                                             \
    X(void, lua_callk, (lua_State *, int, int, intptr_t, void *))                                                  \
    X(int, lua_type, (lua_State *, int))                                                                           \
    X(const char *, lua_typename, (lua_State *, int))                                                              \
    X(int, lua_isinteger, (lua_State *, int))                                                                      \
    X(int, lua_toboolean, (lua_State *, int))                                                                      \
    X(long long, lua_tointegerx, (lua_State *, int, int *))                                                        \
    X(double, lua_tonumberx, (lua_State *, int, int *))                                                            \
    X(const char *, lua_tolstring, (lua_State *, int, size_t *))                                                   \
    X(void *, lua_touserdata, (lua_State *, int))                                                                  \
    X(size_t, lua_rawlen, (lua_State *, int))                                                                      \
    X(void, lua_pushnil, (lua_State *))                                                                            \
    X(void, lua_pushboolean, (lua_State *, int))                                                                   \
    X(void, lua_pushinteger, (lua_State *, long long))                                                             \
    X(void, lua_pushnumber, (lua_State *, double))                                                                 \
    X(const char *, lua_pushstring, (lua_State *, const char *))                                                   \
    X(const char *, lua_pushlstring, (lua_State *, const char *, size_t))                                          \
    X(const char *, lua_pushfstring, (lua_State *, const char *, ...))                                             \
    X(void, lua_pushlightuserdata, (lua_State *, void *))                                                          \
    X(void, lua_pushcclosure, (lua_State *, lua_CFunction, int))                                                   \
    X(void, lua_pushvalue, (lua_State *, int))                                                                     \
    X(void, lua_createtable, (lua_State *, int, int))                                                              \
    X(void *, lua_newuserdatauv, (lua_State *, size_t, int))                                                       \
    X(int, lua_getglobal, (lua_State *, const char *))                                                             \
    X(void, lua_setglobal, (lua_State *, const char *))                                                            \
    X(int, lua_getfield, (lua_State *, int, const char *))                                                         \
    X(void, lua_setfield, (lua_State *, int, const char *))                                                        \
    X(int, lua_rawget, (lua_State *, int))                                                                         \
    X(void, lua_rawset, (lua_State *, int))                                                                        \
    X(int, lua_rawgeti, (lua_State *, int, long long))                                                             \
    X(void, lua_rawseti, (lua_State *, int, long long))                                                            \
    X(int, lua_rawgetp, (lua_State *, int, const void *))                                                          \
    X(void, lua_rawsetp, (lua_State *, int, const void *))                                                         \
    X(int, lua_next, (lua_State *, int))                                                                           \
    X(int, lua_getmetatable, (lua_State *, int))                                                                   \
    X(int, lua_setmetatable, (lua_State *, int))

#define LUA_POINTER(result, name, parameters) result(*name) parameters;
typedef struct lua_api {
    LUA_API(LUA_POINTER)
} lua_api;
#undef LUA_POINTER

extern lua_api lua;

/* Finds Lua: the library that GROUNDSTATE_LUA names, or the module of lupa beside this package. False, with a sentence on
 * standard error, if there is none. */
bool gc_lua_find(void);

#define lua_pop(state, count) lua.lua_settop((state), -(count) - 1)

#endif
