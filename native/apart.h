/* A second copy of a shared library, apart from the one that the process has. */
#ifndef GS_APART_H
#define GS_APART_H

/* Opens a copy of libpython that shares nothing with another one in the process: it has its own variables,
 * and calls itself. NULL if that cannot be done with this file.
 *
 * Its soname is replaced by a name that every extension module has among its strings, so that modules can
 * be made to need the copy without room for a new string: see driver/apart.py. */
void *gs_open_apart(const char *path);

#endif
