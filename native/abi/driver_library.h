/* How the libraries around the driver find its library: it lies beside them. */
#ifndef GS_ABI_DRIVER_LIBRARY_H
#define GS_ABI_DRIVER_LIBRARY_H

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GS_DRIVER "libze_groundstate.so.1"

/* Opens the driver beside the library that has the function `self`, whose path goes to `library` (PATH_MAX). NULL if it
 * cannot be opened. */
static inline void *gs_open_driver(void *self, char *library) {
    Dl_info found;
    char path[PATH_MAX];
    if (dladdr(self, &found) == 0 || realpath(found.dli_fname, library) == NULL)
        return NULL;
    char *slash = strrchr(library, '/');
    snprintf(path, sizeof path, "%.*s/%s", (int)(slash - library), library, GS_DRIVER);
    return dlopen(path, RTLD_NOW);
}

/* Why it could not be. The linker says nothing if it did not come to it. */
static inline const char *gs_open_failure(void) {
    const char *said = dlerror();
    return said != NULL ? said : "its path cannot be found out";
}

#endif
