/* Line tables of kernels: an address leads to the number of a location, and a damaged table nowhere. */
#include "check.h"

#include "faults/source_lines.c"

/* Version 4, for two sequences: 0x1000 to 0x1010 with the locations 1 and 2, and 0x2000 to 0x2004 with 3. */
static const unsigned char TABLE[] = {
    76, 0, 0, 0, /* bytes behind this */
    4, 0,        /* version */
    21, 0, 0, 0, /* bytes of the rest of the header */
    1, 1, 1, 0xfb, 14, 13, /* instruction length, operations, is_stmt, line base -5, line range, first special opcode */
    0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, /* lengths of the standard opcodes */
    0, 0, 0,                            /* no folders, no files; one byte more */
    0, 9, 2, 0x00, 0x10, 0, 0, 0, 0, 0, 0, /* address 0x1000 */
    0, 2, 4, 1,                            /* location 1 */
    1,                                     /* a row */
    0, 2, 4, 2,                            /* location 2 */
    5, 7,                                  /* a column, which is not looked at */
    0x83,                                  /* a row 8 bytes further on */
    2, 8,                                  /* 8 bytes more */
    0, 1, 1,                               /* the end */
    0, 9, 2, 0x00, 0x20, 0, 0, 0, 0, 0, 0, /* address 0x2000 */
    0, 2, 4, 3, 1,                         /* location 3, a row */
    2, 4, 0, 1, 1,                         /* the end, 4 bytes further on */
};

static uint32_t found(const unsigned char *table, size_t bytes, uintptr_t address, uint64_t count) {
    const gs_source_lines lines = {.table = (const char *)table, .table_bytes = bytes, .location_count = count};
    return gs_location_at(&lines, address);
}

static void addresses_lead_to_locations(void) {
    static const struct {
        uintptr_t address;
        uint32_t expected;
    } CASES[] = {{0xfff, 0}, {0x1000, 1}, {0x1007, 1}, {0x1008, 2}, {0x100f, 2}, {0x1010, 0},
                 {0x1fff, 0}, {0x2000, 3}, {0x2003, 3}, {0x2004, 0}, {0, 0}};
    REQUIRE(sizeof TABLE == 4 + 76);
    for (size_t each = 0; each < sizeof CASES / sizeof *CASES; each++)
        REQUIRE(found(TABLE, sizeof TABLE, CASES[each].address, 3) == CASES[each].expected);
}

static void locations_that_are_not_there_are_unknown(void) {
    REQUIRE(found(TABLE, sizeof TABLE, 0x2000, 2) == 0);
    REQUIRE(found(TABLE, 0, 0x2000, 3) == 0);
}

/* Whatever the bytes are, nothing behind the table is read: each copy ends where its memory does. */
static void damaged_tables_lead_nowhere_else(void) {
    for (size_t bytes = 0; bytes < sizeof TABLE; bytes++) {
        unsigned char *cut = malloc(bytes + 1);
        memcpy(cut, TABLE, bytes);
        REQUIRE(found(cut, bytes, 0x2000, 3) == 0);
        if (bytes >= 4) { /* a length that fits */
            cut[0] = (unsigned char)(bytes - 4);
            REQUIRE(found(cut, bytes, 0x2000, 3) <= 3);
        }
        free(cut);
    }
    for (size_t place = 0; place < sizeof TABLE; place++)
        for (int value = 0; value < 256; value++) {
            unsigned char *changed = malloc(sizeof TABLE);
            memcpy(changed, TABLE, sizeof TABLE);
            changed[place] = (unsigned char)value;
            REQUIRE(found(changed, sizeof TABLE, 0x1004, 3) <= 3);
            free(changed);
        }
}

int main(void) {
    addresses_lead_to_locations();
    locations_that_are_not_there_are_unknown();
    damaged_tables_lead_nowhere_else();
    return 0;
}
