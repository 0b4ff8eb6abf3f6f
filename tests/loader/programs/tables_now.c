/* Fills every dispatch table as a loader does, for each minor version from 1.0 to the newest: exactly the
 * fields which that version has are written, and nothing behind the table. The list of tables comes from
 * the registry. Usage: tables_now LIBRARY */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
    const char *getter;
    uint32_t fields;
    uint32_t since[80]; /* the minor version that brought each field */
} table;

static const table tables[] = {
#include "tables_now.inc"
};

enum { TABLES = sizeof tables / sizeof *tables, ROOM = 96, NEWEST = 17 };
enum { SUCCESS = 0, UNSUPPORTED_VERSION = 0x78000002, INVALID_NULL_POINTER = 0x78000007 };

static const uintptr_t CANARY = (uintptr_t)0xa5a5a5a5a5a5a5a5;
static int failures;

static void expect(int condition, const char *getter, const char *what, uint32_t number) {
    if (!condition) {
        fprintf(stderr, "%s: %s (%u)\n", getter, what, number);
        failures++;
    }
}

static void check_version(const table *of, int (*get)(uint32_t, void *), uint32_t minor) {
    uintptr_t slots[ROOM];
    for (int i = 0; i < ROOM; i++)
        slots[i] = CANARY;
    expect(get(1u << 16 | minor, slots) == SUCCESS, of->getter, "refused minor version", minor);
    for (uint32_t i = 0; i < ROOM; i++) {
        int has = i < of->fields && of->since[i] <= minor;
        if (has)
            expect(slots[i] != CANARY && slots[i] != 0, of->getter, "left out field", i);
        else
            expect(slots[i] == CANARY, of->getter, "wrote what this version does not have, field", i);
    }
}

int main(int count, char **arguments) {
    void *library = count == 2 ? dlopen(arguments[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    for (int i = 0; i < TABLES; i++) {
        int (*get)(uint32_t, void *) = (int (*)(uint32_t, void *))dlsym(library, tables[i].getter);
        expect(get != NULL, tables[i].getter, "missing", 0);
        if (get == NULL)
            continue;
        for (uint32_t minor = 0; minor <= NEWEST + 3; minor++)
            check_version(&tables[i], get, minor);
        uintptr_t slots[ROOM];
        expect(get(2u << 16, slots) == UNSUPPORTED_VERSION, tables[i].getter, "took major version", 2);
        expect(get(1u << 16, NULL) == INVALID_NULL_POINTER, tables[i].getter, "took a null table", 0);
    }
    printf("%d tables\n", (int)TABLES);
    return failures == 0 ? 0 : 1;
}
