/* The functions are replaced by being in the program, which comes first where the dynamic linker looks them up. Each one
 * asks whether its caller lies in one of the libraries. */
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* --- Who calls ------------------------------------------------------------------------------------------ */

static const char *const LIBRARIES[] = {"libze_groundstate.so.1", "libze_capture.so", "libgroundstate_dnnl.so.3",
                                        "libgroundstate_opencl.so"};
enum { MOST = sizeof LIBRARIES / sizeof *LIBRARIES };

static struct {
    uintptr_t start, end;
} ranges[MOST];
static int range_count;

static int note_library(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    const char *slash = strrchr(info->dlpi_name, '/');
    for (int each = 0; each < MOST && slash != NULL; each++) {
        if (strcmp(slash + 1, LIBRARIES[each]) != 0)
            continue;
        for (int part = 0; part < info->dlpi_phnum; part++) {
            const ElfW(Phdr) *header = &info->dlpi_phdr[part];
            if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) || range_count == MOST)
                continue;
            ranges[range_count].start = info->dlpi_addr + header->p_vaddr;
            ranges[range_count++].end = info->dlpi_addr + header->p_vaddr + header->p_memsz;
        }
    }
    return 0;
}

static bool is_ours(const void *caller) {
    for (int each = 0; each < range_count; each++)
        if ((uintptr_t)caller - ranges[each].start < ranges[each].end - ranges[each].start)
            return true;
    return false;
}

/* --- Which calls fail ----------------------------------------------------------------------------------- */

static _Atomic bool armed;
static _Atomic uint64_t counted, first_failed, end_failed;
static _Atomic bool injected;
static struct {
    uint64_t number;
    const char *function;
    const void *caller;
} failed;

static bool is_chosen(const char *function, const void *caller, bool once) {
    if (!atomic_load_explicit(&armed, memory_order_relaxed) || !is_ours(caller))
        return false;
    uint64_t number = atomic_fetch_add(&counted, 1) + 1;
    if (number < first_failed || number >= (once ? first_failed + 1 : end_failed))
        return false;
    if (!atomic_exchange(&injected, true)) {
        failed.number = number;
        failed.function = function;
        failed.caller = caller;
    }
    return true;
}

static bool fails(const char *function, const void *caller) { return is_chosen(function, caller, false); }

/* For what is tried until it succeeds. */
static bool fails_once(const char *function, const void *caller) { return is_chosen(function, caller, true); }

void inject_arm(uint64_t first, uint64_t count) {
    range_count = 0;
    dl_iterate_phdr(note_library, NULL);
    counted = 0;
    injected = false;
    first_failed = first;
    end_failed = count > UINT64_MAX - first ? UINT64_MAX : first + count;
    armed = true;
}

bool inject_disarm(void) {
    armed = false;
    return injected;
}

const char *inject_describe(void) {
    static char text[512];
    Dl_info found;
    if (!injected || dladdr(failed.caller, &found) == 0)
        return "nothing failed";
    const char *slash = strrchr(found.dli_fname, '/');
    snprintf(text, sizeof text, "call %llu: %s from %s+%#zx", (unsigned long long)failed.number, failed.function,
             slash != NULL ? slash + 1 : found.dli_fname, (size_t)((char *)failed.caller - (char *)found.dli_fbase));
    return text;
}

/* --- Blocks of memory ----------------------------------------------------------------------------------- */

enum { PLACES = 1 << 18 };

static _Atomic uintptr_t blocks[PLACES];
static _Atomic int64_t live_blocks;

