/* Kernels written by hand in the form that the compiler gives them (docs/internals/compiler.md), to test launches. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "generated/shared.h"

typedef gs_dispatch dispatch;

#define KERNEL(name) void name(const dispatch *d, uint64_t first, uint64_t count, char *local)
#define UNUSED (void)d, (void)first, (void)count, (void)local
#define POINTER(type, offset) (*(type *const *)(d->arguments + (offset)))
#define VALUE(type, offset) (*(const type *)(d->arguments + (offset)))
#define EACH_GROUP(group) for (uint64_t group = first; group < first + count; group++)

static uint64_t items(const dispatch *d) {
    return (uint64_t)d->group_size[0] * d->group_size[1] * d->group_size[2];
}

KERNEL(empty) { UNUSED; }

/* (image2d_t image, sampler_t sampler, uint64_t *out): the view of the image, then the sampler. */
KERNEL(look) {
    UNUSED;
    enum { VIEW_WORDS = sizeof(gs_image_view) / sizeof(uint64_t) };
    uint64_t *out = POINTER(uint64_t, 16);
    memcpy(out, POINTER(const uint64_t, 0), VIEW_WORDS * sizeof *out);
    out[VIEW_WORDS] = VALUE(uint64_t, 8);
}

/* (const float *a, const float *b, float *c): one dimension. */
KERNEL(add) {
    UNUSED;
    const float *a = POINTER(const float, 0), *b = POINTER(const float, 8);
    float *c = POINTER(float, 16);
    for (uint64_t i = first * items(d); i < (first + count) * items(d); i++)
        c[d->global_offset[0] + i] = a[d->global_offset[0] + i] + b[d->global_offset[0] + i];
}

/* (uint8_t *visits): one more for each work-item, by its linear number. */
KERNEL(visit) {
    UNUSED;
    uint8_t *visits = POINTER(uint8_t, 0);
    for (uint64_t i = first * items(d); i < (first + count) * items(d); i++)
        visits[i]++;
}

/* (uint32_t *visits): one more for each group, slowly; as quickly as can be; and not at all, but with a fault. */
KERNEL(amble) {
    UNUSED;
    EACH_GROUP(group) {
        for (volatile uint32_t step = 0; step < 100000; step++)
            ;
        atomic_fetch_add(POINTER(_Atomic uint32_t, 0) + group, 1);
    }
}

KERNEL(hurry) {
    UNUSED;
    EACH_GROUP(group)
        atomic_fetch_add(POINTER(_Atomic uint32_t, 0) + group, 1);
}

KERNEL(stumble) {
    UNUSED;
    *(volatile uint32_t *)16 = 1;
}

/* (uint64_t *counter): adds the number of work-items, group by group. */
KERNEL(tally) {
    UNUSED;
    atomic_fetch_add(POINTER(_Atomic uint64_t, 0), count * items(d));
}

/* (uint64_t *out): what the dispatch says, written by the first group. */
KERNEL(describe) {
    UNUSED;
    if (first != 0)
        return;
    uint64_t *out = POINTER(uint64_t, 0);
    for (int axis = 0; axis < 3; axis++) {
        out[axis] = d->global_offset[axis];
        out[3 + axis] = d->group_counts[axis];
        out[6 + axis] = d->group_size[axis];
    }
    out[9] = d->work_dimensions;
    out[10] = d->local_bytes;
    out[11] = (uintptr_t)local % 128;
}

/* (uint64_t *out, local char *left, local char *right): where local memory lies; fills all of it. */
KERNEL(locals) {
    UNUSED;
    uint64_t *out = POINTER(uint64_t, 0);
    memset(local, 7, d->local_bytes);
    memset(((char **)local)[-2], 7, 256); /* private memory */
    EACH_GROUP(group) {
        out[3 * group] = VALUE(uint64_t, 8);
        out[3 * group + 1] = VALUE(uint64_t, 16);
        out[3 * group + 2] = d->local_bytes;
    }
}

typedef struct mixture {
    int8_t small;
    double large;
    int32_t middle[3];
} mixture;

/* (int8_t, int64_t, mixture by value, int64_t *out). */
KERNEL(values) {
    UNUSED;
    const mixture *mixed = &VALUE(mixture, 16);
    int64_t *out = POINTER(int64_t, 48);
    out[0] = VALUE(int8_t, 0);
    out[1] = VALUE(int64_t, 8);
    out[2] = mixed->small;
    out[3] = (int64_t)mixed->large;
    out[4] = mixed->middle[2];
}

/* (uint32_t *flag): returns when the flag is not zero. */
KERNEL(spin) {
    UNUSED;
    while (atomic_load(POINTER(_Atomic uint32_t, 0)) == 0)
        usleep(100);
}

/* (uint32_t *arrived): every group waits for every other. */
KERNEL(meet) {
    UNUSED;
    _Atomic uint32_t *arrived = POINTER(_Atomic uint32_t, 0);
    EACH_GROUP(group) {
        atomic_fetch_add(arrived, 1);
        while (atomic_load(arrived) < d->group_counts[0])
            usleep(10);
    }
}

