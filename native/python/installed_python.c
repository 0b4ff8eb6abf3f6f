/* Which Python a package was installed for, by the place of its files: a wheel is the same for all of them, so it
 * cannot say.
 *
 *   <prefix>/lib/python3.12/site-packages/groundstate   the version is 3.12; if <prefix> is a virtual environment,
 *                                                       its bin/python3.12 leads to the Python that it is made from
 *   ~/.local/lib/python3.12/site-packages/groundstate   there is no Python in that prefix: python3.12 on PATH
 *   <any folder>/groundstate                            (pip install --target): python3 on PATH */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python/settings.h"

#if defined(__x86_64__)
#define MULTIARCH "lib/x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "lib/aarch64-linux-gnu"
#else
#define MULTIARCH "lib/."
#endif

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Takes the version out of a name such as python3.12; false if it has none. */
static bool take_version(const char *name, char *version, size_t size) {
    if (strncmp(name, "python3.", 8) != 0 || strspn(name + 8, "0123456789") == 0 ||
        name[8 + strspn(name + 8, "0123456789")] != 0)
        return false;
    snprintf(version, size, "%s", name + strlen("python"));
    return true;
}

/* A program in a folder, if there is one that can be run. */
static bool find_program(char *path, size_t size, const char *folder, size_t length, const char *name) {
    int written = snprintf(path, size, "%.*s/%s", (int)length, folder, name);
    return written > 0 && (size_t)written < size && path[0] == '/' && access(path, X_OK) == 0;
}

/* Whether a path leads to a program such as /usr/bin/python3.12, and not to some script in front of it. */
static bool leads_to_python(gs_settings *to, const char *path) {
    char real[PATH_MAX], version[16], start[4] = {0};
    if (realpath(path, real) == NULL || !take_version(last_part(real), version, sizeof version))
        return false;
    FILE *file = fopen(real, "r");
    bool is_program = file != NULL && fread(start, sizeof start, 1, file) == 1 && memcmp(start, "\177ELF", 4) == 0;
    gs_settings_close(to, file);
    return is_program;
}

/* Makes the executable the first program of that name on PATH, or in the usual folders, that is a Python. */
static bool find_on_path(gs_settings *to, const char *name) {
    char *path = to->executable;
    size_t size = sizeof to->executable;
    const char *listed[] = {getenv("PATH"), "/usr/local/bin:/usr/bin"};
    for (size_t each = 0; each < sizeof listed / sizeof *listed; each++)
        for (const char *folder = listed[each]; folder != NULL; folder = strchr(folder, ':')) {
            folder += *folder == ':';
            if (find_program(path, size, folder, strcspn(folder, ":"), name) && leads_to_python(to, path))
                return true;
        }
    return false;
}

/* The interpreter: that of the prefix which the package is in, or the one of that version on PATH. */
static void find_executable(gs_settings *to, const char *prefix) {
    char name[32], *path = to->executable;
    size_t size = sizeof to->executable;
    snprintf(name, sizeof name, "python%s", to->version);
    char bin[PATH_MAX];
    if (snprintf(bin, sizeof bin, "%s/bin", prefix) < (int)sizeof bin &&
        find_program(path, size, bin, strlen(bin), name))
        return;
    if (!find_on_path(to, name))
        path[0] = 0;
}

/* The prefix of the Python that a virtual environment is made from, as its pyvenv.cfg says. */
static bool read_home(gs_settings *to, const char *prefix, char *base, size_t size) {
    char line[PATH_MAX + 16];
    bool found = false;
    if (snprintf(line, sizeof line, "%s/pyvenv.cfg", prefix) >= (int)sizeof line)
        return false;
    FILE *file = fopen(line, "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        char *value = line + 4 + strspn(line + 4, " \t");
        if (strncmp(line, "home", 4) == 0 && *value == '=') {
            value += 1 + strspn(value + 1, " \t");
            value[strcspn(value, "\r\n")] = 0;
            found = snprintf(base, size, "%s", value) < (int)size && gs_strip_last(base, 1);
        }
    }
    gs_settings_close(to, file);
    return found;
}

static bool find_libpython_in(gs_settings *to, const char *base) {
    static const char *const folders[] = {"lib", "lib64", MULTIARCH};
    for (size_t each = 0; each < sizeof folders / sizeof *folders; each++) {
        int written = snprintf(to->libpython, sizeof to->libpython, "%s/%s/libpython%s.so.1.0", base, folders[each],
                               to->version);
        if (written < (int)sizeof to->libpython && access(to->libpython, R_OK) == 0)
            return true;
    }
    to->libpython[0] = 0;
    return false;
}

/* libpython, in the folders around the file that the interpreter really is, or comes from. */
static void find_libpython(gs_settings *to) {
    char base[PATH_MAX];
    if (to->executable[0] == 0)
        return;
    if (realpath(to->executable, base) != NULL && gs_strip_last(base, 2) && find_libpython_in(to, base))
        return;
    char prefix[PATH_MAX];
    snprintf(prefix, sizeof prefix, "%s", to->executable);
    if (gs_strip_last(prefix, 2) && read_home(to, prefix, base, sizeof base))
        find_libpython_in(to, base);
}

void gs_find_installed_python(gs_settings *to) {
    char prefix[PATH_MAX], real[PATH_MAX];
    snprintf(prefix, sizeof prefix, "%s", to->root);
    const char *folder = last_part(to->root);
    bool is_site = strcmp(folder, "site-packages") == 0 || strcmp(folder, "dist-packages") == 0;
    if (is_site && gs_strip_last(prefix, 1) && take_version(last_part(prefix), to->version, sizeof to->version)) {
        snprintf(to->site, sizeof to->site, "%s", to->root);
        gs_strip_last(prefix, 2);
        find_executable(to, prefix);
        find_libpython(to);
    } else if (to->version[0] == 0 && find_on_path(to, "python3") &&
               realpath(to->executable, real) != NULL && take_version(last_part(real), to->version, sizeof to->version)) {
        snprintf(to->site, sizeof to->site, "%s", to->root);
        find_libpython(to);
    }
}
