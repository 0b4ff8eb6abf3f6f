#define _GNU_SOURCE
#include "threads/thread.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
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
} beginning;

/* The thread names itself, so that it has its name before anybody's code runs on it. */
static void *begin(void *argument) {
    beginning own = *(beginning *)argument;
    free(argument);
    prctl(PR_SET_NAME, own.name);
    return own.run(own.argument);
}

bool gs_thread_start(const char *name, void *(*run)(void *), void *argument) {
    sigset_t most, before;
    pthread_attr_t attributes;
    pthread_t thread;
    beginning *first = malloc(sizeof *first);
    if (first == NULL)
        return false;
    if (pthread_attr_init(&attributes) != 0) {
        free(first);
        return false;
    }
    *first = (beginning){name, run, argument};
    /* Kernels run on it: no frame of theirs steps over this guard and goes on in memory of the program. */
    pthread_attr_setguardsize(&attributes, GUARD_BYTES);
    save_address_space(&attributes);
    sigfillset(&most);
    for (int each = 0; each < GS_FAULT_SIGNALS; each++)
        sigdelset(&most, gs_fault_signals[each]);
    pthread_sigmask(SIG_SETMASK, &most, &before);
    bool started = pthread_create(&thread, &attributes, begin, first) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (started)
        pthread_detach(thread);
    else
        free(first);
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
