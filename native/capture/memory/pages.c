/* Asynchronous write protection: a write to a protected page lifts the protection and goes on, in the kernel; nobody is
 * told, and no system call of the program fails. PAGEMAP_SCAN lists the pages whose protection is gone and
 * protects them again. Linux has both since 6.7. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture/memory/pages.h"

/* Headers of older systems lack these parts of the kernel's interface. */
enum {
    FEATURE_WP_SHMEM = 1 << 12,
    FEATURE_WP_UNPOPULATED = 1 << 13,
    FEATURE_WP_ASYNC = 1 << 15,
    USER_MODE_ONLY = 1,
    SCAN_PROTECT = 1,
    IS_WRITTEN = 2,
    IS_PRESENT = 8,
    IS_SWAPPED = 16,
    IS_ZERO_PAGE = 32,
};

typedef struct page_region {
    uint64_t begin, end, categories;
} page_region;

typedef struct scan_request {
    uint64_t size, flags, begin, end, walked_to, found, found_capacity, page_limit;
    uint64_t inverted, all_of, any_of, returned;
} scan_request;

#define PAGEMAP_SCAN_REQUEST _IOWR('f', 16, scan_request)

/* The kernel takes memory for as many regions as it may find, and mostly there are none. */
enum { FEW_REGIONS = 16, REGIONS = 512 };

static int faults = -1, page_map = -1;

bool gc_pages_open(void) {
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
    page_map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    struct uffdio_api wanted = {
        .api = UFFD_API,
        .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | FEATURE_WP_SHMEM | FEATURE_WP_UNPOPULATED | FEATURE_WP_ASYNC,
    };
    scan_request nothing = {.size = sizeof nothing};
    if (faults >= 0 && page_map >= 0 && ioctl(faults, UFFDIO_API, &wanted) == 0 &&
        ioctl(page_map, PAGEMAP_SCAN_REQUEST, &nothing) >= 0)
        return true;
    gc_pages_abandon();
    return false;
}

void gc_pages_abandon(void) {
    if (faults >= 0)
        close(faults);
    if (page_map >= 0)
        close(page_map);
    faults = page_map = -1;
}

bool gc_pages_watch(uintptr_t begin, uintptr_t end) {
    struct uffdio_register request = {.range = {begin, end - begin}, .mode = UFFDIO_REGISTER_MODE_WP};
    return faults >= 0 && ioctl(faults, UFFDIO_REGISTER, &request) == 0;
}

void gc_pages_unwatch(uintptr_t begin, uintptr_t end) {
    struct uffdio_range range = {begin, end - begin};
    ioctl(faults, UFFDIO_UNREGISTER, &range);
}

static void scan(scan_request request, uintptr_t end, gc_pages_found found) {
    page_region regions[REGIONS];
    request.size = sizeof request;
    request.end = end;
    request.flags = SCAN_PROTECT; /* leaves out what is not watched */
    request.found = (uintptr_t)regions;
    request.found_capacity = FEW_REGIONS;
    request.returned = IS_WRITTEN;
    while (request.begin < end) {
        int count = ioctl(page_map, PAGEMAP_SCAN_REQUEST, &request);
        if (count < 0 && errno == EINTR)
            continue;
        for (int each = 0; each < count; each++)
            found(regions[each].begin, regions[each].end);
        if (count < 0 || request.walked_to <= request.begin)
            return;
        request.begin = request.walked_to;
        request.found_capacity = REGIONS;
    }
}

/* A page that was only read is a shared page of zeros: nobody has written it. */
void gc_pages_written(uintptr_t begin, uintptr_t end, gc_pages_found found) {
    scan((scan_request){.begin = begin, .all_of = IS_WRITTEN | IS_ZERO_PAGE, .inverted = IS_ZERO_PAGE}, end, found);
}

void gc_pages_present(uintptr_t begin, uintptr_t end, gc_pages_found found) {
    scan((scan_request){.begin = begin, .any_of = IS_PRESENT | IS_SWAPPED, .all_of = IS_ZERO_PAGE, .inverted = IS_ZERO_PAGE},
         end, found);
}

/* The kernel copies, and says how far it came. Where a sandbox forbids the one way, the other may be open. */
size_t gc_pages_read(void *to, uintptr_t from, size_t size) {
    struct iovec here = {to, size}, there = {(void *)from, size};
    ssize_t done = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (done >= 0 || errno == EFAULT)
        return done > 0 ? (size_t)done : 0;
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    done = memory >= 0 ? pread(memory, to, size, (off_t)from) : -1;
    if (memory >= 0)
        close(memory);
    return done > 0 ? (size_t)done : 0;
}

/* Four sums side by side, so that they do not wait for each other, each of words times odd numbers that grow. */
uint64_t gc_page_mark(const uint8_t *page, size_t size) {
    uint64_t sums[4] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x27d4eb2f165667c5};
    size_t at = 0;
    for (; at + 32 <= size; at += 32)
        for (int lane = 0; lane < 4; lane++) {
            uint64_t word;
            memcpy(&word, page + at + 8 * lane, sizeof word);
            sums[lane] = (sums[lane] ^ word) * 0x9fb21c651e98df25;
            sums[lane] ^= sums[lane] >> 29;
        }
    for (; at < size; at++)
        sums[at % 4] = (sums[at % 4] ^ page[at]) * 0x9fb21c651e98df25;
    uint64_t mark = size;
    for (int lane = 0; lane < 4; lane++) {
        mark = (mark ^ sums[lane]) * 0xff51afd7ed558ccd;
        mark ^= mark >> 33;
    }
    return mark != 0 ? mark : 1;
}
