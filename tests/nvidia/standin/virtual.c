/* Virtual memory: reserved addresses, allocations, and which of them lies where for which devices. As the CUDA driver's, pages are
 * 2 MiB, an allocation is mapped and unmapped as a whole, and is gone with its last handle, mapping and descriptor, in whichever
 * process. The host cannot touch any of it. */
#define _GNU_SOURCE
#include "standin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 2 << 20, MOST = 1024, NONE = 0, READ = 1, READ_WRITE = 3, BY_FD = 1 };

#define CALLED(name)                      \
    int error = standin_called(name);     \
    if (error != SUCCESS)                 \
        return error;                     \
    if (standin_error != SUCCESS)         \
        return standin_error;

/* An allocation. Its number is its handle. */
typedef struct memory {
    int fd; /* 0: none is here */
    size_t size;
    int handles, mappings;
    bool is_charged, is_exportable;
} memory;

typedef struct mapping {
    uint64_t start;
    size_t size;
    memory *of;
    uint32_t access[MOST_DEVICES];
} mapping;

/* `alias`: where the stand-in reads and writes what is mapped. */
typedef struct reservation {
    char *base, *alias;
    size_t size;
} reservation;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static reservation reservations[MOST];
static mapping mappings[MOST];
static memory memories[MOST];

static reservation *reservation_of(uint64_t start, size_t size) {
    for (reservation *each = reservations; each < reservations + MOST; each++)
        if (each->base != NULL && start >= (uint64_t)(uintptr_t)each->base &&
            start + size <= (uint64_t)(uintptr_t)each->base + each->size)
            return each;
    return NULL;
}

/* The first mapping that touches a range. */
static mapping *mapping_in(uint64_t start, size_t size) {
    mapping *found = NULL;
    for (mapping *each = mappings; each < mappings + MOST; each++)
        if (each->of != NULL && each->start < start + size && start < each->start + each->size &&
            (found == NULL || each->start < found->start))
            found = each;
    return found;
}

static memory *memory_of(unsigned long long handle) {
    memory *found = handle > 0 && handle <= MOST ? &memories[handle - 1] : NULL;
    return found != NULL && found->fd > 0 && found->handles > 0 ? found : NULL;
}

static unsigned long long number_of(const memory *held) { return (unsigned long long)(held - memories) + 1; }

static memory *add_memory(int fd, size_t size, bool is_charged, bool is_exportable) {
    memory *made = memories;
    while (made < memories + MOST && made->fd > 0)
        made++;
    if (made == memories + MOST)
        return NULL;
    *made = (memory){fd, size, 1, 0, is_charged, is_exportable};
    return made;
}

