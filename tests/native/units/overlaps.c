/* Two threads submit work, in every order that their steps can have: neither takes for its own what the device wrote for
 * the other. */
#include <semaphore.h>
#include <stdatomic.h>

#include "check.h"

static void step(void);

/* Each step of the other thread may come between two of these. */
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_load
#define atomic_fetch_add(object, value) (step(), atomic_fetch_add_explicit(object, value, memory_order_seq_cst))
#define atomic_fetch_sub(object, value) (step(), atomic_fetch_sub_explicit(object, value, memory_order_seq_cst))
#define atomic_load(object) (step(), atomic_load_explicit(object, memory_order_seq_cst))

#include "capture/recorder/overlaps.c"

enum { ORDERS = 1 << 14, ALL = 3 };

static _Thread_local unsigned own; /* 1 or 2 */
static sem_t may_go[ALL];
static sem_t is_over;
static unsigned order, running, written, mistakes, shared;

static void go_on(void) {
    unsigned chosen = 1 + (order & 1);
    order >>= 1;
    sem_post(&may_go[(running & chosen) != 0 ? chosen : ALL - chosen]);
}

/* Lets one of the threads do its next step; the order says which. */
static void step(void) {
    go_on();
    sem_wait(&may_go[own]);
}

/* As the recorder does: it looks, has the device work, and looks again. */
static void submit(void) {
    gc_overlap mine;
    gc_overlap_begin(&mine);
    step();
    written = 0;
    step();
    written |= own;
    step();
    unsigned found = written;
    written = 0;
    bool is_alone = gc_overlap_is_none(&mine);
    if ((found & ~own) != 0 && is_alone)
        mistakes++;
    if (!is_alone)
        shared++;
    gc_overlap_end();
}

static void *submit_always(void *number) {
    own = (unsigned)(uintptr_t)number;
    for (int each = 0; each < ORDERS; each++) {
        sem_wait(&may_go[own]);
        submit();
        running &= ~own;
        if (running != 0)
            go_on();
        else
            sem_post(&is_over);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int each = 0; each < ALL; each++)
        sem_init(&may_go[each], 0, 0);
    sem_init(&is_over, 0, 0);
    for (uintptr_t each = 0; each < 2; each++)
        REQUIRE(pthread_create(&threads[each], NULL, submit_always, (void *)(each + 1)) == 0);
    for (unsigned each = 0; each < ORDERS; each++) {
        order = each;
        running = ALL;
        written = 0;
        go_on();
        sem_wait(&is_over);
    }
    for (int each = 0; each < 2; each++)
        pthread_join(threads[each], NULL);
    REQUIRE(mistakes == 0);
    REQUIRE(shared > 0 && shared < 2 * ORDERS); /* both happen */
    return 0;
}
