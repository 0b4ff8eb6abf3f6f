/* Where the driver's Python half and its interpreter are, as interpreter.cfg and the library's own place say. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/settings.h"

bool gs_strip_last(char *path, int parts) {
    for (; parts > 0; parts--) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return false;
        *slash = 0;
    }
    return true;
}

/* Takes one `key=value` line of interpreter.cfg. */
static void take_setting(gs_settings *to, char *line) {
    const struct {
        const char *key;
        char *value;
        size_t size;
    } known[] = {{"version", to->version, sizeof to->version},
                 {"executable", to->executable, sizeof to->executable},
                 {"libpython", to->libpython, sizeof to->libpython},
                 {"site", to->site, sizeof to->site},
                 {"root", to->root, sizeof to->root}};
    char *equals = strchr(line, '=');
    if (equals == NULL)
        return;
    *equals = 0;
    equals[1 + strcspn(equals + 1, "\r\n")] = 0;
    for (size_t each = 0; each < sizeof known / sizeof *known; each++)
        if (strcmp(line, known[each].key) == 0)
            snprintf(known[each].value, known[each].size, "%s", equals + 1);
}

/* interpreter.cfg beside the library, which a checkout has. */
static void read_config(gs_settings *to) {
    char file[PATH_MAX], line[PATH_MAX + 32];
    snprintf(file, sizeof file, "%s", to->library);
    gs_strip_last(file, 1);
    strncat(file, "/interpreter.cfg", sizeof file - strlen(file) - 1);
    FILE *stream = fopen(file, "r");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL)
        take_setting(to, line);
    gs_settings_close(to, stream);
}

static void note_problem(gs_settings *to, int number) {
    if (to->problem == 0)
        to->problem = number;
}

void gs_settings_close(gs_settings *to, FILE *file) {
    if (file == NULL && errno != ENOENT && errno != ENOTDIR && errno != EACCES)
        note_problem(to, errno);
    if (file != NULL && ferror(file))
        note_problem(to, EIO);
    if (file != NULL)
        fclose(file);
}

void gs_find_settings(gs_settings *to) {
    *to = (gs_settings){0};
    Dl_info self;
    if (dladdr((void *)gs_find_settings, &self) == 0 || realpath(self.dli_fname, to->library) == NULL) {
        note_problem(to, errno);
        return;
    }
    read_config(to);
    snprintf(to->root, sizeof to->root, "%s", to->library);
    gs_strip_last(to->root, 3);
    gs_find_installed_python(to);
}
