#include "check/order/host_touches.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "memory/page.h"
#include "threads/lock.h"

typedef struct extent {
    uint64_t from, to; /* equal: nothing */
} extent;

/* Never freed, so that a handler of signals can walk the list at any time. */
typedef struct pages {
    struct pages *_Atomic next;
    _Atomic uintptr_t start, end; /* equal: not in use */
    extent read, written;         /* by commands, of whole pages */
    _Atomic bool is_closed;
    _Atomic bool is_open;         /* until the next command ends: the program has touched it */
    _Atomic bool writes;
    _Atomic(const gs_host_stack *) toucher;
    _Atomic uintptr_t touched;    /* 0: nobody did, or it is taken */
} pages;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)
static pages *_Atomic all;
static uint32_t running; /* commands */
static _Atomic bool has_touches;

static bool is_used(const pages *of) { return of->end > of->start; }

/* Without memory to note it, it stays open. */
void gs_host_pages_add(void *start, uint64_t span) {
    gs_faults_install();
    gs_lock(&lock);
    pages *found = all;
    while (found != NULL && (is_used(found) || found->touched != 0))
        found = found->next;
    if (found == NULL && (found = calloc(1, sizeof *found)) != NULL) {
        found->next = all;
        all = found;
    }
    if (found != NULL) {
        found->read = found->written = (extent){0, 0};
        found->is_closed = found->is_open = false;
        found->start = (uintptr_t)start;
        found->end = (uintptr_t)start + span;
    }
    gs_unlock(&lock);
}

static void open_pages(pages *of) {
    if (atomic_exchange(&of->is_closed, false))
        mprotect((void *)of->start, of->end - of->start, PROT_READ | PROT_WRITE);
}

void gs_host_pages_remove(const void *start) {
    gs_lock(&lock);
    for (pages *each = all; each != NULL; each = each->next)
        if (each->start == (uintptr_t)start && is_used(each)) {
            open_pages(each);
            each->end = each->start;
        }
    gs_unlock(&lock);
}

bool gs_host_pages_exist(void) {
    for (const pages *each = all; each != NULL; each = each->next)
        if (is_used(each))
            return true;
    return false;
}

static void protect(extent range, int protection) {
    if (range.to > range.from)
        mprotect((void *)(uintptr_t)range.from, range.to - range.from, protection);
}

static void close_pages(pages *of) {
    bool is_pending = of->read.to > of->read.from || of->written.to > of->written.from;
    if (!is_used(of) || of->is_open || !is_pending)
        return;
    of->is_closed = true;
    protect(of->read, PROT_READ);
    protect(of->written, PROT_NONE);
}

void gs_host_pages_open(void) {
    gs_lock(&lock);
    if (running++ == 0)
        for (pages *each = all; each != NULL; each = each->next)
            open_pages(each);
    gs_unlock(&lock);
}

void gs_host_pages_close(void) {
    gs_lock(&lock);
    running--;
    for (pages *each = all; each != NULL; each = each->next) {
        each->is_open = false;
        if (running == 0)
            close_pages(each);
    }
    gs_unlock(&lock);
}

void gs_host_pages_forget(void) {
    gs_lock(&lock);
    for (pages *each = all; each != NULL; each = each->next)
        each->read = each->written = (extent){0, 0};
    gs_unlock(&lock);
}

static void widen(extent *of, uint64_t from, uint64_t to) {
    bool is_first = of->to == of->from;
    of->from = is_first || from < of->from ? from : of->from;
    of->to = is_first || to > of->to ? to : of->to;
}

void gs_host_pages_note(uint64_t from, uint64_t to, bool writes) {
    const uint64_t page = gs_page_size();
    gs_lock(&lock);
    for (pages *each = all; each != NULL; each = each->next) {
        uint64_t lower = from > each->start ? from : each->start, upper = to < each->end ? to : each->end;
        if (lower < upper)
            widen(writes ? &each->written : &each->read, lower / page * page, (upper + page - 1) / page * page);
    }
    gs_unlock(&lock);
}

void gs_host_pages_apply(void) {
    gs_lock(&lock);
    for (pages *each = all; each != NULL && running == 0; each = each->next) {
        open_pages(each);
        close_pages(each);
    }
    gs_unlock(&lock);
}

/* On the thread of the program, wherever that is. It holds no lock of the driver: the driver touches such memory in commands
 * only. Another thread may have opened the pages meanwhile. */
bool gs_host_pages_touched(const void *address, bool writes) {
    uintptr_t at = (uintptr_t)address;
    for (pages *each = all; each != NULL; each = each->next) {
        if (at < each->start || at >= each->end)
            continue;
        bool was_closed = atomic_exchange(&each->is_closed, false);
        each->is_open = true;
        mprotect((void *)each->start, each->end - each->start, PROT_READ | PROT_WRITE);
        if (was_closed && each->touched == 0) {
            each->toucher = gs_host_stack_take();
            each->writes = writes;
            each->touched = at;
            has_touches = true;
        }
        return true;
    }
    return false;
}

bool gs_host_touch_take(gs_host_touch *touch) {
    if (!has_touches)
        return false;
    for (pages *each = all; each != NULL; each = each->next) {
        *touch = (gs_host_touch){.writes = each->writes, .stack = each->toucher};
        touch->address = atomic_exchange(&each->touched, 0);
        if (touch->address != 0)
            return true;
    }
    has_touches = false;
    return false;
}
