/* How a fault becomes an answer. A thread that runs guarded work has a landing: where it goes on if the work is
 * struck by a signal. A handler for those signals jumps there; a signal that strikes anything else goes to the
 * handler that the program had before.
 *
 * Other threads that work for the same context are stopped too. They may wait for something that the lost work
 * would have done. They are sent one of the same signals, with a value that says who it is from. */
#include "faults/fault.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "check/host/device_memory.h"
#include "check/order/host_touches.h"
#include "check/order/order.h"
#include "faults/fault_arch.h"
#include "faults/lost_context.h"
#include "faults/source_lines.h"
#include "memory/kernel_memory.h"
#include "memory/page.h"
#include "threads/fork.h"
#include "threads/lock.h"

const int gs_fault_signals[GS_FAULT_SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

/* Not one of the numbers that the system uses for what happened. */
enum { STOPPED = 0 };

typedef struct fault {
    int signal; /* or STOPPED */
    int code;
    const void *address;
    gs_access access;
    uintptr_t instruction;
    sigset_t mask; /* of the thread, before the handler */
    gs_floats floats;
} fault;

typedef struct landing {
    struct landing *outer;
    sigjmp_buf target;
    fault fault;
} landing;

/* A thread that runs, or ran, guarded work. */
typedef struct runner {
    struct runner *next, **link; /* in the list of all */
    pid_t thread;
    landing *_Atomic landing; /* NULL: nothing guarded goes on */
    const gs_fault_scope *scope;
    const gs_source_lines *lines; /* of the code that was struck */
    char *stack; /* for handlers, if the thread had none */
} runner;

/* The thread entered a fault scope that it cannot guard: it does none of its work. */
static _Thread_local bool is_refused;

static runner *runners;
GS_STATIC_LOCK(runners_lock, GS_SHORT_LOCK)
static pthread_key_t own_runner;
static bool has_key;
static bool crash; /* GROUNDSTATE_FAULTS=crash */
static bool has_membarrier;

/* --- Runners ----------------------------------------------------------------------------------------- */

/* The handler asks this on any thread of the program. A thread-local variable would have to be allocated there first, or be
 * in the static storage, which has no room for a library that is opened after many others. */
static runner *self(void) { return has_key ? pthread_getspecific(own_runner) : NULL; }

/* Enough for a handler and the state of the largest vector registers. */
static size_t stack_bytes(void) {
    long least = sysconf(_SC_MINSIGSTKSZ);
    return 65536 + (least > 0 ? gs_whole_pages((size_t)least) : 0);
}

/* A stack overflow leaves no room for a handler, so the thread gets another stack for it. */
static void take_stack(runner *of) {
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE))
        return;
    char *memory = mmap(NULL, stack_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    if (sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = stack_bytes()}, NULL) == 0)
        of->stack = memory;
    else
        munmap(memory, stack_bytes());
}

static void give_stack_back(const runner *of) {
    stack_t now;
    if (of->stack == NULL)
        return;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == of->stack)
        sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    munmap(of->stack, stack_bytes());
}

static void end_runner(void *ending) {
    runner *of = ending;
    gs_lock(&runners_lock);
    *of->link = of->next;
    if (of->next != NULL)
        of->next->link = of->link;
    gs_unlock(&runners_lock);
    give_stack_back(of);
}

__attribute__((constructor)) static void prepare(void) { has_key = pthread_key_create(&own_runner, end_runner) == 0; }

/* Once for each thread that comes to run something. NULL if nobody would be told of its end. */
static runner *new_runner(void) {
    static _Thread_local runner own;
    runner *made = &own;
    *made = (runner){0};
    if (!has_key || pthread_setspecific(own_runner, made) != 0)
        return NULL;
    made->thread = (pid_t)syscall(SYS_gettid);
    take_stack(made);
    gs_lock(&runners_lock);
    made->next = runners;
    made->link = &runners;
    if (runners != NULL)
        runners->link = &made->next;
    runners = made;
    gs_unlock(&runners_lock);
    return made;
}

/* A child process has one thread, with another number. */
void gs_faults_after_fork(void) {
    runner *me = runners = self();
    if (me == NULL)
        return;
    me->next = NULL;
    me->link = &runners;
    me->thread = (pid_t)syscall(SYS_gettid);
}

/* --- Signals ----------------------------------------------------------------------------------------- */

static struct sigaction before[GS_FAULT_SIGNALS];

static const struct sigaction *action_before(int signal) {
    int index = 0;
    while (gs_fault_signals[index] != signal)
        index++;
    return &before[index];
}

