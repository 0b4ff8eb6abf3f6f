/* What is told about faults on AArch64, from its signal contexts and instructions, which any machine can read. */
#include "check.h"

#include "faults/arm64.h"

static void instructions_tell_the_direction(void) {
    static const struct {
        uint32_t instruction;
        gs_access access;
    } cases[] = {
        {0xf9400000, GS_ACCESS_READ},    /* ldr x0, [x0] */
        {0xf9000001, GS_ACCESS_WRITE},   /* str x1, [x0] */
        {0x39400000, GS_ACCESS_READ},    /* ldrb w0, [x0] */
        {0x39000001, GS_ACCESS_WRITE},   /* strb w1, [x0] */
        {0xb9800000, GS_ACCESS_READ},    /* ldrsw x0, [x0] */
        {0xf8616800, GS_ACCESS_READ},    /* ldr x0, [x0, x1] */
        {0xf8216802, GS_ACCESS_WRITE},   /* str x2, [x0, x1] */
        {0xf8408401, GS_ACCESS_READ},    /* ldr x1, [x0], #8 */
        {0xf81f8001, GS_ACCESS_WRITE},   /* stur x1, [x0, #-8] */
        {0x58000040, GS_ACCESS_READ},    /* ldr x0, .+8 */
        {0x3dc00000, GS_ACCESS_READ},    /* ldr q0, [x0] */
        {0x3d800000, GS_ACCESS_WRITE},   /* str q0, [x0] */
        {0xbd400000, GS_ACCESS_READ},    /* ldr s0, [x0] */
        {0xbd000000, GS_ACCESS_WRITE},   /* str s0, [x0] */
        {0xa9400400, GS_ACCESS_READ},    /* ldp x0, x1, [x0] */
        {0xa9000801, GS_ACCESS_WRITE},   /* stp x1, x2, [x0] */
        {0xad400400, GS_ACCESS_READ},    /* ldp q0, q1, [x0] */
        {0xad000400, GS_ACCESS_WRITE},   /* stp q0, q1, [x0] */
        {0x4c407800, GS_ACCESS_READ},    /* ld1 {v0.4s}, [x0] */
        {0x4c007800, GS_ACCESS_WRITE},   /* st1 {v0.4s}, [x0] */
        {0x4d408000, GS_ACCESS_READ},    /* ld1 {v0.s}[2], [x0] */
        {0x4d008000, GS_ACCESS_WRITE},   /* st1 {v0.s}[2], [x0] */
        {0x4d40c800, GS_ACCESS_READ},    /* ld1r {v0.4s}, [x0] */
        {0xc85f7c00, GS_ACCESS_READ},    /* ldxr x0, [x0] */
        {0xc8027c01, GS_ACCESS_WRITE},   /* stxr w2, x1, [x0] */
        {0xc8dffc00, GS_ACCESS_READ},    /* ldar x0, [x0] */
        {0xc89ffc01, GS_ACCESS_WRITE},   /* stlr x1, [x0] */
        {0xc8e1fc02, GS_ACCESS_WRITE},   /* casal x1, x2, [x0] */
        {0xf8e10002, GS_ACCESS_WRITE},   /* ldaddal x1, x2, [x0] */
        {0xf8218002, GS_ACCESS_WRITE},   /* swp x1, x2, [x0] */
        {0xf8bfc001, GS_ACCESS_READ},    /* ldapr x1, [x0] */
        {0xd9400001, GS_ACCESS_READ},    /* ldapur x1, [x0] */
        {0xd9000001, GS_ACCESS_WRITE},   /* stlur x1, [x0] */
        {0xf8200400, GS_ACCESS_READ},    /* ldraa x0, [x0] */
        {0xd50b7420, GS_ACCESS_WRITE},   /* dc zva, x0 */
        {0xa540a000, GS_ACCESS_READ},    /* ld1w {z0.s}, p0/z, [x0] */
        {0xe540e000, GS_ACCESS_WRITE},   /* st1w {z0.s}, p0, [x0] */
        {0x8b010000, GS_ACCESS_UNKNOWN}, /* add x0, x0, x1 */
        {0x1e622800, GS_ACCESS_UNKNOWN}, /* fadd d0, d0, d2 */
        {0xd65f03c0, GS_ACCESS_UNKNOWN}, /* ret */
        {0x04a00000, GS_ACCESS_UNKNOWN}, /* add z0.s, z0.s, z0.s */
        {0xd503201f, GS_ACCESS_UNKNOWN}, /* nop */
    };
    for (size_t each = 0; each < sizeof cases / sizeof *cases; each++)
        if (gs_arm64_instruction_access(cases[each].instruction) != cases[each].access) {
            fprintf(stderr, "instruction %#x\n", (unsigned)cases[each].instruction);
            REQUIRE(!"the direction of an access");
        }
}

/* A signal's records: those of floating-point registers come first, a zero ends them. */
static size_t records(unsigned char *to, uint32_t bytes_before, uint32_t kind, uint64_t syndrome) {
    const uint32_t first[2] = {0x46508001, bytes_before}, head[2] = {kind, 16}, end[2] = {0, 0};
    memset(to, 0, 1024);
    memcpy(to, first, sizeof first);
    if (bytes_before < 8 || bytes_before > 900)
        return 1024;
    memcpy(to + bytes_before, head, sizeof head);
    memcpy(to + bytes_before + 8, &syndrome, sizeof syndrome);
    memcpy(to + bytes_before + 16, end, sizeof end);
    return 1024;
}

static void the_syndrome_tells_the_direction(void) {
    enum { ESR_RECORD = 0x45535201 };
    const uint64_t read = UINT64_C(0x92000006), write = UINT64_C(0x92000046), fetch = UINT64_C(0x82000006);
    unsigned char bytes[1024];
    size_t size = records(bytes, 528, ESR_RECORD, write);
    REQUIRE(gs_arm64_syndrome(bytes, size) == write);
    REQUIRE(gs_arm64_syndrome_access(write) == GS_ACCESS_WRITE);
    REQUIRE(gs_arm64_syndrome_access(read) == GS_ACCESS_READ);
    REQUIRE(gs_arm64_syndrome_access(fetch) == GS_ACCESS_UNKNOWN);
}

static void records_that_make_no_sense_are_left(void) {
    unsigned char bytes[1024];
    REQUIRE(gs_arm64_syndrome(bytes, records(bytes, 528, 0x1234, 1)) == 0); /* another one, and the end */
    REQUIRE(gs_arm64_syndrome(bytes, records(bytes, 0, 0, 0)) == 0);        /* goes nowhere */
    REQUIRE(gs_arm64_syndrome(bytes, records(bytes, 4096, 0, 0)) == 0);     /* runs over the end */
    REQUIRE(gs_arm64_syndrome(bytes, 4) == 0);
}

static void traps_are_no_breakpoints(void) {
    REQUIRE(gs_arm64_is_trap(0xd4207d00));  /* brk #1000: GCC's __builtin_trap */
    REQUIRE(gs_arm64_is_trap(0xd4200020));  /* brk #1: LLVM's */
    REQUIRE(!gs_arm64_is_trap(0xd4200000)); /* brk #0: a debugger's */
    REQUIRE(!gs_arm64_is_trap(0xd43e0000)); /* brk #0xf000: LLVM's debugtrap */
    REQUIRE(!gs_arm64_is_trap(0xd503201f)); /* nop */
}

int main(void) {
    instructions_tell_the_direction();
    the_syndrome_tells_the_direction();
    records_that_make_no_sense_are_left();
    traps_are_no_breakpoints();
    return 0;
}
