/* Stacks of the program. The unwinder gives return addresses; the frames of a Python program come from its interpreter. */
#include "check/host_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python/host_frames.h"
#include "threads/lock.h"

enum {
    MOST_CALLS = 24,       /* of the program, on one stack */
    MOST_OWN_CALLS = 40,   /* of the driver, before the first of the program */
    MOST_TEXT = 4096,      /* bytes of the frames of a Python program */
    MOST_BELOW = 4,        /* compiled calls between a Python program and the driver: loaders, and a library */
    BUCKETS = 1024,
    MOST_STACKS = 1 << 16, /* a program whose stacks are all different does not fill the memory */
};

struct gs_host_stack {
    gs_host_stack *next; /* in its bucket */
    bool is_python;
    void *below[MOST_BELOW]; /* the compiled calls nearest to the driver, for Python */
    uint32_t size;
    _Alignas(void *) char content[]; /* return addresses, or the lines of Python */
};

static _Atomic bool are_taken;
static uintptr_t own_start, own_end; /* the addresses of this library */

GS_STATIC_LOCK(stacks_lock, GS_SHORT_LOCK)
static gs_host_stack *buckets[BUCKETS];
static uint32_t stack_count;

/* --- Taking -------------------------------------------------------------------------------------------- */

static int find_own_addresses(struct dl_phdr_info *object, size_t size, void *inside) {
    (void)size;
    uintptr_t start = UINTPTR_MAX, end = 0;
    for (int each = 0; each < object->dlpi_phnum; each++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[each];
        if (segment->p_type != PT_LOAD)
            continue;
        uintptr_t from = object->dlpi_addr + segment->p_vaddr;
        start = from < start ? from : start;
        end = from + segment->p_memsz > end ? from + segment->p_memsz : end;
    }
    if ((uintptr_t)inside < start || (uintptr_t)inside >= end)
        return 0;
    own_start = start;
    own_end = end;
    return 1;
}

void gs_host_stacks_enable(bool enable) {
    if (enable) {
        dl_iterate_phdr(find_own_addresses, &are_taken);
        void *first[1];
        backtrace(first, 1); /* loads the unwinder, which later calls must not wait for */
    }
    atomic_store(&are_taken, enable);
}

static uint64_t hash_of(const char *content, size_t size) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t each = 0; each < size; each++)
        hash = (hash ^ (unsigned char)content[each]) * UINT64_C(0x100000001b3);
    return hash;
}

static const gs_host_stack *kept(void *const below[MOST_BELOW], const void *content, size_t size) {
    bool is_python = below != NULL;
    gs_host_stack **bucket = &buckets[hash_of(content, size) % BUCKETS];
    gs_lock(&stacks_lock);
    gs_host_stack *found = *bucket;
    while (found != NULL &&
           (found->is_python != is_python || found->size != size || memcmp(found->content, content, size) != 0))
        found = found->next;
    if (found == NULL && stack_count < MOST_STACKS) {
        found = malloc(sizeof *found + size);
        if (found != NULL) {
            *found = (gs_host_stack){.next = *bucket, .is_python = is_python, .size = (uint32_t)size};
            if (is_python)
                memcpy(found->below, below, sizeof found->below);
            memcpy(found->content, content, size);
            *bucket = found;
            stack_count++;
        }
    }
    gs_unlock(&stacks_lock);
    return found;
}

static bool is_own(const void *address) { return (uintptr_t)address >= own_start && (uintptr_t)address < own_end; }

/* Where on the stack the caller of a function is: before it come that function and what a sanitizer has put in between. */
static int caller_in(void *const *calls, int count, const void *return_address) {
    int found = 0;
    while (found < count && calls[found] != return_address)
        found++;
    return found < count ? found : 0;
}