static bool is_stop(const siginfo_t *info) {
    return info->si_code == SI_QUEUE && info->si_pid == getpid() && info->si_value.sival_ptr == (void *)&runners;
}

/* What anybody else's fault was meant for. */
static void pass_on(int signal, siginfo_t *info, void *state) {
    const struct sigaction *to = action_before(signal);
    if (to->sa_flags & SA_SIGINFO) {
        to->sa_sigaction(signal, info, state);
    } else if (to->sa_handler == SIG_DFL || (to->sa_handler == SIG_IGN && info->si_code > 0)) {
        sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        if (info->si_code <= 0)
            raise(signal); /* was sent; a fault comes again as soon as this returns */
    } else if (to->sa_handler != SIG_IGN) {
        to->sa_handler(signal);
    }
}

static void land(landing *at, int signal, const siginfo_t *info, const ucontext_t *state) {
    at->fault = (fault){.signal = signal, .code = info->si_code, .address = info->si_addr, .mask = state->uc_sigmask};
    at->fault.floats = gs_floats_of(state);
    at->fault.access = gs_fault_access(info, state);
    at->fault.instruction = gs_fault_instruction(state);
    /* A signal that meets the thread on its way there has nothing to do. (AddressSanitizer takes a lock on the way.) */
    self()->landing = NULL;
    siglongjmp(at->target, 1);
}

/* A signal that the thread has sent itself comes from a handler before this one, which has had its say. */
static bool is_own_fault(const siginfo_t *info) {
    return info->si_code > 0 || (info->si_code == SI_TKILL && info->si_pid == getpid());
}

static void on_signal(int signal, siginfo_t *info, void *state) {
    int saved = errno;
    const runner *me = self();
    landing *at = me != NULL ? me->landing : NULL;
    if (is_stop(info)) {
        if (at != NULL && gs_context_is_lost(me->scope->context))
            land(at, STOPPED, info, state);
    } else if (signal == SIGSEGV && info->si_code == SEGV_ACCERR && gs_device_memory_is_checked() &&
               gs_device_memory_touched(info->si_addr)) {
        /* it is open now: the thread goes on */
    } else if (signal == SIGSEGV && info->si_code == SEGV_ACCERR && gs_order_is_checked() &&
               gs_host_pages_touched(info->si_addr, gs_fault_access(info, state) == GS_ACCESS_WRITE)) {
        /* so is this */
    } else if (at != NULL && is_own_fault(info)) {
        land(at, gs_fault_signal(signal, state), info, state);
    } else {
        pass_on(signal, info, state);
    }
    errno = saved;
}

static void install(void) {
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};
    has_membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    for (int each = 0; each < GS_FAULT_SIGNALS; each++) {
        sigaction(gs_fault_signals[each], NULL, &before[each]); /* known before a signal can ask for it */
        sigaction(gs_fault_signals[each], &ours, NULL);
    }
}

void gs_faults_install(void) {
    static pthread_once_t installed = PTHREAD_ONCE_INIT;
    pthread_once(&installed, install);
}

static runner *myself(void) {
    runner *me = self();
    if (me != NULL)
        return me;
    gs_faults_install();
    return new_runner();
}

/* A thread enters guarded work and then looks whether the context is lost; this side says that it is lost and then
 * looks for threads in guarded work. The barrier here spares them one; without it, all threads get the signal. */
void gs_fault_stop_others(void) {
    siginfo_t stop = {.si_signo = SIGSEGV, .si_code = SI_QUEUE};
    stop.si_pid = getpid();
    stop.si_uid = getuid();
    stop.si_value.sival_ptr = (void *)&runners;
    bool ordered = has_membarrier && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    const runner *me = self();
    gs_lock(&runners_lock);
    for (const runner *each = runners; each != NULL; each = each->next)
        if (each != me && (!ordered || atomic_load(&each->landing) != NULL))
            syscall(SYS_rt_tgsigqueueinfo, getpid(), each->thread, SIGSEGV, &stop);
    gs_unlock(&runners_lock);
}

/* --- Fault scopes ----------------------------------------------------------------------------------------- */

const gs_fault_scope *gs_fault_scope_enter(const gs_fault_scope *scope) {
    if (crash)
        return NULL;
    runner *me = myself();
    is_refused = me == NULL && scope != NULL;
    if (is_refused)
        gs_context_lose(scope->context, "there is no memory for a thread that would guard it");
    if (me == NULL)
        return NULL;
    const gs_fault_scope *former = me->scope;
    me->scope = scope;
    return former;
}

bool gs_fault_scope_is_refused(void) { return is_refused; }