static void drop(memory *held) {
    if (held->handles > 0 || held->mappings > 0)
        return;
    close(held->fd);
    if (held->is_charged)
        standin_charge(-(int64_t)held->size);
    *held = (memory){0};
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
    for (uint64_t at = address; found != NULL && at < address + size;) {
        const mapping *there = mapping_in(at, 1);
        const uint32_t access = there != NULL ? there->access[standin_device] : NONE;
        if (access == NONE || (writes && access != READ_WRITE))
            found = NULL;
        else
            at = there->start + there->size;
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
    (void)flags;
    CALLED("cuMemAddressReserve")
    const size_t step = alignment > PAGE ? alignment : PAGE;
    if (size == 0 || size % PAGE != 0 || (step & (step - 1)) != 0)
        return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    reservation *made = reservations;
    while (made < reservations + MOST && made->base != NULL)
        made++;
    int result = OUT_OF_MEMORY;
    char *raw = made < reservations + MOST ? inaccessible(size + step) : MAP_FAILED;
    if (raw != MAP_FAILED) {
        char *base = (char *)(((uintptr_t)raw + step - 1) & ~(uintptr_t)(step - 1));
        if (wish != 0 && mmap((void *)(uintptr_t)wish, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                              MAP_FIXED_NOREPLACE, -1, 0) == (void *)(uintptr_t)wish) {
            munmap(raw, size + step);
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
    int result = found != NULL && (uint64_t)(uintptr_t)found->base == start && found->size == size &&
                         mapping_in(start, size) == NULL
                     ? SUCCESS
                     : INVALID_VALUE;
    if (result == SUCCESS) {
        munmap(found->base, size);
        munmap(found->alias, size);
        *found = (reservation){0};
    }
    pthread_mutex_unlock(&lock);
    return result;
}

typedef struct properties { /* CUmemAllocationProp */
    uint32_t type, handle_types, place_type;
    int device;
    void *of_windows;
    uint8_t flags[8];
} properties;

int cuMemCreate(unsigned long long *made, size_t size, const properties *wanted, unsigned long long flags) {
    CALLED("cuMemCreate")
    if (size == 0 || size % PAGE != 0 || wanted->type != 1 || wanted->place_type != 1 || wanted->handle_types > BY_FD ||
        flags != 0)
        return INVALID_VALUE;
    if (!standin_charge((int64_t)size))
        return OUT_OF_MEMORY;
    int fd = memfd_create("standin-memory", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        abort();
    pthread_mutex_lock(&lock);
    memory *added = add_memory(fd, size, true, wanted->handle_types == BY_FD);
    pthread_mutex_unlock(&lock);
    if (added != NULL)
        *made = number_of(added);
    return added != NULL ? SUCCESS : OUT_OF_MEMORY;
}

int cuMemRelease(unsigned long long handle) {
    CALLED("cuMemRelease")
    pthread_mutex_lock(&lock);
    memory *held = memory_of(handle);
    if (held != NULL) {
        held->handles--;
        drop(held);
    }
    pthread_mutex_unlock(&lock);
    return held != NULL ? SUCCESS : INVALID_VALUE;
}

int cuMemMap(uint64_t start, size_t size, size_t offset, unsigned long long handle, unsigned long long flags) {
    CALLED("cuMemMap")
    pthread_mutex_lock(&lock);
    const reservation *of = reservation_of(start, size);
    memory *held = memory_of(handle);
    mapping *made = mappings;
    while (made < mappings + MOST && made->of != NULL)
        made++;
    int result = of == NULL || made == mappings + MOST || start % PAGE != 0 || held == NULL || size != held->size ||
                         offset != 0 || flags != 0 || mapping_in(start, size) != NULL
                     ? INVALID_VALUE
                     : SUCCESS;
    if (result == SUCCESS) {
        *made = (mapping){.start = start, .size = size, .of = held};
        held->mappings++;
        mmap(of->alias + (start - (uint64_t)(uintptr_t)of->base), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             held->fd, 0);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int cuMemUnmap(uint64_t start, size_t size) {
    CALLED("cuMemUnmap")
    pthread_mutex_lock(&lock);
    mapping *found = mapping_in(start, size);
    const reservation *of = reservation_of(start, size);
    int result = found != NULL && of != NULL && found->start == start && found->size == size ? SUCCESS : INVALID_VALUE;
    if (result == SUCCESS) {
        mmap(of->alias + (start - (uint64_t)(uintptr_t)of->base), size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        found->of->mappings--;
        drop(found->of);
        *found = (mapping){0};
    }
    pthread_mutex_unlock(&lock);
    return result;
}

typedef struct access_wanted { /* CUmemAccessDesc */
    uint32_t type;
    int device;
    uint32_t flags;
} access_wanted;

/* Whole mappings, in a row. */
int cuMemSetAccess(uint64_t start, size_t size, const access_wanted *wanted, size_t count) {
    CALLED("cuMemSetAccess")
    int result = count > 0 ? SUCCESS : INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (size_t each = 0; each < count; each++)
        if (wanted[each].type != 1 || wanted[each].device < 0 || wanted[each].device >= standin_device_count())
            result = INVALID_VALUE;
    for (uint64_t at = start; at < start + size && result == SUCCESS;) {
        mapping *found = mapping_in(at, 1);
        if (found == NULL || found->start != at || at + found->size > start + size) {
            result = INVALID_VALUE;
            break;
        }
        for (size_t each = 0; each < count; each++)
            found->access[wanted[each].device] = wanted[each].flags;
        at += found->size;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* --- Sharing ---------------------------------------------------------------------------------------------- */

int cuMemRetainAllocationHandle(unsigned long long *handle, void *address) {
    CALLED("cuMemRetainAllocationHandle")
    pthread_mutex_lock(&lock);
    const mapping *found = mapping_in((uint64_t)(uintptr_t)address, 1);
    if (found != NULL) {
        found->of->handles++;
        *handle = number_of(found->of);
    }
    pthread_mutex_unlock(&lock);
    return found != NULL ? SUCCESS : INVALID_VALUE;
}

int cuMemExportToShareableHandle(int *fd, unsigned long long handle, unsigned type, unsigned long long flags) {
    CALLED("cuMemExportToShareableHandle")
    pthread_mutex_lock(&lock);
    const memory *held = memory_of(handle);
    bool works = held != NULL && held->is_exportable && type == BY_FD && flags == 0;
    if (works)
        *fd = dup(held->fd);
    pthread_mutex_unlock(&lock);
    return works ? SUCCESS : INVALID_VALUE;
}

/* The size of a file that was made under a name; 0 for others. */
static size_t size_of(int fd, const char *name) {
    char link[64], path[200] = {0}, wanted[64];
    struct stat file;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    snprintf(wanted, sizeof wanted, "/memfd:%s", name);
    if (readlink(link, path, sizeof path - 1) < 0 || strncmp(path, wanted, strlen(wanted)) != 0 || fstat(fd, &file) != 0)
        return 0;
    return (size_t)file.st_size;
}

int cuMemImportFromShareableHandle(unsigned long long *handle, void *given, unsigned type) {
    CALLED("cuMemImportFromShareableHandle")
    const int fd = (int)(intptr_t)given;
    const size_t size = size_of(fd, "standin-memory");
    if (size == 0 || type != BY_FD)
        return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    memory *added = add_memory(fcntl(fd, F_DUPFD_CLOEXEC, 3), size, false, true);
    pthread_mutex_unlock(&lock);
    if (added != NULL)
        *handle = number_of(added);
    return added != NULL ? SUCCESS : OUT_OF_MEMORY;
}

/* --- Memory of other APIs: files of another name ------------------------------------------------------------ */

typedef struct external_memory { /* CUDA_EXTERNAL_MEMORY_HANDLE_DESC */
    uint32_t type;
    union {
        int fd;
        void *of_windows[2];
    } handle;
    unsigned long long size;
    uint32_t flags, reserved[16];
} external_memory;

typedef struct external_buffer { /* CUDA_EXTERNAL_MEMORY_BUFFER_DESC */
    unsigned long long offset, size;
    uint32_t flags, reserved[16];
} external_buffer;

int cuImportExternalMemory(external_memory **made, const external_memory *described) {
    CALLED("cuImportExternalMemory")
    if (described->type != 1 || described->size == 0 || described->size > size_of(described->handle.fd, "standin-vulkan"))
        return INVALID_VALUE;
    *made = malloc(sizeof **made);
    **made = *described;
    return SUCCESS;
}

int cuExternalMemoryGetMappedBuffer(uint64_t *start, const external_memory *of, const external_buffer *described) {
    CALLED("cuExternalMemoryGetMappedBuffer")
    if (described->offset != 0 || described->size > of->size)
        return INVALID_VALUE;
    *start = standin_add_file(of->handle.fd, described->size);
    return SUCCESS;
}

int cuDestroyExternalMemory(external_memory *gone) {
    CALLED("cuDestroyExternalMemory")
    close(gone->handle.fd);
    free(gone);
    return SUCCESS;
}
