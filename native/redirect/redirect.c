/* An auditor of the dynamic linker (LD_AUDIT, see rtld-audit(7)) for programs that open the Level Zero loader by a
 * path, which the library path does not change: they get the one in the folder of ZEL_LIBRARY_PATH.
 *
 * The linker loads an auditor apart from the program, with a C library of its own. */
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOADER "libze_loader.so"
#define EXPORT __attribute__((visibility("default")))

static char stand_in[PATH_MAX];

EXPORT unsigned la_version(unsigned version) {
    const char *folder = getenv("ZEL_LIBRARY_PATH");
    if (folder != NULL && *folder == '/')
        snprintf(stand_in, sizeof stand_in, "%s/" LOADER ".1", folder);
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* libze_loader.so, or with numbers behind it, in whatever folder. */
static bool is_path_of_loader(const char *name) {
    const char *file = strrchr(name, '/');
    if (file == NULL || strncmp(file + 1, LOADER, strlen(LOADER)) != 0)
        return false;
    const char *numbers = file + 1 + strlen(LOADER);
    return *numbers == 0 || (*numbers == '.' && strspn(numbers, ".0123456789") == strlen(numbers));
}

EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag) {
    (void)cookie;
    (void)flag;
    return *stand_in != 0 && is_path_of_loader(name) ? stand_in : (char *)name;
}
