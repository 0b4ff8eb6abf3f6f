/* What differs between processors when a signal strikes: the direction of an access, traps, and how floats are
 * rounded. */
#ifndef GS_FAULTS_FAULT_ARCH_H
#define GS_FAULTS_FAULT_ARCH_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "faults/arm64.h"

#if defined(__x86_64__)

/* How a thread rounds; a handler starts with the default. */
typedef struct gs_floats {
    uint32_t vector;
    uint16_t x87;
} gs_floats;

static inline gs_floats gs_floats_of(const ucontext_t *state) {
    return (gs_floats){state->uc_mcontext.fpregs->mxcsr, state->uc_mcontext.fpregs->cwd};
}

static inline void gs_floats_restore(gs_floats floats) {
    __builtin_ia32_ldmxcsr(floats.vector);
    __asm__ volatile("fldcw %0" : : "m"(floats.x87));
}

static inline uintptr_t gs_fault_instruction(const ucontext_t *state) {
    return (uintptr_t)state->uc_mcontext.gregs[REG_RIP];
}

static inline gs_access gs_fault_access(const siginfo_t *info, const ucontext_t *state) {
    enum { PAGE_FAULT = 14, WRITE_BIT = 2 };
    if (info->si_signo == SIGSEGV && state->uc_mcontext.gregs[REG_TRAPNO] == PAGE_FAULT)
        return state->uc_mcontext.gregs[REG_ERR] & WRITE_BIT ? GS_ACCESS_WRITE : GS_ACCESS_READ;
    return GS_ACCESS_UNKNOWN;
}

/* The signal for what happened: a trap where control must not come is SIGILL. */
static inline int gs_fault_signal(int signal, const ucontext_t *state) {
    (void)state;
    return signal;
}

#elif defined(__aarch64__)

typedef struct gs_floats { /* handlers round as the thread did */
    char unused;
} gs_floats;

static inline gs_floats gs_floats_of(const ucontext_t *state) {
    (void)state;
    return (gs_floats){0};
}

static inline void gs_floats_restore(gs_floats floats) { (void)floats; }

static inline uintptr_t gs_fault_instruction(const ucontext_t *state) { return (uintptr_t)state->uc_mcontext.pc; }

static inline gs_access gs_fault_access(const siginfo_t *info, const ucontext_t *state) {
    const mcontext_t *machine = &state->uc_mcontext;
    if (info->si_signo != SIGSEGV || machine->pc == (uintptr_t)info->si_addr)
        return GS_ACCESS_UNKNOWN; /* at the address itself: it was a jump */
    const uint64_t syndrome = gs_arm64_syndrome(machine->__reserved, sizeof machine->__reserved);
    return syndrome != 0 ? gs_arm64_syndrome_access(syndrome)
                         : gs_arm64_instruction_access(*(const uint32_t *)(uintptr_t)machine->pc);
}

/* The signal for what happened: a trap where control must not come is SIGTRAP here, and SIGILL elsewhere. */
static inline int gs_fault_signal(int signal, const ucontext_t *state) {
    if (signal == SIGTRAP && gs_arm64_is_trap(*(const uint32_t *)(uintptr_t)state->uc_mcontext.pc))
        return SIGILL;
    return signal;
}

#endif

#endif
