/* Where the driver's Python half and its interpreter are. */
#ifndef GS_SETTINGS_H
#define GS_SETTINGS_H

#include <limits.h>

typedef struct gs_settings {
    char library[PATH_MAX]; /* this very library */
    char version[16], executable[PATH_MAX], libpython[PATH_MAX], site[PATH_MAX], root[PATH_MAX];
} gs_settings;

/* Where the package, its interpreter and its site-packages are. The library lies in <root>/groundstate/_native;
 * when <root> is a site-packages folder, that decides, since the package may have been moved as a whole. */
void gs_find_settings(gs_settings *to);

#endif