const gs_fault_scope *gs_fault_scope_current(void) {
    const runner *me = self();
    return me != NULL ? me->scope : NULL;
}

bool gs_fault_scope_is_lost(const gs_fault_scope *scope) { return scope != NULL && gs_context_is_lost(scope->context); }

/* The Python half says what the knob says. */
GS_EXPORT void gs_fault_crash(bool enable) { crash = enable; }

/* --- Sentences --------------------------------------------------------------------------------------- */

static void describe_segment(const fault *of, char *text, size_t capacity) {
    static const char *const verbs[] = {"used", "read from", "wrote to"};
    char place[64];
    if (of->code != SEGV_MAPERR && of->code != SEGV_ACCERR)
        snprintf(text, capacity, "used an address that no memory can have");
    else if (gs_kernel_memory_describe(of->address, place, sizeof place))
        snprintf(text, capacity, "%s address %p, %s", verbs[of->access], of->address, place);
    else
        snprintf(text, capacity, "%s address %p, %s", verbs[of->access], of->address,
                 of->code == SEGV_MAPERR ? "where there is no memory" : "which does not allow that");
}

static void describe_fault(const fault *of, char *text, size_t capacity) {
    switch (of->signal) {
    case SIGSEGV:
        describe_segment(of, text, capacity);
        break;
    case SIGBUS:
        snprintf(text, capacity, "used address %p, behind which there is no memory any more", of->address);
        break;
    case SIGFPE:
        snprintf(text, capacity, "divided by zero at instruction %p", of->address);
        break;
    default: /* SIGILL or SIGTRAP, whichever the CPU has for it */
        snprintf(text, capacity, "came to a trap (__builtin_trap, a failed assertion, or code that must not be reached)");
    }
}

void gs_fault_name_lines(const gs_source_lines *lines) {
    runner *me = self();
    if (me != NULL)
        me->lines = lines;
}

/* The location that was struck, in the lines that the description has named; 0 if it is not known. */
static uint32_t location_of(const fault *of, const gs_source_lines *lines) {
    return lines != NULL ? gs_location_at(lines, of->instruction) : 0;
}

static void lose(const runner *me, const fault *why, const char *what) {
    char event[160], sentence[GS_LOSS_BYTES];
    uint32_t location = location_of(why, me->lines);
    const char *place = location > 0 ? me->lines->sentences[location - 1] : "";
    const char *excerpt = location > 0 && me->lines->excerpts != NULL ? me->lines->excerpts[location - 1] : "";
    describe_fault(why, event, sizeof event);
    snprintf(sentence, sizeof sentence, "%s %s%s%s", what, event, *place != 0 ? ", " : "", place);
    gs_context_lose_at(me->scope->context, sentence, excerpt);
}

/* The context is lost for taking too long: this says where it was. */
static void note_stop(const runner *me, const fault *stop) {
    uint32_t location = location_of(stop, me->lines);
    if (location > 0)
        gs_context_note_place(me->scope->context, me->lines->sentences[location - 1]);
}

/* --- Guarding ---------------------------------------------------------------------------------------- */

bool gs_guard(gs_work work, void *argument, uint64_t number,
              void (*describe)(const void *argument, char *text, size_t capacity)) {
    runner *const me = self();
    if (is_refused)
        return false;
    if (me == NULL || me->scope == NULL) {
        work(argument, number);
        return true;
    }
    landing here;
    here.outer = atomic_load_explicit(&me->landing, memory_order_relaxed);
    if (sigsetjmp(here.target, 0) == 0) {
        atomic_store_explicit(&me->landing, &here, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        bool lost = gs_context_is_lost(me->scope->context);
        if (!lost)
            work(argument, number);
        atomic_signal_fence(memory_order_seq_cst);
        atomic_store_explicit(&me->landing, here.outer, memory_order_relaxed);
        return !lost;
    }
    pthread_sigmask(SIG_SETMASK, &here.fault.mask, NULL);
    gs_floats_restore(here.fault.floats);
    bool is_stopped = here.fault.signal == STOPPED;
    const gs_fault_scope *scope = me->scope;
    if (!is_stopped || scope->context->is_overdue) {
        char what[512] = "";
        me->lines = NULL;
        if (describe != NULL)
            describe(argument, what, sizeof what);
        else
            scope->describe(scope->subject, what, sizeof what);
        if (is_stopped)
            note_stop(me, &here.fault);
        else
            lose(me, &here.fault, what);
    }
    atomic_store_explicit(&me->landing, here.outer, memory_order_relaxed);
    return false;
}
