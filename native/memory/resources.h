/* Resources that run out (memory, files, threads): whether there are any left, for those who end the process where there are
 * none (Python while it starts, and LLVM), and what an error says about it. */
#ifndef GS_MEMORY_RESOURCES_H
#define GS_MEMORY_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/abi.h"

#define GS_ADVICE_ON_MEMORY "free memory, or raise the limit of the address space (ulimit -v)"
#define GS_ADVICE_ON_FILES "close files, or raise the limit of open files (ulimit -n)"

/* True if that much memory could be mapped now. */
bool gs_memory_is_available(size_t bytes);

/* True if so many files could be opened now. */
bool gs_files_are_available(int count);

/* The limit of the address space, or 0 if there is none. */
size_t gs_address_space_limit(void);

/* What an error of the system means for the caller, and what a person can do about it. */
ze_result_t gs_result_of_errno(int number, const char **advice);

/* Whether the system refused something because memory, files or threads ran out, and not because of what was asked. */
bool gs_is_exhaustion(int number);

/* Fails with the result for an error of the system; `what` says what could not be done. */
ze_result_t gs_fail_errno(int number, const char *what);

/* ENOMEM or EMFILE if the dynamic linker says that it has no memory, or no file to open a library with; else 0. */
int gs_errno_in(const char *text);

#endif
