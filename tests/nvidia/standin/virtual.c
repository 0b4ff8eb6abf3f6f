/* Virtual memory: reserved addresses, allocations, and which of them lies where with what access. As the CUDA driver's, pages
 * are 2 MiB, an allocation is mapped from its beginning, and unmapped as a whole. The host cannot touch any of it. */
#define _GNU_SOURCE
#include "standin.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 2 << 20, MOST = 256, NONE = 0, READ = 1, READ_WRITE = 3 };

#define CALLED(name)                      \
    int error = standin_called(name);     \
    if (error != SUCCESS)                 \
        return error;                     \
    if (standin_error != SUCCESS)         \
        return standin_error;

/* A page that is mapped. */
typedef struct mapping {
    uint64_t start;
    int fd;
    uint32_t access;
} mapping;

/* `alias`: where the stand-in reads and writes what is mapped. */
typedef struct reservation {
    char *base, *alias;
    size_t size;
} reservation;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static reservation reservations[MOST];
static mapping mappings[MOST];

static reservation *reservation_of(uint64_t start, size_t size) {
    for (reservation *each = reservations; each < reservations + MOST; each++)
        if (each->base != NULL && start >= (uint64_t)(uintptr_t)each->base &&
            start + size <= (uint64_t)(uintptr_t)each->base + each->size)
            return each;
    return NULL;
}

static mapping *mapping_at(uint64_t start) {
    for (mapping *each = mappings; each < mappings + MOST; each++)
        if (each->start == start)
            return each;
    return NULL;
}

bool standin_is_virtual(uint64_t address) {
    pthread_mutex_lock(&lock);
    bool found = reservation_of(address, 1) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

char *standin_find_virtual(uint64_t address, size_t size, bool writes) {
    pthread_mutex_lock(&lock);
    const reservation *of = reservation_of(address, size);
    char *found = of == NULL ? NULL : of->alias + (address - (uint64_t)(uintptr_t)of->base);
    for (uint64_t page = address / PAGE * PAGE; found != NULL && page < address + size; page += PAGE) {
        const mapping *there = mapping_at(page);
        if (there == NULL || there->access == NONE || (writes && there->access != READ_WRITE))
            found = NULL;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static char *inaccessible(size_t size) {
    return mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

int cuMemGetAllocationGranularity(size_t *bytes, const void *properties, unsigned which) {
    (void)properties, (void)which;
    CALLED("cuMemGetAllocationGranularity")
    *bytes = PAGE;
    return SUCCESS;
}

int cuMemAddressReserve(uint64_t *start, size_t size, size_t alignment, uint64_t wish, unsigned long long flags) {
    (void)alignment, (void)wish, (void)flags;
    CALLED("cuMemAddressReserve")
    if (size == 0 || size % PAGE != 0)
        return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    reservation *made = reservations;
    while (made < reservations + MOST && made->base != NULL)
        made++;
    int result = OUT_OF_MEMORY;
    char *raw = made < reservations + MOST ? inaccessible(size + PAGE) : MAP_FAILED;
    if (raw != MAP_FAILED) {
        char *base = (char *)(((uintptr_t)raw + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
        if (wish != 0 && mmap((void *)(uintptr_t)wish, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                              MAP_FIXED_NOREPLACE, -1, 0) == (void *)(uintptr_t)wish) {
            munmap(raw, size + PAGE);
            base = (char *)(uintptr_t)wish;
        }
        *made = (reservation){base, inaccessible(size), size};
        *start = (uint64_t)(uintptr_t)base;
        result = made->alias != MAP_FAILED ? SUCCESS : OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int cuMemAddressFree(uint64_t start, size_t size) {
    CALLED("cuMemAddressFree")
    pthread_mutex_lock(&lock);
    reservation *found = reservation_of(start, size);
    int result = found != NULL && (uint64_t)(uintptr_t)found->base == start && found->size == size ? SUCCESS : INVALID_VALUE;
    for (uint64_t page = start; page < start + size; page += PAGE)
        result = mapping_at(page) != NULL ? INVALID_VALUE : result;
    if (result == SUCCESS) {
        munmap(found->base, size);
        munmap(found->alias, size);
        *found = (reservation){0};
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int cuMemCreate(unsigned long long *made, size_t size, const void *properties, unsigned long long flags) {
    (void)properties, (void)flags;
    CALLED("cuMemCreate")
    int fd = memfd_create("standin-virtual", MFD_CLOEXEC);
    if (size % PAGE != 0 || fd < 0 || ftruncate(fd, (off_t)size) != 0)
        return INVALID_VALUE;
    *made = (unsigned long long)fd;
    return SUCCESS;
}
int cuMemRelease(unsigned long long memory) {
    CALLED("cuMemRelease")
    return close((int)memory) == 0 ? SUCCESS : INVALID_VALUE;
}

int cuMemMap(uint64_t start, size_t size, size_t offset, unsigned long long memory, unsigned long long flags) {
    CALLED("cuMemMap")
    pthread_mutex_lock(&lock);
    const reservation *of = reservation_of(start, size);
    mapping *made = mapping_at(0);
    int result = of == NULL || made == NULL || start % PAGE != 0 || size != PAGE || offset != 0 || flags != 0 ||
                         mapping_at(start) != NULL
                     ? INVALID_VALUE
                     : SUCCESS;
    if (result == SUCCESS) {
        *made = (mapping){start, (int)memory, NONE};
        mmap(of->alias + (start - (uint64_t)(uintptr_t)of->base), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             (int)memory, 0);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int cuMemUnmap(uint64_t start, size_t size) {
    CALLED("cuMemUnmap")
    pthread_mutex_lock(&lock);
    mapping *found = mapping_at(start);
    int result = found != NULL && size == PAGE ? SUCCESS : INVALID_VALUE;
    if (result == SUCCESS)
        *found = (mapping){0};
    pthread_mutex_unlock(&lock);
    return result;
}

typedef struct access_wanted { /* CUmemAccessDesc */
    uint32_t type;
    int device;
    uint32_t flags;
} access_wanted;

int cuMemSetAccess(uint64_t start, size_t size, const access_wanted *wanted, size_t count) {
    CALLED("cuMemSetAccess")
    int result = count == 1 && wanted->type == 1 ? SUCCESS : INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (uint64_t page = start; page < start + size && result == SUCCESS; page += PAGE) {
        mapping *found = mapping_at(page);
        if (found != NULL)
            found->access = wanted->flags;
        else
            result = INVALID_VALUE;
    }
    pthread_mutex_unlock(&lock);
    return result;
}
