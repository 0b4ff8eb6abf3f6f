/* GDB's JIT interface: debuggers put a breakpoint on a function of this name, and read the list when it is called. */
#include <stdlib.h>
#include <string.h>

#include "abi/abi.h"
#include "threads/lock.h"

enum { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER };

typedef struct jit_entry {
    struct jit_entry *next, *previous;
    const char *image; /* an ELF file */
    uint64_t size;
} jit_entry;

typedef struct jit_descriptor {
    uint32_t version, action;
    jit_entry *relevant, *first;
} jit_descriptor;

GS_STATIC_LOCK(lock, GS_SHORT_LOCK)

GS_EXPORT void __jit_debug_register_code(void);
GS_EXPORT void __attribute__((noinline)) __jit_debug_register_code(void) { __asm__ volatile("" ::: "memory"); }

extern GS_EXPORT jit_descriptor __jit_debug_descriptor;
jit_descriptor __jit_debug_descriptor = {1, JIT_NOACTION, NULL, NULL};

/* Called with the lock held. */
static void tell(uint32_t action, jit_entry *of) {
    __jit_debug_descriptor.action = action;
    __jit_debug_descriptor.relevant = of;
    __jit_debug_register_code();
    __jit_debug_descriptor.action = JIT_NOACTION;
    __jit_debug_descriptor.relevant = NULL;
}

/* Makes code known to debuggers by an ELF file, which is copied. NULL if there is no memory for that. */
GS_EXPORT void *gs_debugger_add(const char *image, uint64_t size) {
    jit_entry *made = malloc(sizeof *made + size);
    if (made == NULL)
        return NULL;
    memcpy(made + 1, image, size);
    *made = (jit_entry){.image = (const char *)(made + 1), .size = size};
    gs_lock(&lock);
    made->next = __jit_debug_descriptor.first;
    if (made->next != NULL)
        made->next->previous = made;
    __jit_debug_descriptor.first = made;
    tell(JIT_REGISTER, made);
    gs_unlock(&lock);
    return made;
}

/* Before the code goes. */
GS_EXPORT void gs_debugger_remove(void *entry) {
    jit_entry *of = entry;
    gs_lock(&lock);
    if (of->previous != NULL)
        of->previous->next = of->next;
    else
        __jit_debug_descriptor.first = of->next;
    if (of->next != NULL)
        of->next->previous = of->previous;
    tell(JIT_UNREGISTER, of);
    gs_unlock(&lock);
    free(of);
}
