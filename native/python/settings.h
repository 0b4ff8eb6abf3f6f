/* Where the driver's Python half and its interpreter are. */
#ifndef GS_PYTHON_SETTINGS_H
#define GS_PYTHON_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct gs_settings {
    char library[PATH_MAX]; /* this very library */
    char version[16], executable[PATH_MAX], libpython[PATH_MAX], site[PATH_MAX], root[PATH_MAX];
    int problem; /* errno of a file that is there and could not be read, or 0: then something may be missing here */
} gs_settings;

/* Where the package, its interpreter and its site-packages are. The library lies in <root>/groundstate/_native.
 * In a checkout, interpreter.cfg beside it says the rest; elsewhere, the place of the library does. */
void gs_find_settings(gs_settings *to);

/* Fills in what can be told from `root` alone: the Python whose site-packages it is, or else the first one on PATH
 * if nothing is known of another (installed_python.c). */
void gs_find_installed_python(gs_settings *to);

/* Closes a file that was read to its end, or could not be opened (NULL, and errno), and notes the problem if any. */
void gs_settings_close(gs_settings *to, FILE *file);

/* Cuts the last parts off a path; false if it has not got so many. */
bool gs_strip_last(char *path, int parts);

#endif
