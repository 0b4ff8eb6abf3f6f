/* Finds Lua 5.4. The module of lupa has it, and exports its functions.
 *
 * That module is an extension of Python and needs the variables of a libpython to be loaded at all, so one is loaded if the
 * program has none; it is not started. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/script/lua_api.h"
#include "python/settings.h"

lua_api lua;

static bool look_up(void *library) {
    bool complete = true;
#define LUA_LOOK_UP(result, name, parameters)                                                                      \
    *(void **)&lua.name = dlsym(library, #name);                                                                   \
    complete &= lua.name != NULL;
    LUA_API(LUA_LOOK_UP)
    return complete;
}

static void need_libpython(const gs_settings *at) {
    char name[64];
    if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL)
        return;
    if (at->libpython[0] != 0 && dlopen(at->libpython, RTLD_LAZY | RTLD_GLOBAL) != NULL)
        return;
    snprintf(name, sizeof name, "libpython%s.so.1.0", at->version);
    dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
}

static void *open_lupa(const gs_settings *at) {
    char pattern[PATH_MAX + 32];
    glob_t found;
    void *library = NULL;
    snprintf(pattern, sizeof pattern, "%s/lupa/lua54.*.so", at->site);
    if (glob(pattern, 0, NULL, &found) == 0) {
        need_libpython(at);
        library = dlopen(found.gl_pathv[0], RTLD_LAZY | RTLD_LOCAL);
    }
    globfree(&found);
    return library;
}

bool gc_lua_find(void) {
    gs_settings at;
    gs_find_settings(&at);
    const char *named = getenv("GROUNDSTATE_LUA");
    bool is_named = named != NULL && named[0] != 0;
    void *library = is_named ? dlopen(named, RTLD_LAZY | RTLD_LOCAL) : open_lupa(&at);
    if (library != NULL && look_up(library))
        return true;
    const char *reason = library != NULL ? "it is not Lua 5.4" : dlerror();
    if (is_named)
        fprintf(stderr, "groundstate: GROUNDSTATE_LUA names %s, which cannot be used: %s\n", named, reason);
    else
        fprintf(stderr, "groundstate: scripts in Lua need the package lupa: pip install lupa (%s)\n",
                reason != NULL ? reason : "it is not there");
    return false;
}
