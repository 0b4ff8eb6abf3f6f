/* A second copy of a shared library, apart from the one that the process has. */
#ifndef GS_APART_H
#define GS_APART_H

/* Opens a copy of libpython that shares nothing with another one in the process: it has its own variables,
 * and calls itself. NULL if that cannot be done with this file.
 *
 * Its soname is replaced by one that every shared library has among its strings, so that extension modules can
 * be made to need the copy without room for a new string: see driver/apart.py. */
void *gs_open_apart(const char *path, const char *soname);

/* Such names: one for the driver's interpreter and one for that of scripts, which have nothing in common either. */
#define GS_DRIVER_APART "__gmon_start__"
#define GS_SCRIPTS_APART "__cxa_finalize"

#endif
