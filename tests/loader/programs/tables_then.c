/* Fills every dispatch table that the installed headers know, in a table of their size, as the loader they
 * came with does: each field is written and not one byte more. */
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void check(const char *getter, ze_result_t result, const unsigned char *bytes, size_t size,
                  size_t room) {
    uintptr_t untouched;
    memset(&untouched, 0xa5, sizeof untouched);
    if (result != ZE_RESULT_SUCCESS) {
        fprintf(stderr, "%s: 0x%x\n", getter, (unsigned)result);
        failures++;
    }
    for (size_t at = 0; at < room; at += sizeof untouched) {
        int written = memcmp(bytes + at, &untouched, sizeof untouched) != 0;
        if (written != (at < size)) {
            fprintf(stderr, "%s: field %zu of %zu %s\n", getter, at / sizeof untouched,
                    size / sizeof untouched, written ? "written" : "left out");
            failures++;
        }
    }
}

#define TABLE(getter, type)                                                    \
    {                                                                          \
        union {                                                                \
            type table;                                                        \
            unsigned char bytes[sizeof(type) + 512];                           \
        } room;                                                                \
        memset(&room, 0xa5, sizeof room);                                      \
        ze_result_t result = getter(ZE_API_VERSION_CURRENT, &room.table);      \
        check(#getter, result, room.bytes, sizeof(type), sizeof room.bytes);   \
        count++;                                                               \
    }

int main(void) {
    int count = 0;
#include "tables_then.inc"
    printf("%d tables of version %u.%u\n", count, ZE_MAJOR_VERSION(ZE_API_VERSION_CURRENT),
           ZE_MINOR_VERSION(ZE_API_VERSION_CURRENT));
    return failures == 0 ? 0 : 1;
}
