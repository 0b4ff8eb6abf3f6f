/* Preloaded, it gives a process pages of PAGE bytes: it says so, and the calls that work on pages take and give whole
 * ones, as a kernel with such pages does. Larger pages are made of several of the kernel's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { PIECE = 4096 }; /* a page of the kernel */

static size_t whole(size_t size) { return (size + PAGE - 1) & ~(size_t)(PAGE - 1); }
static int is_start(const void *at) { return (uintptr_t)at % PAGE == 0; }

static int refuse(void) {
    errno = EINVAL;
    return -1;
}

EXPORT int getpagesize(void) { return PAGE; }

/* What else can be asked is in the C library, under another name. */
long __sysconf(int name);
EXPORT long sysconf(int name) {
    if (name == _SC_PAGESIZE)
        return PAGE;
    long answer = __sysconf(name);
    return name == _SC_PHYS_PAGES || name == _SC_AVPHYS_PAGES ? answer / (PAGE / PIECE) : answer;
}

/* LLVM asks in this way. */
unsigned long __getauxval(unsigned long kind);
EXPORT unsigned long getauxval(unsigned long kind) { return kind == AT_PAGESZ ? PAGE : __getauxval(kind); }

static void *map(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

/* Takes a page more than asked for, maps within it, and gives the rest back. */
static void *map_anywhere(size_t size, int protection, int flags, int fd, off_t offset) {
    char *room = map(NULL, size + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return MAP_FAILED;
    char *start = (char *)whole((uintptr_t)room);
    void *made = map(start, size, protection, flags | MAP_FIXED, fd, offset);
    if (made == MAP_FAILED) {
        int problem = errno;
        syscall(SYS_munmap, room, size + PAGE);
        errno = problem;
        return MAP_FAILED;
    }
    if (start > room)
        syscall(SYS_munmap, room, start - room);
    syscall(SYS_munmap, start + size, room + PAGE - start);
    return made;
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    const int fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
    if (offset % PAGE != 0 || (fixed && !is_start(at)) || size == 0 || whole(size) < size)
        return errno = EINVAL, MAP_FAILED;
    if (fixed) {
        void *made = map(at, whole(size), protection, flags, fd, offset);
        if (made == MAP_FAILED || made == at)
            return made;
        /* A system that does not know MAP_FIXED_NOREPLACE takes the address for a wish. */
        syscall(SYS_munmap, made, whole(size));
        return errno = EEXIST, MAP_FAILED;
    }
    return map_anywhere(whole(size), protection, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return mmap(at, size, protection, flags, fd, offset);
}

EXPORT int munmap(void *at, size_t size) {
    return is_start(at) ? (int)syscall(SYS_munmap, at, whole(size)) : refuse();
}

EXPORT int mprotect(void *at, size_t size, int protection) {
    return is_start(at) ? (int)syscall(SYS_mprotect, at, whole(size), protection) : refuse();
}

EXPORT int madvise(void *at, size_t size, int advice) {
    return is_start(at) ? (int)syscall(SYS_madvise, at, whole(size), advice) : refuse();
}

/* The kernel's own mappings, such as the stack, need not fill a page: it is there if a piece of it is. */
static int is_there(char *page, unsigned char *answer) {
    for (size_t piece = 0; piece < PAGE; piece += PIECE)
        if (syscall(SYS_mincore, page + piece, (size_t)PIECE, answer) == 0)
            return 1;
    return 0;
}

EXPORT int mincore(void *at, size_t size, unsigned char *answers) {
    if (!is_start(at))
        return refuse();
    for (size_t page = 0; page < whole(size) / PAGE; page++)
        if (!is_there((char *)at + page * PAGE, &answers[page]))
            return errno = ENOMEM, -1;
    return 0;
}

EXPORT void *mremap(void *at, size_t size, size_t new_size, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
    va_end(more);
    if (!is_start(at) || !is_start(to))
        return errno = EINVAL, MAP_FAILED;
    return (void *)syscall(SYS_mremap, at, whole(size), whole(new_size), flags, to);
}

/* --- Which pages were written ------------------------------------------------------------------------------ */

typedef struct region {
    uint64_t begin, end, categories;
} region;

typedef struct scan {
    uint64_t size, flags, begin, end, walked_to, found, found_room, page_limit;
    uint64_t inverted, all_of, any_of, returned;
} scan;

#define PAGEMAP_SCAN_REQUEST _IOWR('f', 16, scan)

/* What else of the last page is found belongs to it, and is not told again. */
static void finish_page(int fd, scan request) {
    region rest[PAGE / PIECE];
    request.begin = request.walked_to;
    request.end = whole(request.walked_to);
    request.found = (uintptr_t)rest;
    request.found_room = PAGE / PIECE;
    if (request.begin < request.end)
        syscall(SYS_ioctl, fd, PAGEMAP_SCAN_REQUEST, &request);
}

/* A page is written if a piece of it is. */
static int scan_pages(int fd, scan *request) {
    region *found = (region *)(uintptr_t)request->found;
    if (request->begin % PAGE != 0 || request->end % PAGE != 0)
        return refuse();
    int pieces = (int)syscall(SYS_ioctl, fd, PAGEMAP_SCAN_REQUEST, request), pages = 0;
    for (int each = 0; each < pieces; each++) {
        region next = {found[each].begin / PAGE * PAGE, whole(found[each].end), found[each].categories};
        if (pages > 0 && next.begin <= found[pages - 1].end)
            found[pages - 1].end = next.end;
        else
            found[pages++] = next;
    }
    if (pieces < 0)
        return -1;
    finish_page(fd, *request);
    request->walked_to = whole(request->walked_to);
    return pages;
}

static int is_whole_pages(const struct uffdio_range *range) {
    return range->start % PAGE == 0 && range->len % PAGE == 0;
}

EXPORT int ioctl(int fd, unsigned long request, ...) {
    va_list more;
    va_start(more, request);
    void *what = va_arg(more, void *);
    va_end(more);
    if (request == PAGEMAP_SCAN_REQUEST)
        return scan_pages(fd, what);
    if ((request == UFFDIO_REGISTER || request == UFFDIO_UNREGISTER) && !is_whole_pages(what))
        return refuse();
    return (int)syscall(SYS_ioctl, fd, request, what);
}
