/* What scripts have besides Level Zero: the table `gits` and the constants. */
#ifndef GC_SCRIPT_GITS_H
#define GC_SCRIPT_GITS_H

#include "capture/script/lua_api.h"

void gc_lua_add_gits(lua_State *state);
/* As globals; `require 'l0Constants'` finds them there. */
void gc_lua_add_constants(lua_State *state);

#endif