static size_t place_of(const void *block) { return ((uintptr_t)block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 46; }

static void *note_block(void *block, const void *caller) {
    if (block == NULL || !is_ours(caller))
        return block;
    for (size_t at = place_of(block), tries = 0; tries < 64; at = (at + 1) % PLACES, tries++) {
        uintptr_t free_place = 0;
        if (atomic_compare_exchange_strong(&blocks[at], &free_place, (uintptr_t)block)) {
            atomic_fetch_add(&live_blocks, 1);
            break;
        }
    }
    return block;
}

static void forget_block(const void *block) {
    for (size_t at = place_of(block), tries = 0; block != NULL && tries < 64; at = (at + 1) % PLACES, tries++) {
        uintptr_t there = (uintptr_t)block;
        if (atomic_compare_exchange_strong(&blocks[at], &there, 0)) {
            atomic_fetch_sub(&live_blocks, 1);
            return;
        }
    }
}

int64_t inject_live_blocks(void) { return live_blocks; }

/* --- The functions --------------------------------------------------------------------------------------- */

/* The function that this one replaces. Looking it up may itself allocate, which the first few calls get from here. */
static char early[65536];
static size_t early_used;
static _Thread_local volatile bool looking __attribute__((tls_model("initial-exec")));

static void *find(void **known, const char *name) {
    if (*known == NULL && !looking) {
        looking = true;
        *known = dlsym(RTLD_NEXT, name);
        looking = false;
    }
    return *known;
}

static void *allocate_early(size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (size > sizeof early - early_used)
        return NULL;
    early_used += size;
    return early + early_used - size;
}

static bool is_early(const void *block) { return (uintptr_t)block - (uintptr_t)early < sizeof early; }

#define CALLER __builtin_return_address(0)

/* Declares `real`, the function that is replaced, and answers `failure` if this call is one that fails. */
#define BEGIN(type, name, parameters, failure, number) BEGIN_IF(fails, type, name, parameters, failure, number)
#define BEGIN_ONCE(type, name, parameters, failure, number) BEGIN_IF(fails_once, type, name, parameters, failure, number)
#define BEGIN_IF(condition, type, name, parameters, failure, number) \
    static void *found_##name;                                       \
    type(*real) parameters = find(&found_##name, #name);             \
    if (condition(#name, CALLER)) {                                  \
        errno = number;                                              \
        return failure;                                              \
    }

void *malloc(size_t size) {
    BEGIN(void *, malloc, (size_t), NULL, ENOMEM)
    return real != NULL ? note_block(real(size), CALLER) : allocate_early(size);
}

void *calloc(size_t count, size_t size) {
    BEGIN(void *, calloc, (size_t, size_t), NULL, ENOMEM)
    return real != NULL ? note_block(real(count, size), CALLER) : allocate_early(count * size);
}

void *realloc(void *block, size_t size) {
    BEGIN(void *, realloc, (void *, size_t), NULL, ENOMEM)
    bool is_known = is_ours(CALLER);
    if (is_known)
        forget_block(block);
    void *moved = real(block, size);
    return is_known ? (note_block(moved != NULL ? moved : block, CALLER), moved) : moved;
}

void free(void *block) {
    static void *known;
    void (*real)(void *) = find(&known, "free");
    if (is_early(block) || real == NULL)
        return;
    if (live_blocks > 0)
        forget_block(block);
    real(block);
}

char *strdup(const char *text) {
    BEGIN(char *, strdup, (const char *), NULL, ENOMEM)
    return note_block(real(text), CALLER);
}

char *strndup(const char *text, size_t size) {
    BEGIN(char *, strndup, (const char *, size_t), NULL, ENOMEM)
    return note_block(real(text, size), CALLER);
}

void *tsearch(const void *key, void **root, int (*compare)(const void *, const void *)) {
    BEGIN(void *, tsearch, (const void *, void **, int (*)(const void *, const void *)), NULL, ENOMEM)
    return real(key, root, compare);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    BEGIN(void *, mmap, (void *, size_t, int, int, int, off_t), MAP_FAILED, ENOMEM)
    return real(address, size, protection, flags, fd, offset);
}

int mprotect(void *address, size_t size, int protection) {
    BEGIN(int, mprotect, (void *, size_t, int), -1, ENOMEM)
    return real(address, size, protection);
}

void *mremap(void *address, size_t from, size_t to, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void *fixed = va_arg(more, void *);
    va_end(more);
    BEGIN(void *, mremap, (void *, size_t, size_t, int, ...), MAP_FAILED, ENOMEM)
    return real(address, from, to, flags, fixed);
}

int madvise(void *address, size_t size, int advice) {
    BEGIN(int, madvise, (void *, size_t, int), -1, EAGAIN)
    return real(address, size, advice);
}

int mincore(void *address, size_t size, unsigned char *pages) {
    BEGIN(int, mincore, (void *, size_t, unsigned char *), -1, EAGAIN)
    return real(address, size, pages);
}

int memfd_create(const char *name, unsigned flags) {
    BEGIN(int, memfd_create, (const char *, unsigned), -1, EMFILE)
    return real(name, flags);
}

int ftruncate(int fd, off_t size) {
    BEGIN(int, ftruncate, (int, off_t), -1, ENOSPC)
    return real(fd, size);
}

int posix_fallocate(int fd, off_t offset, off_t size) {
    BEGIN(int, posix_fallocate, (int, off_t, off_t), ENOSPC, ENOSPC)
    return real(fd, offset, size);
}

int fcntl(int fd, int command, ...) {
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    static void *known;
    int (*real)(int, int, ...) = find(&known, "fcntl");
    bool can_fail = command == F_DUPFD || command == F_DUPFD_CLOEXEC || command == F_ADD_SEALS;
    if (can_fail && fails("fcntl", CALLER)) {
        errno = EMFILE;
        return -1;
    }
    return real(fd, command, argument);
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    unsigned mode = va_arg(more, unsigned);
    va_end(more);
    BEGIN(int, open, (const char *, int, ...), -1, EMFILE)
    return real(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode) {
    BEGIN(FILE *, fopen, (const char *, const char *), NULL, EMFILE)
    return real(path, mode);
}

FILE *open_memstream(char **text, size_t *size) {
    BEGIN(FILE *, open_memstream, (char **, size_t *), NULL, ENOMEM)
    return real(text, size);
}

size_t fread(void *to, size_t size, size_t count, FILE *from) {
    BEGIN(size_t, fread, (void *, size_t, size_t, FILE *), 0, EIO)
    return real(to, size, count, from);
}

size_t fwrite(const void *from, size_t size, size_t count, FILE *to) {
    BEGIN(size_t, fwrite, (const void *, size_t, size_t, FILE *), 0, EIO)
    return real(from, size, count, to);
}

char *fgets(char *to, int size, FILE *from) {
    static void *known;
    char *(*real)(char *, int, FILE *) = find(&known, "fgets");
    if (fails("fgets", CALLER)) {
        from->_flags |= 0x20; /* what ferror looks at, in the GNU C library */
        errno = EIO;
        return NULL;
    }
    return real(to, size, from);
}

ssize_t read(int fd, void *to, size_t size) {
    BEGIN_ONCE(ssize_t, read, (int, void *, size_t), -1, EIO)
    return real(fd, to, size);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset) {
    BEGIN(ssize_t, pread, (int, void *, size_t, off_t), -1, EIO)
    return real(fd, to, size, offset);
}

ssize_t preadv2(int fd, const struct iovec *to, int count, off_t offset, int flags) {
    BEGIN_ONCE(ssize_t, preadv2, (int, const struct iovec *, int, off_t, int), -1, EIO)
    return real(fd, to, count, offset, flags);
}

ssize_t write(int fd, const void *from, size_t size) {
    BEGIN_ONCE(ssize_t, write, (int, const void *, size_t), -1, ENOSPC)
    return real(fd, from, size);
}

int fstat(int fd, struct stat *about) {
    BEGIN(int, fstat, (int, struct stat *), -1, ENOMEM)
    return real(fd, about);
}

ssize_t readlink(const char *path, char *to, size_t size) {
    BEGIN(ssize_t, readlink, (const char *, char *, size_t), -1, ENOMEM)
    return real(path, to, size);
}

char *realpath(const char *path, char *to) {
    BEGIN(char *, realpath, (const char *, char *), NULL, ENOMEM)
    return real(path, to);
}

int mkdir(const char *path, mode_t mode) {
    BEGIN(int, mkdir, (const char *, mode_t), -1, ENOSPC)
    return real(path, mode);
}

ssize_t getrandom(void *to, size_t size, unsigned flags) {
    BEGIN(ssize_t, getrandom, (void *, size_t, unsigned), -1, EAGAIN)
    return real(to, size, flags);
}

int socket(int domain, int type, int protocol) {
    BEGIN(int, socket, (int, int, int), -1, EMFILE)
    return real(domain, type, protocol);
}

int bind(int fd, const struct sockaddr *address, socklen_t size) {
    BEGIN(int, bind, (int, const struct sockaddr *, socklen_t), -1, ENOMEM)
    return real(fd, address, size);
}

int poll(struct pollfd *files, nfds_t count, int timeout) {
    BEGIN_ONCE(int, poll, (struct pollfd *, nfds_t, int), -1, ENOMEM)
    return real(files, count, timeout);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    BEGIN(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *), EAGAIN, EAGAIN)
    return real(thread, attributes, run, argument);
}

int pthread_attr_init(pthread_attr_t *attributes) {
    BEGIN(int, pthread_attr_init, (pthread_attr_t *), ENOMEM, ENOMEM)
    return real(attributes);
}

int pthread_setspecific(pthread_key_t key, const void *value) {
    BEGIN(int, pthread_setspecific, (pthread_key_t, const void *), ENOMEM, ENOMEM)
    return real(key, value);
}
