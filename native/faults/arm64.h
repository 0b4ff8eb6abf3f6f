/* What the kernel and the instructions of AArch64 tell about a fault. No system header is used, so that every
 * machine can test it (tests/native/units/arm64.c). */
#ifndef GS_FAULTS_ARM64_H
#define GS_FAULTS_ARM64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum gs_access { GS_ACCESS_UNKNOWN, GS_ACCESS_READ, GS_ACCESS_WRITE } gs_access;

/* The exception syndrome in the records of a signal's context (`__reserved`); 0 if the kernel gave none, as
 * emulators do. */
static inline uint64_t gs_arm64_syndrome(const unsigned char *records, size_t size) {
    enum { ESR_RECORD = 0x45535201, HEAD = 8 };
    for (size_t at = 0; at + HEAD + sizeof(uint64_t) <= size;) {
        uint32_t head[2]; /* kind, bytes */
        uint64_t value;
        memcpy(head, records + at, sizeof head);
        memcpy(&value, records + at + HEAD, sizeof value);
        if (head[0] == ESR_RECORD)
            return value;
        if (head[0] == 0 || head[1] < HEAD || head[1] > size - at)
            return 0;
        at += head[1];
    }
    return 0;
}

/* What a syndrome says: a data abort has the bit WnR, "write, not read". */
static inline gs_access gs_arm64_syndrome_access(uint64_t syndrome) {
    enum { DATA_ABORT = 0x24, DATA_ABORT_HERE = 0x25, WRITE_NOT_READ = 1 << 6 };
    const unsigned class = syndrome >> 26 & 0x3f;
    if (class != DATA_ABORT && class != DATA_ABORT_HERE)
        return GS_ACCESS_UNKNOWN;
    return syndrome & WRITE_NOT_READ ? GS_ACCESS_WRITE : GS_ACCESS_READ;
}

/* Of loads and stores of one register: the bits `opc`, apart from atomics, which do both. */
static inline bool gs_arm64_register_form_writes(uint32_t instruction) {
    const bool is_vector = instruction >> 26 & 1, has_offset = instruction >> 24 & 1;
    const unsigned form = instruction >> 10 & 3, opc = instruction >> 22 & 3;
    if (is_vector)
        return !(opc & 1);
    if (!has_offset && (instruction >> 21 & 1) && form != 2)
        return form == 0 && (instruction >> 12 & 0xf) != 0xc; /* not LDAPR, and no load with a signed pointer */
    return opc == 0;
}

/* What an instruction does that was struck by a fault of memory. */
static inline gs_access gs_arm64_instruction_access(uint32_t instruction) {
    enum { ZERO_CACHE_LINE = 0xd50b7420u >> 5 }; /* DC ZVA, which memset uses */
    const bool is_load = instruction >> 22 & 1;
    bool writes;
    if (instruction >> 5 == ZERO_CACHE_LINE)
        return GS_ACCESS_WRITE;
    if ((instruction >> 25 & 0xf) == 2) /* SVE */
        return instruction >> 29 == 7 ? GS_ACCESS_WRITE : instruction >> 31 ? GS_ACCESS_READ : GS_ACCESS_UNKNOWN;
    if ((instruction >> 25 & 5) != 4)
        return GS_ACCESS_UNKNOWN; /* neither a load nor a store */
    switch (instruction >> 28 & 3) {
    case 0: /* exclusive and ordered; of vectors: several structures. Compare and swap does both. */
        writes = !is_load || (!(instruction >> 26 & 1) && (instruction >> 21 & 1));
        break;
    case 1: /* from a place near the instruction, which only loads; ordered, with an offset */
        writes = (instruction >> 24 & 1) && (instruction >> 22 & 3) == 0;
        break;
    case 2: /* pairs */
        writes = !is_load;
        break;
    default:
        writes = gs_arm64_register_form_writes(instruction);
    }
    return writes ? GS_ACCESS_WRITE : GS_ACCESS_READ;
}

/* Whether an instruction is the trap that a compiler puts where control must not come. Debuggers' breakpoints are BRK
 * 0 and BRK 0xf000. */
static inline bool gs_arm64_is_trap(uint32_t instruction) {
    enum { BREAK = 0xd4200000u >> 21 };
    const unsigned number = instruction >> 5 & 0xffff;
    return instruction >> 21 == BREAK && !(instruction & 0x1f) && number != 0 && number != 0xf000;
}

#endif
