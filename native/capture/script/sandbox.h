/* The sandbox in which scripts of strangers run: GROUNDSTATE_SCRIPT_SANDBOX. */
#ifndef GC_SCRIPT_SANDBOX_H
#define GC_SCRIPT_SANDBOX_H

#include "capture/script/lua_api.h"

/* Whether the script is only to look on. */
bool gc_sandboxed(void);
/* Raises an error that says so: what is not possible, as in "writing memory". */
int gc_sandbox_refuse(lua_State *state, const char *what);

/* Opens what there is of the standard library, and limits memory. */
void gc_sandbox_open(lua_State *state);
/* The time for a hook begins. */
void gc_sandbox_begin(lua_State *state);
/* It ends; false if that was not enough for the hook. */
bool gc_sandbox_end(void);

#endif
