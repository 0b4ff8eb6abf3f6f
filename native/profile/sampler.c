/* Samples of where threads are in the code of kernels. Each thread that runs kernels has a timer of its own processor
 * time, whose signal finds it in the code or outside of it. */
#define _GNU_SOURCE
#include "profile/profile.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "faults/fault_arch.h"
#include "faults/source_lines.h"
#include "objects/kernel.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* What a thread runs, for its handler. */
static _Thread_local const gs_variant *volatile variant_here;
static _Thread_local volatile uint64_t kernel_here;

/* The timer of a thread: it has one once it has run a kernel in a session. */
static _Thread_local bool has_timer, has_no_timer;
static _Thread_local timer_t timer_here;
static _Thread_local uint32_t armed_in; /* session */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t ending_threads;
static int signal_number; /* 0: the program uses all that we could have */

/* Locations that were found: a table of lines is read from its start each time. */
enum { KNOWN_LOCATIONS = 4096, LOCATION_BITS = 24 };
static _Atomic uint64_t known_locations[KNOWN_LOCATIONS];

static uint32_t location_of(const gs_source_lines *lines, uintptr_t address) {
    uint64_t hash = (address ^ (uintptr_t)lines << 1) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t tag = hash & ~((UINT64_C(1) << LOCATION_BITS) - 1);
    _Atomic uint64_t *place = &known_locations[hash >> 20 & (KNOWN_LOCATIONS - 1)];
    uint64_t known = atomic_load_explicit(place, memory_order_relaxed);
    if (known != 0 && (known & ~((UINT64_C(1) << LOCATION_BITS) - 1)) == tag)
        return (uint32_t)(known - tag);
    uint32_t found = gs_location_at(lines, address) & ((1U << LOCATION_BITS) - 1);
    atomic_store_explicit(place, tag | found, memory_order_relaxed);
    return found;
}

static void set_timer(long nanoseconds) {
    const struct timespec each = {.tv_nsec = nanoseconds};
    timer_settime(timer_here, 0, &(struct itimerspec){each, each}, NULL);
}

static void on_timer(int number, siginfo_t *info, void *state) {
    (void)number;
    (void)info;
    int problem = errno;
    const gs_variant *variant = variant_here;
    if (!gs_profile_is_on()) {
        if (has_timer)
            set_timer(0);
        armed_in = 0;
    } else if (variant != NULL && gs_profile_enter() != NULL) {
        uintptr_t address = gs_fault_instruction(state);
        uint32_t location = variant->lines != NULL ? location_of(variant->lines, address) : 0;
        gs_profile_sample sample = {gs_clock(CLOCK_MONOTONIC), (uint64_t)(uintptr_t)variant->run, kernel_here};
        gs_profile_add_in_handler(GS_PROFILE_SAMPLE, location, (gs_profile_piece){&sample, sizeof sample});
        gs_profile_leave();
    }
    errno = problem;
}

static void end_timer(void *unused) {
    (void)unused;
    if (has_timer)
        timer_delete(timer_here);
    has_timer = false;
}

static bool create_timer(int number, timer_t *timer) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    return timer_create(CLOCK_THREAD_CPUTIME_ID, &event, timer) == 0;
}

/* An emulator has fewer signals than the machine that it shows. */
static bool timers_can_send(int number) {
    timer_t timer;
    if (!create_timer(number, &timer))
        return errno != EINVAL;
    timer_delete(timer);
    return true;
}

/* Takes a real-time signal that the program leaves alone: the highest one. */
static void find_signal(void) {
    struct sigaction ours = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART}, now;
    sigfillset(&ours.sa_mask);
    for (int each = SIGRTMAX; each >= SIGRTMIN && signal_number == 0; each--)
        if (sigaction(each, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL &&
            timers_can_send(each) && sigaction(each, &ours, NULL) == 0)
            signal_number = each;
    if (signal_number != 0 && pthread_key_create(&ending_threads, end_timer) != 0)
        signal_number = 0;
}

static void make_timer(void) {
    pthread_once(&once, find_signal);
    if (signal_number == 0) {
        has_no_timer = true;
        return;
    }
    if (!create_timer(signal_number, &timer_here)) {
        has_no_timer = true; /* the user has too many */
        return;
    }
    has_timer = true;
    pthread_setspecific(ending_threads, &ending_threads); /* anything but NULL */
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, signal_number);
    pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
}

void gs_sampler_enter(const gs_code *code, const gs_variant *variant) {
    if (code->is_counting)
        return; /* what counts is slower than it is */
    if (!has_timer && !has_no_timer)
        make_timer();
    uint32_t session = gs_profile_session;
    if (has_timer && armed_in != session && session != 0) {
        armed_in = session;
        set_timer(GS_SAMPLE_NANOSECONDS);
    }
    kernel_here = code->profile_number;
    atomic_signal_fence(memory_order_seq_cst);
    variant_here = variant;
}

void gs_sampler_leave(void) { variant_here = NULL; }

void gs_sampler_after_fork(void) {
    has_timer = has_no_timer = false;
    armed_in = 0;
}
