#include "memory/kernel_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "check/uninitialised.h"
#include "memory/resources.h"

/* How far an index is caught, in either direction: any 32-bit one in local memory whose elements have 8 bytes. In
 * private memory elements of all lanes lie side by side, so that an index reaches further. Nothing but the compiler's
 * own offsets lead to what is saved. Guards are address space and take no memory. */
static const size_t LOCAL_GUARD = (size_t)16 << 30;
static const size_t PRIVATE_GUARD = (size_t)64 << 30;
static const size_t SMALL_GUARD = (size_t)1 << 20;
static const size_t GRANULARITY = 65536; /* a multiple of every page size */

/* Bytes behind local memory that may be read, and are 0. A GPU lets a group read beyond its own local memory, and
 * compilers rely on it: they load before they test whether the index is one of the group's. Writes are faults. */
static const size_t LOCAL_READABLE = 65536;

/* Memory between two guards. */
typedef struct region {
    char *start;
    size_t size;
    size_t guard; /* bytes on either side */
} region;

typedef struct memory {
    region local, private, saved;
} memory;

static _Thread_local memory mine;
static pthread_key_t at_thread_end;

/* --- Address space ----------------------------------------------------------------------------------- */

/* Bytes of large guards of all threads. They leave most of the address space to the program. */
static _Atomic size_t reserved;

/* An eighth of all addresses: the stack is near the last one. */
static size_t most_reserved(void) {
    int unused_bits = __builtin_clzll((uintptr_t)__builtin_frame_address(0));
    return (size_t)1 << (64 - unused_bits - 3);
}

/* ThreadSanitizer allows memory in a few places only, which large guards soon leave. */
#ifdef __SANITIZE_THREAD__
static const bool IS_CROWDED = true;
#else
static const bool IS_CROWDED = false;
#endif

static bool address_space_is_limited(void) {
    return IS_CROWDED || gs_address_space_limit() != 0;
}

/* The size of the guards that a region gets: `most`, or what halving makes of it until both of them take no more than
 * an eighth of what is left. So later threads have large guards, too, where addresses have few bits, as on some
 * AArch64. SMALL_GUARD is for everyone. */
static size_t claim(size_t most) {
    if (address_space_is_limited())
        return SMALL_GUARD;
    size_t before = atomic_load(&reserved), guard;
    do {
        size_t left = most_reserved() - before;
        for (guard = most; guard > SMALL_GUARD && 2 * guard > left / 8;)
            guard /= 2;
        if (guard <= SMALL_GUARD)
            return SMALL_GUARD;
    } while (!atomic_compare_exchange_weak(&reserved, &before, before + 2 * guard));
    return guard;
}

static void give_up(size_t guard) {
    if (guard > SMALL_GUARD)
        atomic_fetch_sub(&reserved, 2 * guard);
}

/* --- Local memory of all threads --------------------------------------------------------------------- */

enum { MOST_LISTED = 1024 };
static _Atomic uint64_t local_starts[MOST_LISTED], local_ends[MOST_LISTED];

static void list_local(const region *of) {
    for (size_t each = 0; each < MOST_LISTED; each++) {
        uint64_t nobody = 0;
        if (atomic_compare_exchange_strong(&local_starts[each], &nobody, UINT64_MAX)) {
            atomic_store(&local_ends[each], (uintptr_t)of->start + of->size);
            atomic_store(&local_starts[each], (uintptr_t)of->start);
            return;
        }
    }
}

static void unlist_local(const region *of) {
    for (size_t each = 0; each < MOST_LISTED; each++)
        if (atomic_load(&local_starts[each]) == (uintptr_t)of->start)
            atomic_store(&local_starts[each], 0);
}

/* --- Regions ----------------------------------------------------------------------------------------- */

static void release(region *of) {
    if (of->start != NULL) {
        if (of == &mine.local)
            unlist_local(of);
        gs_uninitialised_forget(of->start, of->size);
        munmap(of->start - of->guard, of->size + 2 * of->guard);
        give_up(of->guard);
    }
    *of = (region){0};
}

static void release_all(void *unused) {
    (void)unused;
    release(&mine.local);
    release(&mine.private);
    release(&mine.saved);
}

__attribute__((constructor)) static void prepare(void) { pthread_key_create(&at_thread_end, release_all); }