__attribute__((noinline)) const gs_host_stack *gs_host_stack_take(void) {
    if (!__builtin_expect(atomic_load_explicit(&are_taken, memory_order_relaxed), false))
        return NULL;
    char text[MOST_TEXT];
    size_t length = gs_python_host_frames(text, sizeof text);
    void *calls[MOST_OWN_CALLS + MOST_CALLS];
    int count = backtrace(calls, MOST_OWN_CALLS + (length > 0 ? MOST_BELOW : MOST_CALLS));
    int first = caller_in(calls, count, __builtin_return_address(0));
    while (first < count && is_own(calls[first]))
        first++;
    if (length > 0) {
        void *below[MOST_BELOW] = {NULL};
        for (int each = 0; each < MOST_BELOW && first + each < count; each++)
            below[each] = calls[first + each];
        return kept(below, text, length);
    }
    int length_of_rest = count - first > MOST_CALLS ? MOST_CALLS : count - first;
    return length_of_rest > 0 ? kept(NULL, calls + first, (size_t)length_of_rest * sizeof *calls) : NULL;
}

/* --- Describing ---------------------------------------------------------------------------------------- */

typedef struct writer {
    char *text;
    size_t size, length;
} writer;

__attribute__((format(printf, 2, 3))) static void add(writer *to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    bool is_full = to->length >= to->size;
    int more = vsnprintf(is_full ? NULL : to->text + to->length, is_full ? 0 : to->size - to->length, format, arguments);
    va_end(arguments);
    to->length += more > 0 ? (size_t)more : 0;
}

/* What stands between a program and the driver. */
static bool is_between(const char *path) {
    static const char *const NAMES[] = {"libze_", "libgroundstate_"};
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t each = 0; each < sizeof NAMES / sizeof *NAMES; each++)
        if (strncmp(name, NAMES[each], strlen(NAMES[each])) == 0)
            return true;
    return false;
}

/* The path of an object file. The linker knows no name of the program itself, or one that holds only where it started. */
static const char *path_of(const struct link_map *object, char *buffer, size_t size) {
    if (object->l_name != NULL && object->l_name[0] != 0)
        return object->l_name;
    ssize_t length = readlink("/proc/self/exe", buffer, size - 1);
    buffer[length > 0 ? length : 0] = 0;
    return buffer;
}

/* Describes one call; false for one between the program and the driver. */
static bool describe_call(writer *to, char *return_address) {
    char *call = return_address - 1; /* the next instruction may belong to another line */
    Dl_info found;
    struct link_map *object = NULL;
    char buffer[PATH_MAX];
    if (dladdr1(call, &found, (void **)&object, RTLD_DL_LINKMAP) == 0 || object == NULL) {
        add(to, "c\t\t%lx\t\t0\n", (unsigned long)(uintptr_t)call);
        return true;
    }
    const char *path = path_of(object, buffer, sizeof buffer);
    const char *name = found.dli_sname != NULL ? found.dli_sname : "";
    uintptr_t offset = found.dli_sname != NULL ? (uintptr_t)call - (uintptr_t)found.dli_saddr : 0;
    if (is_between(path))
        return false;
    if (strpbrk(path, "\t\n") != NULL)
        path = "";
    add(to, "c\t%s\t%lx\t%s\t%lx\n", path, (unsigned long)((uintptr_t)call - object->l_addr), name, (unsigned long)offset);
    return true;
}

size_t gs_host_stack_describe(const gs_host_stack *stack, char *text, size_t size) {
    writer to = {text, size, 0};
    if (size > 0)
        text[0] = 0;
    if (stack == NULL)
        return 0;
    if (stack->is_python) {
        for (int each = 0; each < MOST_BELOW && stack->below[each] != NULL; each++)
            if (describe_call(&to, stack->below[each]))
                break; /* the library that Python called */
        add(&to, "%.*s", (int)stack->size, stack->content);
        return to.length;
    }
    bool is_inside = true;
    for (size_t each = 0; each < stack->size / sizeof(char *); each++) {
        char *address;
        memcpy(&address, stack->content + each * sizeof address, sizeof address);
        bool is_programs = describe_call(&to, address);
        is_inside = is_inside && !is_programs;
        if (!is_programs && !is_inside)
            break; /* a callback of the program: who called the library is of no interest */
    }
    return to.length;
}
