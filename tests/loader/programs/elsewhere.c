/* A library for Python programs: calls a function on another thread and waits for it. */
#include <pthread.h>
#include <stdint.h>

typedef int (*function)(void *, void *, void *, void *, void *);

typedef struct call {
    function what;
    void **arguments;
    int result;
} call;

static void *make(void *argument) {
    call *here = argument;
    void **with = here->arguments;
    here->result = here->what(with[0], with[1], with[2], with[3], with[4]);
    return NULL;
}

__attribute__((visibility("default"))) int call_elsewhere(function what, void **arguments) {
    call here = {.what = what, .arguments = arguments};
    pthread_t thread;
    if (pthread_create(&thread, NULL, make, &here) != 0 || pthread_join(thread, NULL) != 0)
        return -1;
    return here.result;
}
