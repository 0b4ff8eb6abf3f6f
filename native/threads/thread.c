#define _GNU_SOURCE
#include "threads/thread.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "faults/fault.h"
#include "memory/resources.h"

/* A small stack is for processes with little address space. */
enum { GUARD_BYTES = 1 << 20, SMALL_STACK_BYTES = 1 << 20 };

/* What a thread takes with its stack and the memory of its kernels; and an arena of the C library, which has one for
 * almost every thread that allocates. */
enum { THREAD_BYTES = 8 << 20, ARENA_BYTES = 64 << 20 };

/* Workers and arenas may each take this part of a limited address space. */
enum { SHARE = 8 };

size_t gs_thread_limit(void) {
    size_t limit = gs_address_space_limit();
    return limit == 0 ? SIZE_MAX : limit / SHARE / THREAD_BYTES;
}

static void save_address_space(pthread_attr_t *attributes) {
    size_t limit = gs_address_space_limit();
    if (limit == 0)
        return;
    pthread_attr_setstacksize(attributes, GUARD_BYTES + SMALL_STACK_BYTES);
#ifdef M_ARENA_MAX
    size_t arenas = limit / SHARE / ARENA_BYTES;
    mallopt(M_ARENA_MAX, arenas == 0 ? 1 : arenas > INT_MAX ? INT_MAX : (int)arenas);
#endif
}

typedef struct beginning {
    const char *name;
    void *(*run)(void *);
    void *argument;
    sem_t named;
} beginning;

/* A recorder tells the driver's threads by their names, so a thread has its name before the call that started it returns,
 * and before anybody's code runs on it. It names itself: to name another thread, the C library opens a file. */
static void *begin(void *argument) {
    beginning *given = argument;
    void *(*run)(void *) = given->run;
    void *run_argument = given->argument;
    prctl(PR_SET_NAME, given->name);
    sem_post(&given->named); /* the last that is seen of `given` */
    return run(run_argument);
}

static bool create(const pthread_attr_t *attributes, beginning *first) {
    pthread_t thread;
    if (pthread_create(&thread, attributes, begin, first) != 0)
        return false;
    while (sem_wait(&first->named) != 0)
        ; /* interrupted by a signal handler of the program */
    pthread_detach(thread);
    return true;
}

bool gs_thread_start(const char *name, void *(*run)(void *), void *argument) {
    sigset_t most, before;
    pthread_attr_t attributes;
    beginning first = {.name = name, .run = run, .argument = argument};
    if (pthread_attr_init(&attributes) != 0)
        return false;
    sem_init(&first.named, 0, 0);
    /* Kernels run on it: no frame of theirs steps over this guard and goes on in memory of the program. */
    pthread_attr_setguardsize(&attributes, GUARD_BYTES);
    save_address_space(&attributes);
    sigfillset(&most);
    for (int each = 0; each < GS_FAULT_SIGNALS; each++)
        sigdelset(&most, gs_fault_signals[each]);
    pthread_sigmask(SIG_SETMASK, &most, &before);
    bool started = create(&attributes, &first);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    sem_destroy(&first.named);
    return started;
}

void gs_thread_call_program(void (*function)(void *), void *argument) {
    enum { NAME_SIZE = 16 };
    char name[NAME_SIZE] = "";
    prctl(PR_GET_NAME, name);
    bool is_ours = strncmp(name, "gs-", 3) == 0;
    if (is_ours)
        prctl(PR_SET_NAME, program_invocation_short_name);
    function(argument);
    if (is_ours)
        prctl(PR_SET_NAME, name);
}
