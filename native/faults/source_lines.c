/* Reads the DWARF line table of a kernel, when something has happened in its code. The compiler put the number of each
 * location into the discriminator of its rows (compiler/codegen/debug_metadata.py), so nothing else of DWARF is needed.
 * A table that is damaged leads nowhere. */
#include "faults/source_lines.h"

#include <stdbool.h>
#include <string.h>

typedef struct reader {
    const unsigned char *at, *end;
    bool is_broken; /* it went beyond the end; what was read since is 0 */
} reader;

static uint64_t fixed(reader *from, size_t bytes) {
    uint64_t value = 0;
    if ((size_t)(from->end - from->at) < bytes) {
        from->is_broken = true;
        from->at = from->end;
        return 0;
    }
    memcpy(&value, from->at, bytes); /* in the order of this machine, as the kernel's code */
    from->at += bytes;
    return value;
}

static uint64_t unsigned_number(reader *from) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = fixed(from, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80) || from->is_broken)
            return value;
    }
}

static void skip(reader *from, uint64_t bytes) {
    if ((uint64_t)(from->end - from->at) < bytes) {
        from->is_broken = true;
        from->at = from->end;
        return;
    }
    from->at += bytes;
}

/* What a unit says of its opcodes. */
typedef struct header {
    uint64_t least_instruction;
    uint64_t line_range;
    unsigned first_special;
    const unsigned char *lengths; /* of the standard opcodes, from 1 on */
} header;

enum { COPY = 1, ADVANCE_PC = 2, ADVANCE_LINE = 3, SET_FILE = 4, SET_COLUMN = 5, CONST_ADD_PC = 8, FIXED_ADVANCE_PC = 9 };
enum { END_SEQUENCE = 1, SET_ADDRESS = 2, SET_DISCRIMINATOR = 4 };

/* Takes the header of a unit; the reader is then at its program. */
static bool read_header(reader *unit, header *of) {
    enum { OLDEST = 2, WITH_OPERATIONS = 4, WITH_ADDRESS_SIZE = 5 };
    uint64_t version = fixed(unit, 2);
    if (version < OLDEST || version > WITH_ADDRESS_SIZE)
        return false;
    if (version >= WITH_ADDRESS_SIZE)
        skip(unit, 2);
    uint64_t rest = fixed(unit, 4);
    reader start = *unit;
    skip(unit, rest);
    of->least_instruction = fixed(&start, 1);
    skip(&start, version >= WITH_OPERATIONS ? 3 : 2); /* operations of an instruction, is_stmt, the line base */
    of->line_range = fixed(&start, 1);
    of->first_special = (unsigned)fixed(&start, 1);
    of->lengths = start.at - 1;
    skip(&start, of->first_special > 0 ? of->first_special - 1 : 0);
    return !unit->is_broken && !start.is_broken && of->line_range > 0 && of->first_special > 0;
}

/* The rows of a unit, as they come: each holds up to the address of the next. */
typedef struct rows {
    uint64_t wanted, address;
    uint32_t discriminator;
    bool has_last; /* a row of the same sequence */
    uint64_t last_address;
    uint32_t last_discriminator;
} rows;

static bool ends_at(rows *of) {
    bool is_found = of->has_last && of->last_address <= of->wanted && of->wanted < of->address;
    if (!is_found) {
        of->has_last = true;
        of->last_address = of->address;
        of->last_discriminator = of->discriminator;
        of->discriminator = 0;
    }
    return is_found;
}

static bool take_extended(reader *unit, rows *of) {
    reader rest = *unit;
    uint64_t length = unsigned_number(&rest);
    *unit = rest;
    skip(unit, length);
    if (unit->is_broken || length == 0)
        return false;
    rest.end = unit->at;
    switch (fixed(&rest, 1)) {
    case SET_ADDRESS:
        of->address = fixed(&rest, length - 1 < 8 ? (size_t)length - 1 : 8);
        return false;
    case SET_DISCRIMINATOR:
        of->discriminator = (uint32_t)unsigned_number(&rest);
        return false;
    case END_SEQUENCE: {
        bool is_found = ends_at(of);
        of->has_last = false;
        if (!is_found)
            of->address = of->discriminator = 0;
        return is_found;
    }
    default:
        return false;
    }
}

/* One opcode below the special ones; true if the row that it ends is the one that is wanted. */
static bool take_standard(reader *unit, const header *by, unsigned opcode, rows *of) {
    switch (opcode) {
    case 0:
        return take_extended(unit, of);
    case COPY:
        return ends_at(of);
    case ADVANCE_PC:
        of->address += unsigned_number(unit) * by->least_instruction;
        return false;
    case CONST_ADD_PC:
        of->address += (255 - by->first_special) / by->line_range * by->least_instruction;
        return false;
    case FIXED_ADVANCE_PC:
        of->address += fixed(unit, 2);
        return false;
    default: /* changes what is not looked at */
        for (unsigned each = 0; each < by->lengths[opcode]; each++)
            unsigned_number(unit);
        return false;
    }
}

static bool find_in_unit(reader *unit, rows *of) {
    header by = {0};
    if (!read_header(unit, &by))
        return false;
    while (unit->at < unit->end && !unit->is_broken) {
        unsigned opcode = (unsigned)fixed(unit, 1);
        bool is_special = opcode >= by.first_special;
        if (is_special)
            of->address += (opcode - by.first_special) / by.line_range * by.least_instruction;
        if (is_special ? ends_at(of) : take_standard(unit, &by, opcode, of))
            return true;
    }
    return false;
}

uint32_t gs_location_at(const gs_source_lines *lines, uintptr_t address) {
    reader table = {(const unsigned char *)lines->table, (const unsigned char *)lines->table + lines->table_bytes, false};
    while (table.at < table.end) {
        uint64_t length = fixed(&table, 4);
        reader unit = table;
        rows found = {.wanted = address};
        skip(&table, length);
        if (table.is_broken)
            return 0;
        unit.end = table.at;
        if (find_in_unit(&unit, &found))
            return found.last_discriminator <= lines->location_count ? found.last_discriminator : 0;
    }
    return 0;
}
