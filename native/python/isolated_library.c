/* A second copy of a shared library in one process.
 *
 * The system's loader takes two files for the same library if they have the same number on disk or the same
 * soname. So the library is copied into memory, under another soname, and opened there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "python/isolated_library.h"

typedef struct image {
    char *bytes;
    size_t size;
    const char *soname; /* that it gets */
} image;

static bool lies_in(const image *file, uint64_t offset, uint64_t size) {
    return offset <= file->size && size <= file->size - offset;
}

static const Elf64_Phdr *segments(const image *file, size_t *count) {
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)file->bytes;
    if (file->size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_phentsize != sizeof(Elf64_Phdr) ||
        !lies_in(file, head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr)))
        return NULL;
    *count = head->e_phnum;
    return (const Elf64_Phdr *)(file->bytes + head->e_phoff);
}

/* Where in the file an address of the loaded library lies; the size of the file if nowhere. */
static uint64_t place_of(const image *file, uint64_t address) {
    size_t count;
    const Elf64_Phdr *each = segments(file, &count);
    for (; count > 0; count--, each++)
        if (each->p_type == PT_LOAD && address - each->p_vaddr < each->p_filesz)
            return address - each->p_vaddr + each->p_offset;
    return file->size;
}

/* Where a string begins in a table of them, which begins with an empty one; 0 if it is not there. */
static uint64_t place_of_string(const char *strings, uint64_t size, const char *wanted) {
    size_t length = strlen(wanted) + 1;
    for (uint64_t at = 1; at + length <= size; at += strnlen(strings + at, size - at) + 1)
        if (memcmp(strings + at, wanted, length) == 0)
            return at;
    return 0;
}

/* Replaces the soname. False if the library has none, or not the string that it should become. */
static bool rename_library(const image *file, const Elf64_Phdr *dynamic) {
    if (!lies_in(file, dynamic->p_offset, dynamic->p_filesz))
        return false;
    Elf64_Dyn *first = (Elf64_Dyn *)(file->bytes + dynamic->p_offset), *soname = NULL;
    uint64_t strings = 0, strings_size = 0;
    for (Elf64_Dyn *each = first; (char *)(each + 1) <= (char *)first + dynamic->p_filesz; each++) {
        if (each->d_tag == DT_NULL)
            break;
        soname = each->d_tag == DT_SONAME ? each : soname;
        strings = each->d_tag == DT_STRTAB ? place_of(file, each->d_un.d_ptr) : strings;
        strings_size = each->d_tag == DT_STRSZ ? each->d_un.d_val : strings_size;
    }
    if (soname == NULL || strings == 0 || !lies_in(file, strings, strings_size))
        return false;
    uint64_t found = place_of_string(file->bytes + strings, strings_size, file->soname);
    soname->d_un.d_val = found;
    return found != 0;
}

/* Renames the library in the image and leaves out what is not loaded, such as what debuggers read. */
static bool edit(image *file) {
    size_t count;
    const Elf64_Phdr *each = segments(file, &count);
    uint64_t end = 0;
    bool renamed = false;
    for (; each != NULL && count > 0; count--, each++) {
        if (!lies_in(file, each->p_offset, each->p_filesz))
            return false;
        end = each->p_offset + each->p_filesz > end ? each->p_offset + each->p_filesz : end;
        renamed |= each->p_type == PT_DYNAMIC && rename_library(file, each);
    }
    if (!renamed)
        return false;
    Elf64_Ehdr *head = (Elf64_Ehdr *)file->bytes;
    head->e_shoff = 0;
    head->e_shnum = head->e_shstrndx = 0;
    file->size = end;
    return true;
}

static void *open_image(const image *file) {
    int memory = memfd_create("libpython", MFD_CLOEXEC);
    if (memory < 0)
        return NULL;
    void *opened = NULL;
    size_t written = 0;
    while (written < file->size) {
        ssize_t more = write(memory, file->bytes + written, file->size - written);
        if (more <= 0)
            break;
        written += (size_t)more;
    }
    if (written == file->size) {
        char name[64];
        snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)getpid(), memory);
        opened = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    }
    if (opened == NULL)
        close(memory); /* else it stays open: a debugger reads the library by its name */
    return opened;
}

/* An executable with an address of its own, such as Debian's python3, has a copy of `environ`, and the C library uses
 * that one. What binds to the C library first sees the variable there, which nobody has set. */
static void share_environment(void *opened) {
    char ***seen = dlsym(opened, "environ");
    if (seen != NULL && seen != &environ)
        *seen = environ;
}

void *gs_open_isolated(const char *path, const char *soname) {
    int source = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (source < 0)
        return NULL;
    void *opened = NULL;
    if (fstat(source, &about) == 0 && about.st_size > 0) {
        image file = {.size = (size_t)about.st_size, .soname = soname};
        file.bytes = mmap(NULL, file.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, source, 0);
        if (file.bytes != MAP_FAILED) {
            if (edit(&file))
                opened = open_image(&file);
            munmap(file.bytes, (size_t)about.st_size);
            if (opened != NULL)
                share_environment(opened);
        }
    }
    close(source);
    return opened;
}