/* (uint32_t *out): adds one to the module's variable and writes what it was. */
KERNEL(bump) {
    UNUSED;
    _Atomic uint32_t *variable = (_Atomic uint32_t *)(d->globals + 64);
    EACH_GROUP(group)
        POINTER(uint32_t, 0)[group] = atomic_fetch_add(variable, 1);
}

/* (uint32_t *out): which thread ran each group, and how floats are rounded there. */
KERNEL(threads) {
    UNUSED;
    uint32_t control = 0;
#if defined(__x86_64__)
    control = __builtin_ia32_stmxcsr() & ~0x3fu;
#elif defined(__aarch64__)
    uint64_t whole;
    __asm__ volatile("mrs %0, fpcr" : "=r"(whole));
    control = (uint32_t)whole;
#endif
    EACH_GROUP(group) {
        POINTER(uint32_t, 0)[2 * group] = (uint32_t)gettid();
        POINTER(uint32_t, 0)[2 * group + 1] = control;
    }
}

/* (uint32_t *out): the CPU that each group ran on. */
KERNEL(cpus) {
    UNUSED;
    EACH_GROUP(group) {
        POINTER(uint32_t, 0)[group] = (uint32_t)sched_getcpu();
        for (volatile int moment = 0; moment < 20000; moment++)
            ;
    }
}

static int print(const dispatch *d, uint32_t format, const uint64_t *words, uint32_t number) {
    struct {
        _Atomic uint64_t used;
        uint64_t capacity;
        char records[];
    } *buffer = d->print_buffer;
    uint32_t bytes = 8 + 8 * number;
    uint64_t place = atomic_fetch_add(&buffer->used, bytes);
    if (place + bytes > buffer->capacity)
        return -1;
    memcpy(buffer->records + place, &(uint32_t[]){bytes, format}, 8);
    memcpy(buffer->records + place + 8, words, 8 * number);
    return 0;
}

static uint64_t bits(double number) {
    uint64_t word;
    memcpy(&word, &number, 8);
    return word;
}

/* (): prints one of everything. */
KERNEL(hello) {
    UNUSED;
    static const char name[] = "world";
    print(d, 0, (uint64_t[]){(uintptr_t)name, 42, (uint64_t)-7, bits(1.5)}, 4);
    print(d, 1, (uint64_t[]){bits(1), bits(2.5), bits(-3), bits(4), 0x1ff, 2, 3, 0xffff, 200, 0xffffffffff}, 10);
    print(d, 2, (uint64_t[]){'x', 255, 8, bits(0.1)}, 4);
}

/* (int32_t *results): each group prints its number and keeps what printf returned. */
KERNEL(shout) {
    UNUSED;
    EACH_GROUP(group)
        POINTER(int32_t, 0)[group] = print(d, 0, &group, 1);
}

/* In frames that are smaller than a page: a larger one could step over the guard of the stack, and what lies below
 * would be overwritten. */
static uint64_t recurse(volatile char *above) {
    volatile char here[1024];
    here[0] = *above;
    return recurse(here) + (uint64_t)here[0];
}

/* (uint64_t what, uint64_t group, volatile uint64_t *address): does something bad in one of the groups. */
KERNEL(strike) {
    UNUSED;
    volatile uint64_t *address = POINTER(volatile uint64_t, 16);
    EACH_GROUP(group) {
        ((uint64_t *)local)[-1] = group;
        if (group != VALUE(uint64_t, 8))
            continue;
        switch (VALUE(uint64_t, 0)) {
        case 0:
            *address = 1;
            break;
        case 1:
            (void)*address;
            break;
        case 2:
#if defined(__x86_64__)
            __asm__ volatile("divl %0" : : "r"(0) : "eax", "edx");
#else
            raise(SIGFPE);
#endif
            break;
        case 3:
            __builtin_trap();
        case 4:
            recurse((volatile char *)&group);
            break;
        case 5:
#if defined(__x86_64__)
            __asm__ volatile("int3");
#else
            __asm__ volatile("brk #0");
#endif
            break;
        }
    }
}

/* (uint32_t *arrived): group 1 fails when all others have come, which wait for it for ever. */
KERNEL(desert) {
    UNUSED;
    _Atomic uint32_t *arrived = POINTER(_Atomic uint32_t, 0);
    EACH_GROUP(group) {
        while (group == 1 && atomic_load(arrived) + 1 < d->group_counts[0])
            usleep(10);
        if (group == 1)
            *(volatile int *)8 = 0;
        atomic_fetch_add(arrived, 1);
        while (atomic_load(arrived) < d->group_counts[0])
            ;
    }
}

/* (const char *text): prints it. */
KERNEL(quote) {
    UNUSED;
    print(d, 0, (uint64_t[]){(uintptr_t)POINTER(char, 0)}, 1);
}
