/* OpenXLA's plugin for Intel's GPUs brings oneCCL, which asks msync() whether a buffer is host memory: that of a GPU is not
 * mapped into the process. Ours is. So the plugin's msync answers for memory of our devices as it does for a GPU's. */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "intel/intel.h"
#include "memory/memory.h"

static const char plugin[] = "/xla_oneapi_plugin.so";

static bool is_device_memory(const void *pointer) {
    gs_memory_lock();
    const gs_allocation *found = gs_allocation_of_any(pointer);
    bool is = found != NULL && found->type == ZE_MEMORY_TYPE_DEVICE;
    gs_memory_unlock();
    return is;
}

static int msync_of_host_memory(void *start, size_t size, int flags) {
    if (is_device_memory(start)) {
        errno = ENOMEM;
        return -1;
    }
    return msync(start, size, flags);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* What the linker wrote of a library's calls into others. Addresses in it are absolute when the library is loaded. */
typedef struct gs_calls {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * slots;
    size_t count;
} gs_calls;

static gs_calls calls_of(const ElfW(Dyn) * entry) {
    gs_calls calls = {0};
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *at = (const void *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB)
            calls.symbols = at;
        else if (entry->d_tag == DT_STRTAB)
            calls.names = at;
        else if (entry->d_tag == DT_JMPREL)
            calls.slots = at;
        else if (entry->d_tag == DT_PLTRELSZ)
            calls.count = entry->d_un.d_val / sizeof(ElfW(Rela));
    }
    return calls;
}

static bool is_read_only(const struct dl_phdr_info *library, uintptr_t address) {
    for (int each = 0; each < library->dlpi_phnum; each++) {
        const ElfW(Phdr) *segment = &library->dlpi_phdr[each];
        uintptr_t from = library->dlpi_addr + segment->p_vaddr;
        bool is_inside = address >= from && address < from + segment->p_memsz;
        if (is_inside && (segment->p_type == PT_GNU_RELRO || (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))))
            return true;
    }
    return false;
}

static void redirect(const struct dl_phdr_info *library, const gs_calls *calls, const char *name, void *target) {
    if (calls->symbols == NULL || calls->names == NULL || calls->slots == NULL)
        return;
    for (size_t each = 0; each < calls->count; each++) {
        const ElfW(Rela) *slot = &calls->slots[each];
        const ElfW(Sym) *symbol = &calls->symbols[ELF64_R_SYM(slot->r_info)];
        uintptr_t address = library->dlpi_addr + slot->r_offset;
        if (strcmp(calls->names + symbol->st_name, name) == 0 && !is_read_only(library, address))
            atomic_store((_Atomic(void *) *)address, target);
    }
}

static int adjust(struct dl_phdr_info *library, size_t size, void *adjusted) {
    (void)size;
    if (library->dlpi_name == NULL || !ends_with(library->dlpi_name, plugin))
        return 0;
    *(bool *)adjusted = true;
    for (int each = 0; each < library->dlpi_phnum; each++) {
        if (library->dlpi_phdr[each].p_type != PT_DYNAMIC)
            continue;
        gs_calls calls = calls_of((const ElfW(Dyn) *)(library->dlpi_addr + library->dlpi_phdr[each].p_vaddr));
        redirect(library, &calls, "msync", (void *)msync_of_host_memory);
    }
    return 1;
}

GS_EXPORT bool gs_openxla_adjust(void) {
    bool adjusted = false;
    dl_iterate_phdr(adjust, &adjusted);
    return adjusted;
}