/* `readable` bytes of the guard behind the memory may be read. */
static bool reserve(region *of, size_t size, size_t guard, size_t readable) {
    char *memory = mmap(NULL, size + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    if (mprotect(memory + guard, size, PROT_READ | PROT_WRITE) != 0 ||
        (readable != 0 && mprotect(memory + guard + size, readable, PROT_READ) != 0)) {
        munmap(memory, size + 2 * guard);
        return false;
    }
    if (readable != 0) /* a page that is not there yet slows down each masked load whose inactive lanes lie in it */
        (void)*(volatile const char *)(memory + guard + size);
    *of = (region){memory + guard, size, guard};
    return true;
}

/* With guards of that size, or smaller ones if there is not that much address space. */
static bool grow(region *of, size_t size, size_t guard) {
    region grown;
    size_t readable = of == &mine.local ? LOCAL_READABLE : 0;
    if (size > SIZE_MAX / 4)
        return false;
    size = (size + GRANULARITY - 1) & ~(GRANULARITY - 1);
    if (pthread_setspecific(at_thread_end, &mine) != 0)
        return false;
    guard = claim(guard);
    if (!reserve(&grown, size, guard, readable)) {
        give_up(guard);
        if (guard == SMALL_GUARD || !reserve(&grown, size, SMALL_GUARD, readable))
            return false;
    }
    release(of);
    *of = grown;
    if (of == &mine.local)
        list_local(of);
    return true;
}

static inline bool has_room(region *of, size_t size, size_t guard) { return size <= of->size || grow(of, size, guard); }

/* Memory ends where its guard begins: most indices that go wrong are too large. */
static char *take(uint64_t local, uint64_t private, uint64_t saved, uint64_t step, uint32_t slot, uint32_t slots) {
    memory *own = &mine;
    if (!has_room(&own->local, local + sizeof(gs_memory_header) + (slots - 1) * step, LOCAL_GUARD) ||
        !has_room(&own->private, private, PRIVATE_GUARD) || !has_room(&own->saved, saved, SMALL_GUARD))
        return NULL;
    char *start = own->local.start + own->local.size - local - slot * step;
    gs_memory_header *header = gs_header_of(start);
    header->saved = own->saved.start;
    header->private = own->private.start + own->private.size - private;
    return start;
}

char *gs_kernel_memory(uint64_t local, uint64_t private, uint64_t saved) { return take(local, private, saved, 0, 0, 1); }

char *gs_kernel_memory_slot(uint64_t local, uint64_t private, uint64_t saved, uint32_t slot) {
    uint64_t step = local + sizeof(gs_memory_header) + GS_LOCAL_ALIGNMENT;
    if (local > SIZE_MAX / 4 / GS_LOCAL_SLOTS)
        return NULL;
    return take(local, private, saved, step / GS_LOCAL_ALIGNMENT * GS_LOCAL_ALIGNMENT, slot, GS_LOCAL_SLOTS);
}

bool gs_is_local_memory(uint64_t address) {
    for (size_t each = 0; each < MOST_LISTED; each++) {
        uint64_t start = atomic_load_explicit(&local_starts[each], memory_order_relaxed);
        if (start != 0 && address >= start && address < atomic_load_explicit(&local_ends[each], memory_order_relaxed))
            return true;
    }
    return false;
}

static bool has(const region *of, const char *address) {
    return of->start != NULL && address >= of->start - of->guard && address < of->start + of->size + of->guard;
}

gs_own_memory gs_kernel_memory_kind(const void *address) {
    if (has(&mine.local, address))
        return GS_OWN_LOCAL;
    return has(&mine.private, address) ? GS_OWN_PRIVATE : GS_NOT_OWN;
}

/* --- Sentences --------------------------------------------------------------------------------------- */

static bool describe(const region *of, const char *name, const char *address, char *text, size_t capacity) {
    const char *end = of->start + of->size;
    if (of->start == NULL || address < of->start - of->guard || address >= end + of->guard)
        return false;
    if (address >= end)
        snprintf(text, capacity, "%zu bytes behind %s memory", (size_t)(address - end), name);
    else
        snprintf(text, capacity, "before %s memory", name);
    return true;
}

bool gs_kernel_memory_describe(const void *address, char *text, size_t capacity) {
    return describe(&mine.local, "local", address, text, capacity) ||
           describe(&mine.private, "private", address, text, capacity);
}
