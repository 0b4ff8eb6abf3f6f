/* Making cubins: what stands for one is the text behind a line of its own, for this version of the driver. */
#define _GNU_SOURCE
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLED(name)                      \
    int error = standin_called(name);     \
    if (error != SUCCESS)                 \
        return error;

enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6, PTX = 1 };

typedef struct state {
    char *log, *cubin;
    size_t room, size;
} state;

int cuLinkCreate_v2(unsigned count, const int *options, void **values, state **link) {
    CALLED("cuLinkCreate")
    *link = calloc(1, sizeof **link);
    for (unsigned each = 0; each < count; each++) {
        if (options[each] == ERROR_LOG)
            (*link)->log = values[each];
        if (options[each] == ERROR_LOG_SIZE)
            (*link)->room = (size_t)(uintptr_t)values[each];
    }
    return SUCCESS;
}
int cuLinkAddData_v2(state *link, int kind, const void *data, size_t size, const char *name, unsigned count, int *options,
                     void **values) {
    (void)name, (void)count, (void)options, (void)values;
    CALLED("cuLinkAddData")
    if (kind != PTX || memchr(data, 0, size) == NULL)
        return INVALID_VALUE;
    if (strstr(data, ".version") == NULL) {
        if (link->log != NULL)
            snprintf(link->log, link->room, "stand-in: line 1: no .version");
        return INVALID_PTX;
    }
    link->size = (size_t)asprintf(&link->cubin, "cubin\n%s", (const char *)data);
    return SUCCESS;
}
int cuLinkComplete(state *link, void **cubin, size_t *size) {
    CALLED("cuLinkComplete")
    *cubin = link->cubin;
    *size = link->size;
    return SUCCESS;
}
int cuLinkDestroy(state *link) {
    free(link->cubin);
    free(link);
    return SUCCESS;
}
