/* A second copy of a shared library, isolated from the one that the process has. */
#ifndef GS_PYTHON_ISOLATED_LIBRARY_H
#define GS_PYTHON_ISOLATED_LIBRARY_H

/* Opens a copy of libpython that shares nothing with another one in the process: it has its own variables,
 * and calls itself. NULL if that cannot be done with this file.
 *
 * Its soname is replaced by one that every shared library has among its strings, so that extension modules can
 * be made to need the copy without room for a new string: see driver/isolated.py. */
void *gs_open_isolated(const char *path, const char *soname);

/* Such names: one for the driver's interpreter and one for the interpreter of scripts, which have nothing in common either. */
#define GS_DRIVER_SONAME "__gmon_start__"
#define GS_SCRIPTS_SONAME "__cxa_finalize"

#endif
